//! Two matrices, one of before: which cells are worse.

use std::fmt;

use super::matrix::{SuiteCell, SuiteMatrix};

/// Largest drop of a score that is taken for noise.
pub const NOISE: f64 = 0.02;

/// A cell that is worse than before.
#[derive(Debug, Clone, PartialEq)]
pub struct WorseCell {
    /// Policy of the row.
    pub policy: String,
    /// Scenario of the column.
    pub scenario: String,
    /// Score of before.
    pub before: f64,
    /// Score of now; `None`: it has none any more.
    pub now: Option<f64>,
}

/// Cells of both matrices that are worse now: the score is lower by more than [`NOISE`], under all repetitions of before, and all
/// repetitions of now are under the score of before; or there was a score, and is none.
pub fn worse(before: &SuiteMatrix, now: &SuiteMatrix) -> Vec<WorseCell> {
    let mut found = Vec::new();
    for row in &now.rows {
        let Some(old) = before.rows.iter().find(|old| old.policy == row.policy) else { continue };
        for scenario in &now.scenarios {
            let (Some(old), Some(cell)) = (old.cells.get(scenario), row.cells.get(scenario)) else { continue };
            let Some(before) = old.score.filter(|_| is_worse(old, cell)) else { continue };
            found.push(WorseCell { policy: row.policy.clone(), scenario: scenario.clone(), before, now: cell.score });
        }
    }
    found
}

fn is_worse(before: &SuiteCell, now: &SuiteCell) -> bool {
    let Some(old) = before.score else { return false };
    let Some(new) = now.score else { return true };
    let lowest = before.range.map_or(old, |[low, _]| low);
    let highest = now.range.map_or(new, |[_, high]| high);
    new < old - NOISE && new < lowest && highest < old
}

impl fmt::Display for WorseCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, scenario, before, now } = self;
        let now = now.map_or("no score".to_owned(), |now| format!("{now:.2}"));
        write!(f, "{policy} in {scenario}: {now}, before {before:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::SuiteRow;

    fn matrix(score: Option<f64>, range: [f64; 2]) -> SuiteMatrix {
        let cell = SuiteCell { score, range: Some(range), ..SuiteCell::default() };
        let scenarios = vec!["step".to_owned()];
        let row = SuiteRow::of("codel", [("step".to_owned(), cell)].into(), &scenarios);
        SuiteMatrix { scenarios, rows: vec![row], ..SuiteMatrix::default() }
    }

    #[test]
    fn a_cell_is_worse_beyond_the_noise_and_all_repetitions() {
        let before = matrix(Some(0.95), [0.93, 0.97]);
        let count = |score, range| worse(&before, &matrix(score, range)).len();
        assert_eq!(count(Some(0.90), [0.88, 0.94]), 1);
        assert_eq!(count(Some(0.94), [0.93, 0.94]), 0, "a hundredth");
        assert_eq!(count(Some(0.925), [0.90, 0.96]), 0, "a repetition of now was better");
        let wide = matrix(Some(0.95), [0.5, 0.97]);
        assert_eq!(worse(&wide, &matrix(Some(0.90), [0.88, 0.94])).len(), 0, "one of before was worse");
        let gone = worse(&before, &matrix(None, [0.0, 0.0]));
        assert_eq!(gone[0].to_string(), "codel in step: no score, before 0.95");
        assert_eq!(worse(&matrix(None, [0.0, 0.0]), &before).len(), 0);
    }
}
