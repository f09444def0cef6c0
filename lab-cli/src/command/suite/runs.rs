//! Runs of a suite, an ordinary folder each: what is there already is not run again; and their progress on standard error.

use std::{
    fs,
    io::{self, IsTerminal, Write},
    path::Path,
    time::{Duration, Instant},
};

use analysis::{
    Manifest,
    digests::Digests,
    folder,
    live::LiveEvent,
    report::{RunFiles, html},
    summary::RunSummary,
    text::{long_time, scrubbed},
};
use serde_json::Value;

use super::scenario::Scenario;
use crate::{
    exit::Failure,
    run::{Cpus, EventSink, RunRequest, Sinks, StopSignal, WORLD, conduct},
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
            fs::remove_dir_all(&place).map_err(Failure::at(&place))?;
        }
        let mut sinks = Sinks::default();
        sinks.add(progress.of(scenario));
        let request = RunRequest::unattended(&scenario.experiment, Some(&place), self.cpus, true);
        let finished = conduct(request, &mut sinks, self.stop)?;
        progress.is_done(scenario);
        Ok(finished.summary)
    }
}

/// The report of a run, in its folder.
pub fn write_report(folder: &Path) -> Result<(), Failure> {
    let Some(run) = RunFiles::read(folder)? else { return Ok(()) };
    let path = folder.join("report.html");
    put_in_place(&path, html::document(&run.with_times(folder)).as_bytes()).map_err(Failure::at(&path))
}

/// Between two lines of a log, and two of a terminal.
const EVERY: [Duration; 2] = [Duration::from_secs(30), Duration::from_millis(500)];

/// How far a suite is.
#[derive(Debug, Clone)]
pub struct SuiteProgress {
    began: Instant,
    rewrites: bool,
    scenarios: usize,
    /// Scenarios that are over, and the work of those that were run.
    over: usize,
    done: f64,
    all: f64,
}

/// The scenario that runs.
#[derive(Debug)]
pub struct ScenarioProgress {
    suite: SuiteProgress,
    name: String,
    work: f64,
    /// Arms, in all repetitions, and those that have ended.
    arms: usize,
    ended: usize,
    told: Option<Instant>,
}

impl SuiteProgress {
    /// Starts with the work that is left of each scenario.
    pub fn new(left: impl Iterator<Item = f64>) -> Self {
        let left: Vec<f64> = left.collect();
        Self {
            began: Instant::now(),
            rewrites: io::stderr().is_terminal(),
            scenarios: left.len(),
            over: left.iter().filter(|work| **work == 0.0).count(),
            done: 0.0,
            all: left.iter().sum(),
        }
    }

    /// For the events of a scenario.
    pub fn of(&self, scenario: &Scenario) -> ScenarioProgress {
        let arms = scenario.experiment.arms.len() * scenario.experiment.repeat as usize;
        let (name, work) = (scenario.name().to_owned(), scenario.work());
        ScenarioProgress { suite: self.clone(), name, work, arms, ended: 0, told: None }
    }

    /// A scenario was run to its end.
    pub fn is_done(&mut self, scenario: &Scenario) {
        (self.over, self.done) = (self.over + 1, self.done + scenario.work());
    }

    /// `12 of 30 scenarios, now crowd; about 3 min left`, once so much has been done.
    fn line(&self, name: &str, done: f64, took: Duration) -> String {
        let left = took.as_secs_f64() * (self.all - done).max(0.0) / done;
        let left = if left.is_finite() { format!("; about {} left", long_time(left)) } else { String::new() };
        format!("{} of {} scenarios, now {}{left}", self.over, self.scenarios, scrubbed(name))
    }
}

impl EventSink for ScenarioProgress {
    fn event(&mut self, event: &LiveEvent) {
        match event {
            LiveEvent::ArmFinished(_) => self.ended += 1,
            LiveEvent::Computing { .. } => {}
            _ => return,
        }
        let [log, terminal] = EVERY;
        let every = if self.suite.rewrites { terminal } else { log };
        // The first line of a log comes when there is something to say.
        let last = self.told.unwrap_or(self.suite.began);
        if last.elapsed() < every {
            return;
        }
        self.told = Some(Instant::now());
        let share = self.ended as f64 / self.arms.max(1) as f64;
        let line = self.suite.line(&self.name, self.suite.done + share * self.work, self.suite.began.elapsed());
        // Nobody may be reading; the suite goes on.
        let _ = if self.suite.rewrites {
            write!(io::stderr(), "\r\x1b[2K{line}")
        } else {
            writeln!(io::stderr(), "{line}")
        };
    }
}

impl Drop for SuiteProgress {
    /// Takes away the line that stands.
    fn drop(&mut self) {
        if self.rewrites {
            let _ = write!(io::stderr(), "\r\x1b[2K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_takes_as_long_as_what_was_done() {
        let progress =
            SuiteProgress { began: Instant::now(), rewrites: false, scenarios: 30, over: 12, done: 40.0, all: 120.0 };
        let after = |done, seconds| progress.line("crowd", done, Duration::from_secs(seconds));
        assert_eq!(after(40.0, 90), "12 of 30 scenarios, now crowd; about 3 min left");
        assert_eq!(after(0.0, 9), "12 of 30 scenarios, now crowd");
    }
}
