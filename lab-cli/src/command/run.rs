//! `lab run`.

use std::path::Path;

use super::{print, read_experiment};
use crate::{
    args::{self, Output},
    exit::{End, Failure, Outcome},
    run::{Cpus, Finished, Request, RunFailure, Sinks, Stop, conduct, progress::Progress},
    spec::{Changes, Experiment},
    summary::{Summary, Verdict},
};

pub fn run(args: &args::Run) -> Outcome {
    if args.virtual_time {
        return Err(Failure::usage("--virtual: virtual time is not part of this version; leave it out to run live"));
    }
    if args.out.is_some() && args.experiments.len() > 1 {
        return Err(Failure::usage("--out names one folder, and there are several experiments: run them one by one"));
    }
    let changes =
        Changes { set: args.set.clone(), policies: args.policies.clone(), seed: args.seed, repeat: args.repeat };
    // All of them are read before any runs: a slip in the third must not cost the time of the first two.
    let experiments: Vec<Experiment> =
        args.experiments.iter().map(|name| read_experiment(name, &changes)).collect::<Result<_, _>>()?;
    let cpus = Cpus::choose();
    cpus.pin_generator();
    let stop = Stop::listen().map_err(Failure::because)?;
    let mut worst = End::Done;
    for experiment in &experiments {
        let finished = one(experiment, args, &cpus, &stop)?;
        if let Some(end) = stop.end() {
            return Ok(end);
        }
        worst = worse(worst, end_of(&finished.summary));
    }
    Ok(worst)
}

fn one(experiment: &Experiment, args: &args::Run, cpus: &Cpus, stop: &Stop) -> Result<Finished, Failure> {
    let mut sinks = Sinks::default();
    sinks.add(Progress::default());
    let request = Request { experiment, out: args.out.as_deref(), cpus };
    let finished = conduct(request, &mut sinks, stop).map_err(|failure| failed(&failure))?;
    match args.output {
        Output::Json => {
            let mut text = serde_json::to_string_pretty(&finished.summary).map_err(Failure::because)?;
            text.push('\n');
            print(text.as_bytes())?;
        }
        Output::Text => {
            print(lines(&finished.summary).as_bytes())?;
            print(where_it_is(&finished.folder).as_bytes())?;
        }
    }
    Ok(finished)
}

/// Bad names are bad usage; everything else could not be carried out.
fn failed(failure: &RunFailure) -> Failure {
    match failure {
        RunFailure::FolderExists(_) => Failure::usage(failure),
        other => Failure::because(other),
    }
}

/// A line for each phase of each arm.
fn lines(summary: &Summary) -> String {
    let mut text = String::new();
    for arm in &summary.arms {
        for phase in &arm.phases {
            let found = &phase.measured;
            let p90 = match (found.response_time_ms.p90, found.response_time_ms.p90_at_least) {
                (Some(p90), _) => format!("{p90:.0} ms"),
                (None, Some(bound)) => format!("over {bound:.0} ms"),
                (None, None) => "-".to_owned(),
            };
            text.push_str(&format!(
                "{:<14} {:<8} sent {:>6}  in time {:>6.1}/s  rejected {:>5.1} %  timed out {:>5}  connect time-outs {:>5}  p90 {p90}\n",
                arm.shown_name(),
                phase.name,
                found.sent,
                found.goodput_per_s,
                found.reject_fraction * 100.0,
                found.timed_out,
                found.connect_timed_out,
            ));
        }
    }
    for threshold in &summary.thresholds {
        let mark = if threshold.held { "held" } else { "FAILED" };
        text.push_str(&format!("{mark:<7} {}  ({})\n", threshold.text, threshold.why));
    }
    for reason in &summary.reasons {
        let (code, word) = (&reason.code, reason.verdict.word());
        text.push_str(&format!(
            "{word} {code} [{}]: {} (allowed: {}): {}; {}\n",
            reason.arm, reason.value, reason.threshold, reason.message, reason.remedy
        ));
    }
    text.push_str(&format!("{}\n", summary.verdict.word()));
    text
}

fn where_it_is(folder: &Path) -> String {
    format!("results: {}\n", folder.display())
}

fn end_of(summary: &Summary) -> End {
    if summary.verdict == Verdict::Invalid {
        return End::Invalid;
    }
    if summary.thresholds.iter().any(|threshold| !threshold.held) {
        return End::Failed;
    }
    End::Done
}

/// An INVALID run says nothing, not even that a threshold failed.
fn worse(a: End, b: End) -> End {
    let rank = |end: End| match end {
        End::Done => 0,
        End::Failed => 1,
        End::Invalid => 2,
        End::Interrupted | End::Terminated => 3,
    };
    if rank(b) > rank(a) { b } else { a }
}
