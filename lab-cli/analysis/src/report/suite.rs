//! The matrix of a suite as text and as Markdown: policies with their marks, then scenarios by policies.

use std::{collections::BTreeMap, fmt::Write as _};

use super::markdown::{escaped, put};
use crate::{
    suite::{SuiteCell, SuiteMatrix, SuiteRow},
    text::{scrubbed, table::Table, time, wrapped},
};

/// Score under which a cell is counted.
const LOW: f64 = 0.9;
/// Longest line of a legend on a terminal.
const LINE: usize = 120;

/// Meaning of the score, for people.
pub const SCORE: &str = "Score: goodput over what no policy exceeds that does not know what single requests cost (blind), in the policy's worst \
                         phase, 1 at most; median of the repetitions. Geometric mean: each score taken as 0.01 at least. No one of these \
                         numbers is enough alone.";

/// For a terminal.
pub fn text(matrix: &SuiteMatrix) -> String {
    let mut text = marks(matrix).to_text();
    for line in wrapped(SCORE, LINE) {
        let _ = writeln!(text, "{line}");
    }
    let _ = write!(text, "\n{}", scores(matrix).to_text());
    for (what, why) in left_out(matrix) {
        let _ = writeln!(text, "{}: {}", scrubbed(&what), scrubbed(&why));
    }
    text
}

/// For the docs.
pub fn markdown(matrix: &SuiteMatrix) -> String {
    let mut text = String::new();
    put(&marks(matrix), &mut text);
    let _ = writeln!(text, "\n{}\n", escaped(SCORE));
    put(&scores(matrix), &mut text);
    text.push('\n');
    for (what, why) in left_out(matrix) {
        let _ = writeln!(text, "- {}: {}", escaped(&what), escaped(&why));
    }
    text
}

/// A line for each policy: mean and minimum, and what neither says.
pub(super) fn marks(matrix: &SuiteMatrix) -> Table {
    let heads = [
        "policy",
        "geometric mean",
        "min",
        "in",
        "under 0.90",
        "p99 over objective",
        "longest recovery",
        "least calm",
        "least fairness",
        "most degraded",
        "scores",
    ];
    let mut table = Table::new(&heads, 1..);
    for row in run(matrix) {
        let cells = || matrix.scenarios.iter().filter_map(|name| Some((name, row.cells.get(name)?)));
        let count = |is: &dyn Fn(&str, &SuiteCell) -> bool| cells().filter(|(name, cell)| is(name, cell)).count();
        let end = |of: fn(&SuiteCell) -> Option<f64>, end: fn(f64, f64) -> f64| {
            share(cells().filter_map(|(_, cell)| of(cell)).reduce(end))
        };
        let over = |name: &str, cell: &SuiteCell| {
            let objective = matrix.about.get(name).map_or(f64::INFINITY, |about| about.objective_ms);
            cell.p99_ms.is_some_and(|p99| p99 > objective)
        };
        table.row([
            row.policy.clone(),
            share(row.geometric_mean),
            share(row.min),
            row.min_scenario.clone().unwrap_or_else(|| "-".to_owned()),
            count(&|_, cell| cell.score.is_some_and(|score| score < LOW)).to_string(),
            count(&over).to_string(),
            longest_recovery(row),
            end(|cell| cell.calm, f64::min),
            end(|cell| cell.fairness, f64::min),
            end(|cell| cell.degraded, f64::max),
            row.scored.to_string(),
        ]);
    }
    table
}

/// Scores by scenario.
fn scores(matrix: &SuiteMatrix) -> Table {
    let rows: Vec<&SuiteRow> = run(matrix).collect();
    let heads: Vec<&str> = std::iter::once("scenario").chain(rows.iter().map(|row| row.policy.as_str())).collect();
    let mut table = Table::new(&heads, 1..);
    for name in matrix.scenarios.iter().filter(|name| is_scored(matrix, name)) {
        let cells = rows.iter().map(|row| share(row.cells.get(name).and_then(|cell| cell.score)));
        table.row(std::iter::once(name.clone()).chain(cells).collect::<Vec<_>>());
    }
    table
}

/// Policies that ran in a scenario at least.
pub(super) fn run(matrix: &SuiteMatrix) -> impl Iterator<Item = &SuiteRow> {
    matrix.rows.iter().filter(|row| is_run(row))
}

fn is_run(row: &SuiteRow) -> bool {
    row.cells.values().any(|cell| cell.verdict.is_some())
}

