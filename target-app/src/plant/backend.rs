//! A service in a plant: the routes, the costs and the answers of its requests.

use std::{fmt, time::Duration};

use controllers::Random as _;
use controllers::{Class, Kind, Timestamp, random::Seeded};
use http::request::Parts;
use workloads::{persona::Call, sim::Response};

use super::cpu::Step;
use crate::{
    graph::Graph,
    service::{Route, WorkError},
    spec::WorkSpec,
};

/// The work on a request whose answer is less than was requested, or older.
#[derive(Debug, PartialEq)]
pub(super) struct DegradedWork {
    pub(super) steps: Vec<Step>,
    /// The value of `X-Degraded`.
    pub(super) how: String,
}

/// A service in a plant.
pub(super) trait Backend: fmt::Debug + Send {
    /// Request types and stages: those of the live service.
    fn graph(&self) -> Graph;

    /// Sizes of the pools that steps name.
    fn pools(&self) -> Vec<u32>;

    /// The factor by which work takes longer with one connection of the first pool in use, two, …; the last holds for
    /// more.
    fn slowdown(&self) -> Vec<f64> {
        Vec::new()
    }

    /// The route of a request.
    fn route(&self, head: &Parts) -> Route;

    /// The work on a request whose draws have this key, at a quality from 0 to 1.
    fn steps(&mut self, kind: Kind, class: Class, key: u64, quality: f64) -> Vec<Step>;

    /// The work at a quality under 1, if the answer then says that it is less. `None`: it does not.
    fn less(&mut self, kind: Kind, call: &Call, key: u64, quality: f64, now: Timestamp) -> Option<DegradedWork> {
        let _ = (kind, call, key, quality, now);
        None
    }

    /// The answer, once the work is done; `less`: the value of `X-Degraded`, if it is less than was requested.
    fn answer(&mut self, call: &Call, less: Option<&str>, now: Timestamp) -> Response;

    /// The cheap answer to a request that its stage refused, and its cost, if there is one.
    fn degrade(&mut self, kind: Kind, call: &Call, key: u64, now: Timestamp) -> Option<(Duration, Response)>;

    /// Turns the work knob.
    fn set_work(&mut self, work: &WorkSpec) -> Result<(), WorkError> {
        let _ = work;
        Err(WorkError::NoKnob)
    }
}

/// A factor with mean 1 and this standard deviation of its logarithm.
pub(super) fn spread(sigma: f64, key: u64) -> f64 {
    if sigma <= 0.0 {
        return 1.0;
    }
    let mut random = Seeded::new(key);
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - random.uniform()));
    let normal = radius * libm::cos(std::f64::consts::TAU * random.uniform());
    libm::exp(sigma * normal - sigma * sigma / 2.0)
}
