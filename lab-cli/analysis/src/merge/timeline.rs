//! Seconds of the parts of an arm's users as seconds of the whole. Counts add up; percentiles are those of all times together.

use std::collections::BTreeMap;

use measure::{Group, SecondTimes, Times};

use crate::{
    interval_log::{self, Interval},
    live::{ReportedTimes, TimelineSecond},
    seconds_log,
};

/// Seconds of a report window.
const WINDOW: u32 = 5;

/// Times of an arm by second.
pub(super) type TimesBySecond = BTreeMap<u32, SecondTimes>;

/// Times of all parts, from the logs of their seconds.
///
/// # Errors
/// A log cannot be read as one.
pub(super) fn times(logs: &[Vec<u8>]) -> Result<TimesBySecond, String> {
    let mut all = TimesBySecond::new();
    for log in logs {
        for (second, times) in seconds_log::times(log)? {
            all.entry(second).or_default().add(&times);
        }
    }
    Ok(all)
}

/// The log of these.
///
/// # Errors
/// A histogram cannot be written.
pub(super) fn log(times: &TimesBySecond) -> Result<Vec<u8>, String> {
    let lines: Vec<Vec<Interval>> =
        times.iter().map(|(second, times)| seconds_log::lines((*second).into(), times)).collect::<Result<_, _>>()?;
    interval_log::whole(lines.into_iter().flatten())
}

/// The seconds of the whole, of those of its parts.
pub(super) fn seconds(parts: Vec<Vec<TimelineSecond>>, times: &TimesBySecond) -> Vec<TimelineSecond> {
    let sees = |part: &&Vec<TimelineSecond>| part.iter().any(|second| second.target.is_some());
    // Several have a service each, and none has the whole's.
    let of_whole = parts.iter().filter(sees).count() == 1;
    let mut whole: BTreeMap<u32, TimelineSecond> = BTreeMap::new();
    for second in parts.into_iter().flatten() {
        match whole.get_mut(&second.second) {
            Some(sum) => add(sum, second),
            None => _ = whole.insert(second.second, second),
        }
    }
    for (number, second) in &mut whole {
        second.target = second.target.take().filter(|_| of_whole);
        let found = times.get(number).map(SecondTimes::percentiles).unwrap_or_default();
        (second.p50_ms, second.p90_ms, second.p99_ms) = (found.p50, found.p90, found.p99);
        second.p50_at_least_ms = found.p50_at_least;
        second.p90_at_least_ms = found.p90_at_least;
        second.p99_at_least_ms = found.p99_at_least;
        if !second.reported.is_empty() {
            second.reported = [(ReportedTimes::OF_ALL.to_owned(), window(times, *number))].into();
        }
    }
    whole.into_values().collect()
}

/// The report window that ends with this second.
fn window(times: &TimesBySecond, ends: u32) -> ReportedTimes {
    let mut all = SecondTimes::default();
    times.range((ends + 1).saturating_sub(WINDOW)..=ends).for_each(|(_, second)| all.add(second));
    let Times { count, p50, p90, p99, p50_at_least, p90_at_least, p99_at_least, .. } = all.percentiles();
    ReportedTimes { count, p50_ms: p50.or(p50_at_least), p90_ms: p90.or(p90_at_least), p99_ms: p99.or(p99_at_least) }
}

fn add(sum: &mut TimelineSecond, other: TimelineSecond) {
    sum.users += other.users;
    for (state, users) in other.users_by_state {
        *sum.users_by_state.entry(state).or_default() += users;
    }
    sum.planned += other.planned;
    sum.offered += other.offered;
    sum.sent += other.sent;
    sum.served += other.served;
    sum.goodput += other.goodput;
    sum.served_late += other.served_late;
    sum.refused_locally += other.refused_locally;
    sum.rejected += other.rejected;
    sum.timed_out += other.timed_out;
    sum.failed += other.failed;
    sum.abandoned += other.abandoned;
    sum.connect_failed += other.connect_failed;
    sum.in_flight += other.in_flight;
    groups(&mut sum.by_type, other.by_type);
    groups(&mut sum.by_class, other.by_class);
    sum.reported.extend(other.reported);
    sum.generator = sum.generator.busier(other.generator);
    sum.target = sum.target.take().or(other.target);
    sum.speed = sum.speed.or(other.speed);
}

fn groups(sum: &mut BTreeMap<String, Group>, other: BTreeMap<String, Group>) {
    for (name, group) in other {
        sum.entry(name).or_default().add(&group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::TargetSecond;

    fn second(second: u32, served: u64, mean_ms: f64) -> TimelineSecond {
        let group = Group { planned: served + 1, served, mean_ms: Some(mean_ms), ..Group::default() };
        TimelineSecond {
            second,
            served,
            planned: served + 1,
            users_by_state: [("thinking".to_owned(), 2)].into(),
            by_type: [("page".to_owned(), group)].into(),
            p50_ms: Some(1.0),
            target: Some(TargetSecond::default()),
            reported: if second == 1 {
                [("users/page".to_owned(), ReportedTimes::default())].into()
            } else {
                BTreeMap::new()
            },
            ..TimelineSecond::default()
        }
    }

    #[test]
    fn counts_add_up_and_percentiles_are_those_of_all_times() {
        let log = |second: u32, times: &[[u64; 2]]| {
            let times = SecondTimes { response: times.to_vec(), ..SecondTimes::default() };
            interval_log::whole(seconds_log::lines(second.into(), &times).expect("lines")).expect("a log")
        };
        // In the first second ten times of 1 ms, and thirty of 3 ms; in the second one twenty of 2 ms.
        let logs = [log(0, &[[1000, 10]]), log(0, &[[3000, 30]]), log(1, &[[2000, 20]])];
        let found = times(&logs).expect("logs");
        let whole = seconds(vec![vec![second(0, 10, 1.0), second(1, 20, 2.0)], vec![second(0, 30, 3.0)]], &found);
        assert!(whole.iter().all(|second| second.target.is_none()), "two services");
        let alone = seconds(vec![vec![second(0, 10, 1.0)]], &found);
        assert!(alone[0].target.is_some());
        let [first, last] = &whole[..] else { panic!("{whole:?}") };
        assert_eq!((first.served, first.planned, first.users_by_state["thinking"]), (40, 42, 4));
        assert_eq!(first.p50_ms, Some(3.001), "the upper end of its bucket, and no mean of 1 and 3");
        assert_eq!(first.by_type["page"].mean_ms, Some(2.5), "(10 * 1 + 30 * 3) / 40");
        assert_eq!((last.served, last.p50_ms), (20, Some(2.0)));
        let reported = &last.reported["users"];
        assert_eq!(
            (reported.count, reported.p50_ms, last.reported.len()),
            (60, Some(2.0), 1),
            "10 of 1 ms, 20 of 2, 30 of 3"
        );
        assert_eq!(times(&[super::log(&found).expect("a log")]), Ok(found));
        assert!(times(&[b"no log".to_vec()]).is_err());
    }
}
