//! Tests whether the next page depends on the last one alone.

use std::collections::{BTreeMap, BTreeSet};

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::walks::{COUNT, STATES};
use crate::model::fitted::{Order, OrderTest, Second};

/// Rows and columns with fewer transitions are merged: with fewer, chi-square is a bad approximation.
const LEAST: u64 = 20;

/// A p-value below this, divided among all tests, speaks against the first order.
const LEAST_P: f64 = 0.01;

/// Tests every state except those after which users return: these are of second order by their rule. Returns the states
/// for which the second order is also worth its parameters.
#[must_use]
pub fn of(triples: &Triples, back: &[usize]) -> (Order, Vec<usize>) {
    let states = (0..COUNT).filter(|state| !back.contains(state));
    let tests: Vec<(usize, OrderTest)> = states.filter_map(|at| Some((at, test(at, triples)?))).collect();
    let limit = LEAST_P / tests.len().max(1) as f64;
    let against: Vec<&(usize, OrderTest)> = tests.iter().filter(|(_, test)| test.p < limit).collect();
    let worth: Vec<usize> = against.iter().filter(|(_, test)| test.worth).map(|(at, _)| *at).collect();
    let named = |states: &mut dyn Iterator<Item = usize>| states.map(|at| STATES[at]).collect::<Vec<_>>().join(", ");
    let verdict = if tests.is_empty() {
        "too few transitions to test whether the next page depends on the last one alone".into()
    } else if against.is_empty() {
        "first order holds: nothing speaks for a dependence on the page before the last".into()
    } else if worth.is_empty() {
        let states = named(&mut against.iter().map(|(at, _)| *at));
        format!("the page before the last matters after {states}, measurably, but too little for a second-order model")
    } else {
        let states = named(&mut worth.iter().copied());
        format!("first order does not hold: after {states} a second-order model is worth its numbers")
    };
    let second = worth.iter().flat_map(|&from| seconds(from, triples)).collect();
    (Order { verdict, tests: tests.into_iter().map(|(_, test)| test).collect(), second }, worth)
}

/// The smallest number of transitions from a state after the same previous state for a row of their own. A share of 50
/// is known to 0.14 or better (two standard errors); a rarer pair has the row of the first order.
const LEAST_PAIR: u64 = 50;

/// Rows of second order of these states: state, state before, next state, share.
#[must_use]
pub fn rows(triples: &Triples, worth: &[usize], states: &BTreeSet<usize>) -> BTreeMap<String, Rows> {
    let of_state = |from: usize| -> Rows {
        let row = |before: usize| -> Option<(String, BTreeMap<String, f64>)> {
            let seen: Vec<(usize, u64)> =
                states.iter().map(|&to| (to, triples[before][from][to])).filter(|(_, count)| *count > 0).collect();
            let all: u64 = seen.iter().map(|(_, count)| count).sum();
            let share = |(to, count): (usize, u64)| (STATES[to].to_owned(), count as f64 / all as f64);
            (all >= LEAST_PAIR).then(|| (STATES[before].to_owned(), seen.into_iter().map(share).collect()))
        };
        states.iter().filter_map(|&before| row(before)).collect()
    };
    let rows = worth.iter().filter(|from| states.contains(from)).map(|&from| (STATES[from].to_owned(), of_state(from)));
    rows.filter(|(_, rows)| !rows.is_empty()).collect()
}

type Triples = [[[u64; COUNT]; COUNT]; COUNT];

/// By the previous state.
type Rows = BTreeMap<String, BTreeMap<String, f64>>;

fn test(at: usize, triples: &Triples) -> Option<OrderTest> {
    let rows: Vec<Vec<u64>> = (0..COUNT).map(|before| triples[before][at].to_vec()).collect();
    let table = pooled(&transposed(&pooled(&rows)));
    let (height, width) = (table.len(), table.first().map_or(0, Vec::len));
    if height < 2 || width < 2 {
        return None;
    }
    let total: u64 = table.iter().flatten().sum();
    let by_row: Vec<u64> = table.iter().map(|row| row.iter().sum()).collect();
    let by_column: Vec<u64> = (0..width).map(|column| table.iter().map(|row| row[column]).sum()).collect();
    let (mut statistic, mut distance) = (0.0, 0.0);
    for (row, &in_row) in table.iter().zip(&by_row) {
        for (&seen, &in_column) in row.iter().zip(&by_column) {
            let expected = in_row as f64 * in_column as f64 / total as f64;
            if seen > 0 {
                statistic += 2.0 * seen as f64 * libm::log(seen as f64 / expected);
            }
            distance += (seen as f64 - expected).abs() / total as f64 / 2.0;
        }
    }
    let degrees = u32::try_from((height - 1) * (width - 1)).ok()?;
    let p = ChiSquared::new(f64::from(degrees)).ok()?.sf(statistic);
    let worth = statistic > f64::from(degrees) * libm::log(total as f64);
    Some(OrderTest { state: STATES[at].into(), seen: total, statistic, degrees, p, distance, worth })
}

