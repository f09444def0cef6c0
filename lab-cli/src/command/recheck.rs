//! `lab recheck`.

use std::fmt::Write as _;

use analysis::{
    Manifest,
    recheck::{Decider, Difference, Rechecked, Replanned, recheck as compute_again},
    text::{counted, scrubbed},
};
use experiment::{
    plan::ArmPlan,
    plan_digest::{experiment_of, replan},
};
use serde_json::Value;

use super::stdout::print_as;
use crate::{
    args,
    exit::{CommandResult, End, Failure},
    run::parameters_of,
    store::find_run,
};

mod again;

/// Differences that are printed as text; all of them are in the JSON.
const SHOWN: usize = 30;

pub fn recheck(args: &args::RecheckArgs) -> CommandResult {
    let folder = find_run(&args.run).map_err(Failure::usage)?;
    let mut found = compute_again(&folder, &planned)?;
    let manifest = Manifest::read(&folder)?;
    if let Some(other) = again::other_lab(&manifest) {
        leave_out_what_is_new(&other, &mut found);
    }
    let stopped = if args.no_rerun { None } else { again::run_again(&folder, &manifest, &mut found)? };
    let report = serde_json::json!({
        "same": found.differences.is_empty(), "values": found.values, "files": found.files, "differences": found.differences,
        "run_again": found.run_again, "notes": found.notes, "verdict": found.summary.verdict,
    });
    print_as(args.output, &report, || text(&found))?;
    Ok(match stopped {
        _ if !found.differences.is_empty() => End::Failed,
        Some(stopped) => stopped,
        None => End::Done,
    })
}

/// Figures that another lab did not write are nothing that differs; verdicts that it came to by other rules are.
fn leave_out_what_is_new(other: &str, found: &mut Rechecked) {
    let all = found.differences.len();
    // A member of a list is none of these, but for metrics of comparisons.
    let is_listed = |place: &str| place.rsplit('/').next().is_some_and(|last| last.parse::<usize>().is_ok());
    let is_new = |found: &Difference| {
        let absent = found.file == "summary.json" && found.found.is_none() && found.computed.is_some();
        absent && (!is_listed(&found.place) || found.place.starts_with("/comparisons/"))
    };
    found.differences.retain(|difference| !is_new(difference));
    let (new, others) = (all - found.differences.len(), found.differences.len());
    let rules = if others > 0 { "; what differs may be a rule of judging that has changed since" } else { "" };
    found.notes.insert(
        0,
        format!(
            "{other} ran it: {} that it did not write were left out, and all others compared{rules}",
            counted(new, "value")
        ),
    );
}

/// The plan of the manifest's experiment. Values that were searched before the first arm are in no plan.
fn planned(manifest: &Manifest) -> Result<Replanned, String> {
    let experiment = experiment_of(manifest)?;
    let told = experiment.arms.iter().filter(|arm| arm.hindsight.is_none());
    let decider = |arm: &ArmPlan| Decider {
        arm: arm.label.clone(),
        policy: arm.policy_name().to_owned(),
        parameters: parameters_of(arm),
    };
    Ok(Replanned { blocks: replan(manifest, &experiment)?, deciders: told.map(decider).collect() })
}

fn text(found: &Rechecked) -> String {
    let Rechecked { summary, values, files, run_again, differences, notes } = found;
    let mut text = String::new();
    for note in notes {
        let _ = writeln!(text, "{}", scrubbed(note));
    }
    for Difference { file, place, found, computed } in differences.iter().take(SHOWN) {
        let place = scrubbed(&format!("{file} {place}"));
        let _ = match (found, computed) {
            (None, None) => writeln!(text, "DIFFERS {place}"),
            _ => writeln!(text, "DIFFERS {place}: {} there, {} by the records", shown(found), shown(computed)),
        };
    }
    if differences.len() > SHOWN {
        let _ = writeln!(text, "and {} more (--output json has all)", differences.len() - SHOWN);
    }
    let _ = match differences.len() {
        0 => writeln!(
            text,
            "{values} values of {} computed again from {}: all the same{}{}; verdict {}",
            scrubbed(&summary.experiment),
            counted(summary.arms.len(), "record"),
            files.map_or_else(String::new, |files| format!("; {} as the run wrote them", counted(files, "file"))),
            run_again.map_or_else(String::new, |files| {
                format!("; run again in virtual time: {} the same", counted(files, "file"))
            }),
            summary.verdict.word()
        ),
        n => writeln!(
            text,
            "{} in {values} values and {}: not what the run wrote, or not what its records make of it",
            counted(n, "difference"),
            counted(files.unwrap_or(0), "file"),
        ),
    };
    text
}

fn shown(value: &Option<Value>) -> String {
    const CHARS: usize = 60;
    let Some(value) = value else { return "nothing".to_owned() };
    let whole = scrubbed(&value.to_string());
    let mut short: String = whole.chars().take(CHARS).collect();
    if short.len() < whole.len() {
        short.push('…');
    }
    short
}
