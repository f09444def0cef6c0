//! What is measured: staged services and their control.

pub mod control {
    //! The control port.
    pub mod wire;
}
pub mod graph;
pub mod mail;
pub mod service;

pub mod spec;
