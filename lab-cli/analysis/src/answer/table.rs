//! The answer as one table: a row for each arm and phase, and, where users have classes, for each class in the phase that decides.

use std::collections::BTreeMap;

use crate::{
    judge::compare::{TooFewBlocks, words::metric_in_words},
    summary::{
        ArmAnswer, ArmVerdict, BlockMedian, ColumnFigures, LowerPercentile, PhaseRole, PlannedLoad, RecoveryAnswer,
        RunAnswer, RunSummary,
    },
    text::{percent, rate, scrubbed, table::Table, time},
};

/// The table.
pub fn table(answer: &RunAnswer) -> Table {
    let shares = shares(answer);
    let recovery = answer.arms.iter().any(|arm| arm.recovery.is_some());
    let verdicts = answer.arms.len() > 1;
    let mut heads = vec!["arm", "phase", "goodput/s", "p99", "rejected"];
    heads.extend(shares.iter().map(|(head, _)| *head));
    heads.extend(recovery.then_some("recovery time"));
    let verdict_head = verdict_head(answer);
    heads.extend(verdicts.then_some(verdict_head.as_str()));
    let numbers = 2..5 + shares.len();
    let mut table = Table::new(&heads, numbers);
    let (deciding, compared) = (deciding(answer), compared(answer).or_else(|| deciding(answer)));
    for arm in &answer.arms {
        for (at, column) in answer.columns.iter().enumerate() {
            let name = if at == 0 { shown_name(arm) } else { String::new() };
            let mut row = vec![name, scrubbed(column.title())];
            row.extend(figures(arm.columns[at].as_ref(), &shares));
            let here = |shown: bool, text: String| if shown { text } else { String::new() };
            if recovery {
                let last = at + 1 == answer.columns.len();
                row.push(here(last, arm.recovery.as_ref().map_or_else(|| "-".to_owned(), recovery_in_words)));
            }
            if verdicts {
                row.push(here(Some(at) == compared, verdict(&arm.verdict)));
            }
            table.row(row);
        }
        for (class, columns) in &arm.classes {
            let Some(at) = deciding else { continue };
            let mut row = vec![format!("  {}", class_name(class)), scrubbed(answer.columns[at].title())];
            row.extend(figures(columns[at].as_ref(), &shares));
            row.resize(heads.len(), String::new());
            table.row(row);
        }
    }
    table
}

/// The column that the order of the arms, classes and shares of the oracle's are of: overload, else the phase that was compared, else
/// the one that the run is about.
pub fn deciding(answer: &RunAnswer) -> Option<usize> {
    let stress = answer.columns.iter().position(|column| column.role.is_some_and(PhaseRole::is_stress));
    let about = || answer.columns.iter().position(|column| Some(&column.phase) == answer.phase.as_ref());
    // Of an earlier version: the last one, since what comes first is a warm-up more often than not.
    stress.or_else(|| compared(answer)).or_else(about).or_else(|| answer.columns.len().checked_sub(1))
}

/// The column that was compared, if it is one.
fn compared(answer: &RunAnswer) -> Option<usize> {
    let phase = answer.arms.iter().map(|arm| arm.verdict.phase.as_str()).find(|phase| !phase.is_empty())?;
    answer.columns.iter().position(|column| column.phase == phase)
}

/// Reads a share of a bound.
pub type Share = fn(&ColumnFigures) -> Option<&BlockMedian>;

/// The bounds that anything is a share of.
pub fn shares(answer: &RunAnswer) -> Vec<(&'static str, Share)> {
    let all: [(&str, Share); 2] =
        [("of oracle", |found| found.of_oracle.as_ref()), ("of blind", |found| found.of_blind.as_ref())];
    all.into_iter().filter(|(_, share)| all_figures(answer).any(|figures| share(figures).is_some())).collect()
}

/// `class 1`; a class with a name has it.
pub fn class_name(class: &str) -> String {
    if class.starts_with(|c: char| c.is_ascii_digit()) { format!("class {class}") } else { scrubbed(class) }
}

/// Name of an arm, with what makes it no arm like the others.
pub fn shown_name(arm: &ArmAnswer) -> String {
    let name = scrubbed(&arm.arm);
    if arm.hindsight { format!("{name} (hindsight)") } else { name }
}

