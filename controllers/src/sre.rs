//! Google's overload handling (Site Reliability Engineering, O'Reilly 2016, chapter 21), one mechanism per file.
//!
//! The sender's side has [`throttle`], [`retry_budget`], and [`client`], which combines both. The service's side has
//! [`quota`] with [`quota_server`], [`utilization`], [`dont_retry`], and [`server`], which combines all of them.
//!
//! Each mechanism is a [`guard::Guard`], which refuses a job or abstains. A policy of the catalogue is a sequence of
//! guards.

pub(crate) mod attempts;
mod chapter;
mod client;
mod dont_retry;
pub(crate) mod guard;
mod quota;
mod quota_server;
mod retry_budget;
mod server;
#[cfg(test)]
mod tests;
mod throttle;
mod utilization;

pub(crate) use client::SRE_CLIENT;
pub(crate) use dont_retry::DONT_RETRY;
pub(crate) use quota::QUOTA;
pub(crate) use quota_server::QUOTA_SERVER;
pub(crate) use retry_budget::RETRY_BUDGET;
pub(crate) use server::SRE;
pub(crate) use throttle::THROTTLE;
pub(crate) use utilization::UTILIZATION;
