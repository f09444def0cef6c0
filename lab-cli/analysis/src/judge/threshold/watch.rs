//! Thresholds that end a run: judged second by second while it runs.
//!
//! What is held against the limit is the figure of each second alone, since what a phase will come to is not known before its
//! end. It ends the run once it has been against the limit for the whole grace time without a break. Seconds
//! without a value (too few samples) neither count nor interrupt. All of this is a function of the timeline, so that it
//! can be computed again from it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    Threshold,
    claim::{Claim, Comparator, Expr, Node},
    metric::{Group, Quantity},
    range::Range,
};
use crate::live::TimelineSecond;

/// Metrics that may be watched, in words.
const WATCHED: &str =
    "response_time.p50, .p90 and .p99, goodput and reject_fraction of a whole phase, against a constant";

/// A threshold that is watched.
#[derive(Debug, Clone)]
pub struct Watch {
    arm: String,
    phase: String,
    read: fn(&TimelineSecond) -> Option<f64>,
    op: Comparator,
    limit: f64,
    grace: u32,
    /// The arm's turn that is under way, and seconds in a row that were against the limit.
    block: u32,
    against: u32,
}

/// A threshold that ends the run once it has failed for some time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbortRule {
    /// Text of one of the `thresholds`.
    pub check: String,
    /// For so long without a break.
    #[serde(rename = "grace_ms", with = "controllers::millis")]
    pub grace: Duration,
}

/// The moment at which a threshold ended a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abort {
    /// Index among these thresholds.
    pub threshold: usize,
    /// Arm in whose turn it was.
    pub arm: String,
    /// Block from 1.
    pub block: u32,
    /// After this second of it.
    pub second: u32,
    /// Finding in words.
    pub found: String,
}

impl Watch {
    /// Watch that ends a run once the threshold has failed for this long (whole seconds, at least one).
    ///
    /// # Errors
    /// If it is about something that is not known before the end, in words.
    pub fn new(threshold: &Threshold, grace: Duration) -> Result<Self, String> {
        let cannot = || format!("only these can be watched while a run goes on: {WATCHED}");
        let Claim::Compare { left: Expr { node: Node::Metric(metric), .. }, op, right } = &threshold.claim else {
            return Err(cannot());
        };
        let limit = constant(right).ok_or_else(cannot)?;
        let of_phase = metric.part.is_none() && metric.group == Group::All;
        let read = of_phase.then(|| reader(&metric.quantity)).flatten().ok_or_else(cannot)?;
        let grace = u32::try_from(grace.as_secs()).unwrap_or(u32::MAX).max(1);
        let (arm, phase) = (metric.arm.clone(), metric.phase.clone());
        Ok(Self { arm, phase, read, op: *op, limit, grace, block: 0, against: 0 })
    }

    /// Takes a second; what was found if it was one too many.
    pub fn second(&mut self, second: &TimelineSecond) -> Option<String> {
        if second.arm != self.arm || second.phase != self.phase {
            return None;
        }
        if second.block != self.block || second.second == 0 {
            (self.block, self.against) = (second.block, 0);
        }
        let value = (self.read)(second)?;
        let holds = Range::exactly(value).holds(self.op, Range::exactly(self.limit));
        self.against = if holds { 0 } else { self.against + 1 };
        (self.against >= self.grace).then(|| {
            format!(
                "ended the run after second {} of {} (block {}): {} s in a row against it, the last with {value:.3}",
                second.second, second.arm, second.block, self.against
            )
        })
    }
}

/// The thresholds that end a run, each with its number.
pub fn watches(thresholds: &[Threshold], aborts: &[AbortRule]) -> Vec<(usize, Watch)> {
    let of = |abort: &AbortRule| {
        let number = thresholds.iter().position(|threshold| threshold.text() == abort.check)?;
        Some((number, Watch::new(&thresholds[number], abort.grace).ok()?))
    };
    aborts.iter().filter_map(of).collect()
}

/// The first second of a timeline that ends the run. `watches`: each with the number of its threshold.
pub fn first_abort<'a>(
    watches: &[(usize, Watch)],
    timeline: impl IntoIterator<Item = &'a TimelineSecond>,
) -> Option<Abort> {
    let mut watches = watches.to_vec();
    timeline.into_iter().find_map(|second| abort_at(&mut watches, second))
}

/// Shows a second to all watches.
pub fn abort_at(watches: &mut [(usize, Watch)], second: &TimelineSecond) -> Option<Abort> {
    watches.iter_mut().find_map(|(threshold, watch)| {
        let found = watch.second(second)?;
        let (arm, block) = (second.arm.clone(), second.block);
        Some(Abort { threshold: *threshold, arm, block, second: second.second, found })
    })
}

