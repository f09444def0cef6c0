//! Runs of plants in virtual time, as code of this crate. What is generic is compiled by whoever calls it, and a build for development or
//! for a first run does not optimise the program: the innermost loop of all would be slow there.

use controllers::Timestamp;
use workloads::{
    StopFlag,
    crowd::CrowdError,
    measure::Window,
    plan::LoadPlan,
    sim::{self, LinkSpec, SimOutcome},
};

use crate::{Cluster, Plant};

/// Hears of each second that is over, with its window, the server and the time.
pub type OnSecond<'a, W> = &'a mut dyn FnMut(Window, &mut W, Timestamp);

impl Plant {
    /// [`sim::run`] on this plant.
    ///
    /// # Errors
    /// As there.
    pub fn simulate(
        &mut self,
        plan: &LoadPlan,
        link: LinkSpec,
        on_second: OnSecond<'_, Self>,
        stop: &StopFlag,
    ) -> Result<SimOutcome, CrowdError> {
        sim::run(plan, link, self, on_second, stop)
    }
}

impl Cluster {
    /// [`sim::run`] on these services.
    ///
    /// # Errors
    /// As there.
    pub fn simulate(
        &mut self,
        plan: &LoadPlan,
        link: LinkSpec,
        on_second: OnSecond<'_, Self>,
        stop: &StopFlag,
    ) -> Result<SimOutcome, CrowdError> {
        sim::run(plan, link, self, on_second, stop)
    }
}
