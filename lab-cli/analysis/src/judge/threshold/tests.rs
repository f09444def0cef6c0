use std::ops::Range;

use super::*;
use crate::{
    live::{GeneratorSecond, StageSecond, TargetSecond, TimelineSecond},
    summary::{Arm, Measured, PhaseSummary, Times},
};

mod measures;

fn times(p90: Option<f64>, p90_at_least: Option<f64>, count: u64) -> Times {
    Times { p90, p90_at_least, count, ..Times::default() }
}

fn arm(name: &str, block: u32, spike: Measured) -> Arm {
    let by_type = [("list messages".to_owned(), spike.clone()), ("login".to_owned(), Measured::default())].into();
    let by_class = [("1".to_owned(), spike.clone())].into();
    let spike_name = "spike".to_owned();
    let spike = PhaseSummary {
        name: spike_name,
        seconds: 30.0,
        users: 1000,
        measured: spike,
        by_type,
        by_class,
        ..PhaseSummary::default()
    };
    let idle = PhaseSummary { name: "at-4".to_owned(), seconds: 10.0, users: 4, ..PhaseSummary::default() };
    Arm { policy: name.to_owned(), block, phases: vec![spike, idle], ..Arm::default() }
}

/// SEDA: p90 1500 ms, 900 of 1200 rejected (0.75), goodput 60/s. None: p90 hidden by time-outs, goodput 20/s.
/// Connections: 20 served, too few for a p90; 4 of 10 clients with a connect time-out.
fn arms() -> Vec<Arm> {
    let seda = Measured {
        planned: 1200,
        sent: 1200,
        served: 200,
        served_late: 100,
        rejected: 900,
        goodput_per_s: 60.0,
        reject_fraction: 0.75,
        response_time_ms: times(Some(1500.0), None, 300),
        ..Measured::default()
    };
    let none = Measured {
        planned: 500,
        sent: 500,
        served: 125,
        timed_out: 375,
        goodput_per_s: 20.0,
        response_time_ms: times(None, Some(60_000.0), 400),
        ..Measured::default()
    };
    let connections = Measured {
        planned: 20,
        sent: 20,
        served: 20,
        clients: 10,
        clients_with_connect_timeout: 0.4,
        response_time_ms: times(None, None, 20),
        ..Measured::default()
    };
    vec![arm("none", 1, none), arm("seda", 1, seda), arm("connections", 1, connections)]
}

/// The first three twentieths of NONE's spike; the last half of SEDA's spike has a p90 of 900 ms; other parts were not kept.
fn part(arms: &[Arm], index: usize, phase: &str, part: &Range<f64>) -> Option<PhaseSummary> {
    if arms[index].policy == "none" {
        let found = match (part.start / 0.05).round() as u32 {
            0 => times(Some(2000.0), None, 40),
            1 => times(None, Some(4000.0), 40),
            2 => times(None, None, 20),
            _ => return None,
        };
        let mut phase = arms[index].phases[0].clone();
        phase.measured.response_time_ms = found;
        return Some(phase);
    }
    if (arms[index].policy.as_str(), phase, part) != ("seda", "spike", &(0.5..1.0)) {
        return None;
    }
    let mut phase = arms[index].phases[0].clone();
    phase.measured.response_time_ms = times(Some(900.0), None, 100);
    Some(phase)
}

fn judged(arms: &[Arm], text: &str) -> ThresholdResult {
    // Quality falls from 1.0 by 0.1 a second.
    let timeline: Vec<TimelineSecond> = (0_u32..10)
        .map(|second| TimelineSecond {
            arm: "seda".to_owned(),
            block: 1,
            second,
            phase: "spike".to_owned(),
            target: Some(TargetSecond {
                stages: vec![StageSecond {
                    name: "checksum".to_owned(),
                    refused: second.into(),
                    gauges: [("quality".to_owned(), 1.0 - f64::from(second) / 10.0)].into(),
                    ..StageSecond::default()
                }],
                ..TargetSecond::default()
            }),
            ..TimelineSecond::default()
        })
        .collect();
    let parts = |index: usize, phase: &str, share: Range<f64>| part(arms, index, phase, &share);
    let evidence = Evidence { arms, left_out: &std::collections::BTreeSet::new(), timeline: &timeline, parts: &parts };
    Threshold::parse(text).unwrap_or_else(|e| panic!("{text}: {e}")).judge(&evidence)
}

