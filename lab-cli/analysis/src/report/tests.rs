use super::{
    columns::{REFUSALS, difference},
    *,
};
use crate::{
    summary::{Joined, LatencyObjective, Measured, SCHEMA, Server, ThresholdResult, Times, Validity},
    testing,
};

fn arm(policy: &str, block: u32, before: Measured, spike: Measured, server: Server) -> Arm {
    testing::arm(policy, block, server, vec![testing::phase("before", before), testing::phase("spike", spike)])
}

fn summary() -> RunSummary {
    let before = Measured {
        planned: 600,
        sent: 600,
        served: 600,
        goodput_per_s: 60.0,
        response_time_ms: Times { p50: Some(12.3), p90: Some(24.9), p99: Some(61.0), count: 600, ..Times::default() },
        ..Measured::default()
    };
    let none = Measured {
        planned: 3000,
        sent: 3000,
        served_late: 2900,
        timed_out: 100,
        goodput_per_s: 2.1,
        response_time_ms: Times {
            p50: Some(9876.0),
            p90_at_least: Some(60_000.0),
            p99_at_least: Some(60_000.0),
            count: 2900,
            ..Times::default()
        },
        ..Measured::default()
    };
    let connections = Measured {
        planned: 2000,
        connect_failed: 1700,
        connect_timed_out: 1700,
        sent: 300,
        served: 284,
        timed_out: 16,
        goodput_per_s: 9.5,
        response_time_ms: Times { p50: Some(640.0), count: 284, ..Times::default() },
        ..Measured::default()
    };
    let read = |requests_read| Server { requests_read, ..Server::default() };
    let unread = |unread| Some(Joined { unread, ..Joined::default() });
    RunSummary {
        schema: SCHEMA,
        experiment: "flash-crowd".to_owned(),
        verdict: Validity::Valid,
        valid: true,
        objective: LatencyObjective { percentile: 90.0, response_time_ms: 1000.0 },
        arms: vec![
            arm("none", 1, before.clone(), none, read(3600)),
            Arm {
                requests: unread([("timed_out".to_owned(), 16)].into()),
                ..arm("connections", 1, before, connections, read(884))
            },
        ],
        thresholds: vec![
            ThresholdResult {
                text: "none.spike.response_time.p90 > 5s".to_owned(),
                held: true,
                judged: true,
                why: "found at least 60.00 s".to_owned(),
                values: vec![Some(60_000.0)],
                blocks: Vec::new(),
                aborted: None,
            },
            ThresholdResult {
                text: "connections.spike.response_time.p90\n    > 3s".to_owned(),
                held: false,
                judged: true,
                why: "too few samples: p90 of connections.spike needs 29, there are 20".to_owned(),
                values: vec![None],
                blocks: Vec::new(),
                aborted: None,
            },
        ],
        ..RunSummary::default()
    }
}

fn reason(code: &str, verdict: Validity, arm: &str, value: &str) -> GateFinding {
    GateFinding {
        code: code.to_owned(),
        verdict,
        arm: arm.to_owned(),
        value: value.to_owned(),
        threshold: "70 %".to_owned(),
        message: "the generator was nearly saturated".to_owned(),
        remedy: "lower the load".to_owned(),
    }
}

#[test]
fn a_valid_run() {
    insta::assert_snapshot!(text(&summary(), true));
}

#[test]
fn what_was_left_unread_is_told_by_how_it_ended() {
    let joined = |unread: &[(&str, u64)]| Joined {
        unread: unread.iter().map(|&(name, count)| (name.to_owned(), count)).collect(),
        ..Joined::default()
    };
    assert_eq!(difference(10, 10, Some(&joined(&[]))), "0");
    assert_eq!(difference(10, 8, Some(&joined(&[("timed_out", 2)]))), "2, timed out unread");
    let both = joined(&[("in_flight", 1), ("timed_out", 1)]);
    assert_eq!(difference(10, 8, Some(&both)), "2 unread: 1 in flight, 1 timed out");
    assert_eq!(difference(10, 7, Some(&both)), "3", "what does not add up is not explained away");
    assert_eq!(difference(10, 11, None), "-1");
}

#[test]
fn a_finding_in_many_arms_names_a_few_of_them() {
    let arms: Vec<String> = (1..=7).map(|block| format!("none (block {block})")).collect();
    let found = |count: usize| {
        let found: Vec<_> = arms[..count].iter().map(|arm| reason("NOISE", Validity::Invalid, arm, "50 %")).collect();
        reasons(&found)
    };
    assert!(found(5).contains("(block 5)") && !found(5).contains("more arms"), "{}", found(5));
    assert!(!found(7).contains("(block 6)") && found(7).contains("and in 2 more arms: summary.json"), "{}", found(7));
}

#[test]
fn an_invalid_run_in_two_blocks_says_each_finding_once() {
    let mut summary = summary();
    let mut second = summary.arms[0].clone();
    second.block = 2;
    summary.arms.push(second);
    summary.arms[1].server = None;
    summary.partial = true;
    summary.stopped = Some(crate::summary::Stopped {
        blocks_planned: 3,
        blocks_whole: 1,
        turns_planned: 9,
        turns_whole: 4,
        part: None,
    });
    summary.valid = false;
    summary.verdict = Validity::Invalid;
    summary.reasons = vec![
        reason("CPU", Validity::Invalid, "none", "generator at 80 % of its core"),
        reason("CPU", Validity::Invalid, "none (block 2)", "generator at 75 % of its core"),
        reason("GAP", Validity::Warn, "connections", "300 ms"),
    ];
    insta::assert_snapshot!(text(&summary, true));
}

#[test]
fn what_users_refused_themselves_has_a_column_where_there_is_any() {
    let mut summary = summary();
    assert!(!ledgers(&summary).to_text().contains("refused locally"));
    summary.arms[0].phases[1].measured.refused_locally = 77;
    let table = ledgers(&summary).to_text();
    let words =
        |line: usize| table.lines().nth(line).expect("a line").split("  ").map(str::trim).filter(|w| !w.is_empty());
    let column = words(0).position(|word| word == "refused locally").expect("a column");
    assert_eq!(words(1).nth(column), Some("77"), "{table}");
}

#[test]
fn a_service_that_refused_says_why_with_the_names_that_policies_gave() {
    let mut summary = summary();
    assert!(!ledgers(&summary).to_text().contains(REFUSALS));
    let refused = [("queue-full", 3), ("over-learnt-rate", 1520), ("rate", 0)];
    let refused = refused.map(|(reason, count)| (reason.to_owned(), count)).into();
    summary.arms[0].server.as_mut().expect("a ledger").refused = refused;
    let table = ledgers(&summary).to_text();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].ends_with(REFUSALS), "{table}");
    assert!(lines[1].ends_with("1520 over-learnt-rate, 3 queue-full"), "{table}");
    assert!(lines[2].ends_with(" -"), "{table}");
}
