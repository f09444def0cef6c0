//! An arm on live services: the target is a process of its own, the load generator runs in this one.

pub(super) mod arm;
mod balancers;
mod gauge_watch;
pub(super) mod interventions;
mod policy_reset;
mod reports;
pub(super) mod service;
pub(super) mod site;
pub(super) mod snapshot;
pub(super) mod target;