#[track_caller]
fn holds(text: &str, why: &str) {
    let result = judged(&arms(), text);
    assert_eq!((result.held, result.why.as_str()), (true, why), "{text}");
}

#[track_caller]
fn fails(text: &str, why: &str) {
    let result = judged(&arms(), text);
    assert_eq!((result.held, result.why.as_str()), (false, why), "{text}");
}

#[test]
fn a_time_against_a_limit() {
    holds("seda.spike.response_time.p90 < 2s", "found 1.50 s");
    holds("seda.spike.response_time.p90 <= 1500ms", "found 1.50 s");
    fails("seda.spike.response_time.p90 < 1500ms", "found 1.50 s");
    fails("seda.spike.response_time.p90 > 2s", "found 1.50 s");
}

#[test]
fn time_outs_hide_the_longest_and_the_mean() {
    let mut arms = arms();
    let times = &mut arms[1].phases[0].measured.response_time_ms;
    (times.max, times.mean) = (Some(1800.0), Some(400.0));
    let why = |arms: &[Arm], text: &str| {
        let result = judged(arms, text);
        (result.held, result.why)
    };
    assert_eq!(why(&arms, "seda.spike.response_time.max < 2s"), (true, "found 1.80 s".to_owned()));
    assert_eq!(why(&arms, "seda.spike.response_time.mean < 2s"), (true, "found 400.0 ms".to_owned()));
    arms[1].phases[0].measured.response_time_ms.censored = 7;
    assert_eq!(why(&arms, "seda.spike.response_time.max < 2s"), (false, "found at least 1.80 s".to_owned()));
    assert_eq!(why(&arms, "seda.spike.response_time.max > 1s"), (true, "found at least 1.80 s".to_owned()));
    let hidden = "mean of seda.spike is hidden by 7 without an answer".to_owned();
    assert_eq!(why(&arms, "seda.spike.response_time.mean < 2s"), (false, hidden));
}

#[test]
fn a_part_of_a_phase() {
    holds("seda.spike[50%..].response_time.p90 <= 1s", "found 900.0 ms");
    holds("seda.spike[15s..].response_time.p90 <= 1s", "found 900.0 ms");
    fails("seda.spike[..50%].response_time.p90 <= 1s", "no parts of seda.spike were kept");
}

#[test]
fn fractions_counts_and_rates() {
    holds("seda.spike.reject_fraction between 0.5 and 0.95", "found 0.750");
    holds("seda.spike.reject_fraction between 50% and 75%", "found 0.750");
    fails("seda.spike.reject_fraction between 0.8 and 0.95", "found 0.750");
    holds("seda.spike.goodput > none.spike.goodput", "found 60, against 20");
    holds("seda.spike.goodput >= 60/s", "found 60");
    holds("connections.spike.clients_with_connect_timeout >= 0.4", "found 0.400");
    fails("connections.spike.clients_with_connect_timeout > 0.4", "found 0.400");
    holds("connections.spike.served == 20", "found 20");
    // (200 + 100) of 1200
    holds("seda.spike.served_fraction == 0.25", "found 0.250");
}