fn is_scored(matrix: &SuiteMatrix, scenario: &str) -> bool {
    matrix.about.get(scenario).is_none_or(|about| about.unscored.is_none())
}

/// Scenarios without a score, policies that ran nowhere, and in each scenario those that ran elsewhere, with the reason.
pub(super) fn left_out(matrix: &SuiteMatrix) -> Vec<(String, String)> {
    let scenarios = matrix.unscored().map(|(name, why)| (format!("{name} has no score"), why.clone()));
    let (ran, nowhere): (Vec<&SuiteRow>, Vec<&SuiteRow>) = matrix.rows.iter().partition(|row| is_run(row));
    let reason = |row: &SuiteRow, name: &String| row.cells.get(name)?.reason.clone();
    let nowhere = nowhere.into_iter().map(|row| {
        let why = matrix.scenarios.iter().find_map(|name| reason(row, name)).unwrap_or_default();
        (format!("{} was not run", row.policy), why)
    });
    let mut found: Vec<(String, String)> = scenarios.chain(nowhere).collect();
    for name in &matrix.scenarios {
        let mut by_reason: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for row in &ran {
            if let Some(why) = reason(row, name) {
                by_reason.entry(why).or_default().push(&row.policy);
            }
        }
        let of_reason = |(why, policies): (String, Vec<&str>)| (format!("not in {name}: {}", policies.join(", ")), why);
        found.extend(by_reason.into_iter().map(of_reason));
    }
    found
}

/// `at once`, `4.00 s`, `> 60.0 s`.
pub(super) fn recovery(cell: &SuiteCell) -> String {
    match cell.recovery_s {
        None => "-".to_owned(),
        Some(s) if cell.recovery_at_least => format!("> {}", time(s * 1e3)),
        Some(s) if s < 1.0 => "at once".to_owned(),
        Some(s) => time(s * 1e3),
    }
}

fn longest_recovery(row: &SuiteRow) -> String {
    let key = |cell: &&SuiteCell| (cell.recovery_at_least, cell.recovery_s.unwrap_or(-1.0));
    let longest = row.cells.values().max_by(|a, b| {
        let ((bound, s), (other_bound, other_s)) = (key(a), key(b));
        bound.cmp(&other_bound).then(s.total_cmp(&other_s))
    });
    longest.map_or_else(|| "-".to_owned(), recovery)
}

/// `0.97`; `-`.
pub(super) fn share(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{share:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{suite::SuiteScenario, summary::Validity};

    /// Two scenarios, of which one has no score; one policy that ran, and one that has no place.
    fn matrix() -> SuiteMatrix {
        let scenarios = ["step", "crowd"].map(str::to_owned).to_vec();
        let ran = |score, p99_ms, recovery_s| SuiteCell {
            score,
            p99_ms: Some(p99_ms),
            recovery_s: Some(recovery_s),
            calm: Some(0.98),
            verdict: Some(Validity::Valid),
            ..SuiteCell::default()
        };
        let here = [("step".to_owned(), ran(Some(0.876), 210.0, 0.0)), ("crowd".to_owned(), ran(None, 90.0, 4.0))];
        let why = |name: &String| (name.clone(), crate::suite::no_cell("name its parts"));
        let about = |unscored: Option<&str>| SuiteScenario {
            objective_ms: 200.0,
            unscored: unscored.map(str::to_owned),
            ..SuiteScenario::default()
        };
        SuiteMatrix {
            about: [("step".to_owned(), about(None)), ("crowd".to_owned(), about(Some("a closed load")))].into(),
            rows: vec![
                SuiteRow::of("codel", here.into(), &scenarios),
                SuiteRow::of("compose", scenarios.iter().map(why).collect(), &scenarios),
            ],
            scenarios,
            ..SuiteMatrix::default()
        }
    }

    #[test]
    fn marks_come_first_then_scores_then_what_has_none() {
        let text = text(&matrix());
        let lines: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(lines[1], "codel 0.88 0.88 step 1 1 4.00 s 0.98 - - 1");
        assert!(text.contains("scenario  codel\nstep       0.88\ncrowd has no score: a closed load\n"), "{text}");
        assert!(text.ends_with("compose was not run: name its parts\n"), "{text}");
        let markdown = markdown(&matrix());
        assert!(
            markdown.contains("\n| step | 0.88 |\n") && markdown.ends_with("- compose was not run: name its parts\n")
        );
    }
}
