//! Front doors of a run, as the gauges of its seconds have them: waiting rooms, sentries, and the platform that adds them.

use std::collections::BTreeMap;

use analysis::live::{StageSecond, TimelineSecond};
use controllers::webq::RoomCounts;

/// Gauges that waiting rooms have, or sentries, and nothing else.
const OF_ROOMS: &str = "longest_wait_s";
const OF_SENTRIES: &str = "threshold_policing";

/// True for the row of a waiting room.
pub(super) fn is_room(stage: &StageSecond) -> bool {
    stage.gauges.contains_key(OF_ROOMS)
}

/// The waiting rooms of a second.
pub(super) fn rooms(second: &TimelineSecond) -> Vec<&StageSecond> {
    stages(second).filter(|stage| is_room(stage)).collect()
}

/// Rows of sentries in a second.
pub(super) fn sentries(second: &TimelineSecond) -> Vec<&StageSecond> {
    stages(second).filter(|stage| stage.gauges.contains_key(OF_SENTRIES)).collect()
}

/// The prefix of an application's row.
pub(super) const APPLICATION: &str = "platform/";

/// The row of the platform, and those of its applications.
pub(super) fn platform(second: &TimelineSecond) -> (Option<&StageSecond>, Vec<&StageSecond>) {
    let own = stages(second).find(|stage| stage.name == "platform" && stage.gauges.contains_key("invoked_by_drops"));
    let of_applications = stages(second).filter(|stage| stage.name.starts_with(APPLICATION));
    (own, if own.is_some() { of_applications.collect() } else { Vec::new() })
}

fn stages(second: &TimelineSecond) -> impl Iterator<Item = &StageSecond> {
    second.target.iter().flat_map(|target| &target.stages)
}

/// A count of a second, 0 where there is none.
pub(super) fn count(stage: &StageSecond, name: &str) -> u64 {
    stage.gauges.get(name).map_or(0, |count| *count as u64)
}

/// Tokens of all waiting rooms since the arm began.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TokenTotals {
    /// Promised turns.
    pub given: u64,
    /// Shown in their turn.
    pub admitted: u64,
    /// Refusals by reason; only reasons that there were.
    pub refused: BTreeMap<&'static str, u64>,
}

impl TokenTotals {
    /// Adds a second.
    pub fn with(&self, second: &TimelineSecond) -> Self {
        let mut totals = self.clone();
        for room in rooms(second) {
            totals.given += count(room, "promised");
            totals.admitted += count(room, "token_admitted");
            for (reason, _) in RoomCounts::default().refusals() {
                match count(room, &format!("token_{}", reason.replace('-', "_"))) {
                    0 => {}
                    refused => *totals.refused.entry(reason).or_default() += refused,
                }
            }
        }
        totals
    }

    /// `24094 given; of 22935 checked 22900 let in`.
    pub fn in_words(&self) -> String {
        let checked = self.admitted + self.refused.values().sum::<u64>();
        format!("{} given; of {checked} checked {} let in", self.given, self.admitted)
    }

    /// `35 refused: early 12, late 23`.
    pub fn refusals_in_words(&self) -> String {
        let reasons: Vec<String> = self.refused.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
        match reasons.is_empty() {
            true => "none refused".to_owned(),
            false => format!("{} refused: {}", self.refused.values().sum::<u64>(), reasons.join(", ")),
        }
    }
}

