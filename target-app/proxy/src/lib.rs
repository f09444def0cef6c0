//! A reverse proxy with a policy of admission before a service of anybody's: `lab proxy`.
//!
//! The policy decides at the head, before the body is read. What it admits goes to a backend over kept connections; both
//! directions are streamed, each only as fast as its reader takes it. hyper reads and writes HTTP; the checks of what is
//! ambiguous, the phases of connections and their limits are those of the lab's own services ([`live_service::edge`]).

mod address;
mod admission;
mod ahead;
mod backend;
mod cautions;
mod checks;
mod client;
mod connection;
mod endable;
mod error;
mod exchange;
mod file;
mod frames;
mod headers;
mod listener;
mod log;
mod metrics;
mod observe;
mod opening;
#[cfg(feature = "otel")]
mod otlp;
mod page;
mod patience;
mod process;
mod reach;
mod relay;
mod reload;
mod retry;
mod running;
mod shares;
mod state;
mod stream;
mod takers;
mod tapped;
mod tls;
mod tunnel;
mod upload;
mod waiting_room;

pub use error::ProxyError;
pub use file::read as read_settings;
pub use process::{check, proxy_blocking};
pub use reload::Reread;
