//! What is measured: staged services and their control.

pub mod app;
pub mod class;
pub mod clock;
pub mod control {
    //! The control port.
    pub mod wire;
}
pub mod edge;
pub mod graph;
pub mod ledger;
pub mod mail;
pub mod service;
pub mod signals;
pub mod spec;
pub mod stage;