/// Merges rows with too few transitions; drops empty rows.
fn pooled(rows: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let sum = |row: &Vec<u64>| row.iter().sum::<u64>();
    let (mut kept, few): (Vec<_>, Vec<_>) =
        rows.iter().filter(|row| sum(row) > 0).cloned().partition(|row| sum(row) >= LEAST);
    let width = rows.first().map_or(0, Vec::len);
    let rest: Vec<u64> = (0..width).map(|column| few.iter().map(|row| row[column]).sum()).collect();
    if sum(&rest) >= LEAST {
        kept.push(rest);
    } else if let Some(last) = kept.last_mut() {
        last.iter_mut().zip(rest).for_each(|(cell, rest)| *cell += rest);
    }
    kept
}

fn transposed(rows: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let width = rows.first().map_or(0, Vec::len);
    (0..width).map(|column| rows.iter().map(|row| row[column]).collect()).collect()
}

fn seconds(from: usize, triples: &Triples) -> Vec<Second> {
    let cells = (0..COUNT).flat_map(|before| (0..COUNT).map(move |to| (before, to)));
    let seen = cells.map(|(before, to)| (before, to, triples[before][from][to])).filter(|(_, _, count)| *count > 0);
    let name = |state: usize| STATES[state].to_owned();
    seen.map(|(before, to, count)| Second { before: name(before), from: name(from), to: name(to), count }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(usize, [(usize, u64); 2])]) -> Triples {
        let mut triples = [[[0; COUNT]; COUNT]; COUNT];
        for (before, cells) in rows {
            for &(to, count) in cells {
                triples[*before][2][to] = count;
            }
        }
        triples
    }

    #[test]
    fn the_statistic_is_as_worked_by_hand() {
        // Rows 30, 10 and 10, 30: all expected are 20. G² = 2 · (60 ln 1.5 + 20 ln 0.5) = 20.93, one degree.
        let (order, worth) = of(&table(&[(1, [(3, 30), (4, 10)]), (3, [(3, 10), (4, 30)])]), &[]);
        let test = &order.tests[0];
        assert!((test.statistic - 20.930).abs() < 1e-3 && test.degrees == 1, "{test:?}");
        assert!((test.distance - 0.25).abs() < 1e-9 && test.p < 1e-5 && test.worth, "{test:?}");
        assert!(order.verdict.contains("second-order model is worth"), "{}", order.verdict);
        assert_eq!((order.second.len(), worth), (4, vec![2]));
    }

    #[test]
    fn first_order_holds_where_rows_agree_and_where_back_is_the_rule() {
        let (order, _) = of(&table(&[(1, [(3, 300), (4, 100)]), (3, [(3, 310), (4, 99)])]), &[]);
        assert!(order.verdict.starts_with("first order holds"), "{}", order.verdict);
        let (back, _) = of(&table(&[(1, [(1, 300), (3, 0)]), (3, [(1, 0), (3, 300)])]), &[2]);
        assert!(back.tests.is_empty() && back.verdict.starts_with("too few"), "{}", back.verdict);
    }

    #[test]
    fn a_difference_that_is_real_but_small_is_not_worth_a_model() {
        let (order, worth) = of(&table(&[(1, [(3, 50_000), (4, 50_000)]), (3, [(3, 50_700), (4, 49_300)])]), &[]);
        assert!(order.tests[0].p < 0.01 && !order.tests[0].worth, "{:?}", order.tests);
        assert!(order.verdict.contains("too little"), "{}", order.verdict);
        assert!(order.second.is_empty() && worth.is_empty());
    }

    #[test]
    fn pairs_have_rows_of_their_own_if_they_were_seen_often_enough() {
        let triples = table(&[(1, [(3, 30), (4, 20)]), (3, [(3, 9), (4, 40)]), (5, [(3, 60), (6, 40)])]);
        // The search (6) is no state of the model.
        let rows = rows(&triples, &[2], &BTreeSet::from([0, 1, 2, 3, 4, 5]));
        let row = |cells: &[(usize, f64)]| cells.iter().map(|&(to, share)| (STATES[to].to_owned(), share)).collect();
        let expected: Rows =
            [(STATES[1].to_owned(), row(&[(3, 0.6), (4, 0.4)])), (STATES[5].to_owned(), row(&[(3, 1.0)]))].into();
        assert_eq!(rows, BTreeMap::from([(STATES[2].to_owned(), expected)]));
    }
}
