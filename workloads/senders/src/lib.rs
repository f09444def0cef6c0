//! Hosts that send: they run user machines against real services.
//!
//! [`run`] is the entry point. The fiber host speaks plain HTTP/1.1 at little cost; the async host speaks TLS and HTTP/2 as
//! well. Both keep the same ledgers of the same users.
#![warn(missing_docs)]

mod addresses;
mod asynchronous;
mod driver;
mod fiber;
pub mod http1;
pub mod null;
mod options;
mod resource_limits;
pub mod tls;

use measure::{Report, Window};
use workloads::{
    StopFlag,
    plan::{HttpVersion, LoadPlan},
};

pub use asynchronous::Http1Connection;
pub use options::{HostChoice, RunError, RunOptions};

/// Checks that this machine has descriptors and ports for the connections that the plan keeps open.
///
/// # Errors
/// What is missing, and how many would be needed.
pub fn fits(plan: &LoadPlan, options: &RunOptions) -> Result<(), RunError> {
    resource_limits::check(plan, options).map(drop)
}

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
