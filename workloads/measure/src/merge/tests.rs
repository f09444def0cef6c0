use std::time::Duration;

use controllers::{Class, Kind, Timestamp};

use super::*;
use crate::{CellRecord, Fate, Intent, Ledger, Recorder, RecorderPhase, RecorderPlan, TimesRecord};

/// A part in which each user of its own has been served within 70 ms.
fn part(number: u32, of: u32) -> ReportRecord {
    stopped(number, of, None)
}

/// The same, whose arrivals were stopped at a time.
fn stopped(number: u32, of: u32, at: Option<Duration>) -> ReportRecord {
    let phases = vec![RecorderPhase {
        name: "all".to_owned(),
        duration: Duration::from_secs(10),
        users: Some(30),
        independent: false,
    }];
    let plan = RecorderPlan {
        shard: Some(format!("{number}/{of}").parse().expect("a part")),
        phases,
        classes: vec![Class(0)],
        timeout: Duration::from_secs(60),
        objective: Duration::from_secs(1),
        class_objectives: [].into(),
        replays: false,
    };
    let mut recorder = Recorder::new(plan, &["get"]);
    for user in (u64::from(number - 1)..30).step_by(of as usize) {
        let at = Timestamp::from_secs(1);
        let intent = Intent { kind: Kind(0), class: Class(0), wanted_at: at, attempt: 0 };
        let mut ticket = recorder.plan(user, intent, at);
        recorder.sent(&mut ticket, at);
        recorder.end(ticket, Fate::Served, at + Duration::from_millis(70));
    }
    if let Some(at) = at {
        recorder.stop(Timestamp::ZERO + at);
    }
    recorder.finish(Timestamp::from_secs(11), Health::default()).record(|_| false)
}

#[test]
fn a_phase_that_was_cut_off_in_a_part_is_cut_off_where_the_longest_part_ended() {
    let ms = Duration::from_millis;
    let parts = [stopped(1, 3, Some(ms(4100))), stopped(2, 3, Some(ms(4000))), part(3, 3)];
    let lasted = |parts: &[ReportRecord]| {
        let mut sum = RecordSum::default();
        parts.iter().try_for_each(|part| sum.add(part)).expect("parts of one plan");
        let phase = sum.of_those_added().expect("there are some").phases.swap_remove(0);
        (phase.lasts_ns, phase.cut_off)
    };
    assert_eq!((lasted(&parts[..2]), lasted(&parts)), ((4_100_000_000, true), (10_000_000_000, true)));
}

#[test]
fn parts_come_one_after_another_in_any_order() {
    let parts = [1, 2, 3].map(|number| part(number, 3));
    let mut sum = RecordSum::default();
    for at in [2, 0, 1] {
        sum.add(&parts[at]).expect("a part of the plan");
    }
    let whole = sum.whole().expect("all of them");
    assert_eq!(whole, ReportRecord::merged(&parts).expect("all of them"));
    assert_eq!((whole.shard, &whole.phases[0].seen[..], whole.cells[0].ledger.served), (None, &[[0, 29]][..], 30));

    let told = |parts: &[&ReportRecord]| {
        let mut sum = RecordSum::default();
        let added = parts.iter().try_for_each(|part| sum.add(part));
        added.and_then(|()| sum.whole()).expect_err("no whole").to_string()
    };
    assert!(told(&[&parts[0], &parts[2]]).contains("2 of 3 parts"));
    assert!(told(&[&parts[0], &parts[0]]).contains("once"));
    assert!(told(&[&parts[0], &part(2, 4)]).contains("once"));
    assert!(told(&[&whole]).contains("no part of a plan"));
    assert!(told(&[]).contains("no part of it"));
}

#[test]
fn a_bucket_of_the_whole_holds_more_than_32_bits() {
    // 5000 us begins a bucket of 4 us. Of each part's requests two thirds are in it, and one third took 70 us.
    let (many, few) = (3_000_000_000, 1_500_000_000);
    let times = TimesRecord {
        known: vec![[70, few], [5000, many]],
        total_us: 70 * few + 5000 * many,
        longest_us: 5003,
        ..TimesRecord::default()
    };
    let all = many + few;
    let ledger = Ledger { planned: all, sent: all, served: all, ..Ledger::default() };
    let parts = [1, 2].map(|number| {
        let mut part = part(number, 2);
        let families = ["response", "service", "send-lag"].map(|family| (family.to_owned(), times.clone()));
        part.cells = vec![CellRecord { ledger, times: families.into(), ..part.cells[0].clone() }];
        part
    });
    let whole = ReportRecord::merged(&parts).expect("both");
    assert_eq!(whole.cells[0].times["response"].known, [[70, 3_000_000_000], [5000, 6_000_000_000]]);
    let text = serde_json::to_string(&whole).expect("JSON");
    let report = serde_json::from_str::<ReportRecord>(&text).expect("a record").report().expect("it makes sense");
    let response = report.total.measured.response_time_ms;
    assert_eq!((response.count, report.total.measured.served), (9_000_000_000, 9_000_000_000));
    assert_eq!((response.p50, response.p99), (Some(5.003), Some(5.003)));
    let mean = response.mean.expect("it is known");
    assert!((mean - (5.0 * 2.0 + 0.07) / 3.0).abs() < 1e-9, "{mean}");

    let mut beyond = parts[0].clone();
    beyond.cells[0].times.get_mut("response").expect("there").known[0][1] = 1 << 49;
    assert!(beyond.report().map(|_| ()).expect_err("too many").to_string().contains("more than can be counted"));
}
