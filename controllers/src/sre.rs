//! Handling overload as Google does (Site Reliability Engineering, O'Reilly 2016, chapter 21), a mechanism a file.
//!
//! On the sender's side: [`throttle`], [`retry_budget`], and [`client`], which is both. On the service's side:
//! [`quota`] with [`quota_server`], [`utilization`], [`dont_retry`], and [`server`], which is all of it.
//!
//! Each mechanism is a [`Guard`]: it says no, or nothing. A policy of the catalogue is one guard or several in order.

mod attempts;
mod chapter;
mod client;
mod dont_retry;
mod guard;
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
