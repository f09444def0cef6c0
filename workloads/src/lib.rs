//! The load on a service: user machines, arrivals, measurement, and the hosts that send.
#![warn(missing_docs)]
#![cfg_attr(not(feature = "live"), expect(dead_code, unused_imports, reason = "the live hosts use it"))]

pub mod arrivals;
#[cfg(feature = "live")]
mod asynchronous;
pub mod background;
pub mod balance;
pub mod behaviour;
pub mod client;
pub mod crowd;
mod crowd_error;
mod expected;
#[cfg(feature = "live")]
mod fiber;
pub mod headers;
pub mod host;
pub mod http1;
pub mod mail;
#[cfg(feature = "live")]
pub mod null;
pub mod page;
pub mod persona;
pub mod plan;
pub mod replay;
#[cfg(feature = "live")]
mod run;
pub mod schedule;
pub mod script;
pub mod sim;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod text;
#[cfg(feature = "live")]
pub mod tls;
pub mod url;

#[cfg(feature = "live")]
pub use asynchronous::Http1Connection;
pub use crowd::{Crowd, User};
pub use host::{HostChoice, RunError, RunOptions, StopFlag, UserCommand, UserCommandError, UserCommands};
pub use measure;
#[cfg(feature = "live")]
pub use run::run;
pub use schedule::Schedule;
