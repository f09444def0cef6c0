//! Runs cases on seeds, on all cores, each run once, with progress on standard error.

use std::{
    io::{self, Write},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use analysis::{
    summary::Arm,
    text::{counted, long_time},
};
use controllers::seed_for;
use experiment::{Changes, Experiment};
use measure::Shard;

use super::{
    Journal,
    pool::{BenchError, PoolNews, RunPool, Threads},
    run::{Seed, SweepRun, SweepWorld},
};
use crate::{
    exit::{CommandResult, End, Failure, complain},
    run::{RunFailure, StopSignal},
};

/// An experiment file that cases are made of.
#[derive(Debug, Clone, Copy)]
pub struct SweepFile<'a> {
    /// Its name in the journal; empty: it is the only one.
    pub name: &'a str,
    pub text: &'a str,
    /// The folder that it is in.
    pub folder: &'a Path,
}

/// An experiment with some keys set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SweepCase {
    /// The number of its file.
    pub file: usize,
    /// `KEY=VALUE`, as for `--set`.
    pub set: Vec<String>,
    /// Arms to run, as for `--policy`; empty: all.
    pub arms: Vec<String>,
}

/// So many seeds of this name: seeds of two names share nothing.
pub fn seeds(root: u64, name: &str, count: u32) -> Vec<Seed> {
    (1..=count).map(|block| Seed { block, seed: seed_for(root, &format!("{name} {block}")) }).collect()
}

/// The result of a case.
#[derive(Debug, Clone, PartialEq)]
pub enum CaseFound {
    /// Arms of the case with every seed.
    Ran(Vec<Arm>),
    /// The reason why its values do not go together: nothing was run.
    Refused(String),
}

impl CaseFound {
    /// Arms of the case; none where it was refused.
    pub fn arms(&self) -> &[Arm] {
        match self {
            Self::Ran(arms) => arms,
            Self::Refused(_) => &[],
        }
    }
}

/// Runs cases of some files.
#[derive(Debug)]
pub struct Bench<'a> {
    files: Vec<SweepFile<'a>>,
    journal: Journal,
    stop: &'a StopSignal,
    progress: SearchProgress,
    /// The part of all runs that is run here; `None`: all of them.
    shard: Option<Shard>,
    /// The world of each file's last case: most cases differ in an arm alone.
    worlds: Vec<Option<Arc<SweepWorld>>>,
    /// Where runs are computed.
    pool: Box<dyn RunPool>,
    /// Runs that nobody came to a result of.
    lost: usize,
}

impl<'a> Bench<'a> {
    /// For these files. `runs`: about how many there will be, for the time that is left.
    pub fn new(files: Vec<SweepFile<'a>>, journal: Journal, stop: &'a StopSignal, runs: usize) -> Self {
        let worlds = files.iter().map(|_| None).collect();
        let (progress, pool) = (SearchProgress::new(runs), Box::new(Threads));
        Self { files, journal, stop, progress, shard: None, worlds, pool, lost: 0 }
    }

    /// Has runs computed there.
    #[must_use]
    pub fn on(self, pool: Box<dyn RunPool>) -> Self {
        Self { pool, ..self }
    }

    /// Runs this part alone.
    #[must_use]
    pub fn of_shard(self, shard: Option<Shard>) -> Self {
        Self { shard, ..self }
    }

    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The end of a search, which failed where a run has no result.
    ///
    /// # Errors
    /// Some have none.
    pub fn end(&self, end: End) -> CommandResult {
        match self.lost {
            0 => Ok(end),
            lost => {
                let way_out = "the same command with the same --out tries them again";
                Err(Failure::because(format!("{} without a result: {way_out}", counted(lost, "run"))))
            }
        }
    }