/// `goodput in spike against none`; of arms that were not compared `verdict`.
pub fn verdict_head(answer: &RunAnswer) -> String {
    let Some(ArmVerdict { metric, phase, .. }) =
        answer.arms.iter().map(|arm| &arm.verdict).find(|verdict| !verdict.metric.is_empty())
    else {
        return "verdict".to_owned();
    };
    format!("{} in {} against {}", metric_in_words(metric), scrubbed(phase), scrubbed(&answer.baseline))
}

fn figures(found: Option<&ColumnFigures>, shares: &[(&str, Share)]) -> Vec<String> {
    let dash = || "-".to_owned();
    let Some(found) = found else { return vec![dash(); 3 + shares.len()] };
    let cut_off = if found.cut_off { " (cut off)" } else { "" };
    let mut cells = vec![
        with_interval(&found.goodput_per_s, rate) + cut_off,
        p99(found),
        found.reject_fraction.map_or_else(dash, |share| shown(&share, percent)),
    ];
    cells.extend(shares.iter().map(|(_, share)| share(found).map_or_else(dash, |share| shown(share, percent))));
    cells
}

/// `1.20 s [1.10 s, 1.31 s]`; of too few samples a lower percentile with its name: `p90 54 ms`.
fn p99(found: &ColumnFigures) -> String {
    match (&found.p99_ms, &found.below_p99) {
        (Some(p99), _) => with_interval(p99, time),
        (None, Some(LowerPercentile { percentile, ms })) => format!("{percentile} {}", with_interval(ms, time)),
        (None, None) => "-".to_owned(),
    }
}

/// `3 users`, `7.5 requests/s`.
pub fn load_in_words(load: PlannedLoad) -> String {
    match load {
        PlannedLoad::Users(users) => format!("{users} users"),
        PlannedLoad::SessionsPerS(amount) | PlannedLoad::RequestsPerS(amount) => {
            format!("{} {}", rate(amount), load.unit())
        }
    }
}

/// `>= 60.0 s`: the median alone.
pub fn shown(found: &BlockMedian, number: fn(f64) -> String) -> String {
    format!("{}{}", if found.at_least { ">= " } else { "" }, number(found.median))
}

/// `[470, 481]`; empty of one block.
pub fn interval(found: &BlockMedian, number: fn(f64) -> String) -> String {
    // One bound for all blocks says no more than the bound.
    let told = found.interval.filter(|[low, high]| !(found.at_least && number(*low) == number(*high)));
    told.map_or_else(String::new, |[low, high]| {
        format!("[{}, {}{}]", number(low), if found.open { ">= " } else { "" }, number(high))
    })
}

fn with_interval(found: &BlockMedian, number: fn(f64) -> String) -> String {
    format!("{} {}", shown(found, number), interval(found, number)).trim_end().to_owned()
}

/// `4.00 s`, `not within 90 s, metastable`; of several blocks with how many of them.
pub fn recovery_in_words(found: &RecoveryAnswer) -> String {
    let RecoveryAnswer { after_s, recovered, metastable, undecided, .. } = found;
    let blocks = recovered + metastable + undecided;
    let when = match after_s {
        BlockMedian { at_least: false, median, .. } if *median < 1.0 => "at once".to_owned(),
        BlockMedian { at_least: true, median, .. } => format!("not within {}", time(median * 1e3)),
        BlockMedian { median, .. } => time(median * 1e3),
    };
    let of = |count: u32, word: &str| match count {
        0 => String::new(),
        _ if blocks == 1 => format!(", {word}"),
        count => format!(", {word} in {count} of {blocks}"),
    };
    // Of one block the time that was watched says it.
    let undecided = if blocks == 1 { 0 } else { *undecided };
    format!("{when}{}{}", of(*metastable, "metastable"), of(undecided, "undecided"))
}

/// `better: x1.20 [1.10, 1.31]`.
pub fn verdict(found: &ArmVerdict) -> String {
    let effect = found.effect.as_ref().map_or_else(String::new, |effect| format!(": {effect}"));
    format!("{}{effect}", found.word.words())
}

