//! `lab recommend`: the policy to deploy, from a run, or from an experiment that is run for it in virtual time.

use std::path::Path;

use analysis::{Recorded, recommend::recommendation, report::RunFiles, summary::RunSummary};
use experiment::{Changes, Experiment, Library, Repeat};

use super::{input::read_experiment, policies, run::where_it_is, stdout::print_as};
use crate::{
    args::{self, Output},
    exit::{CommandResult, Failure, complain},
    run::{Cpus, Finished, RunRequest, Sinks, StopSignal, conduct, progress::ProgressLines},
    screens::restore,
    store::find_run,
};

/// Blocks of the run that is made: with six a sign test can decide at 5 %.
const BLOCKS: u32 = 6;

pub fn recommend(args: &args::RecommendArgs) -> CommandResult {
    let is_experiment = Library::find(&args.of).is_some() || Path::new(&args.of).is_file();
    let (summary, made) = if is_experiment {
        let Finished { summary, folder } = computed(&args.of, &args.set)?;
        (summary, Some(folder))
    } else if let [key, ..] = args.set.as_slice() {
        return Err(Failure::usage(format!("--set {key}: {} is no experiment, and a run is as it was", args.of)));
    } else {
        (of_run(&args.of)?, None)
    };
    let found = recommendation(&summary);
    if let Some(folder) = made.as_deref().filter(|_| found.is_none() || args.output == Output::Json) {
        complain(where_it_is(folder).trim_end());
    }
    let Some(found) = found else {
        let why = if summary.valid {
            "a recommendation needs two arms that serve something, compared by goodput"
        } else {
            "the run is INVALID, and no conclusion may be drawn from it"
        };
        return Err(Failure::because(format!("{}: {why}", args.of)));
    };
    print_as(args.output, &found, || {
        let lines: String = found.lines().iter().map(|line| format!("{line}\n")).collect();
        lines + &made.as_deref().map(where_it_is).unwrap_or_default()
    })
}

fn of_run(name: &str) -> Result<RunSummary, Failure> {
    let folder = find_run(name).map_err(Failure::usage)?;
    match RunFiles::read(&folder)? {
        Some(run) => Ok(run.summary),
        None => Err(Failure::because(format!("{} {}", folder.display(), Recorded::read(&folder)?.why_no_summary()))),
    }
}

/// Runs the file's arms, and those that are worth a try before any service.
fn computed(name: &str, set: &[String]) -> Result<Finished, Failure> {
    let changes = Changes { set: set.to_vec(), virtual_time: true, ..Changes::default() };
    let written = read_experiment(name, &changes)?;
    let arms = written.arms.iter().map(|arm| arm.label.clone());
    let missing = policies::FIRST.into_iter().filter(|name| !has(&written, name)).map(str::to_owned);
    let changes = Changes { policies: arms.chain(missing).collect(), repeat: Some(Repeat::Times(BLOCKS)), ..changes };
    let experiment = read_experiment(name, &changes)?;
    let stop = StopSignal::listen(restore).map_err(Failure::because)?;
    let mut sinks = Sinks::default();
    sinks.add(ProgressLines::default());
    let cpus = Cpus::choose();
    Ok(conduct(RunRequest::unattended(&experiment, None, &cpus, true), &mut sinks, &stop)?)
}

fn has(experiment: &Experiment, policy: &str) -> bool {
    experiment.arms.iter().any(|arm| arm.policy_name() == policy || arm.label == policy)
}
