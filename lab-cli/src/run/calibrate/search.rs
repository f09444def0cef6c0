//! The live search for a capacity.

use std::path::Path;

use analysis::summary::Capacity;
use experiment::{Experiment, plan::ArmPlan, resolve::target_spec};
use senders::RunOptions;
use spec::services::TaskSpec;
use workloads::StopFlag;

use super::capacity::{ThroughputWatch, of_all_arms, seed, solve, users};
use crate::run::{
    Corpus, Cpus, RunFailure, Sinks,
    live::target::{TargetProcess, destination},
};

/// Finds the extra operations a request with which this experiment's service serves `wanted` requests a second, on a target
/// of its own without control. What the target says goes to `log`.
///
/// # Errors
/// Users that do not walk the mail, a machine that is too slow, or a search that finds nothing.
pub fn search(
    experiment: &Experiment,
    corpus: &Corpus,
    wanted: f64,
    cpus: &Cpus,
    log: &Path,
    stop: &StopFlag,
    sinks: &mut Sinks,
) -> Result<Capacity, RunFailure> {
    let mail = users(experiment, corpus.accounts())?;
    let seed = seed(experiment);
    let spec = target_spec(experiment, &ArmPlan::none(), Some(corpus.copy()?), 0.0, seed, cpus.target);
    let target = TargetProcess::start(TaskSpec::alone(spec), log)?;
    let mix = &mail.model.name;
    sinks.note(format!("solving for a capacity of {wanted:.0} requests/s on the mix of {mix}, without pauses"));
    let watch = ThroughputWatch::LIVE;
    let plan = watch.plan(&mail, destination(&target.ready)?, seed);
    let capacity = of_all_arms(experiment, |work| {
        solve(wanted, &watch, |operations| {
            target.control.set_work(&work.work_at(operations))?;
            let mut served = 0;
            senders::run(&plan, &RunOptions::default(), |window| watch.count(&mut served, &window), stop)?;
            if stop.is_stopped() {
                return Err(RunFailure::Capacity(
                    "interrupted while the capacity was searched for: nothing was measured yet".to_owned(),
                ));
            }
            let measured = watch.per_second(served);
            sinks.note(format!("capacity: {operations:.1} operations a request give {measured:.1} requests/s"));
            Ok(measured)
        })
    })?;
    // A target that does not end well has been killed by now; each arm has its own.
    if let Err(failure) = target.stop() {
        sinks.note(failure.to_string());
    }
    Ok(capacity)
}
