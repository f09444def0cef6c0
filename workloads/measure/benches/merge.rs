//! Records of a thousand parts of one plan, put together: `cargo bench -p lab-measure --bench merge`, with `-- parts` for records that have
//! the twentieths of their phases.
//!
//! Ten million users, ten thousand a part, in three phases of a minute: each sends a request of five types about once a minute. Measured is
//! what a merge does: it reads a record from its JSON, adds it, and forgets it. How records are made does not count.
//!
//! Bounds: 10 s, and 500 MB for the whole process; without `parts` it fails beyond them.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark reads the clock; a recorder does not"
)]

use std::{
    env, fs,
    process::ExitCode,
    time::{Duration, Instant},
};

use controllers::{Class, Kind, Random as _, Seeded, Timestamp};
use measure::{Fate, Health, Intent, RecordSum, Recorder, RecorderPhase, RecorderPlan, ReportRecord};

const PARTS: u32 = 1000;
const USERS: u64 = 10_000_000;
const TYPES: [&str; 5] = ["login", "list", "show", "delete", "search"];
const PHASE: Duration = Duration::from_secs(60);
const PHASES: [&str; 3] = ["jump", "calm", "spike"];

fn main() -> ExitCode {
    let in_parts = env::args().any(|argument| argument == "parts");
    let (mut sum, mut took, mut bytes, mut planned) = (RecordSum::default(), Duration::ZERO, 0, 0);
    for number in 1..=PARTS {
        let record = part(number).record(|_| in_parts);
        planned += record.cells.iter().map(|cell| cell.ledger.planned).sum::<u64>();
        let json = serde_json::to_vec(&record).expect("JSON");
        drop(record);
        bytes += json.len();
        let began = Instant::now();
        let record: ReportRecord = serde_json::from_slice(&json).expect("a record");
        sum.add(&record).expect("a part of the plan");
        took += began.elapsed();
    }
    let began = Instant::now();
    let whole = sum.whole().expect("all are there");
    took += began.elapsed();

    let all = whole.cells.iter().map(|cell| cell.ledger.planned).sum::<u64>();
    assert_eq!((all, &whole.phases[0].seen[..]), (planned, &[[0, USERS - 1]][..]));
    let megabytes = resident_peak() / 1000;
    let holds = took <= Duration::from_secs(10) && megabytes <= 500;
    let verdict = if holds { "holds" } else { "DOES NOT HOLD" };
    println!(
        "{PARTS} records of {} KB, {all} requests: {took:.2?}, {megabytes} MB; 10 s and 500 MB: {verdict}",
        bytes / 1000 / PARTS as usize
    );
    println!("the whole: {} KB", serde_json::to_vec(&whole).expect("JSON").len() / 1000);
    if holds || in_parts { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What the process of this part has measured.
fn part(number: u32) -> measure::Report {
    let phase =
        |name: &str| RecorderPhase { name: name.into(), duration: PHASE, users: Some(USERS), independent: false };
    let plan = RecorderPlan {
        shard: Some(format!("{number}/{PARTS}").parse().expect("a part")),
        phases: PHASES.map(phase).into(),
        classes: vec![Class(0)],
        timeout: Duration::from_secs(60),
        objective: Duration::from_secs(1),
        class_objectives: [].into(),
        replays: false,
    };
    let mut recorder = Recorder::new(plan, &TYPES).watching_the_generator();
    let mut random = Seeded::new(number.into());
    for phase in 0..PHASES.len() as u32 {
        let begins = Timestamp::ZERO + PHASE * phase;
        for user in (u64::from(number - 1)..USERS).step_by(PARTS as usize) {
            // All come in the first; afterwards each sends for the first time within a minute, or does not.
            let (into, kind) = match phase {
                0 => (random.uniform() * 60.0, 0),
                _ => (random.exponential(60.0), (random.uniform() * TYPES.len() as f64) as u16),
            };
            if into >= 60.0 {
                continue;
            }
            let at = begins + Duration::from_secs_f64(into);
            let took = Duration::from_secs_f64(0.01 + random.exponential(0.02));
            let intent = Intent { kind: Kind(kind), class: Class(0), wanted_at: at, attempt: 0 };
            let mut ticket = recorder.plan(user, intent, at);
            let sent = at + Duration::from_secs_f64(random.exponential(0.0003));
            recorder.sent(&mut ticket, sent);
            recorder.answered(&ticket, 200, 3000);
            recorder.end(ticket, Fate::Served, sent + took);
            recorder.looked(sent + took, Duration::ZERO);
        }
    }
    recorder.finish(Timestamp::ZERO + PHASE * 3 + Duration::from_secs(1), Health::default())
}

/// Kilobytes.
fn resident_peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or_default()
}