/// Caption in lines: the words of the table, as in `goodput: …`, its columns, as in `calm: phase before, 70 requests/s`, and its
/// figures, as in `medians of 8 blocks [95 % intervals]`.
pub fn caption(answer: &RunAnswer, summary: &RunSummary) -> Vec<String> {
    let load = |column: &crate::summary::AnswerColumn| {
        column.load.map_or_else(String::new, |load| format!(", {}", load_in_words(load)))
    };
    let column = |column: &crate::summary::AnswerColumn| match column.role {
        Some(role) => format!("{}: phase {}{}", role.word(), scrubbed(&column.phase), load(column)),
        None => format!("{}{}", scrubbed(&column.phase), load(column)),
    };
    let columns: Vec<String> = answer.columns.iter().map(column).collect();
    let medians = all_figures(answer).map(|figures| figures.goodput_per_s.blocks);
    let how = match medians.max().unwrap_or(0) {
        0 | 1 if answer.arms.len() < 2 => "one block: what happened once".to_owned(),
        0 | 1 => format!(
            "block: one run of every arm, with the same users; this is one, which chance may have decided, and {} can tell \
             (--repeat)",
            TooFewBlocks::least_blocks()
        ),
        blocks if (blocks as usize) < super::middle::FEWEST => format!("medians of {blocks} blocks [lowest, highest]"),
        blocks => format!("medians of {blocks} blocks [95 % interval of the median]"),
    };
    let choosable = answer.arms.iter().filter(|arm| !arm.hindsight && !arm.verdict.metric.is_empty());
    let against = (choosable.count() > 1).then(|| {
        format!("another arm than {} to compare with: --set compare.baseline=ARM", scrubbed(&answer.baseline))
    });
    let more = all_figures(answer).filter_map(|figures| figures.of_oracle).any(|share| share.median > 1.0);
    let oracle = more.then(|| "the oracle is no bound here, and may be exceeded".to_owned());
    let lucky = |at: usize| answer.arms.iter().filter_map(|arm| arm.columns[at].as_ref()?.by_chance_per_s).next();
    let lucky = deciding(answer).and_then(|at| {
        let words =
            "blind: what no policy exceeds in the mean that does not know what single requests cost; chance may add";
        Some(format!("{words} {}/s to one run in {}", rate(lucky(at)?), scrubbed(answer.columns[at].title())))
    });
    let words = std::iter::once(goodput(summary)).chain(other_names(answer, summary)).chain(own_rejects(answer));
    let figures = std::iter::once(how).chain(against).chain(oracle).chain(lucky);
    let lines = [words.collect::<Vec<_>>(), columns, figures.collect()];
    lines.into_iter().filter(|parts| !parts.is_empty()).map(|parts| parts.join("; ")).collect()
}

fn goodput(summary: &RunSummary) -> String {
    let within = time(summary.objective.response_time_ms);
    format!("arm: a setting under test; goodput: requests that were answered within {within}")
}

/// `published: policy seda`; of arms that share one, once.
fn other_names(answer: &RunAnswer, summary: &RunSummary) -> Vec<String> {
    let mut by_policy: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for arm in answer.arms.iter().filter(|arm| !arm.hindsight) {
        let Some(run) = summary.arms.iter().find(|run| run.shown_name() == arm.arm && !run.bound) else { continue };
        let Some(policy) = run.other_policy() else { continue };
        by_policy.entry(scrubbed(&policy)).or_default().push(scrubbed(&arm.arm));
    }
    by_policy.into_iter().map(|(policy, arms)| format!("{}: policy {policy}", arms.join(", "))).collect()
}

/// Who refuses where nothing controls.
fn own_rejects(answer: &RunAnswer) -> Option<String> {
    let none = answer.arms.iter().find(|arm| arm.arm == "none")?;
    let mut rejects = none.columns.iter().flatten().filter_map(|figures| figures.reject_fraction.as_ref());
    rejects
        .any(|share| share.median > 0.0)
        .then(|| "what none rejects, the service rejects by itself, with a full queue for example".to_owned())
}

fn all_figures(answer: &RunAnswer) -> impl Iterator<Item = &ColumnFigures> {
    answer.arms.iter().flat_map(|arm| &arm.columns).flatten()
}
