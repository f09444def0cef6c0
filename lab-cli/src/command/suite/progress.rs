//! Progress of a suite on standard error, with the time that is left.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

use analysis::{
    live::LiveEvent,
    text::{long_time, scrubbed},
};

use super::scenario::Scenario;
use crate::run::EventSink;

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
