//! Measures of a run over time: only what is worth a line.

use crate::{
    summary::{Arm, Fairness, PhaseSummary, Recovery, RunSummary},
    text::{percent, rate, table::Table, time},
};

/// Attempts for each request that users wanted, from which on it is said.
const AMPLIFIED: f64 = 1.05;
/// Share of useless answers from which on it is said.
const WASTED: f64 = 0.01;
/// Jain's index below which it is said.
const UNFAIR: f64 = 0.9;

/// Heads of the columns for a phase.
pub(super) const HEADS: [&str; 8] = [
    "retry amplification",
    "wasted",
    "user fairness",
    "worst decile",
    "class fairness",
    "backlog",
    "hysteresis",
    "recovery time",
];

/// True if its percentiles depend on how long it was.
pub(super) fn is_unstable(phase: &PhaseSummary) -> bool {
    let found = phase.measures.steadiness.filter(|found| found.declared != Some(false));
    found.is_some_and(|found| found.growth_per_s > 0.0)
}

/// Meaning of parentheses in the table, if there are any.
pub(super) fn footnote(summary: &RunSummary) -> &'static str {
    let any = summary.arms.iter().flat_map(|arm| &arm.phases).any(is_unstable);
    if any {
        "(in parentheses: no steady state, the backlog kept growing: the value depends on the length of the phase)\n"
    } else {
        ""
    }
}

/// A row for each phase of which there is something to say.
pub(super) fn table(summary: &RunSummary, name: impl Fn(&Arm) -> String) -> Table {
    let mut table = Table::new(&[&["over time", "phase"], &HEADS[..]].concat(), 2..=HEADS.len());
    for arm in summary.arms.iter().filter(|arm| !arm.bound) {
        for phase in arm.phases.iter().filter(|phase| is_worth_a_line(phase)) {
            table.row([&[name(arm), phase.shown_name()], &cells(phase)[..]].concat());
        }
    }
    table
}

/// Fairness between users. Of users that come for one request it is the share that was served, which stands in
/// another table.
fn user_fairness(phase: &PhaseSummary) -> Option<Fairness> {
    phase.measures.user_fairness.filter(|found| phase.measured.first_attempts() >= 2 * found.users)
}

fn is_worth_a_line(phase: &PhaseSummary) -> bool {
    let measures = &phase.measures;
    let unfair = |index: Option<f64>| index.is_some_and(|index| index < UNFAIR);
    measures.recovery.is_some()
        || measures.amplification.is_some_and(|times| times >= AMPLIFIED)
        || measures.wasted.is_some_and(|share| share >= WASTED)
        || unfair(user_fairness(phase).map(|found| found.jain))
        || unfair(measures.class_fairness)
        || measures.hysteresis.is_some()
        || is_unstable(phase)
}

/// Cells of a phase, in the order of [`HEADS`]; `-` where nothing is known.
pub(super) fn cells(phase: &PhaseSummary) -> [String; HEADS.len()] {
    let measures = &phase.measures;
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let index = |value: Option<f64>| or_dash(value.map(|value| format!("{value:.2}")));
    let growth = measures.steadiness.map(|found| found.growth_per_s);
    [
        or_dash(measures.amplification.map(|times| format!("{times:.2}"))),
        or_dash(measures.wasted.map(percent)),
        index(user_fairness(phase).map(|found| found.jain)),
        or_dash(user_fairness(phase).map(|found| percent(found.worst_tenth))),
        index(measures.class_fairness),
        or_dash(growth.map(|per_s| if per_s > 0.0 { format!("+{}/s", rate(per_s)) } else { "steady".to_owned() })),
        or_dash(measures.hysteresis.map(percent)),
        or_dash(measures.recovery.as_ref().map(in_words)),
    ]
}

/// `after 4.00 s`, `not within 60.0 s: metastable`.
fn in_words(recovery: &Recovery) -> String {
    let seconds = |s: f64| if s < 1.0 { "at once".to_owned() } else { format!("after {}", time(s * 1e3)) };
    let when = match (recovery.after_s, recovery.after_s_at_least) {
        (Some(after), _) => seconds(after),
        (None, Some(least)) => format!("not within {}", time(least * 1e3)),
        (None, None) => "-".to_owned(),
    };
    match recovery.verdict.as_str() {
        "recovered" => when,
        "metastable" => format!("{when}: metastable"),
        _ => format!("{when}; watched for {} s of {}", recovery.watched_s, recovery.watch_needed_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Measured, Measures, Steadiness};

    fn summary(measures: Measures) -> RunSummary {
        let measured = Measured { planned: 100, ..Measured::default() };
        let phase =
            PhaseSummary { name: "after".to_owned(), seconds: 60.0, measures, measured, ..PhaseSummary::default() };
        let arm = Arm { policy: "none".to_owned(), block: 1, phases: vec![phase], ..Arm::default() };
        RunSummary { arms: vec![arm], ..RunSummary::default() }
    }

    fn rows(measures: Measures) -> Vec<Vec<String>> {
        table(&summary(measures), |arm| arm.policy.clone()).rows
    }

    fn cells(measures: Measures) -> Vec<String> {
        rows(measures).pop().expect("a row")
    }

    #[test]
    fn nothing_is_said_where_nothing_happened() {
        let calm = Measures {
            amplification: Some(1.0),
            wasted: Some(0.0),
            user_fairness: Some(Fairness { users: 3, jain: 0.99, worst_tenth: 0.97 }),
            steadiness: Some(Steadiness::default()),
            ..Measures::default()
        };
        assert_eq!((rows(calm.clone()), footnote(&summary(calm))), (vec![], ""));
    }

    #[test]
    fn everything_that_is_known_is_in_the_row() {
        let recovery = Recovery { after_s: Some(12.0), verdict: "recovered".to_owned(), ..Recovery::default() };
        let measures = Measures {
            amplification: Some(2.5),
            wasted: Some(0.5),
            user_fairness: Some(Fairness { users: 10, jain: 0.5, worst_tenth: 0.01 }),
            class_fairness: Some(0.75),
            steadiness: Some(Steadiness { growth_per_s: 42.0, ..Steadiness::default() }),
            hysteresis: Some(0.2),
            recovery: Some(recovery),
            ..Measures::default()
        };
        let wanted = ["none", "after", "2.50", "50 %", "0.50", "1.0 %", "0.75", "+42/s", "20 %", "after 12.0 s"];
        assert_eq!(cells(measures.clone()), wanted);
        assert!(footnote(&summary(measures)).starts_with("(in parentheses"));
    }

    #[test]
    fn of_users_that_come_once_fairness_says_nothing_new() {
        let users = Fairness { users: 51, jain: 0.2, worst_tenth: 0.0 };
        assert_eq!(rows(Measures { user_fairness: Some(users), ..Measures::default() }), [[""; 0]; 0]);
        let users = Fairness { users: 50, ..users };
        let found = cells(Measures { user_fairness: Some(users), ..Measures::default() });
        assert!(found.contains(&"0.20".to_owned()), "{found:?}");
    }

    #[test]
    fn what_did_not_get_well_is_told_with_how_long_it_was_watched() {
        let said = |verdict: &str| {
            let recovery = Recovery {
                after_s_at_least: Some(51.0),
                verdict: verdict.to_owned(),
                watched_s: 60.0,
                watch_needed_s: 120.0,
                ..Recovery::default()
            };
            cells(Measures { recovery: Some(recovery), ..Measures::default() }).pop().expect("a cell")
        };
        assert_eq!(said("metastable"), "not within 51.0 s: metastable");
        assert_eq!(said("undecided"), "not within 51.0 s; watched for 60 s of 120");
    }
}
