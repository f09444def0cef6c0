//! The load on a service, without I/O: user machines, arrivals, plans, and the host of users in virtual time.
#![warn(missing_docs)]

pub mod arrivals;
pub mod background;
pub mod balance;
pub mod behaviour;
mod bursts;
pub mod client;
pub mod crowd;
mod crowd_error;
mod expected;
pub mod headers;
pub mod host;
pub mod mail;
pub mod page;
pub mod persona;
pub mod plan;
pub mod rate_path;
pub mod replay;
pub mod schedule;
pub mod script;
pub mod sim;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod text;
pub mod url;

pub use crowd::{Crowd, User};
pub use host::{StopFlag, UserCommand, UserCommandError, UserCommands};
pub use measure;
pub use schedule::Schedule;