    /// Reads a case.
    ///
    /// # Errors
    /// Its problems, in lines.
    pub fn read(&self, case: &SweepCase) -> Result<Experiment, String> {
        let SweepFile { text, folder, .. } = self.files[case.file];
        let (set, policies, folder) = (case.set.clone(), case.arms.clone(), folder.to_owned());
        let changes = Changes { set, policies, folder, ..Changes::default() };
        experiment::read(text, &changes).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            lines.join("\n")
        })
    }

    /// Runs every arm of every case with each of the seeds, and returns them in this order.
    ///
    /// # Errors
    /// It was stopped, or a run failed; the journal has what ended before.
    pub fn run(&mut self, cases: &[SweepCase], seeds: &[Seed]) -> Result<Vec<CaseFound>, BenchError> {
        let mut planned: Vec<Result<Vec<String>, String>> = Vec::new();
        let (mut works, mut number): (Vec<SweepRun>, u64) = (Vec::new(), 0);
        for case in cases {
            let runs = match self.works(case, seeds)? {
                Err(why) => {
                    seeds.iter().for_each(|_| self.progress.skip());
                    Err(why)
                }
                Ok(of_case) => {
                    let runs = of_case.iter().map(|work| work.name.clone()).collect();
                    for work in of_case {
                        let ours = self.shard.is_none_or(|shard| shard.holds(number));
                        number += 1;
                        if !ours
                            || self.journal.get(&work.name).is_some()
                            || works.iter().any(|other| other.name == work.name)
                        {
                            self.progress.skip();
                        } else {
                            works.push(work);
                        }
                    }
                    Ok(runs)
                }
            };
            planned.push(runs);
        }
        self.all(&works)?;
        let found = |run: &String| self.journal.get(run).cloned();
        let found = planned.into_iter().map(|runs| match runs {
            Ok(runs) => CaseFound::Ran(runs.iter().filter_map(found).collect()),
            Err(why) => CaseFound::Refused(why),
        });
        Ok(found.collect())
    }

    /// The runs of a case, or why it has none.
    fn works(&mut self, case: &SweepCase, seeds: &[Seed]) -> Result<Result<Vec<SweepRun>, String>, RunFailure> {
        let experiment = match self.read(case) {
            Ok(experiment) => Arc::new(experiment),
            Err(why) => return Ok(Err(why)),
        };
        let world = self.world_of(case.file, &experiment)?;
        for arm in &experiment.arms {
            if let Err(cause) = world.setup.can_start(&experiment, arm) {
                return Ok(Err(format!("{} cannot start: {cause}", arm.label)));
            }
        }
        let set = case.set.join(" ");
        let file = Some(self.files[case.file].name).filter(|name| !name.is_empty());
        let file = file.map_or_else(String::new, |name| format!("{name}: "));
        let work = |arm: usize, seed: &Seed| SweepRun {
            name: format!("{file}{} of {set:?} with seed {}", experiment.arms[arm].label, seed.seed),
            experiment: Arc::clone(&experiment),
            world: Arc::clone(&world),
            arm,
            seed: *seed,
        };
        let of_seed = |seed| (0..experiment.arms.len()).map(move |arm| (arm, seed));
        Ok(Ok(seeds.iter().flat_map(of_seed).map(|(arm, seed)| work(arm, seed)).collect()))
    }

    fn world_of(&mut self, file: usize, experiment: &Experiment) -> Result<Arc<SweepWorld>, RunFailure> {
        if let Some(world) = self.worlds[file].as_ref().filter(|world| world.is_of(experiment)) {
            return Ok(Arc::clone(world));
        }
        let world = Arc::new(SweepWorld::solved(experiment, &self.stop.fresh_flag())?);
        self.worlds[file] = Some(Arc::clone(&world));
        Ok(world)
    }

    fn all(&mut self, runs: &[SweepRun]) -> Result<(), BenchError> {
        let (journal, progress, lost) = (&mut self.journal, &mut self.progress, &mut self.lost);
        self.pool.compute(runs, self.stop, &mut |news| {
            match news {
                PoolNews::Waiting => progress.tell(),
                PoolNews::Found(number, arm) => {
                    journal.keep(&runs[number].name, *arm).map_err(RunFailure::at(journal.folder()))?;
                    progress.step();
                }
                PoolNews::Lost(number, why) => {
                    complain(&format!("{}: {why}", runs[number].name));
                    *lost += 1;
                    progress.skip();
                }
            }
            Ok(())
        })?;
        if self.stop.is_asked() { Err(BenchError::Stopped) } else { Ok(()) }
    }
}

/// Between two lines.
const EVERY: Duration = Duration::from_secs(2);
/// Between two lines that say the same.
const STILL: Duration = Duration::from_secs(20);

/// Counts runs.
#[derive(Debug)]
pub struct SearchProgress {
    began: Instant,
    told: Instant,
    done: usize,
    /// Runs that were done when a line was told.
    done_told: usize,
    /// All runs, as far as their number is known.
    all: usize,
}

impl SearchProgress {
    /// Starts at none of so many runs.
    pub fn new(all: usize) -> Self {
        let now = Instant::now();
        Self { began: now, told: now, done: 0, done_told: 0, all }
    }

    /// A run ended.
    pub fn step(&mut self) {
        self.done += 1;
        self.tell();
    }

    /// A run was found in the journal, and need not be done.
    pub fn skip(&mut self) {
        self.all = self.all.saturating_sub(1).max(self.done);
    }

    /// A line, if it is time for one.
    pub fn tell(&mut self) {
        if self.told.elapsed() < if self.done > self.done_told { EVERY } else { STILL } {
            return;
        }
        (self.told, self.done_told) = (Instant::now(), self.done);
        // Nobody may be reading; the search goes on.
        let _ = writeln!(io::stderr(), "{}", line(self.done, self.all, self.began.elapsed()));
    }
}

fn line(done: usize, all: usize, took: Duration) -> String {
    let all = all.max(done);
    if done == 0 {
        return format!("0 of {all} runs");
    }
    let left = took.as_secs_f64() / done as f64 * (all - done) as f64;
    format!("{done} of {all} runs, about {} left", long_time(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_takes_as_long_as_what_was_done() {
        let after = |done, seconds| line(done, 120, Duration::from_secs(seconds));
        assert_eq!(after(0, 9), "0 of 120 runs");
        assert_eq!(after(30, 60), "30 of 120 runs, about 3 min left");
        assert_eq!(after(130, 60), "130 of 130 runs, about 0 s left");
    }

    #[test]
    fn what_was_done_before_is_no_work() {
        let mut progress = SearchProgress::new(10);
        (0..4).for_each(|_| progress.skip());
        assert_eq!(progress.all, 6);
    }
}
