//! The target in virtual time: the same graph, sites, machines and ledgers as the live service, with numbers in place of work.
//!
//! [`Plant`] is a [`workloads::sim::SimServer`]. It takes the same [`TargetSpec`](spec::TargetSpec) as a live
//! target, and a [`PlantSpec`](spec::plant::PlantSpec) with the costs of all steps (measured by `lab calibrate`, or emulated by design). Stages
//! queue, batch and size their pools as the live ones do, by the same site machines; work is done on cores that all running steps
//! share, and a step that needs the database waits for one of its connections.
//!
//! Left out: caches, memory beyond a size for each connection and request, the disk, the network's own limits, the scheduler's time slices, and the time that dispatch
//! takes. What that does to the figures is measured in `docs/fidelity.md`.

pub mod backend;
mod cluster;
mod connections;
pub mod context;
mod cpu;
mod crash;
mod error;
mod event;
mod fault;
mod foreseen;
mod gauges;
mod generation;
mod listener;

mod build;
mod in_flight;
mod job_table;
mod mail;
mod own_service;
mod policing;
mod responses;
mod rooms;
mod simulate;
mod sites;
mod synthetic;
#[cfg(test)]
mod tests;
mod timers;
mod work;
mod world;

pub use build::PlantPlan;
pub use cluster::{Cluster, ClusterEvent};
pub use cpu::Step;
pub use error::PlantError;
pub use event::Event;
pub use foreseen::{Foreseen, Servers};
pub use simulate::Simulate;
pub use world::Plant;