#[test]
fn a_bound_is_used_as_a_range() {
    holds("none.spike.response_time.p90 > 5s", "found at least 60.00 s");
    // It may be over 70 s, and it may be under: neither can be claimed.
    fails("none.spike.response_time.p90 < 70s", "found at least 60.00 s");
    fails("none.spike.response_time.p90 > 70s", "found at least 60.00 s");
    // 60 s / 1.5 s
    holds("none.spike.response_time.p90 / seda.spike.response_time.p90 >= 40", "found at least 40");
    fails("seda.spike.response_time.p90 / none.spike.response_time.p90 > 0.01", "found 0 to 0.025");
    holds("seda.spike.response_time.p90 / none.spike.response_time.p90 <= 0.025", "found 0 to 0.025");
}

#[test]
fn no_samples_fails() {
    fails(
        "connections.spike.response_time.p90 < 2s",
        "too few samples: p90 of connections.spike needs 29, there are 20",
    );
    fails("seda.spike.login.reject_fraction < 1", "no samples: no requests in seda.spike, login");
    fails("seda.spike.search.reject_fraction < 1", "no samples: no requests in seda.spike, search");
    fails("vegas.spike.goodput > 1", "vegas.spike did not run");
    fails("seda.at-4.reject_fraction < 1", "no samples: no requests in seda.at-4");
    let result = judged(&[], "seda.spike.goodput > 0");
    assert_eq!((result.held, result.why.as_str()), (false, "no arm ran"));
}

#[test]
fn what_was_cut_off_is_not_judged() {
    let word = |arms: &[Arm], text: &str| {
        let result = judged(arms, text);
        (result.outcome(), result.held, result.why)
    };
    let mut stopped = arms();
    stopped[1].phases[0].cut_off = true;
    stopped[1].phases[0].seconds = 5.2;
    let why = || "seda.spike was cut off after 5.2 s".to_owned();
    for text in [
        "seda.spike.response_time.p90 < 2s",
        "seda.spike[50%..].response_time.p90 <= 1s",
        "none.spike.goodput < seda.spike.goodput",
        "seda.spike.gauge.checksum.quality.first == 1",
        "share(seda.spike.gauge.checksum.quality > 0) >= 1%",
    ] {
        assert_eq!(word(&stopped, text), ("not judged", false, why()), "{text}");
    }
    assert_eq!(word(&stopped, "none.spike.goodput > 1").0, "passed", "another arm, to its end");
    stopped[1].phases[0].seconds = 0.0;
    let not_begun = word(&stopped, "seda.spike.goodput > 1");
    assert_eq!(not_begun, ("not judged", false, "seda.spike did not begin".to_owned()));
    // Of several blocks those count that can be judged.
    let mut blocks = [arms(), stopped].concat();
    blocks[3..].iter_mut().for_each(|arm| arm.block = 2);
    let both = judged(&blocks, "seda.spike.goodput > 1");
    assert_eq!((both.outcome(), both.blocks[0].judged, both.blocks[1].judged), ("passed", true, false));
    assert_eq!(judged(&blocks, "seda.spike.goodput > 1000").outcome(), "FAILED");
}

#[test]
fn types_classes_and_gauges() {
    holds("seda.spike.\"list messages\".response_time.p90 <= 10s", "found 1.50 s");
    holds("seda.spike.class-1.reject_fraction < 0.8", "found 0.750");
    holds("seda.spike.gauge.checksum.quality.first == 1", "found 1");
    holds("seda.spike.gauge.checksum.quality.last < seda.spike.gauge.checksum.quality.max", "found 0.100, against 1");
    // Seconds 5 to 9: 0.5, 0.4, 0.3, 0.2, 0.1.
    holds("seda.spike[50%..].gauge.checksum.quality.mean between 0.299 and 0.301", "found 0.300");
    fails("seda.spike.gauge.login.quality.last < 1", "seda.spike: stage login showed no quality; shown by: checksum");
    // Ten values that fall each second are nine steps.
    holds("seda.spike.gauge.checksum.quality.falls == 9", "found 9");
    fails("seda.spike.gauge.checksum.quality.rises >= 1", "found 0");
}

