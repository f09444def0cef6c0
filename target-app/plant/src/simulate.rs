//! Runs of plants in virtual time, as code of this crate. What is generic is compiled by whoever calls it, and a build for development or
//! for a first run does not optimise the program: the innermost loop of all would be slow there.

use controllers::Timestamp;
use workloads::{
    StopFlag,
    crowd::CrowdError,
    measure::Window,
    plan::LoadPlan,
    sim::{self, LinkSpec, SimOutcome, SimServer},
};

use crate::{Cluster, Plant};

/// Hears of each second that is over, with its window, the server and the time.
pub type OnSecond<'a, W> = &'a mut dyn FnMut(Window, &mut W, Timestamp);

/// A server in virtual time whose runs are code of this crate.
pub trait Simulate: SimServer + Sized {
    /// [`sim::run`] on this server.
    ///
    /// # Errors
    /// As there.
    fn simulate(
        &mut self,
        plan: &LoadPlan,
        link: LinkSpec,
        on_second: OnSecond<'_, Self>,
        stop: &StopFlag,
    ) -> Result<SimOutcome, CrowdError>;
}

/// A body of its own for each: that of the trait would be compiled by the caller.
macro_rules! simulated {
    ($($server:ty),*) => {$(
        impl Simulate for $server {
            fn simulate(
                &mut self,
                plan: &LoadPlan,
                link: LinkSpec,
                on_second: OnSecond<'_, Self>,
                stop: &StopFlag,
            ) -> Result<SimOutcome, CrowdError> {
                sim::run(plan, link, self, on_second, stop)
            }
        }
    )*};
}

simulated!(Plant, Cluster);
