//! The target of measurements: staged services and their overload control.

pub mod app;
mod authority;
pub mod calls;
pub mod clock;
#[cfg(test)]
mod conformance;
pub mod control;
pub mod edge;
mod fault_injection;
pub mod mail;
pub mod metrics;
pub mod monitor;
pub mod proxy;
pub mod reports;
pub mod running;
mod security_headers;
pub mod serve;
pub mod service;
pub mod signals;
pub mod stage;
pub mod synthetic;
