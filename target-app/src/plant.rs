//! The target in virtual time: the same graph, sites, machines and ledgers as the live service, with numbers in place of work.
//!
//! [`Plant`] is a [`workloads::sim::SimServer`]. It takes the same [`TargetSpec`](crate::spec::TargetSpec) as a live
//! target, and a [`PlantSpec`] with the costs of all steps (measured by `lab calibrate`, or emulated by design). Stages
//! queue, batch and size their pools as the live ones do, by the same site machines; work is done on cores that all running steps
//! share, and a step that needs the database waits for one of its connections.
//!
//! Left out: caches, memory beyond a size for each connection and request, the disk, the network's own limits, the scheduler's time slices, and the time that dispatch
//! takes. What that does to the figures is measured in `docs/fidelity.md`.

mod backend;
mod cluster;
#[cfg(test)]
mod conformance;
mod connections;
mod context;
mod costs;
mod cpu;
mod crash;
mod event;
mod fault;
mod foreseen;
mod gauges;
mod listener;

mod build;
mod in_flight;
mod job_table;
mod mail;
mod measured_service;
mod own_service;
mod policing;
mod responses;
mod rooms;
mod sites;
mod synthetic;
#[cfg(test)]
mod tests;
mod timers;
mod work;
mod world;

pub use build::PlantPlan;
pub use cluster::{Cluster, ClusterEvent};
pub use costs::{DEBUG_BUILD, PlantError, PlantOrigin, PlantSpec, TypeCost};
pub use event::Event;
pub use fault::{Fault, FaultKind, Hindrance, moments};
pub use foreseen::{Foreseen, Servers};
pub use measured_service::{MeasuredService, RequestCost};
#[cfg(test)]
pub(crate) use tests::target as emulated_target;
pub use world::Plant;
