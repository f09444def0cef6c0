//! Hysteresis: whether a service does under a load on its way down what it did under the same load on its way up.

use super::plan::MeasuresPlan;
use crate::live::TimelineSecond;

/// Phases that are shorter, in seconds, say nothing of it.
const LEAST_S: f64 = 4.0;

impl MeasuresPlan {
    /// The goodput that is missing in this phase, as a share of that in the first phase with the same load, if more was asked for, or a
    /// fault began, in between. Of both phases the second half, so that the time until the service recovers counts for less. 0: nothing is
    /// missing; 1: all.
    pub(super) fn hysteresis(&self, number: usize, seconds: &[TimelineSecond]) -> Option<f64> {
        let load = self.phases[number].load.filter(|load| load.amount() > 0.0)?;
        let first = self.phases[..number].iter().position(|earlier| earlier.load == Some(load))?;
        let more = self.phases[first + 1..number].iter().any(|phase| {
            let most = phase.peak.or(phase.load);
            most.is_some_and(|most| most.unit() == load.unit() && most.amount() > load.amount())
        });
        let begins = |number: usize| self.phases[..number].iter().map(|phase| phase.seconds).sum::<f64>();
        let fault = self.faults.iter().any(|(at, _)| (begins(first + 1)..begins(number)).contains(at));
        if !more && !fault {
            return None;
        }
        let (before, now) = (self.settled(first, seconds)?, self.settled(number, seconds)?);
        (before > 0.0).then(|| ((before - now) / before).max(0.0))
    }

    /// Goodput a second in the second half of a phase.
    fn settled(&self, number: usize, seconds: &[TimelineSecond]) -> Option<f64> {
        let phase = &self.phases[number];
        let own: Vec<u64> =
            seconds.iter().filter(|second| second.phase == phase.name).map(|second| second.goodput).collect();
        let half = own.get(own.len().div_ceil(2)..).filter(|half| !half.is_empty() && phase.seconds >= LEAST_S)?;
        Some(half.iter().sum::<u64>() as f64 / half.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            plan::PlannedPhase,
            tests::{plan, planned, run},
        },
        *,
    };

    fn found(plan: &MeasuresPlan, number: usize, in_time: impl Fn(u32) -> u64) -> Option<f64> {
        plan.hysteresis(number, &run(plan, in_time).1)
    }

    #[test]
    fn what_is_missing_on_the_way_down_is_a_share_of_what_was_there_on_the_way_up() {
        // 20 s of 50/s, 10 s of 200/s, 20 s of 50/s: in the last ten seconds 10/s are missing.
        let spike = plan(20);
        assert_eq!(found(&spike, 2, |second| if second < 40 { 50 } else { 40 }), Some(0.2));
        assert_eq!(found(&spike, 2, |second| if second < 40 { 5 } else { 50 }), Some(0.0), "it has recovered by then");
        assert_eq!(found(&spike, 2, |second| if second < 30 { 50 } else { 0 }), Some(1.0));
        assert_eq!(found(&spike, 2, |second| if second < 30 { 40 } else { 50 }), Some(0.0), "more than before");
    }

    #[test]
    fn it_takes_the_same_load_before_and_more_in_between() {
        let steps = |rates: &[f64], faults: &[(f64, f64)]| MeasuresPlan {
            phases: rates.iter().enumerate().map(|(at, rate)| planned(&at.to_string(), 10, *rate)).collect(),
            faults: faults.to_vec(),
            ..plan(0)
        };
        let of_last = |plan: &MeasuresPlan| found(plan, plan.phases.len() - 1, |second| u64::from(second < 25) * 10);
        assert_eq!(of_last(&steps(&[10.0, 90.0, 10.0], &[])), Some(1.0));
        assert_eq!(of_last(&steps(&[10.0, 5.0, 10.0], &[])), None, "less in between");
        assert_eq!(of_last(&steps(&[10.0, 5.0, 10.0], &[(12.0, 14.0)])), Some(1.0), "a fault in between");
        assert_eq!(of_last(&steps(&[20.0, 90.0, 10.0], &[])), None, "another load before");
        let short = PlannedPhase { seconds: 3.0, ..planned("2", 3, 10.0) };
        let mut plan = steps(&[10.0, 90.0, 10.0], &[]);
        plan.phases[2] = short;
        assert_eq!(of_last(&plan), None);
    }
}