#[test]
fn steps_in_a_row_are_not_interrupted_by_seconds_without_one() {
    let values = [5.0, 4.0, 4.0, 3.0, 6.0, 5.0, 7.0, 8.0, 8.0, 9.0, 9.0];
    assert_eq!(metric::TimeStatistic::find("falls").and_then(|over| over.of(&values)), Some(2.0));
    assert_eq!(metric::TimeStatistic::find("rises").and_then(|over| over.of(&values)), Some(3.0));
}

#[test]
fn a_share_of_the_pieces_of_time() {
    // Seconds: 1, 0.9, … 0.1; of the last half 0.5 … 0.1.
    holds("share(seda.spike.gauge.checksum.quality >= 0.75) == 30%", "found 0.300");
    holds("share(seda.spike[50%..].gauge.checksum.quality < 0.25) == 0.4", "found 0.400");
    // Refused: 0, 1, … 9. Of the ten seconds 3 and 4 have both.
    holds(
        "share(seda.spike.gauge.checksum.refused > 2 and seda.spike.gauge.checksum.quality > 0.55) == 20%",
        "found 0.200",
    );
    fails("share(seda.spike.gauge.checksum.limit > 1) > 0", "seda.spike: stage checksum showed no limit");
    fails(
        "share(seda.spike.gauge.single.quality > 0.5) > 0",
        "seda.spike: stage single showed no quality; shown by: checksum",
    );
    // Of the twentieths of NONE's spike the first is known, the second only to be over 4 s, the third has too few samples;
    // the rest were not kept.
    holds("share(none.spike.response_time.p90 > 3s) == 50%", "found 0.500");
    fails("share(none.spike.response_time.p90 > 10s) >= 50%", "found 0 to 0.500");
    holds("share(none.spike.response_time.p90 > 10s) <= 50%", "found 0 to 0.500");
    fails(
        "share(connections.spike.response_time.p90 > 10s) <= 50%",
        "too few samples in every piece of connections.spike",
    );
}

#[test]
fn a_share_asks_for_each_of_its_pieces() {
    let wanted = |text: &str| {
        let threshold = Threshold::parse(text).expect(text);
        (threshold.parts("seda", |_| Some(30.0)), threshold.reads_gauges("seda"))
    };
    let (parts, gauges) = wanted("share(seda.spike[90%..].response_time.p90 <= 1s) >= 70%");
    let twentieths: Vec<_> = parts.iter().filter(|(_, part)| part.end - part.start < 0.06).collect();
    assert_eq!((twentieths.len(), gauges), (2, false), "{parts:?}");
    assert_eq!(wanted("share(seda.spike.goodput > 1) >= 70%").0.len(), 20);
    // Gauges are asked for second by second, and of no other arm.
    assert_eq!(wanted("share(seda.spike.gauge.login.p90_ms <= 1s) >= 70%"), (Vec::new(), true));
    assert_eq!(wanted("share(none.spike.gauge.login.p90_ms <= 1s) >= 70%"), (Vec::new(), false));
    assert_eq!(wanted("seda.spike[50%..].goodput > 1").0, [("spike".to_owned(), 0.5..1.0)]);
}

#[test]
fn arithmetic_has_the_usual_precedence() {
    // 60 - 20 * 2 = 20
    holds("seda.spike.goodput - none.spike.goodput * 2 == 20", "found 20");
    holds("(seda.spike.goodput - none.spike.goodput) * 2 == 80", "found 80");
    holds(
        "max(seda.spike.goodput, none.spike.goodput) - min(seda.spike.goodput, none.spike.goodput) == 40",
        "found 40",
    );
    holds("abs(none.spike.goodput - seda.spike.goodput) <= 40", "found 40");
    holds("seda.spike.response_time.p90 <= 3 * 500ms", "found 1.50 s");
    fails("seda.spike.goodput / seda.spike.timed_out > 0", "divides by nothing");
}

