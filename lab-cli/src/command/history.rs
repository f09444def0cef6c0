//! `lab history`.

use std::path::Path;

use analysis::text::{scrubbed, table::Table};

use super::stdout::print_as;
use crate::{
    args,
    exit::{CommandResult, Failure, complain},
    store::{
        RUNS,
        history::{self, PastRun, Question},
    },
};

pub fn history(args: &args::HistoryArgs) -> CommandResult {
    let question = Question {
        words: &args.words,
        experiment: args.experiment.as_deref(),
        policy: args.policy.as_deref(),
        since: args.since.as_deref(),
        until: args.until.as_deref(),
        limit: args.limit,
    };
    if !args.runs.is_dir() {
        // Nothing was run here yet.
        if args.runs == Path::new(RUNS) && !args.runs.exists() {
            return print_as(args.output, &[(); 0], || "no runs yet: lab run makes the first\n".to_owned());
        }
        let why = if args.runs.exists() { "this is no folder" } else { "there is no such folder" };
        return Err(Failure::usage(format!("--runs {}: {why}", args.runs.display())));
    }
    let (found, kept) = history::ask(&args.runs, args.rebuild, &question)
        .map_err(|error| Failure::because(format!("{}: {error}", args.runs.display())))?;
    if !kept {
        complain(&format!("{} cannot be written: every folder is read each time", args.runs.display()));
    }
    print_as(args.output, &found, || if found.is_empty() { "no such runs\n".to_owned() } else { table(&found) })
}

fn table(runs: &[PastRun]) -> String {
    let mut table = Table::new(&["run", "won", "arms", "verdict", "blocks", "thresholds"], ..0);
    for run in runs {
        // Most runs are named by these.
        let named = run.name == format!("{}-{}", run.experiment, run.began);
        let about = if named { String::new() } else { format!(" ({}, {})", run.experiment, readable(&run.began)) };
        let partial = if run.partial { ", partial" } else { "" };
        let held = match run.thresholds - run.judged.min(run.thresholds) {
            _ if run.thresholds == 0 => "-".to_owned(),
            0 => format!("{} of {} held", run.held, run.thresholds),
            _ if run.judged == 0 => "not judged".to_owned(),
            others => format!("{} of {} held, {others} not judged", run.held, run.judged),
        };
        let cells = [
            format!("{}{about}", run.name),
            run.won.clone().unwrap_or_else(|| "-".to_owned()),
            run.arms.len().to_string(),
            format!("{}{partial}", run.verdict),
            format!("{} {}", run.blocks, run.mode),
            held,
        ];
        table.row(cells.map(|cell| scrubbed(&cell)));
    }
    table.to_text()
}

/// `2026-11-22 06:58:04` of `20261122T065804Z`.
pub(super) fn readable(stamp: &str) -> String {
    let part = |from: usize, to: usize| stamp.get(from..to).unwrap_or("?");
    format!("{}-{}-{} {}:{}:{}", part(0, 4), part(4, 6), part(6, 8), part(9, 11), part(11, 13), part(13, 15))
}
