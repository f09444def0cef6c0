//! Measures of whole phases: how the service recovered, what was wasted, who was served.

use super::unit::Unit;
use crate::summary::Measures;

/// Reader of a measure. Times are milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct MeasureOf {
    pub name: &'static str,
    /// Meaning for a phase, for the reference.
    pub about: &'static str,
    pub unit: Unit,
    /// Reason for which there is none, where there is none.
    pub unknown: &'static str,
    pub value: fn(&Measures) -> Option<f64>,
    pub bound: fn(&Measures) -> Option<f64>,
}

const fn plain(
    name: &'static str,
    about: &'static str,
    value: fn(&Measures) -> Option<f64>,
    unknown: &'static str,
) -> MeasureOf {
    MeasureOf { name, about, unit: Unit::Plain, unknown, value, bound: |_| None }
}

static MEASURES: [MeasureOf; 9] = [
    MeasureOf {
        name: "recovery",
        about: "Recovery time: seconds after a phase of more load, or after a fault, until goodput stays at 95 % of what is normal \
                (offered, less what was late before it, at most the objective's share; or the baseline's calm, where that was better) and the objective holds, in the next 10 s (or half of the phase) and in all that follows.",
        unit: Unit::Time,
        unknown: "there was nothing to recover from: recovery needs a fault in this phase or at its beginning, or a phase of \
                  more load before it with as much load as now before that",
        value: |m| Some(m.recovery.as_ref()?.after_s? * 1e3),
        bound: |m| Some(m.recovery.as_ref()?.after_s_at_least? * 1e3),
    },
    plain(
        "metastable",
        "1 if goodput is still under 80 % of what is normal at the end of the phase, though it lasted a minute and six times the \
         trigger; 0 if the service recovered.",
        |m| match m.recovery.as_ref()?.verdict.as_str() {
            "metastable" => Some(1.0),
            "recovered" => Some(0.0),
            _ => None,
        },
        "undecided: it was not watched for long enough, or there was nothing to recover from",
    ),
    plain(
        "hysteresis",
        "Share of the goodput that is missing under a load on the way down, of that under the same load on the way up: of the second \
         half of either phase. 0: nothing is missing.",
        |m| m.hysteresis,
        "it takes a phase with the same load before, and more load or a fault in between; both of 4 s at least",
    ),
    plain(
        "wasted",
        "Share of what the service finished that came late or that nobody waited for.",
        |m| m.wasted,
        "the service finished nothing, or did not say",
    ),
    plain(
        "user_fairness",
        "Jain's index of the share that each user got of what it wanted: 1 is equal.",
        |m| Some(m.user_fairness?.jain),
        "it takes two users, and one who was given something",
    ),
    plain(
        "worst_tenth",
        "Worst decile: what the tenth of the users that got the least got of what it wanted.",
        |m| Some(m.user_fairness?.worst_tenth),
        "it takes two users, and one who was given something",
    ),
    plain(
        "class_fairness",
        "Jain's index over classes of users.",
        |m| m.class_fairness,
        "it takes two classes, and one that was given something",
    ),
    plain(
        "growth",
        "Requests in flight gained per second, where that is a steady trend: the service is not stable; else 0.",
        |m| Some(m.steadiness?.growth_per_s),
        "the load changes, or the phase is shorter than 20 s",
    ),
    MeasureOf {
        name: "warm_up",
        about: "Length of the beginning that differs from the last third of the phase.",
        unit: Unit::Time,
        unknown: "the load changes, or the phase is too short for its queue (WARM-UP in validity.md)",
        value: |m| m.steadiness.filter(|found| found.judged).map(|found| found.warm_up_s * 1e3),
        bound: |_| None,
    },
];

impl MeasureOf {
    pub fn all() -> impl Iterator<Item = &'static Self> {
        MEASURES.iter()
    }

    pub fn find(name: &str) -> Option<Self> {
        MEASURES.iter().find(|measure| measure.name == name).copied()
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        MEASURES.iter().map(|measure| measure.name)
    }
}

/// Each name stands in the table once.
impl PartialEq for MeasureOf {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        judge::threshold::{Evidence, Threshold},
        summary::{Arm, Fairness, Measured, PhaseSummary, Recovery, Steadiness},
    };

    fn arm(name: &str, recovery: Option<Recovery>) -> Arm {
        let measures = Measures {
            recovery,
            wasted: Some(0.25),
            hysteresis: Some(0.2),
            user_fairness: Some(Fairness { users: 10, jain: 0.9, worst_tenth: 0.0 }),
            steadiness: Some(Steadiness { judged: true, warm_up_s: 5.0, growth_per_s: 12.0, ..Steadiness::default() }),
            ..Measures::default()
        };
        let measured = Measured { planned: 300, retries: 100, ..Measured::default() };
        let phase =
            PhaseSummary { name: "after".to_owned(), seconds: 60.0, measures, measured, ..PhaseSummary::default() };
        Arm { policy: name.to_owned(), block: 1, phases: vec![phase], ..Arm::default() }
    }

    /// One that was well after 4 s, and one that was not within 50 s.
    fn arms() -> Vec<Arm> {
        let well = Recovery { after_s: Some(4.0), verdict: "recovered".to_owned(), ..Recovery::default() };
        let bad = Recovery { after_s_at_least: Some(50.0), verdict: "metastable".to_owned(), ..Recovery::default() };
        vec![arm("well", Some(well)), arm("bad", Some(bad)), arm("calm", None)]
    }

    fn judged(text: &str) -> (bool, String) {
        let arms = arms();
        let left_out = std::collections::BTreeSet::new();
        let evidence = Evidence { arms: &arms, left_out: &left_out, timeline: &[], parts: &|_, _, _| None };
        let found = Threshold::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).judge(&evidence);
        (found.held, found.why)
    }

    #[test]
    fn measures_can_be_asked_for() {
        for text in [
            "well.after.recovery <= 4s",
            "bad.after.recovery > well.after.recovery",
            "bad.after.recovery >= 50s",
            "well.after.metastable == 0",
            "bad.after.metastable == 1",
            "well.after.wasted == 25%",
            "well.after.hysteresis == 20%",
            "well.after.user_fairness >= 0.9",
            "well.after.worst_tenth == 0",
            "well.after.growth > 10/s",
            "well.after.warm_up == 5s",
            "well.after.amplification == 1.5",
        ] {
            let (held, why) = judged(text);
            assert!(held, "{text}: {why}");
        }
        assert!(!judged("bad.after.recovery < 100s").0, "at least 50 s may be more");
    }

    #[test]
    fn what_is_not_known_fails_with_the_reason() {
        let (held, why) = judged("calm.after.recovery < 1000s");
        assert!(!held && why.contains("recovery of calm.after is not known: there was nothing"), "{why}");
        let (held, why) = judged("calm.after.metastable == 0");
        assert!(!held && why.contains("undecided"), "{why}");
        assert!(!judged("well.after.class_fairness > 0").0);
    }

    #[test]
    fn they_are_of_whole_phases_and_have_no_parts() {
        for text in [
            "well.after[50%..].wasted < 5%",
            "well.after.login.wasted < 5%",
            "share(well.after.wasted < 5%) > 1",
            "well.after.wasted.p90 < 5%",
            "well.after.recovery < 5",
        ] {
            let error = Threshold::parse(text).expect_err(text);
            assert!(!error.hint.is_empty(), "{text}");
        }
        let error = Threshold::parse("well.after[50%..].wasted < 5%").expect_err("a part");
        assert_eq!(error.message, "wasted is known of whole phases and all requests alone");
    }
}