#[test]
fn with_several_blocks_it_must_hold_in_each() {
    let mut all = arms();
    let mut second = all[1].clone();
    second.block = 2;
    second.phases[0].measured.goodput_per_s = 40.0;
    all.push(second);
    let result = judged(&all, "seda.spike.goodput > 50");
    assert!(!result.held);
    assert_eq!(result.why, "block 1: found 60; block 2: found 40");
    assert_eq!(result.values, [Some(60.0), Some(40.0)]);
    assert_eq!(result.blocks.iter().map(|block| block.held).collect::<Vec<_>>(), [true, false]);
    assert!(judged(&all, "seda.spike.goodput > 30").held);

    // Of many, only those that failed are told.
    for block in 3..=10 {
        let mut more = all[1].clone();
        more.block = block;
        all.push(more);
    }
    assert_eq!(judged(&all, "seda.spike.goodput > 50").why, "held in 9 of 10 blocks; block 2: found 40");
    assert_eq!(judged(&all, "seda.spike.goodput > 30").why, "held in 10 of 10 blocks");
    let none = judged(&all, "seda.spike.goodput > 70").why;
    assert!(none.starts_with("held in 0 of 10 blocks; block 1: found 60;") && none.ends_with("; …"), "{none}");
}

#[test]
fn errors_name_the_place_and_the_way_out() {
    let cases = [
        ("", 0, "something is missing at the end"),
        ("1 < 2", 0, "nothing is measured here"),
        ("seda", 4, "a phase is missing"),
        ("seda.spike", 10, "a metric is missing"),
        ("seda.spike.goodput", 18, "a comparison is missing"),
        ("seda.spike.goodput <", 20, "something is missing at the end"),
        ("seda.spike.goodput = 5", 19, "'=' is not allowed here"),
        ("seda.spike.goodput > 5 6", 23, "the threshold should end here"),
        ("seda.spike.goodputs > 5", 11, "there is no metric goodputs"),
        ("seda.spike.search.goodputs > 5", 18, "there is no metric goodputs"),
        ("seda.spike.goodput.p90 > 5", 19, "goodput has no parts"),
        ("seda.spike.response_time > 5s", 25, "a statistic is missing"),
        ("seda.spike.response_time.p98 > 5s", 25, "there is no statistic p98"),
        ("seda.spike.response_time.p90 < 2", 31, "a time cannot be compared with a plain number"),
        ("seda.spike.goodput < 2s", 21, "a time cannot be compared with a plain number"),
        ("seda.spike.goodput < 2parsec", 22, "unknown unit parsec"),
        ("seda.spike.reject_fraction between 0.5", 38, "\"and\" is missing"),
        ("seda.spike[50%].goodput > 1", 14, "a part is a range"),
        ("seda.spike[50..].goodput > 1", 11, "a point in a phase needs a unit"),
        ("seda.spike[50%...goodput > 1", 16, "] is missing"),
        ("seda.spike.\"list messages.goodput > 1", 11, "the quote is not closed"),
        ("seda.1024.goodput > 1", 5, "a name cannot begin with a digit here"),
        ("median(seda.spike.goodput) > 1", 0, "there is no function median"),
        ("abs(seda.spike.goodput, 1) > 1", 0, "abs takes one value"),
        ("max(seda.spike.goodput > 1", 23, ") is missing"),
        ("share(1 > 2) > 1", 6, "share takes a comparison"),
        (
            "share(seda.spike.gauge.a.b > 2 and seda.spike.goodput > 2) > 1",
            35,
            "seconds and parts of phases do not go together",
        ),
        ("share(seda.spike.goodput) > 1", 24, "a comparison is missing"),
        ("share(seda.spike.response_time.p90 < 2) > 1", 37, "a time cannot be compared with a plain number"),
        ("share(seda.spike.gauge.a.b.last < 2) > 1", 26, "a comparison is missing"),
        ("2 / seda.spike.response_time.p90 > 1", 4, "this has no unit that could be compared"),
        ("seda.spike.gauge.checksum.quality > 1", 34, "a statistic over time is missing"),
    ];
    for (text, at, message) in cases {
        let error = Threshold::parse(text).expect_err(text);
        assert_eq!((error.at, error.message.as_str()), (at, message), "{text}");
        assert!(!error.hint.is_empty(), "{text}");
    }
    let near = Threshold::parse("seda.spike.goodputs > 5").unwrap_err().to_string();
    let hint = "did you mean goodput?; or a request type or class-N before the metric";
    assert_eq!(near, format!("there is no metric goodputs; {hint} (at character 12)"));
}

