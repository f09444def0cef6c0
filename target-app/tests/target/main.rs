//! A target over loopback. One binary for all of it: linking takes longer than running.

mod browser;
mod common;
mod control;
mod criticality;
mod degraded;
mod edge;
mod fault_injection;
mod health;
mod html_mail;
mod lifecycle;
mod narrow;
mod person;
mod process;
mod refusal;
mod switching;
mod tree;
