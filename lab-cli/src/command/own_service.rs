//! Experiments on a service that is not the lab's: the permission to run them, and their duration.

use std::time::Duration;

use experiment::{Experiment, plan::AppPlan};

use super::destination::destination;
use crate::exit::Failure;

/// The time that each arm takes to start and stop service and proxy, and to read the last requests; measured with services that start at once.
const EACH_ARM: Duration = Duration::from_millis(1500);
/// The time to measure the generator, once a run.
const ONCE: Duration = Duration::from_secs(6);

/// Refuses a live run of an experiment that must not run.
///
/// # Errors
/// A host beyond this machine that `--allow-host` does not name.
pub fn may_run(experiment: &Experiment, allowed: &[String]) -> Result<(), Failure> {
    let AppPlan::Own(own) = &experiment.target.app else { return Ok(()) };
    let metrics = own.metrics.as_ref().map(|metrics| &metrics.url).filter(|url| !url.starts_with('/'));
    own.url.iter().chain(metrics).try_for_each(|url| destination(url, allowed).map(drop))
}

/// The length of a live run in all, if users get answers soon after the last phase; `None`: the service is the lab's, whose
/// time of preparation is not known beforehand.
pub fn whole_time(experiment: &Experiment) -> Option<Duration> {
    let AppPlan::Own(_) = &experiment.target.app else { return None };
    let arms = u32::try_from(experiment.arms.len()).unwrap_or(u32::MAX).saturating_mul(experiment.repeat);
    Some(experiment.planned_time() + EACH_ARM * arms + ONCE)
}
