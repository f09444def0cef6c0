//! Holds runs in virtual time against live ones: `docs/fidelity.md` is made with it.
//!
//! ```sh
//! cargo run --release -p lab-cli --example fidelity -- [--plant FILE] LIVE_RUN ...
//! ```
//! Each LIVE_RUN is a results folder of `lab run`. Every experiment is run again in virtual time with the seeds of its live
//! runs, and what comes out is compared by arm and phase. Live runs that are INVALID or partial are named and left out.

use std::{collections::BTreeMap, fs, path::Path, process::ExitCode};

use lab_cli::{
    judge::fidelity::{cells, table},
    run::{Cpus, Request, Sinks, Stop, Touches, conduct, read_folder},
    spec::{Changes, Library, read},
    summary::{Mode, Summary},
};

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
    let mut set = Vec::new();
    let mut live: BTreeMap<String, Vec<(u64, Summary)>> = BTreeMap::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        if arg == "--plant" {
            let file = args.next().ok_or("--plant FILE")?;
            set.push(format!("virtual={{plant: {file}}}"));
            continue;
        }
        let (seed, summary) = live_run(Path::new(&arg)).map_err(|error| format!("{arg}: {error}"))?;
        if !summary.valid || summary.partial || summary.mode != Mode::Live {
            eprintln!("left out: {arg} ({}{})", summary.verdict.word(), if summary.partial { ", partial" } else { "" });
            continue;
        }
        live.entry(summary.experiment.clone()).or_default().push((seed, summary));
    }
    let mut all = Vec::new();
    for (experiment, runs) in live {
        let simulated = runs.iter().map(|(seed, _)| simulate(&experiment, *seed, &set));
        let simulated = simulated.collect::<Result<Vec<_>, _>>()?;
        let runs: Vec<Summary> = runs.into_iter().map(|(_, summary)| summary).collect();
        all.extend(cells(&runs, &simulated));
    }
    Ok(table(&all))
}

/// The seed and the result of a live run.
fn live_run(folder: &Path) -> Result<(u64, Summary), Error> {
    let summary = read_folder(folder)?.summary.ok_or("there is no summary.json")?;
    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(folder.join("manifest.json"))?)?;
    Ok((manifest["seed"].as_u64().ok_or("manifest.json names no seed")?, summary))
}

fn simulate(experiment: &str, seed: u64, set: &[String]) -> Result<Summary, Error> {
    let text = Library::find(experiment).ok_or_else(|| format!("{experiment} does not come with the program"))?.text;
    let changes = Changes { seed: Some(seed), set: set.to_vec(), ..Changes::default() };
    let plan = read(text, &changes)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let scratch = tempfile::tempdir()?;
    let out = scratch.path().join("run");
    let cpus = Cpus { generator: None, target: None };
    let touches = Touches::default();
    let request = Request { experiment: &plan, out: Some(&out), cpus: &cpus, virtual_time: true, touches: &touches };
    Ok(conduct(request, &mut Sinks::default(), &Stop::default())?.summary)
}
