//! Faults that an operator injects into a running service: capacity cuts and delays, requested at the control port.

use std::{
    io::Write,
    net::TcpStream,
    time::{Duration, Instant},
};

use spec::{StageSpec, TargetSpec, wire::InjectFault};

use crate::common::{Target, answer, checksum, emulated, spec, start};

const LONG: f64 = 60_000.0;

/// The time that one request takes, from its writing to its answer.
fn asked(stream: &mut TcpStream) -> Duration {
    let begun = Instant::now();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert_eq!(answer(stream).0, 200);
    begun.elapsed()
}

/// The shortest of a few: what is beyond it is the machine's doing.
fn shortest(target: &Target) -> Duration {
    let mut stream = target.connect();
    (0..3).map(|_| asked(&mut stream)).min().unwrap()
}

#[test]
fn emulated_work_takes_longer_on_a_part_of_the_capacity() {
    let target = start(TargetSpec { app: emulated(Duration::from_millis(40), 4), ..spec() });
    let capacity = |share| target.control.hinder(&InjectFault::Capacity { share, for_ms: LONG }).unwrap();
    capacity(0.25);
    assert!(shortest(&target) >= Duration::from_millis(160));
    capacity(1.0);
    assert!(shortest(&target) < Duration::from_millis(160), "it was taken back");
}

#[test]
fn stalled_workers_stand_still_and_the_backlog_is_worked_off_afterwards() {
    let one = StageSpec { workers: 1, batch: 1, ..spec().stage_defaults };
    let target = start(TargetSpec { app: emulated(Duration::from_millis(50), 1), stage_defaults: one, ..spec() });
    target.control.hinder(&InjectFault::Capacity { share: 0.0, for_ms: 400.0 }).unwrap();
    let begun = Instant::now();
    let mut streams: Vec<TcpStream> = (0..3).map(|_| target.connect()).collect();
    for stream in &mut streams {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    }
    // One state: two jobs wait as well in the moment between the second's coming and the first's being taken.
    target.until("two that wait for a worker that is not idle", |gauges| {
        gauges.stages.iter().any(|stage| stage.name == "work" && stage.queue == 2 && stage.idle == 0)
    });
    for stream in &mut streams {
        assert_eq!(answer(stream).0, 200);
    }
    // 400 ms in which nothing is done, and then three jobs of 50 ms, one after the other.
    assert!(begun.elapsed() >= Duration::from_millis(530), "{:?}", begun.elapsed());
}

#[test]
fn work_that_burns_cpu_is_held_back_too() {
    // The share of CPU time itself is tested where its arithmetic is: this process is shared with other tests.
    let target = start(TargetSpec { app: checksum(1, 10), ..spec() });
    target.control.hinder(&InjectFault::Capacity { share: 0.0, for_ms: 300.0 }).unwrap();
    let begun = Instant::now();
    asked(&mut target.connect());
    assert!(begun.elapsed() >= Duration::from_millis(280), "{:?}", begun.elapsed());
}

#[test]
fn a_delay_is_before_every_request_for_its_time() {
    let target = start(spec());
    target.control.hinder(&InjectFault::Delay { by_ms: 120.0, for_ms: LONG }).unwrap();
    assert!(shortest(&target) >= Duration::from_millis(120));
    target.control.hinder(&InjectFault::Delay { by_ms: 0.0, for_ms: 1.0 }).unwrap();
    assert!(shortest(&target) < Duration::from_millis(120));
    let refused = target.control.hinder(&InjectFault::Delay { by_ms: -1.0, for_ms: 1.0 }).unwrap_err().to_string();
    assert!(refused.contains("by_ms") && refused.contains("a minute"), "{refused}");
}