/// Reader of the quantity from a second.
fn reader(quantity: &Quantity) -> Option<fn(&TimelineSecond) -> Option<f64>> {
    match quantity {
        Quantity::Times(times, statistic) if times.name == "response_time" => match statistic.name {
            "p50" => Some(|second| second.p50_ms),
            "p90" => Some(|second| second.p90_ms),
            "p99" => Some(|second| second.p99_ms),
            _ => None,
        },
        Quantity::Number(number) if number.name == "goodput" => Some(|second| Some(second.served as f64)),
        Quantity::Number(number) if number.name == "reject_fraction" => Some(|second| {
            let others = second.served + second.served_late + second.timed_out + second.failed + second.abandoned;
            let ended = second.rejected + others;
            (ended > 0).then(|| second.rejected as f64 / ended as f64)
        }),
        _ => None,
    }
}

fn constant(expr: &Expr) -> Option<f64> {
    match &expr.node {
        Node::Number { value, .. } => Some(*value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(text: &str, grace: u64) -> Result<Watch, String> {
        Watch::new(&Threshold::parse(text).expect(text), Duration::from_secs(grace))
    }

    /// 90th percentiles of the seconds of `spike`, in seconds of time.
    fn timeline(arm: &str, block: u32, p90: &[Option<f64>]) -> Vec<TimelineSecond> {
        let second = |(n, p90): (u32, &Option<f64>)| TimelineSecond {
            arm: arm.to_owned(),
            block,
            second: n,
            phase: "spike".to_owned(),
            p90_ms: p90.map(|s| s * 1000.0),
            ..TimelineSecond::default()
        };
        (0..).zip(p90).map(second).collect()
    }

    #[test]
    fn it_takes_the_grace_time_without_a_break() {
        let watches = [(3, watch("seda.spike.response_time.p90 < 2s", 3).expect("can be watched"))];
        let (good, bad, none) = (Some(1.0), Some(2.5), None);
        let first = |p90: &[Option<f64>]| first_abort(&watches, &timeline("seda", 1, p90)).map(|abort| abort.second);
        assert_eq!(first(&[good, bad, bad, good, bad, bad]), None);
        assert_eq!(first(&[good, bad, bad, bad, good]), Some(3));
        assert_eq!(first(&[bad, none, bad, none, bad]), Some(4), "seconds without a value neither count nor interrupt");
        assert_eq!(first(&[none; 9]), None);
        let other = timeline("none", 1, &[bad; 5]);
        assert_eq!(first_abort(&watches, &other), None, "another arm");
        // Each block counts by itself.
        let two = [timeline("seda", 1, &[bad, bad]), timeline("seda", 2, &[bad, bad])].concat();
        assert_eq!(first_abort(&watches, &two), None);
        let abort = first_abort(&watches, &timeline("seda", 2, &[bad; 3])).expect("ended");
        assert_eq!((abort.threshold, abort.block), (3, 2));
        assert!(abort.found.contains("3 s in a row") && abort.found.contains("2500.000"), "{}", abort.found);
    }

    #[test]
    fn rates_and_fractions_are_of_the_second() {
        let second = |served, rejected| TimelineSecond {
            arm: "a".to_owned(),
            block: 1,
            phase: "x".to_owned(),
            served,
            rejected,
            ..TimelineSecond::default()
        };
        let mut goodput = watch("a.x.goodput >= 10", 1).expect("can be watched");
        assert_eq!((goodput.second(&second(10, 0)), goodput.second(&second(9, 0)).is_some()), (None, true));
        let mut rejects = watch("a.x.reject_fraction < 50%", 1).expect("can be watched");
        assert_eq!((rejects.second(&second(6, 5)), rejects.second(&second(5, 5)).is_some()), (None, true));
        assert_eq!(rejects.second(&second(0, 0)), None, "nothing ended");
    }

    #[test]
    fn what_is_not_known_before_the_end_cannot_be_watched() {
        for text in [
            "a.x.response_time.p999 < 2s",
            "a.x.response_time.max < 2s",
            "a.x.served > 100",
            "a.x[50%..].response_time.p90 < 2s",
            "a.x.login.response_time.p90 < 2s",
            "a.x.goodput > b.x.goodput",
            "a.x.reject_fraction between 0.1 and 0.2",
            "a.x.gauge.work.queue.max < 5",
        ] {
            assert!(watch(text, 5).expect_err(text).contains("response_time.p50"), "{text}");
        }
    }
}
