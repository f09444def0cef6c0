//! Calibration: the work of a request that gives a service its capacity, and the costs of a live service, for a plant file.

mod busy;
mod capacity;
mod doubts;
#[cfg(feature = "live")]
mod figures;
#[cfg(feature = "live")]
mod file;
#[cfg(feature = "live")]
mod load;
#[cfg(feature = "live")]
mod plant;
#[cfg(feature = "live")]
mod search;
#[cfg(feature = "live")]
mod service;
#[cfg(feature = "live")]
mod verdict;

pub use self::{
    capacity::{ThroughputWatch, of_all_arms, seed, solve, users},
    doubts::doubts,
};
#[cfg(feature = "live")]
pub use self::{
    file::{as_table, as_yaml, caution},
    plant::{PlantMeasurements, PlantRequest, measure},
    search::search,
    service::{ServiceMeasurements, ServiceRequest, measure_service},
    verdict::PlantVerdict,
};
