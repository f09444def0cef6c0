//! The best fixed limit: looked for in virtual time, on the very seeds of the run, before its first arm.

use std::collections::BTreeMap;

use analysis::summary::{LimitSearch, LimitTry};

/// Looks for the limit with the most requests answered in time: doublings from 1 first, then between the neighbours of the
/// best one with steps that halve, until its neighbours have been tried. Of equal ones the lowest. `tries` runs some
/// limits, each on every seed.
///
/// Goodput over the limit has one hill, but for chance; on a hill with two tops it may be the lower one that is found. All
/// that was tried is in what comes back.
pub fn search<E>(
    arm: &str,
    most: u32,
    mut tries: impl FnMut(&[u32]) -> Result<Vec<LimitTry>, E>,
) -> Result<LimitSearch, E> {
    let mut tried = BTreeMap::new();
    let mut try_all = |limits: Vec<u32>, tried: &mut BTreeMap<u32, LimitTry>| {
        let new: Vec<u32> = limits.into_iter().filter(|limit| !tried.contains_key(limit)).collect();
        if !new.is_empty() {
            tried.extend(tries(&new)?.into_iter().map(|found| (found.limit, found)));
        }
        Ok(())
    };
    let mut doublings: Vec<u32> = (0..).map(|n| 1_u32 << n).take_while(|limit| *limit < most).collect();
    doublings.push(most);
    try_all(doublings, &mut tried)?;
    let mut step = best(&tried) / 4;
    let mut around = best(&tried);
    loop {
        let step_now = step.max(1);
        let near = [around.saturating_sub(step_now).max(1), around.saturating_add(step_now).min(most)];
        try_all(near.to_vec(), &mut tried)?;
        let next = best(&tried);
        if next == around && step_now == 1 {
            break;
        }
        // Where the top has moved, the same step may lead on.
        if next == around {
            step /= 2;
        }
        around = next;
    }
    Ok(LimitSearch { arm: arm.to_owned(), limit: around, tried: tried.into_values().collect() })
}

fn best(tried: &BTreeMap<u32, LimitTry>) -> u32 {
    let most = tried.values().map(|found| found.in_time).max().unwrap_or(0);
    tried.values().find(|found| found.in_time == most).map_or(1, |found| found.limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(most: u32, goodput: impl Fn(u32) -> u64) -> LimitSearch {
        let tries = |limits: &[u32]| {
            Ok::<_, ()>(limits.iter().map(|&limit| LimitTry { limit, in_time: goodput(limit) }).collect())
        };
        search("best-static", most, tries).expect("none fails")
    }

    #[test]
    fn the_top_of_a_hill_is_found_wherever_it_is() {
        for top in 1..=512_u32 {
            let search = found(512, |limit| 1000 - u64::from(limit.abs_diff(top)));
            assert_eq!(search.limit, top, "{:?}", search.tried);
            assert!(search.tried.len() <= 30, "{top}: {} tried", search.tried.len());
        }
    }

    #[test]
    fn of_equal_limits_the_lowest_that_was_tried_is_taken_and_none_beyond_the_bound() {
        // Nothing is refused from 20 on.
        let search = found(300, |limit| u64::from(limit.min(20)));
        assert_eq!(search.limit, 20, "{:?}", search.tried);
        assert!(search.tried.iter().all(|tried| tried.limit <= 300));
        assert_eq!(found(1, |_| 0).tried.len(), 1);
    }
}
