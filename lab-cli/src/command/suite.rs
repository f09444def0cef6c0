//! `lab suite`: policies in every scenario of a folder, each an ordinary run in virtual time, and the matrix of their scores.

use std::{collections::BTreeMap, fs, path::Path};

use analysis::{
    FolderError,
    report::{html, suite as report},
    run_file,
    suite::{SUITE_SCHEMA, SuiteCell, SuiteMatrix, SuiteRow, cells, no_cell, worse},
    summary::RunSummary,
    text::counted,
};

use super::{
    share::wait_for_start,
    stdout::{print, print_json},
    sweep::MERGE,
};
use crate::{
    args::{SuiteArgs, SuiteOutput},
    exit::{CommandResult, End, Failure, complain},
    run::{Cpus, RunFailure, StopSignal},
    screens::restore,
    store::{new_suite, put_in_place},
    sweep::BenchError,
    workers::{pool, scenario_folders},
};

pub(super) mod arms;
mod random;
mod runs;
pub(super) mod scenario;

use arms::contenders;
use runs::{Kept, Runs, SuiteProgress};
use scenario::{Scenario, ScenarioSource};

/// Name of the matrix in the suite's folder.
const MATRIX: &str = "suite.json";
const PAGE: &str = "index.html";

pub fn suite(args: &SuiteArgs) -> CommandResult {
    let before = args.compare.as_deref().map(matrix_of).transpose()?;
    let policies = contenders(args)?;
    if !args.workers.workers {
        // Says so where a server was named and nobody is to compute there.
        pool(&args.workers)?;
    }
    let source =
        ScenarioSource { folder: args.scenarios.as_deref(), random: args.random, seed: args.seed, repeat: args.repeat };
    let scenarios = scenario::read(&source, &policies)?;
    let ours = |number: &u64| args.shard.is_none_or(|shard| shard.holds(*number));
    let mut scenarios: Vec<Scenario> =
        (0..).zip(scenarios).filter(|(number, _)| ours(number)).map(|(_, scenario)| scenario).collect();
    let folder = args.out.clone().unwrap_or_else(new_suite);
    let mut kept: Vec<Kept> = scenarios.iter().map(|scenario| Kept::of(&folder, scenario)).collect::<Result<_, _>>()?;
    let stop = StopSignal::listen(restore).map_err(Failure::because)?;
    wait_for_start(&args.start, &stop)?;
    let mut lost = 0;
    if args.workers.workers {
        lost = match run_by_agents(args, &scenarios, &kept, &folder, &stop) {
            Ok(lost) => lost,
            Err(BenchError::Said(failure)) => return Err(failure),
            Err(BenchError::Failed(failure)) => return Err(failure.into()),
            Err(BenchError::Stopped) => return Ok(stopped(&folder, stop.end().unwrap_or(End::Interrupted))),
        };
        kept = scenarios.iter().map(|scenario| Kept::of(&folder, scenario)).collect::<Result<_, _>>()?;
        scenarios.retain(|scenario| Kept::of(&folder, scenario).is_ok_and(|kept| kept == Kept::All));
        kept.retain(|kept| *kept == Kept::All);
    }
    let cpus = Cpus { jobs: args.jobs.map(usize::from), ..Cpus::choose() };
    let mut progress = SuiteProgress::new(scenarios.iter().zip(&kept).map(|(scenario, kept)| kept.left_of(scenario)));
    let runs = Runs { folder: &folder, cpus: &cpus, stop: &stop };
    let mut found = Vec::new();
    for (scenario, kept) in scenarios.iter().zip(&kept) {
        let summary = runs.one(scenario, kept, &mut progress);
        if let Some(end) = stop.end() {
            return Ok(stopped(&folder, end));
        }
        found.push((scenario, summary?));
    }
    drop(progress);
    if let Some(shard) = args.shard {
        let scenarios = counted(found.len(), "scenario");
        return print(format!("part {shard}: {scenarios} in {}; {MERGE}\n", folder.display()).as_bytes());
    }
    let matrix = matrix(&found, &policies, args.repeat);
    let json = analysis::text::json(&matrix).map_err(Failure::because)?;
    let file = folder.join(MATRIX);
    put_in_place(&file, json.as_bytes()).map_err(Failure::at(&file))?;
    shown(&matrix, &scenarios, &folder, args.output)?;
    let worse_now = before.map_or_else(Vec::new, |before| worse(&before, &matrix));
    for cell in &worse_now {
        complain(&format!("worse: {cell}"));
    }
    if lost > 0 {
        let way_out = "the same command with the same --out tries them again";
        return Err(Failure::because(format!("{} without a result: {way_out}", counted(lost, "scenario"))));
    }
    Ok(if worse_now.is_empty() { End::Done } else { End::Failed })
}