/// Lines about front doors in these seconds, one a door; none without any. `real`: what the service can do, where that
/// is known.
pub(super) fn in_words<'a>(seconds: impl Iterator<Item = &'a TimelineSecond>, real: Option<f64>) -> Vec<String> {
    let (mut last, mut longest, mut most, mut tokens) = (None, 0.0_f64, 0, TokenTotals::default());
    let (mut admitted, mut refused, mut by_threshold, mut policed) = (0, 0, 0, 0);
    for second in seconds {
        for room in rooms(second) {
            longest = longest.max(room.shows(OF_ROOMS).unwrap_or(0.0));
            most = most.max(room.queue);
            last = Some(room);
        }
        tokens = tokens.with(second);
        for sentry in sentries(second) {
            (admitted, refused, policed) = (admitted + sentry.admitted, refused + sentry.refused, policed + 1);
            by_threshold += u32::from(sentry.shows(OF_SENTRIES) == Some(1.0));
        }
    }
    let room = last.map(|room| {
        let (capacity, given, not) = (capacity_in_words(room, real), tokens.in_words(), tokens.refusals_in_words());
        format!("waiting room: {capacity}; longest wait {longest:.0} s, {most} waiting at most; tokens {given}, {not}")
    });
    let sentry =
        format!("sentry: {admitted} let in, {refused} refused; by threshold in {by_threshold} s of {policed} s");
    room.into_iter().chain((policed > 0).then_some(sentry)).collect()
}

/// The capacity that waiting rooms give turns by, in words; `real`: what the service can do, where that is known.
pub(super) fn capacity_in_words(room: &StageSecond, real: Option<f64>) -> String {
    let gauge = |name: &str| room.gauges.get(name).copied();
    let Some(capacity) = gauge("capacity_per_s") else { return "capacity not measured yet: nobody waits".to_owned() };
    let is = |name: &str| gauge(name) == Some(1.0);
    let how = match (is("capacity_outdated"), is("capacity_estimated")) {
        (true, _) => " outdated",
        (_, true) => " estimated",
        _ => " given",
    };
    let real = real.map_or_else(String::new, |real| format!(", really {}/s", analysis::text::rate(real)));
    format!("capacity {}/s{how}{real}", analysis::text::rate(capacity))
}

#[cfg(test)]
mod tests {
    use analysis::live::TargetSecond;

    use super::*;

    fn second(gauges: &[(&str, f64)]) -> TimelineSecond {
        let gauges = gauges.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let room = StageSecond { name: "waiting room".to_owned(), gauges, ..StageSecond::default() };
        let target = TargetSecond { stages: vec![StageSecond::default(), room], ..TargetSecond::default() };
        TimelineSecond { target: Some(target), ..TimelineSecond::default() }
    }

    #[test]
    fn tokens_are_summed_over_seconds_by_reason() {
        let busy = second(&[
            (OF_ROOMS, 9.0),
            ("promised", 30.0),
            ("token_admitted", 10.0),
            ("token_other_binding", 2.0),
            ("token_early", 1.0),
        ]);
        let totals = TokenTotals::default().with(&busy).with(&TimelineSecond::default()).with(&busy);
        assert_eq!(totals.in_words(), "60 given; of 26 checked 20 let in");
        assert_eq!(totals.refusals_in_words(), "6 refused: early 2, other-binding 4");
        let other = second(&[("promised", 30.0)]);
        assert_eq!(TokenTotals::default().with(&other), TokenTotals::default(), "it is no waiting room");
        assert_eq!(TokenTotals::default().refusals_in_words(), "none refused");
    }

    #[test]
    fn a_capacity_says_where_it_is_from_and_what_is_real() {
        let words = |gauges: &[(&str, f64)], real| {
            let room = second(gauges);
            capacity_in_words(&room.target.expect("a target").stages[1], real)
        };
        assert_eq!(words(&[], Some(140.0)), "capacity not measured yet: nobody waits");
        assert_eq!(words(&[("capacity_per_s", 720.0)], None), "capacity 720/s given");
        let estimated = [("capacity_per_s", 93.7), ("capacity_estimated", 1.0)];
        assert_eq!(words(&estimated, Some(140.0)), "capacity 94/s estimated, really 140/s");
        let outdated = [("capacity_per_s", 93.7), ("capacity_estimated", 1.0), ("capacity_outdated", 1.0)];
        assert_eq!(words(&outdated, None), "capacity 94/s outdated");
    }
}
