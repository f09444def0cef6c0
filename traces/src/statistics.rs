//! Exact properties of a model: its request mix and the lengths of its sessions.

use std::collections::BTreeMap;

use crate::{ModelError, PreviousPage, UserModel, model::chain::Chain};

/// Long-run properties of the users of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// Share of each state in all requests.
    pub mix: BTreeMap<String, f64>,
    /// Mean requests in a session.
    pub mean: f64,
    /// Probabilities that a session has 1, 2, 3 ... requests, until less than one in a million remains.
    pub lengths: Vec<f64>,
}

impl Statistics {
    /// The properties of a valid model.
    ///
    /// The chain over states and, where it matters, the states before them, is irreducible: every session ends. The
    /// stationary distribution is computed by elimination; the lengths by stepping the distribution from the start
    /// until it has returned.
    ///
    /// # Errors
    /// If the model fails its [check](UserModel::check).
    pub fn of(model: &UserModel, previous: PreviousPage) -> Result<Self, ModelError> {
        model.check()?;
        let Chain { places, rows } = Chain::of(model, previous);
        let dense =
            |row: &BTreeMap<usize, f64>| (0..places.len()).map(|to| row.get(&to).copied().unwrap_or(0.0)).collect();
        let rows: Vec<Vec<f64>> = rows.iter().map(dense).collect();
        let stationary = stationary(&rows);
        let mut mix = BTreeMap::new();
        for (&(state, _), share) in places.iter().zip(&stationary) {
            *mix.entry(state.to_owned()).or_insert(0.0) += share;
        }
        let mean = 1.0 / mix[&model.start];
        Ok(Self { mean, lengths: lengths(&rows), mix })
    }

    /// The smallest length that this share of the sessions does not exceed; `share`: 0 to 1.
    #[must_use]
    pub fn length_quantile(&self, share: f64) -> usize {
        let mut sum = 0.0;
        let within = self.lengths.iter().position(|chance| {
            sum += chance;
            sum >= share
        });
        within.map_or(self.lengths.len(), |at| at + 1)
    }

    /// Mean requests of this state in a session.
    #[must_use]
    pub fn per_session(&self, state: &str) -> f64 {
        self.mix.get(state).copied().unwrap_or(0.0) * self.mean
    }
}

/// Solves share = share · rows with shares that sum to 1: Gauss elimination with pivots on the transposed equations,
/// the last of which is replaced by the sum.
fn stationary(rows: &[Vec<f64>]) -> Vec<f64> {
    let n = rows.len();
    let mut system: Vec<Vec<f64>> = (0..n)
        .map(|to| {
            let mut equation: Vec<f64> = (0..n).map(|from| rows[from][to] - f64::from(u8::from(from == to))).collect();
            equation.push(0.0);
            equation
        })
        .collect();
    system[n - 1] = vec![1.0; n + 1];
    for column in 0..n {
        let pivot =
            (column..n).max_by(|&a, &b| system[a][column].abs().total_cmp(&system[b][column].abs())).unwrap_or(column);
        system.swap(column, pivot);
        let pivot_row = system[column].clone();
        for (at, row) in system.iter_mut().enumerate().filter(|&(at, _)| at != column) {
            debug_assert!(at < n);
            let factor = row[column] / pivot_row[column];
            for (cell, pivot) in row.iter_mut().zip(&pivot_row) {
                *cell -= factor * pivot;
            }
        }
    }
    (0..n).map(|at| system[at][n] / system[at][at]).collect()
}

fn lengths(rows: &[Vec<f64>]) -> Vec<f64> {
    const REST: f64 = 1e-6;
    const LONGEST: usize = 1_000_000;
    let mut here = vec![0.0; rows.len()];
    here[0] = 1.0;
    let mut rest = 1.0;
    let mut lengths = Vec::new();
    while rest > REST && lengths.len() < LONGEST {
        let mut next = vec![0.0; rows.len()];
        for (share, row) in here.iter().zip(rows).filter(|&(&share, _)| share > 0.0) {
            for (next, chance) in next.iter_mut().zip(row) {
                *next += share * chance;
            }
        }
        // A return to the start ends the session.
        let ended = std::mem::replace(&mut next[0], 0.0);
        lengths.push(ended);
        rest -= ended;
        here = next;
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_chain_is_solved_by_hand() {
        // login → list; list → login 1/4, → delete 3/4, which goes back to list. A session visits the list 4 times on
        // average (geometric), so it has 1 + 4 + 3 = 8 requests; its lengths are 2, 4, 6 ... with 1/4, 3/16, 9/64 ...
        let model = UserModel::from_yaml(
            "{name: x, source: y, start: login, transitions: {login: {list: 1}, list: {login: 0.25, delete: 0.75}}}",
        )
        .expect("it is sound");
        let statistics = Statistics::of(&model, PreviousPage::Literal).expect("it is sound");
        assert!((statistics.mean - 8.0).abs() < 1e-9);
        assert!((statistics.mix["list"] - 0.5).abs() < 1e-9);
        assert!((statistics.per_session("delete") - 3.0).abs() < 1e-9);
        assert_eq!(statistics.lengths[..4].iter().map(|c| c * 64.0).collect::<Vec<_>>(), [0.0, 16.0, 0.0, 12.0]);
        assert_eq!(statistics.length_quantile(0.43), 4);
    }

    #[test]
    fn a_chain_of_second_order_is_solved_by_hand() {
        // As above, but users leave after the list that follows a delete: sessions have 2 requests (1/4) or 4 (3/4).
        let model = UserModel::from_yaml(
            "{version: 2, name: x, source: y, start: login, transitions: {login: {list: 1}, list: {login: 0.25, delete: 0.75}},
              second: {list: {delete: {login: 1}}}}",
        )
        .expect("it is sound");
        let statistics = Statistics::of(&model, PreviousPage::Literal).expect("it is sound");
        assert!((statistics.mean - 3.5).abs() < 1e-9, "{}", statistics.mean);
        assert_eq!(statistics.lengths, [0.0, 0.25, 0.0, 0.75]);
        assert!((statistics.per_session("list") - 1.75).abs() < 1e-9);
    }
}
