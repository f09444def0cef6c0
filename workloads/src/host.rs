//! Hosts: they run user machines against a real service.
//!
//! [`run`] is the entry point. The fiber host speaks plain HTTP/1.1 at little cost; the async host speaks TLS and
//! HTTP/2 as well. Both keep the same ledgers of the same users.

mod addresses;
mod commands;
mod deadline;
mod drive;
mod end;
mod options;
mod pool;
mod resource_limits;

pub(crate) use addresses::{Addresses, SourceAddresses, said};
pub use commands::{UserCommand, UserCommandError, UserCommands};
pub(crate) use deadline::RequestDeadline;
pub(crate) use drive::Driver;
pub(crate) use end::{End, Outcome};
pub(crate) use options::Cut;
pub use options::{HostChoice, HttpVersion, RunError, RunOptions, StopFlag, TlsOptions};
pub(crate) use pool::{UserPool, UserTask};
pub(crate) use resource_limits::{Allowance, MEMORY_FOR_ANSWERS, check};

use crate::{
    asynchronous, fiber,
    measure::{Report, Window},
    plan::LoadPlan,
};

/// Runs a plan to its end and returns the report.
///
/// Blocks the calling thread, and calls `on_window` on it with each second as it ends. The threads that send inherit
/// the caller's CPU affinity when the first run of the process begins.
///
/// # Errors
/// If the plan cannot be run at all: see [`RunError`]. The report has everything that goes wrong later.
pub fn run(
    plan: &LoadPlan,
    options: &RunOptions,
    on_window: impl FnMut(Window),
    stop: &StopFlag,
) -> Result<Report, RunError> {
    let plain = plan.target.url.starts_with("http://") && options.version != HttpVersion::Http2;
    match options.host {
        // The async host goes to one address.
        HostChoice::Async if !plan.target.entries.is_empty() => Err(RunError::Entries),
        HostChoice::Auto if !plain && !plan.target.entries.is_empty() => Err(RunError::Entries),
        HostChoice::Fiber if !plain => Err(RunError::NotPlain { url: plan.target.url.clone() }),
        HostChoice::Fiber => fiber::run(plan, options, on_window, stop),
        HostChoice::Auto if plain => fiber::run(plan, options, on_window, stop),
        HostChoice::Auto | HostChoice::Async => asynchronous::run(plan, options, on_window, stop),
    }
}
