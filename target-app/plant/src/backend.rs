//! A service in a plant: the routes, the costs and the answers of its requests.

use std::{fmt, time::Duration};

use controllers::{Class, JobId, Kind, Timestamp};
use http::request::Parts;
use service_core::{
    request::DEGRADED,
    route::{Route, WorkError},
    synthetic::{SequenceTokens, TokenBatch},
};
use spec::{WorkSpec, graph::Graph};
use workloads::{persona::Call, sim::Response};

use super::cpu::Step;

/// The work on a request whose answer is less than was requested, or older.
#[derive(Debug, PartialEq)]
pub struct DegradedWork {
    pub steps: Vec<Step>,
    /// The value of `X-Degraded`.
    pub how: String,
}

/// What the costs of a request are drawn by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draws {
    /// The request's own key.
    pub key: u64,
    /// The number of its user, who has a mailbox.
    pub user: u64,
}

/// A service in a plant.
pub trait Backend: fmt::Debug + Send {
    /// Request types and stages: those of the live service.
    fn graph(&self) -> Graph;

    /// Sizes of the pools that steps name.
    fn pools(&self) -> Vec<u32> {
        Vec::new()
    }

    /// The factor by which work takes longer with one connection of the first pool in use, two, …; the last holds for
    /// more.
    fn slowdown(&self) -> Vec<f64> {
        Vec::new()
    }

    /// The batch in which its requests are worked on, if it generates tokens: their steps say what that costs at best.
    fn batch(&self) -> Option<TokenBatch<JobId>> {
        None
    }

    /// The tokens of a request, if it generates any.
    fn tokens(&self, _: Draws) -> Option<SequenceTokens> {
        None
    }

    /// The route of a request.
    fn route(&self, _: &Parts) -> Route {
        Route::ONLY
    }

    /// The work on a request, at a quality from 0 to 1.
    fn steps(&mut self, kind: Kind, class: Class, draws: Draws, quality: f64) -> Vec<Step>;

    /// The work at a quality under 1, if the answer then says that it is less. `None`: it does not.
    fn less(&mut self, _: (Kind, Class), _: &Call, _: Draws, _quality: f64, _now: Timestamp) -> Option<DegradedWork> {
        None
    }

    /// The answer, once the work is done; `less`: the value of `X-Degraded`, if it is less than was requested.
    fn answer(&mut self, _: &Call, less: Option<&str>, _now: Timestamp) -> Response {
        let headers = less.map(|how| (DEGRADED, how.to_owned())).into_iter().collect();
        Response { status: 200, headers, ..Response::default() }
    }

    /// The cheap answer to a request that its stage refused, and its cost, if there is one.
    fn degrade(&mut self, _: Kind, _: &Call, _key: u64, _now: Timestamp) -> Option<(Duration, Response)> {
        None
    }

    /// Turns the work knob.
    fn set_work(&mut self, _: &WorkSpec) -> Result<(), WorkError> {
        Err(WorkError::NoKnob)
    }
}
