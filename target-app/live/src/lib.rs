//! A live service: requests from the listening socket through policies and stages to a [`service::Service`], and back; the
//! control port, the metrics and the process round it.

mod app;
mod authority;
pub mod calls;
pub mod clock;
#[cfg(test)]
mod conformance;
pub mod control;
pub mod edge;
mod fault_injection;
pub mod metrics;
mod monitor;
pub mod reports;
mod running;
pub mod security_headers;
pub mod serve;
pub mod service;
pub mod signals;
pub mod stage;
