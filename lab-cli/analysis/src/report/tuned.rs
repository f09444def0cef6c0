//! Worth of parameters over a suite, as text and as Markdown.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{
    markdown::{escaped, put},
    suite::share,
};
use crate::{
    suite::{SuiteRow, TunedRow, TunedSuite},
    text::{counted, percent, scrubbed, table::Table, wrapped},
};

/// Longest line of a legend on a terminal.
const LINE: usize = 120;

/// For a terminal.
pub fn text(tuned: &TunedSuite) -> String {
    let mut text = marks(tuned).to_text();
    for line in wrapped(&legend(tuned), LINE) {
        let _ = writeln!(text, "{line}");
    }
    for (what, setting) in settings(tuned) {
        let _ = writeln!(text, "{}: {}", scrubbed(&what), scrubbed(&setting));
    }
    let _ = write!(text, "\n{}", scores(tuned).to_text());
    text
}

/// For the docs.
pub fn markdown(tuned: &TunedSuite) -> String {
    let mut text = String::new();
    put(&marks(tuned), &mut text);
    let _ = writeln!(text, "\n{}\n", escaped(&legend(tuned)));
    for (what, setting) in settings(tuned) {
        let _ = writeln!(text, "- {}: {}", escaped(&what), escaped(&setting));
    }
    text.push('\n');
    put(&scores(tuned), &mut text);
    text
}

/// A line for each policy: geometric mean and minimum of each of its three rows.
fn marks(tuned: &TunedSuite) -> Table {
    let heads =
        ["policy", "knobs", "defaults", "min", "one setting", "min", "in", "one each", "min", "in", "price of knobs"];
    let mut table = Table::new(&heads, 1..);
    let place = |row: &SuiteRow| row.min_scenario.clone().unwrap_or_else(|| "-".to_owned());
    for row in &tuned.rows {
        let TunedRow { policy, knobs, defaults, one, each, price, .. } = row;
        table.row([
            policy.clone(),
            knobs.len().to_string(),
            share(defaults.geometric_mean),
            share(defaults.min),
            share(one.geometric_mean),
            share(one.min),
            place(one),
            share(each.geometric_mean),
            share(each.min),
            place(each),
            price.map_or_else(|| "-".to_owned(), percent),
        ]);
    }
    table
}

fn legend(tuned: &TunedSuite) -> String {
    let TunedSuite { evaluations, training, held_out, scenarios, searched, .. } = tuned;
    format!(
        "Geometric mean and least of the scores in {}, with {}: with the authors' defaults, with one setting for all, found in {} of them ({}), \
         and with a setting for each, found in it. A search tries {}, each with {}. Price of knobs: what one setting for all loses of the \
         geometric mean with one for each.",
        counted(scenarios.len(), "scenario"),
        counted(*held_out as usize, "held-out seed"),
        searched.len(),
        searched.join(", "),
        counted(*evaluations as usize, "setting"),
        counted(*training as usize, "training seed")
    )
}

/// The one setting of each policy that has anything to turn.
fn settings(tuned: &TunedSuite) -> impl Iterator<Item = (String, String)> {
    let with_knobs = tuned.rows.iter().filter(|row| !row.setting.is_empty());
    with_knobs.map(|row| (format!("{}, one setting", row.policy), in_words(&row.setting)))
}

fn in_words(setting: &BTreeMap<String, String>) -> String {
    setting.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
}

/// Scores by scenario: defaults, one setting, one for each.
fn scores(tuned: &TunedSuite) -> Table {
    let of_policy = |row: &TunedRow| [row.policy.clone(), "one".to_owned(), "each".to_owned()];
    let heads: Vec<String> =
        std::iter::once("scenario".to_owned()).chain(tuned.rows.iter().flat_map(of_policy)).collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = Table::new(&heads, 1..);
    for name in &tuned.scenarios {
        let score = |row: &SuiteRow| share(row.cells.get(name).and_then(|cell| cell.score));
        let cells = tuned.rows.iter().flat_map(|row| [&row.defaults, &row.one, &row.each].map(score));
        table.row(std::iter::once(name.clone()).chain(cells).collect::<Vec<_>>());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::SuiteCell;

    #[test]
    fn a_policy_has_its_three_means_and_what_lies_between_two_of_them() {
        let scenarios = ["step", "ramp"].map(str::to_owned).to_vec();
        let row = |scores: [f64; 2]| {
            let cell = |score: f64| SuiteCell { score: Some(score), ..SuiteCell::default() };
            SuiteRow::of("codel", scenarios.iter().cloned().zip(scores.map(cell)).collect(), &scenarios)
        };
        let (one, each) = (row([0.8, 0.45]), row([0.8, 0.8]));
        let codel = TunedRow {
            policy: "codel".to_owned(),
            knobs: vec!["target".to_owned()],
            defaults: row([0.1, 0.4]),
            price: TunedRow::price_of(&one, &each),
            setting: [("target".to_owned(), "20ms".to_owned())].into(),
            one,
            each,
            ..TunedRow::default()
        };
        let tuned =
            TunedSuite { searched: vec!["ramp".to_owned()], scenarios, rows: vec![codel], ..TunedSuite::default() };
        let text = text(&tuned);
        let lines: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(lines[1], "codel 1 0.20 0.10 0.60 0.45 ramp 0.80 0.80 step 25 %");
        assert!(lines.contains(&"codel, one setting: target=20ms".to_owned()), "{text}");
        assert_eq!(lines.last().map(String::as_str), Some("ramp 0.40 0.45 0.80"));
        assert!(markdown(&tuned).contains("| step | 0.10 | 0.80 | 0.80 |"));
    }
}
