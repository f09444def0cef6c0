//! A target as values: the settings of services, plants, platforms, proxies and waiting rooms, and the forms of the control port.

pub mod autoscale;
pub mod choice;
pub mod fault;
mod generation;
pub mod graph;
pub mod measured_service;
pub mod plant;
pub mod platform;
pub mod private;
pub mod proxy;
pub mod services;
pub mod span;
mod target;
pub mod token;
pub mod waiting_room;
pub mod wire;

pub use generation::GenerationSpec;
pub use target::{
    App, ArashiSpec, ChecksumSpec, ConnectionSpec, Discipline, Durability, EdgeSpec, EmulatedSpec, HealthChecks,
    ServiceTime, StageSpec, TargetSpec, WorkSpec,
};
