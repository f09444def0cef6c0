//! The part of a load plan that a recorder needs.

use measure::{RecorderPhase, RecorderPlan};

use super::{ArrivalLaw, Load, LoadPlan, Phase};

impl LoadPlan {
    /// The part of the plan that a recorder needs.
    #[must_use]
    pub fn for_recorder(&self) -> RecorderPlan {
        let loads = self.phases.iter().flat_map(|phase| &phase.loads);
        let mut classes: Vec<_> = loads.flat_map(Load::classes).copied().collect();
        classes.sort();
        classes.dedup();
        let phase = |phase: &Phase| RecorderPhase {
            name: phase.name.clone(),
            duration: phase.duration,
            users: most_users(&phase.loads),
            independent: are_independent(&phase.loads),
        };
        RecorderPlan {
            shard: self.shard,
            phases: self.phases.iter().map(phase).collect(),
            classes,
            timeout: self.timeout.max(self.connect_timeout),
            objective: self.objective,
            class_objectives: self.class_objectives.clone(),
            replays: self.replays(),
        }
    }
}

/// The largest number of users of closed loads at once; `None` where users come and go.
fn most_users(loads: &[Load]) -> Option<u64> {
    let closed = loads.iter().map(|load| match load {
        Load::Users { .. } => Some(load.most_at_once()),
        Load::Present { .. } | Load::Churn { .. } => Some(0),
        Load::Sessions { .. } | Load::Requests { .. } | Load::Wave { .. } | Load::Replay { .. } => None,
    });
    closed.sum()
}

/// True if users arrive independently, at one rate. For all other arrivals another dispersion is to be expected.
fn are_independent(loads: &[Load]) -> bool {
    // Background connections send no requests that are counted.
    let mut users = loads.iter().filter(|load| !matches!(load, Load::Present { .. } | Load::Churn { .. })).peekable();
    users.peek().is_some()
        && users.all(|load| match load {
            Load::Sessions { from_per_s, to_per_s, law, .. } | Load::Requests { from_per_s, to_per_s, law, .. } => {
                *law == ArrivalLaw::Poisson && from_per_s == to_per_s
            }
            Load::Users { .. }
            | Load::Wave { .. }
            | Load::Replay { .. }
            | Load::Present { .. }
            | Load::Churn { .. } => false,
        })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use controllers::{Class, Kind, Timestamp};
    use measure::{Dispersion, Fate, Health, Intent, Recorder};

    use super::*;
    use crate::{Schedule, schedule::ScheduleChange, testing::url_plan};

    fn requests(to_per_s: f64, law: ArrivalLaw) -> Load {
        Load::Requests { from_per_s: 100.0, to_per_s, law, class: Class(0) }
    }

    #[test]
    fn only_independent_arrivals_at_one_rate_can_be_judged() {
        assert!(are_independent(&[requests(100.0, ArrivalLaw::Poisson)]));
        assert!(!are_independent(&[requests(200.0, ArrivalLaw::Poisson)]), "a ramp");
        assert!(!are_independent(&[requests(100.0, ArrivalLaw::Constant)]));
        assert!(!are_independent(&[requests(100.0, ArrivalLaw::Poisson), Load::users(3)]));
        assert!(!are_independent(&[]));
    }

    /// One phase of 20 s with 100 requests a second, sent as planned or late by the given number of milliseconds.
    fn dispersion(seed: u64, late: impl Fn(u64) -> u64) -> Dispersion {
        let mut plan = url_plan(&[("all", 20, 0)]);
        plan.seed = seed;
        plan.phases[0].loads = vec![requests(100.0, ArrivalLaw::Poisson)];
        let mut recorder = Recorder::new(plan.for_recorder(), &["read"]);
        let intent = |at| Intent { kind: Kind(0), class: Class(0), wanted_at: at, attempt: 0 };
        let arrivals = Schedule::new(&plan).filter(|event| matches!(event.what, ScheduleChange::Arrive(_)));
        for (user, event) in (0..).zip(arrivals) {
            let now = event.at + Duration::from_millis(late(event.at.as_nanos() / 1_000_000));
            // A second request of the same user is no arrival.
            for at in [event.at, event.at + Duration::from_millis(1)] {
                let mut ticket = recorder.plan(user, intent(at), at);
                recorder.sent(&mut ticket, now.max(at));
                recorder.end(ticket, Fate::Served, now.max(at) + Duration::from_millis(1));
            }
        }
        let report = recorder.finish(Timestamp::from_secs(30), Health::default());
        assert_eq!(report.faults, Vec::<String>::new());
        report.phases[0].arrivals.expect("open arrivals at one rate")
    }

    #[test]
    fn arrivals_that_are_let_in_as_planned_vary_as_they_should() {
        for seed in 0..20 {
            let found = dispersion(seed, |_| 0);
            assert_eq!(found.windows, 200);
            assert!((8.0..12.0).contains(&found.per_window), "seed {seed}: {found:?}");
            // For 200 windows one run of a thousand lies outside these bounds.
            assert!((0.70..1.36).contains(&found.index), "seed {seed}: {found:?}");
        }
    }

    #[test]
    fn a_generator_that_works_in_bursts_shows_as_bunches() {
        // No request in the first 400 ms of every half second.
        let found = dispersion(1, |at| 400_u64.saturating_sub(at % 500));
        assert!(found.index > 5.0, "{found:?}");
    }
}