#[test]
fn hostile_texts_are_refused_without_harm() {
    let deep = format!("{}seda.spike.goodput > 1", "(".repeat(900));
    assert_eq!(Threshold::parse(&deep).unwrap_err().message, "too many parentheses within each other");
    let long = format!("seda.spike.goodput{} > 1", " + 1".repeat(1000));
    assert_eq!(Threshold::parse(&long).unwrap_err().message, "the threshold is too long");
}

#[test]
fn names_are_checked_against_the_plan() {
    let names = KnownNames {
        arms: vec!["none", "seda"],
        phases: vec![("before", 10.0), ("spike", 30.0)],
        types: vec!["login", "list messages"],
    };
    let problems = |text: &str| -> Vec<String> {
        let found = Threshold::parse(text).unwrap().check(&names).err().unwrap_or_default();
        found.into_iter().map(|problem| problem.to_string()).collect()
    };
    let none: [&str; 0] = [];
    assert_eq!(problems("seda.spike[50%..].\"list messages\".response_time.p90 < 2s"), none);
    assert_eq!(
        problems("sedo.spike.goodput > non.spik.goodput"),
        [
            "there is no arm sedo; did you mean seda? (at character 1)",
            "there is no arm non; did you mean none? (at character 22)",
            "there is no phase spik; did you mean spike? (at character 22)",
        ]
    );
    assert_eq!(
        problems("seda.spike.logon.goodput > 1"),
        ["there is no request type or metric logon; did you mean login? (at character 1)"]
    );
    assert_eq!(
        problems("seda.spike[7s..].goodput > 1"),
        ["parts of a phase are kept in steps of 5 % of its length; use multiples of 5 %, here 1.5 s (at character 11)"]
    );
    assert_eq!(
        problems("seda.spike[31s..].goodput > 1"),
        [
            "this part of the phase is empty or lies outside of it; the phase lasts 30 s; write the earlier end first (at \
          character 11)"
        ]
    );
}

#[test]
fn the_generator_is_asked_like_a_stage() {
    let second = |threads, memory| TimelineSecond {
        arm: "none".to_owned(),
        block: 1,
        phase: "spike".to_owned(),
        generator: GeneratorSecond { cpu: 0.5, threads, memory_mb: Some(memory), ..GeneratorSecond::default() },
        ..TimelineSecond::default()
    };
    let judged = |text: &str, timeline: &[TimelineSecond]| {
        let left_out = std::collections::BTreeSet::new();
        let arms = arms();
        let evidence = Evidence { arms: &arms, left_out: &left_out, timeline, parts: &|_, _, _| None };
        let threshold = Threshold::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(threshold.asks_generator(), text.contains("generator"), "{text}");
        threshold.judge(&evidence).held
    };
    let live = [second(Some(7), 40.0), second(Some(9), 60.0)];
    assert!(judged("none.spike.gauge.generator.threads.max == 9", &live));
    assert!(judged("none.spike.gauge.generator.memory_mb.mean == 50", &live));
    assert!(judged("share(none.spike.gauge.generator.cpu < 0.6) == 1", &live));
    assert!(judged("none.spike.gauge.generator.cpu.max + none.spike.sent > 500", &live));
    assert!(!judged("none.spike.gauge.generator.open.max < 1000", &live), "there is no such figure");
    let target = Some(TargetSecond { cpu: 0.25, ..TargetSecond::default() });
    let busy = [TimelineSecond { target, ..second(Some(9), 50.0) }];
    assert!(judged("none.spike.gauge.target.cpu.mean == 0.25", &busy));
    assert!(!judged("none.spike.gauge.target.memory_mb.max < 1000", &busy), "nobody knows it");
    assert!(
        !judged("none.spike.gauge.generator.cpu.max < 1000", &[second(None, 0.0)]),
        "in virtual time there is none"
    );
    assert!(judged("none.spike.sent > 0", &live));
}

