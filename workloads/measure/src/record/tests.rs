use controllers::{Kind, Random as _, random::Seeded};

use super::*;
use crate::{Fate, Intent, Recorder, RecorderPhase, RecorderPlan};

/// Some thousand requests of every fate, over two phases, two types and two classes.
fn report() -> Report {
    let phase = |name: &str, users| RecorderPhase {
        name: name.to_owned(),
        duration: Duration::from_secs(10),
        users: Some(users),
        independent: false,
    };
    let plan = RecorderPlan {
        shard: None,
        phases: vec![phase("calm", 4), phase("spike", 501)],
        classes: vec![Class(0), Class(1)],
        timeout: Duration::from_secs(60),
        objective: Duration::from_secs(1),
        class_objectives: std::collections::BTreeMap::new(),
        replays: false,
    };
    let mut recorder = Recorder::new(plan, &["read", "write"]).watching_the_generator();
    let mut random = Seeded::new(3);
    let fates = [
        Fate::Served,
        Fate::Served,
        Fate::Rejected,
        Fate::TimedOut,
        Fate::Broken,
        Fate::Abandoned,
        Fate::ConnectTimedOut,
        Fate::RefusedLocally,
        Fate::Unsent,
        Fate::InFlight,
    ];
    let mut start = Timestamp::ZERO;
    for number in 0..2000_u64 {
        start = start + Duration::from_micros((random.uniform() * 18_000.0) as u64);
        let intent = Intent {
            kind: Kind(u16::from(random.uniform() < 0.3)),
            class: Class(u8::from(random.uniform() < 0.4)),
            wanted_at: start,
            attempt: u8::from(random.uniform() < 0.2),
        };
        let mut ticket = recorder.plan(number % 700, intent, start);
        let fate = fates[(random.uniform() * fates.len() as f64) as usize];
        if fate != Fate::RefusedLocally && fate != Fate::Unsent {
            recorder.begin(&mut ticket, start + Duration::from_micros(number % 300));
            if fate != Fate::ConnectTimedOut {
                recorder.sent(&mut ticket, start + Duration::from_micros(number % 700));
            }
        }
        match fate {
            Fate::Rejected => recorder.answered(&ticket, 503, 7),
            Fate::Broken => recorder.went_wrong(&ticket, "connection reset"),
            _ => {}
        }
        let took = Duration::from_micros((random.uniform() * random.uniform() * 3e5) as u64 + 1000);
        recorder.end(ticket, fate, start + took);
        recorder.looked(start + took, Duration::from_micros(number % 900));
    }
    let health = Health { steal: 0.1 + 0.2, wall: Duration::new(30, 1), ..Health::default() };
    recorder.finish(Timestamp::from_secs(60), health)
}

fn through_a_file(record: &ReportRecord) -> ReportRecord {
    serde_json::from_str(&serde_json::to_string(record).expect("JSON")).expect("a record")
}

#[test]
fn the_same_report_comes_out_again() {
    let report = report();
    let record = report.record(|phase| phase == "spike");
    let read = through_a_file(&record);
    assert_eq!(read, record);
    let again = read.report().expect("it makes sense");
    assert_eq!((&again.phases, &again.total), (&report.phases, &report.total));
    assert_eq!((again.seconds, &again.generator, again.little), (report.seconds, &report.generator, report.little));
    assert_eq!((&again.transitions, &again.offered), (&report.transitions, &report.offered));
    assert_eq!((again.replayed, &again.faults), (report.replayed, &report.faults));
    assert_eq!(again.last_second(), report.last_second());
    assert!(report.total.measured.in_flight > 0 && report.total.measured.response_time_ms.censored > 0, "all is in it");
    assert!(report.total.replies.statuses[&503] > 0 && report.phases[1].replies.errors["connection reset"] > 0);
    assert!(report.total.measured.clients_with_connect_timeout > 0.0 && report.phases[1].by_class.len() == 2);
    let half = |of: &Report, phase: &str| of.part(phase, 0.5..1.0);
    assert_eq!(half(&again, "spike"), half(&report, "spike"));
    assert!(half(&report, "calm").is_some() && half(&again, "calm").is_none(), "its parts were not kept");
    assert_eq!(again.part("calm", 0.0..1.0), report.part("calm", 0.0..1.0));
    for family in TimeFamily::ALL {
        for kind in [None, Some("write")] {
            let of = |report: &Report| report.distribution("spike", family, kind).map(|found| found.known_as_v2());
            assert_eq!(of(&again), of(&report), "{family:?}");
        }
    }
    // The same record is made from the computed report.
    assert_eq!(again.record(|phase| phase == "spike"), record);
}

#[test]
fn an_older_record_has_late_ones_among_the_served_and_the_rest_beside_them() {
    let mut record = report().record(|_| false);
    let mut older = serde_json::to_value(&record).expect("JSON");
    for (cell, written) in record.cells.iter_mut().zip(older["cells"].as_array_mut().expect("cells")) {
        let late = u64::from(cell.ledger.served > 0);
        cell.ledger.served -= late;
        cell.ledger.served_late += late;
        written["ledger"]["served_intents"] = cell.ledger.served.into();
    }
    assert!(record.cells.iter().any(|cell| cell.ledger.served_late > 0));
    assert_eq!(serde_json::from_value::<ReportRecord>(older).expect("a record"), record);
}

#[test]
fn what_cannot_be_is_told_and_not_computed() {
    let record = report().record(|_| false);
    let broken = |change: &dyn Fn(&mut ReportRecord)| {
        let mut record = record.clone();
        change(&mut record);
        record.report().map(|_| ()).expect_err("it makes no sense").to_string()
    };
    assert!(broken(&|r| r.cells[0].ledger.served += 1).contains("do not add up"));
    assert!(broken(&|r| r.cells[0].ledger.planned = u64::MAX).contains("do not add up"));
    assert!(broken(&|r| r.cells[0].phase = 7).contains("outside"));
    assert!(broken(&|r| r.cells[0].part = 1).contains("outside"));
    assert!(broken(&|r| r.cells.push(r.cells[0].clone())).contains("twice"));
    assert!(broken(&|r| r.types.clear()).contains("no types"));
    assert!(broken(&|r| r.phases[0].seen.push([0, 0])).contains("out of order"));
    assert!(broken(&|r| r.phases[0].beside.answered = 1).contains("health checks"));
    let endless = |r: &mut ReportRecord| _ = r.phases[0].replies.statuses.insert(200, u64::MAX);
    assert!(broken(&endless).contains("by status"));
    let strange = |r: &mut ReportRecord| {
        r.cells[0].times.insert("guess".to_owned(), TimesRecord::default());
    };
    assert!(broken(&strange).contains("nobody knows"));
    let long = |r: &mut ReportRecord| {
        let days = TimesRecord { known: vec![[u64::MAX, 1]], ..TimesRecord::default() };
        r.cells[0].times.insert("response".to_owned(), days);
    };
    assert!(broken(&long).contains("days"));
}
