//! Measures of whole phases.

use crate::{
    judge::threshold::{Evidence, Threshold},
    summary::{Arm, Fairness, Measured, Measures, PhaseSummary, Recovery, Steadiness},
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
    let phase = PhaseSummary { name: "after".to_owned(), seconds: 60.0, measures, measured, ..PhaseSummary::default() };
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