fn stopped(folder: &Path, end: End) -> End {
    complain(&format!("stopped; the same command with --out {} goes on", folder.display()));
    end
}

/// Has agents run what is not there yet, each scenario as a whole; gives the number of those without a result.
fn run_by_agents(
    args: &SuiteArgs,
    scenarios: &[Scenario],
    kept: &[Kept],
    folder: &Path,
    stop: &StopSignal,
) -> Result<usize, BenchError> {
    let left = scenarios.iter().zip(kept).filter(|(_, kept)| **kept != Kept::All);
    let mut runs = Vec::new();
    for (scenario, kept) in left {
        let place = folder.join(scenario.name());
        if *kept == Kept::Part {
            fs::remove_dir_all(&place).map_err(RunFailure::at(&place))?;
        }
        runs.push((&scenario.experiment, place));
    }
    scenario_folders(&args.workers, &runs, stop)
}

/// The matrix of before.
fn matrix_of(path: &Path) -> Result<SuiteMatrix, Failure> {
    let matrix: SuiteMatrix = run_file::json(path).map_err(|error: FolderError| Failure::usage(error))?;
    if matrix.schema != SUITE_SCHEMA || matrix.scenarios.is_empty() {
        let hint = format!("name the {MATRIX} of a suite's folder, or what --output json printed");
        return Err(Failure::usage(format!("{}: this is no matrix of lab suite; {hint}", path.display())));
    }
    Ok(matrix)
}

fn matrix(found: &[(&Scenario, RunSummary)], policies: &[String], repeat: u32) -> SuiteMatrix {
    let scenarios: Vec<String> = found.iter().map(|(scenario, _)| scenario.name().to_owned()).collect();
    let mut by_policy: BTreeMap<&str, BTreeMap<String, SuiteCell>> = BTreeMap::new();
    for (scenario, summary) in found {
        let ran = cells(summary, scenario.unscored.is_none());
        let left_out = scenario.left_out.iter().map(|(policy, why)| (policy.clone(), no_cell(why)));
        for (policy, cell) in ran.into_iter().chain(left_out) {
            let Some(policy) = policies.iter().find(|known| **known == policy) else { continue };
            by_policy.entry(policy).or_default().insert(scenario.name().to_owned(), cell);
        }
    }
    let row =
        |policy: &String| SuiteRow::of(policy, by_policy.get(policy.as_str()).cloned().unwrap_or_default(), &scenarios);
    let mut matrix = SuiteMatrix {
        schema: SUITE_SCHEMA,
        lab: env!("CARGO_PKG_VERSION").to_owned(),
        repeat,
        about: found.iter().map(|(scenario, _)| (scenario.name().to_owned(), scenario.about())).collect(),
        rows: policies.iter().map(row).collect(),
        scenarios,
    };
    matrix.sort();
    matrix
}

fn shown(matrix: &SuiteMatrix, scenarios: &[Scenario], folder: &Path, output: SuiteOutput) -> CommandResult {
    match output {
        SuiteOutput::Json => print_json(matrix),
        SuiteOutput::Md => print(report::markdown(matrix).as_bytes()),
        SuiteOutput::Text => {
            let place = format!("runs: {}\n", folder.display());
            print((report::text(matrix) + &place).as_bytes())
        }
        SuiteOutput::Html => {
            for scenario in scenarios {
                runs::write_report(&folder.join(scenario.name()))?;
            }
            let page = folder.join(PAGE);
            put_in_place(&page, html::suite::document(matrix).as_bytes()).map_err(Failure::at(&page))?;
            print(format!("{}\n", page.display()).as_bytes())
        }
    }
}
