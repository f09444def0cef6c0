//! The parts of `lab`: experiment files in, a run, its event stream, and what is made of it.
//!
//! [`analysis::live`] is the stream of what happens, [`analysis::summary`] the result. Everything that people see (progress, the live view,
//! tables) and everything that is judged is made from these two.

pub mod args;
pub mod command;
pub mod exit;
pub mod run;
pub mod store;
pub mod tui;
