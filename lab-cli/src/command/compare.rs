//! `lab compare`.

use std::fmt::Write as _;

use analysis::{
    judge::compare::{Contest, Metric, across, sentence, sequential::Look},
    recommend::{Recommendation, recommendation},
    report,
    summary::{Arm, ComparisonVerdict, RunSummary, busiest},
    text::scrubbed,
};

use super::stdout::{print, print_json, print_text};
use crate::{
    args::{self, CompareOutput, FailIf, UndecidedIs},
    exit::{CommandResult, End, Failure, complain},
};

mod sides;
#[cfg(feature = "live")]
mod two;
mod verdicts;

#[cfg(feature = "live")]
pub(super) use two::of_two;

use sides::{Entry, NotCompared, alike, contests, one_run};
use verdicts::{SCHEMA, Verdicts, asides};

pub fn compare(args: &args::CompareArgs) -> CommandResult {
    let (entries, mut left_out) = sides::read(&args.runs)?;
    let mut entries = entries.into_iter();
    // What all others are compared with has no substitute.
    let Some(first) = entries.next().flatten() else { return nothing_left(&left_out) };
    let first = &first;
    let others: Vec<Entry> = entries.flatten().collect();
    let others = &others[..];
    if others.is_empty() && args.runs.len() > 1 {
        return nothing_left(&left_out);
    }
    if args.baseline.is_some() && args.runs.len() > 1 {
        return Err(Failure::usage("--baseline is for the arms of one run; of several the first is the baseline"));
    }
    let mut notes = alike(first, others, args.anyway)?;
    let plan = &first.manifest.experiment.compare;
    let metric = args.metric.unwrap_or(plan.metric);
    let margin = args.margin.or(plan.margin.filter(|_| metric == plan.metric));
    let found: Vec<Contest<'_>> = match others {
        [] => one_run(first, args.baseline.as_deref(), &mut left_out)?,
        others => contests(first, others, &mut left_out)?,
    };
    if found.is_empty() {
        return nothing_left(&left_out);
    }
    notes.extend(others.iter().flat_map(|other| sides::other_settings(first, other)));
    let phase = phase(args, first, &found)?;
    let comparisons = across(&found, &phase, metric, margin, looks(first, others));
    let recommendation = if metric == Metric::Goodput { recommended(first, &found) } else { None };
    let verdicts =
        Verdicts { schema: SCHEMA, metric: metric.name(), phase, left_out, notes, comparisons, recommendation };
    match args.output {
        CompareOutput::Text => print_text(&text(&verdicts))?,
        CompareOutput::Json => print_json(&verdicts)?,
        CompareOutput::Md => print(verdicts::document(&verdicts).as_bytes())?,
    };
    let fails = |verdict: ComparisonVerdict| match verdict {
        ComparisonVerdict::Worse => args.fail_if == Some(FailIf::Worse),
        ComparisonVerdict::Undecided => args.undecided == UndecidedIs::Fail,
        ComparisonVerdict::Better | ComparisonVerdict::Equivalent => false,
    };
    Ok(if verdicts.deciding().iter().any(|found| fails(found.verdict)) { End::Failed } else { End::Done })
}

/// The looks of one run whose blocks were added until it was decided; a look at several runs was planned by nobody.
fn looks<'a>(run: &'a Entry, others: &[Entry]) -> Option<&'a [Look]> {
    let rule = run.manifest.experiment.compare.until_decided.as_ref().filter(|_| others.is_empty())?;
    rule.looks.get(..run.summary.decision.as_ref().map_or(0, |decision| decision.looks.len()))
}

/// The arm to deploy, of all that are compared.
fn recommended(first: &Entry, contests: &[Contest<'_>]) -> Option<Recommendation> {
    let mut arms: Vec<Arm> = Vec::new();
    let sides = contests.iter().flat_map(|contest| [&contest.theirs, &contest.ours]).filter(|side| !side.hindsight);
    for side in sides {
        if arms.iter().all(|arm| arm.name != side.name) {
            arms.extend(side.turns.iter().map(|turn| Arm { name: side.name.clone(), ..turn.arm.clone() }));
        }
    }
    let RunSummary { mode, objective, entitled, several_stages, .. } = first.summary.clone();
    recommendation(&RunSummary {
        valid: true,
        mode,
        objective,
        entitled,
        several_stages,
        arms,
        ..RunSummary::default()
    })
}

/// All that was asked for is INVALID, or alone.
fn nothing_left(left_out: &[NotCompared]) -> CommandResult {
    let lines: Vec<String> = left_out.iter().map(|left| scrubbed(&format!("{}: {}", left.what, left.why))).collect();
    if left_out.iter().any(|left| left.invalid) {
        complain(&format!("nothing is left to compare\n{}", lines.join("\n")));
        return Ok(End::Invalid);
    }
    let why = if lines.is_empty() {
        "one arm alone: name another run, or an arm of one".to_owned()
    } else {
        lines.join("\n")
    };
    Err(Failure::usage(format!("nothing to compare: {why}")))
}

/// The phase asked for, else the experiment's, else the baseline's busiest.
fn phase(args: &args::CompareArgs, first: &Entry, contests: &[Contest<'_>]) -> Result<String, Failure> {
    let phases = || contests.iter().flat_map(|contest| &contest.theirs.turns).flat_map(|turn| &turn.arm.phases);
    if let Some(name) = args.phase.as_ref().or(first.manifest.experiment.compare.phase.as_ref()) {
        if phases().any(|phase| phase.name == *name) {
            return Ok(name.clone());
        }
        let mut known: Vec<&str> = phases().map(|phase| phase.name.as_str()).collect();
        known.dedup();
        return Err(Failure::usage(format!(
            "there is no phase {name:?}; {}",
            analysis::text::suggestion(name, &known)
        )));
    }
    busiest(phases()).map(|phase| phase.name.clone()).ok_or_else(|| Failure::usage("the baseline has no phases"))
}

fn text(verdicts: &Verdicts) -> String {
    let mut text = String::new();
    for found in verdicts.deciding() {
        let _ = writeln!(text, "{}", sentence(found));
    }
    for aside in asides(&verdicts.left_out, &verdicts.notes) {
        let _ = writeln!(text, "{}", scrubbed(&aside));
    }
    for (title, table) in verdicts.contests() {
        let _ = write!(text, "\n{title}\n{}", table.to_text());
    }
    verdicts.words().iter().for_each(|line| text.push_str(&format!("{line}\n")));
    let recommended = report::recommended(verdicts.recommendation.as_ref());
    if recommended.is_empty() { text } else { text + "\n" + &recommended }
}
