//! Calibration: the work of a request that gives a service its capacity, and the costs of a live service, for a plant file.

mod capacity;
mod figures;
mod file;
mod law;
mod load;
mod plant;
mod service;
mod threads;
mod verdict;

pub use self::{
    capacity::{Served, ThroughputWatch, of_all_arms, search, seed, solve, users},
    file::{as_table, as_yaml, caution},
    plant::{PlantMeasurements, PlantRequest, measure},
    service::{ServiceMeasurements, ServiceRequest, measure_service},
    verdict::{PlantVerdict, doubts},
};
