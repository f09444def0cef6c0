//! An arm on live services: the target is a process of its own, the load generator runs in this one.

pub(super) mod arm;
mod balancers;
pub(super) mod carry_over;
pub(super) mod controls;
mod crashes;
mod gauge_watch;
pub(super) mod interventions;
mod listen_queues;
mod live_tree;
mod members;
mod policy_streams;
mod processes;
pub(super) mod service;
mod side_thread;
pub(super) mod site;
pub(super) mod snapshot;
pub(super) mod target;
mod tree_thread;
