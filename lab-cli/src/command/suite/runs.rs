//! Runs of a suite, an ordinary folder each: what is there already is not run again.

use std::{fs, path::Path};

use analysis::{
    Manifest,
    digests::Digests,
    folder,
    report::{RunFiles, html},
    summary::RunSummary,
};
use serde_json::Value;

use super::{progress::SuiteProgress, scenario::Scenario};
use crate::{
    command::failure::failed,
    exit::Failure,
    run::{Cpus, Interventions, RunRequest, Sinks, StopSignal, WORLD, conduct},
    store::put_in_place,
};

/// What a folder holds of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Nothing.
    Nothing,
    /// A run that was stopped.
    Part,
    /// All of it.
    All,
}

/// How runs are made.
#[derive(Debug, Clone, Copy)]
pub struct Runs<'a> {
    /// Folder of the suite.
    pub folder: &'a Path,
    pub cpus: &'a Cpus,
    pub stop: &'a StopSignal,
}

impl Kept {
    /// Looks into the suite's folder. What is there of another plan, or of something else, is refused.
    pub fn of(folder: &Path, scenario: &Scenario) -> Result<Self, Failure> {
        let place = folder.join(scenario.name());
        if !place.exists() {
            return Ok(Self::Nothing);
        }
        let other = |what: &str| {
            let way_out = "name another --out, or take the same flags";
            Failure::usage(format!("{} holds {what}: {way_out}", place.display()))
        };
        let manifest = Manifest::read(&place).map_err(|_| other("something else than this scenario"))?;
        let plan = serde_json::to_vec(&scenario.experiment).map_err(Failure::because)?;
        let plan: Value = serde_json::from_slice(&plan).map_err(Failure::because)?;
        let world = manifest.whole.get("world").and_then(Value::as_u64);
        if manifest.lab != env!("CARGO_PKG_VERSION") || world != Some(WORLD.into()) {
            return Err(other("a run of another version"));
        }
        if manifest.whole.get("experiment") != Some(&plan) {
            return Err(other("a run with another plan (policies, seed, repetitions, file)"));
        }
        let whole = Digests::read(&place)?.is_some() && folder::summary(&place)?.is_some_and(|found| !found.partial);
        Ok(if whole { Self::All } else { Self::Part })
    }

    /// Work that is left of a scenario.
    pub fn left_of(self, scenario: &Scenario) -> f64 {
        if self == Self::All { 0.0 } else { scenario.work() }
    }
}

impl Runs<'_> {
    /// The summary of a scenario, which is run unless that was done before.
    pub fn one(&self, scenario: &Scenario, kept: &Kept, progress: &mut SuiteProgress) -> Result<RunSummary, Failure> {
        let place = self.folder.join(scenario.name());
        if *kept == Kept::All {
            let summary = folder::summary(&place)?;
            return summary.ok_or_else(|| Failure::because(format!("{} has no summary any more", place.display())));
        }
        if *kept == Kept::Part {
            fs::remove_dir_all(&place).map_err(|error| Failure::because(format!("{}: {error}", place.display())))?;
        }
        let mut sinks = Sinks::default();
        sinks.add(progress.of(scenario));
        let request = RunRequest {
            experiment: &scenario.experiment,
            out: Some(&place),
            cpus: self.cpus,
            virtual_time: true,
            shard: None,
            live_view: false,
            fail_fast: false,
            touches: &Interventions::default(),
        };
        let finished = conduct(request, &mut sinks, self.stop).map_err(|failure| failed(&failure))?;
        progress.is_done(scenario);
        Ok(finished.summary)
    }
}

/// The report of a run, in its folder.
pub fn write_report(folder: &Path) -> Result<(), Failure> {
    let Some(run) = RunFiles::read(folder)? else { return Ok(()) };
    let path = folder.join("report.html");
    put_in_place(&path, html::document(&run.with_times(folder)).as_bytes())
        .map_err(|error| Failure::because(format!("{}: {error}", path.display())))
}
