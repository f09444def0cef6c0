//! A target over loopback. One binary for all of it: linking takes longer than running.

mod common;
mod edge;
mod lifecycle;
mod process;
mod refusal;
