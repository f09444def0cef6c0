//! Tests of observed transitions against a model.

use std::collections::BTreeMap;

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::UserModel;

/// The fit of the transitions from one state to its row: Pearson's chi-square test.
#[derive(Debug, Clone, PartialEq)]
pub struct RowFit {
    /// The state.
    pub from: String,
    /// Observed transitions.
    pub seen: u64,
    /// The statistic: the sum of (observed - expected)² / expected.
    pub statistic: f64,
    /// Degrees of freedom: cells after merging, less one; 0: nothing to test.
    pub degrees: u32,
    /// The probability of a statistic at least as large if the model is right; 1 if there is nothing to test, 0 if the
    /// model lacks an observed transition.
    pub p: f64,
}

/// The smallest expected count of a cell: below it chi-square is a bad approximation (Cochran, Biometrics 10, 1954).
pub(crate) const LEAST_EXPECTED: f64 = 5.0;

/// The fit of every row of the model to transitions (from, to, count). States without a row are not tested.
///
/// Cells are merged, from the rarest, until each has at least 5 expected transitions.
pub fn row_fits<'a>(model: &UserModel, seen: impl IntoIterator<Item = (&'a str, &'a str, u64)>) -> Vec<RowFit> {
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for (from, to, count) in seen {
        *counts.entry((from, to)).or_default() += count;
    }
    model.transitions.iter().map(|(from, row)| row_fit(from, row, &counts)).collect()
}

/// The fit of every row of second order to transitions (previous, from, to, count), each with its previous state.
pub fn second_fits<'a>(
    model: &UserModel,
    seen: impl IntoIterator<Item = (&'a str, &'a str, &'a str, u64)>,
) -> Vec<(String, RowFit)> {
    let mut counts: BTreeMap<&str, BTreeMap<(&str, &str), u64>> = BTreeMap::new();
    for (before, from, to, count) in seen {
        *counts.entry(before).or_default().entry((from, to)).or_default() += count;
    }
    let none = BTreeMap::new();
    let rows = model.second.iter().flat_map(|(from, rows)| rows.iter().map(move |(before, row)| (before, from, row)));
    let fit = |(before, from, row): (&String, &String, &BTreeMap<String, f64>)| {
        (before.clone(), row_fit(from, row, counts.get(before.as_str()).unwrap_or(&none)))
    };
    rows.map(fit).collect()
}

fn row_fit(from: &str, row: &BTreeMap<String, f64>, counts: &BTreeMap<(&str, &str), u64>) -> RowFit {
    let out: Vec<(&str, u64)> =
        counts.iter().filter(|((f, _), _)| *f == from).map(|(&(_, to), &count)| (to, count)).collect();
    let seen: u64 = out.iter().map(|&(_, count)| count).sum();
    let chance = |to: &str| row.get(to).copied().unwrap_or(0.0);
    if out.iter().any(|&(to, count)| count > 0 && chance(to) <= 0.0) {
        return RowFit { from: from.into(), seen, statistic: f64::INFINITY, degrees: 1, p: 0.0 };
    }
    let mut cells: Vec<(f64, f64)> = row
        .iter()
        .filter(|&(_, &chance)| chance > 0.0)
        .map(|(to, &chance)| {
            let seen_here = counts.get(&(from, to.as_str())).copied().unwrap_or(0);
            (chance * seen as f64, seen_here as f64)
        })
        .collect();
    merge_rare(&mut cells);
    let Pearson { statistic, degrees, p } = pearson(&cells, 0);
    let (statistic, p) = if seen > 0 { (statistic, p.unwrap_or(1.0)) } else { (0.0, 1.0) };
    RowFit { from: from.into(), seen, statistic, degrees, p }
}

/// The result of Pearson's test.
pub(crate) struct Pearson {
    pub(crate) statistic: f64,
    pub(crate) degrees: u32,
    /// The probability of a deviation at least as large; `None`: nothing to test.
    pub(crate) p: Option<f64>,
}

/// Pearson's test of cells (expected, observed). `fitted`: the number of parameters that were estimated from the
/// observations.
pub(crate) fn pearson(cells: &[(f64, f64)], fitted: usize) -> Pearson {
    let statistic = cells.iter().map(|(expected, seen)| (seen - expected) * (seen - expected) / expected).sum();
    let degrees = u32::try_from(cells.len().saturating_sub(1 + fitted)).unwrap_or(u32::MAX);
    let law = ChiSquared::new(f64::from(degrees)).ok().filter(|_| degrees > 0);
    Pearson { statistic, degrees, p: law.map(|law| law.sf(statistic)) }
}

/// Merges cells (expected, observed) with small expected counts into the next rarer one.
fn merge_rare(cells: &mut Vec<(f64, f64)>) {
    cells.sort_by(|a, b| b.0.total_cmp(&a.0));
    while let [.., _, (least, _)] = cells[..] {
        if least >= LEAST_EXPECTED {
            return;
        }
        if let (Some((expected, seen)), Some(last)) = (cells.pop(), cells.last_mut()) {
            last.0 += expected;
            last.1 += seen;
        }
        cells.sort_by(|a, b| b.0.total_cmp(&a.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> UserModel {
        UserModel::from_yaml(
            "{name: x, source: y, start: a, transitions: {a: {a: 0.5, b: 0.3, c: 0.19, d: 0.01}, b: {a: 1}}}",
        )
        .expect("it is sound")
    }

    #[test]
    fn the_statistic_is_as_worked_by_hand() {
        // 100 transitions: 50, 30, 19, 1 expected; the rare two merge to 20. Seen 60, 25, 15:
        // 100/50 + 25/30 + 25/20 = 2 + 0.8333 + 1.25 = 4.0833, two degrees: p = exp(-4.0833/2) = 0.1298.
        let fits = row_fits(&model(), [("a", "a", 60), ("a", "b", 25), ("a", "c", 14), ("a", "d", 1)]);
        let fit = &fits[0];
        assert_eq!((fit.seen, fit.degrees), (100, 2));
        assert!((fit.statistic - 4.083_333).abs() < 1e-6, "{}", fit.statistic);
        assert!((fit.p - 0.1298).abs() < 1e-4, "{}", fit.p);
    }

    #[test]
    fn what_the_model_does_not_have_does_not_fit() {
        let fits = row_fits(&model(), [("b", "a", 1000), ("b", "c", 1)]);
        assert_eq!(fits[1].p, 0.0);
    }

    #[test]
    fn rows_of_second_order_are_tested_by_themselves() {
        let model = UserModel::from_yaml(
            "{version: 2, name: x, source: y, start: a, transitions: {a: {b: 1}, b: {a: 0.5, b: 0.5}},
              second: {b: {b: {a: 0.9, b: 0.1}}}}",
        )
        .expect("it is sound");
        // 100 transitions: 90 and 10 expected, 80 and 20 seen: 100/90 + 100/10 = 11.11, one degree: p = 0.00086.
        let seen = [("b", "b", "a", 80), ("b", "b", "b", 20), ("a", "b", "a", 1000)];
        let fits = second_fits(&model, seen);
        assert_eq!((fits.len(), fits[0].0.as_str(), fits[0].1.seen), (1, "b", 100));
        assert!((fits[0].1.p - 0.000_86).abs() < 1e-5, "{fits:?}");
    }

    #[test]
    fn there_may_be_nothing_to_test() {
        let fits = row_fits(&model(), [("b", "a", 1000)]);
        assert_eq!((fits[0].p, fits[0].seen), (1.0, 0));
        assert_eq!((fits[1].p, fits[1].degrees), (1.0, 0));
    }
}
