//! Holds runs in virtual time against live ones: `docs/fidelity.md` is made with it.
//!
//! ```sh
//! cargo run --release -p lab-cli --example fidelity -- [--plant FILE] [--at-measured-speed [--stretch SECONDS]] [--by-run] LIVE_RUN ...
//! ```
//! With `--at-measured-speed` the plant is as fast as the machine was in each stretch (5 s) of the live run, by the CPU time that the
//! same work took there (for services that burn CPU; emulated ones do not). With `--by-run` a second table has the goodput of each run.
//!
//! Each LIVE_RUN is a results folder of `lab run`. Every experiment is run again in virtual time with the seeds of its live
//! runs, and what comes out is compared by arm and phase. Live runs that are INVALID or partial are named and left out.

use std::{collections::BTreeMap, fs, num::NonZeroUsize, path::Path, process::ExitCode};

use analysis::{
    folder::Recorded,
    judge::fidelity::{ServiceSpeed, by_run, cells, speeds, table},
    live::TimelineSecond,
    summary::{Mode, RunSummary},
};
use experiment::{Changes, Library, read};
use lab_cli::run::{Cpus, RunRequest, Sinks, StopSignal, conduct};

type Error = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match compare() {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("fidelity: {error}");
            ExitCode::FAILURE
        }
    }
}

fn compare() -> Result<String, Error> {
    let mut plant = None;
    let mut at_measured_speed = false;
    let mut stretch = NonZeroUsize::new(5).ok_or("5 is not 0")?;
    let mut each = false;
    let mut live: BTreeMap<String, Vec<Live>> = BTreeMap::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        if arg == "--plant" {
            plant = Some(args.next().ok_or("--plant FILE")?);
            continue;
        }
        if arg == "--at-measured-speed" {
            at_measured_speed = true;
            continue;
        }
        if arg == "--stretch" {
            stretch = args.next().and_then(|seconds| seconds.parse().ok()).ok_or("--stretch SECONDS: 1 or more")?;
            continue;
        }
        if arg == "--by-run" {
            each = true;
            continue;
        }
        let run = live_run(Path::new(&arg)).map_err(|error| format!("{arg}: {error}"))?;
        let summary = &run.summary;
        if !summary.valid || summary.partial || summary.mode != Mode::Live {
            eprintln!("left out: {arg} ({}{})", summary.verdict.word(), if summary.partial { ", partial" } else { "" });
            continue;
        }
        live.entry(summary.experiment.clone()).or_default().push(run);
    }
    let mut all = Vec::new();
    for (experiment, runs) in live {
        let with = With { experiment: &experiment, plant: plant.as_deref() };
        let mut simulated = Vec::new();
        for run in &runs {
            let plain = with.simulate(run.seed, None, &[])?;
            simulated.push(if at_measured_speed { with.at_speeds(run, &plain, stretch)? } else { plain.summary });
        }
        let runs: Vec<RunSummary> = runs.into_iter().map(|run| run.summary).collect();
        all.extend(cells(&runs, &simulated));
    }
    let each = if each { format!("\n{}", by_run(&all)) } else { String::new() };
    Ok(table(&all) + &each)
}

/// A live run.
struct Live {
    seed: u64,
    summary: RunSummary,
    timeline: Vec<TimelineSecond>,
}

fn live_run(folder: &Path) -> Result<Live, Error> {
    let recorded = Recorded::read(folder)?;
    let summary = recorded.summary.ok_or("there is no summary.json")?;
    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(folder.join("manifest.json"))?)?;
    let seed = manifest["seed"].as_u64().ok_or("manifest.json names no seed")?;
    Ok(Live { seed, summary, timeline: recorded.timeline })
}

/// A run in virtual time.
struct Simulated {
    summary: RunSummary,
    timeline: Vec<TimelineSecond>,
}

/// What is simulated.
struct With<'a> {
    experiment: &'a str,
    plant: Option<&'a str>,
}

impl With<'_> {
    /// All arms, or one; with the machine this fast.
    fn simulate(&self, seed: u64, arm: Option<&str>, speeds: &[ServiceSpeed]) -> Result<Simulated, Error> {
        let experiment = self.experiment;
        let text =
            Library::find(experiment).ok_or_else(|| format!("{experiment} does not come with the program"))?.text;
        let plant = self.plant.map(|file| format!("plant: {file}, ")).unwrap_or_default();
        let fault = |s: &ServiceSpeed| format!("{{at: {}s, for: {}s, capacity: {:.3}}}", s.from, s.lasts, s.speed);
        let faults: Vec<String> = speeds.iter().map(fault).collect();
        let set = vec![format!("virtual={{{plant}faults: [{}]}}", faults.join(", "))];
        let policies = arm.map(str::to_owned).into_iter().collect();
        let changes = Changes { seed: Some(seed), set, policies, ..Changes::default() };
        let plan = read(text, &changes)
            .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
        let scratch = tempfile::tempdir()?;
        let out = scratch.path().join("run");
        let cpus = Cpus::anywhere();
        let request = RunRequest::unattended(&plan, Some(&out), &cpus, true);
        let summary = conduct(request, &mut Sinks::default(), &StopSignal::default())?.summary;
        Ok(Simulated { summary, timeline: Recorded::read(&out)?.timeline })
    }

    /// Every arm again, as fast as the machine was in the live run's.
    fn at_speeds(&self, run: &Live, plain: &Simulated, stretch: NonZeroUsize) -> Result<RunSummary, Error> {
        let of = |timeline: &[TimelineSecond], arm: &str| -> Vec<TimelineSecond> {
            timeline.iter().filter(|second| second.arm == arm).cloned().collect()
        };
        let mut all = plain.summary.clone();
        all.arms.clear();
        for arm in plain.summary.arms.iter().map(|arm| &arm.name) {
            let found = speeds(&of(&run.timeline, arm), &of(&plain.timeline, arm), stretch);
            let mean = found.iter().map(|stretch| stretch.speed).sum::<f64>() / found.len().max(1) as f64;
            eprintln!("{} seed {}, {arm}: mean speed {mean:.2}", self.experiment, run.seed);
            all.arms.extend(self.simulate(run.seed, Some(arm), &found)?.summary.arms);
        }
        Ok(all)
    }
}
