//! Hosts: they run user machines against a real service.
//!
//! [`run`](crate::run()) is the entry point. The fiber host speaks plain HTTP/1.1 at little cost; the async host speaks TLS and
//! HTTP/2 as well. Both keep the same ledgers of the same users.

mod addresses;
mod commands;
mod deadline;
mod drive;
mod end;
mod options;
mod pool;
mod resource_limits;
mod stop;

pub(crate) use addresses::{Addresses, SourceAddresses, said};
pub use commands::{UserCommand, UserCommandError, UserCommands};
pub(crate) use deadline::RequestDeadline;
pub(crate) use drive::Driver;
pub(crate) use end::{ExchangeEnd, ExchangeOutcome};
pub use options::{HostChoice, RunError, RunOptions};
pub(crate) use pool::{UserPool, UserTask};
pub(crate) use resource_limits::{Allowance, MEMORY_FOR_ANSWERS, check};
pub use stop::StopFlag;