/// `none` answers all of 100 with a p90 of 900 ms; `limit` so many of them with one of 100 ms.
fn a_limit_that_answers(served: u64) -> Vec<Arm> {
    let of = |served, p90, all| Measured {
        planned: 100,
        sent: 100,
        served,
        response_time_ms: times(Some(p90), None, served),
        response_time_all_ms: all,
        ..Measured::default()
    };
    let unanswered = times(None, Some(5000.0), served);
    vec![arm("none", 1, of(100, 900.0, times(Some(900.0), None, 100))), arm("limit", 1, of(served, 100.0, unanswered))]
}

#[test]
fn of_two_arms_the_percentile_of_the_one_that_answers_fewer_is_a_lower_bound() {
    let refuses = a_limit_that_answers(53);
    let of = |text: &str| {
        let found = judged(&refuses, text);
        (found.held, found.why)
    };
    let shares = "limit answers 53 %, none answers 100 %: percentiles of different requests";
    let found = of("limit.spike.response_time.p90 < none.spike.response_time.p90");
    assert_eq!(found, (false, format!("found at least 100.0 ms, against 900.0 ms; {shares}")));
    for survivors in [
        "none.spike.response_time.p90 > 3 * limit.spike.response_time.p90",
        "none.spike.response_time.p90 / limit.spike.response_time.p90 >= 3",
        "limit.spike.class-1.response_time.p90 - none.spike.class-1.response_time.p90 < 0ms",
        "limit.spike.response_time.p90 between 0ms and none.spike.response_time.p90",
    ] {
        let (held, why) = of(survivors);
        assert!(!held && why.ends_with(": percentiles of different requests"), "{survivors}: {why}");
    }
    // A bound that is above all the same; one arm alone; figures of each arm by itself.
    for holds in [
        "limit.spike.response_time.p90 > 0.1 * none.spike.response_time.p90",
        "limit.spike.response_time.p90 < 200ms",
        "limit.spike.response_time.count < none.spike.response_time.count",
    ] {
        assert!(of(holds).0, "{holds}");
    }
    // On purpose.
    let found = of("limit.spike.response_time_answered.p90 < none.spike.response_time_answered.p90");
    assert_eq!(found, (true, "found 100.0 ms, against 900.0 ms".to_owned()));
    let near = judged(&a_limit_that_answers(91), "limit.spike.response_time.p90 < none.spike.response_time.p90");
    assert_eq!((near.held, near.why.as_str()), (true, "found 100.0 ms, against 900.0 ms"));
}

#[test]
fn a_percentile_of_all_requests_is_of_those_without_an_answer_too() {
    let refuses = a_limit_that_answers(53);
    let of = |text: &str| {
        let found = judged(&refuses, text);
        (found.held, found.why)
    };
    assert_eq!(
        of("limit.spike.response_time_all.p90 < none.spike.response_time_all.p90"),
        (false, "found at least 5.00 s, against 900.0 ms; limit answers 53 %".to_owned())
    );
    assert!(of("none.spike.response_time_all.p90 < limit.spike.response_time_all.p90").0);
    assert_eq!(
        of("limit.spike.response_time_all.p90 < 1s"),
        (false, "found at least 5.00 s; limit answers 53 %".to_owned())
    );
    assert_eq!(of("none.spike.response_time_all.p90 < 1s"), (true, "found 900.0 ms".to_owned()));
}
