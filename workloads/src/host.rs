//! The part of a host that all hosts share: its users, and how their exchanges end.

mod commands;
mod deadline;
mod end;
mod pool;
mod stop;

pub use commands::{UserCommand, UserCommandError, UserCommands};
pub use deadline::RequestDeadline;
pub use end::{ExchangeEnd, ExchangeOutcome};
pub use pool::{UserPool, UserTask};
pub use stop::StopFlag;
