//! The target of measurements: staged services and their overload control.

pub mod app;
mod authority;
pub mod calls;
mod class;
pub mod clock;
pub mod control;
pub mod edge;
mod fault_injection;
pub mod graph;
pub mod ledger;
pub mod mail;
mod metrics;
pub mod monitor;
pub mod plant;
pub mod policies;
pub mod private;
pub mod proxy;
mod request;
pub mod running;
mod security_headers;
pub mod serve;
pub mod service;
pub mod signals;
pub mod spec;
pub mod stage;
pub mod synthetic;
pub mod tree;
