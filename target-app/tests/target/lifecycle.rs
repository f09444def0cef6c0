//! A target from start to end, over loopback.

use std::{
    io::{Read, Write},
    thread,
    time::Duration,
};

use controllers::{Place, catalogue::PolicySpec};
use spec::{TargetSpec, WorkSpec, wire::SetPolicy};

use crate::common::{answer, arashi, emulated, mailbox, policy, spec, start, status};

#[test]
fn it_serves_on_a_kept_connection_and_the_books_balance() {
    let target = start(spec());
    let mut stream = target.connect();
    for _ in 0..5 {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        let (status, _, body) = answer(&mut stream);
        assert_eq!((status, body.len()), (200, 200));
    }
    stream
        .write_all(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(String::from_utf8_lossy(&rest).matches("HTTP/1.1 200").count(), 2, "a head alone, then a page");
    drop(stream);
    let gauges = target.until("the connection to close", |gauges| gauges.ledger.connections_open == 0);
    assert_eq!(gauges.ledger.requests_read, 7);
    assert_eq!(gauges.ledger.in_flight, 0);
    assert!(gauges.ledger.balances(), "{:?}", gauges.ledger);
    let names: Vec<_> = gauges.stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(names, ["read", "dispatch", "work", "send", "accept", "system"]);
    let (ended, took) = target.stop();
    ended.unwrap();
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[test]
fn a_rate_limit_refuses_with_its_reason_and_can_be_lifted_while_running() {
    let target = start(TargetSpec { policy: policy("fixed-rate", &[("rate", 0.1), ("depth", 1.0)]), ..spec() });
    let answers: Vec<_> = (0..5).map(|_| target.get("/")).collect();
    let refused: Vec<_> = answers.iter().filter(|answer| status(answer) == 503).collect();
    assert!(!refused.is_empty(), "{answers:?}");
    assert!(refused[0].to_ascii_lowercase().contains("x-refused: rate"), "{}", refused[0]);
    assert!(refused[0].contains("data-page=\"refused\""), "{}", refused[0]);
    let change = SetPolicy { stage: None, policy: policy("none", &[]) };
    target.control.set_policy(&change).unwrap();
    for _ in 0..5 {
        let answer = target.get("/");
        assert_eq!(status(&answer), 200, "{answer}");
    }
    let gauges = target.gauges();
    assert_eq!(gauges.policy, "none");
    assert_eq!(gauges.ledger.refused["rate"], refused.len() as u64);
}

#[test]
fn a_stop_finishes_what_was_admitted() {
    let target = start(TargetSpec { app: emulated(Duration::from_millis(400), 4), ..spec() });
    let mut idle = target.connect();
    idle.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    answer(&mut idle);
    let mut busy = target.connect();
    busy.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    target.until("the request to be worked on", |gauges| gauges.ledger.in_flight == 1);
    let waiting = thread::spawn(move || answer(&mut busy));
    let (ended, took) = target.stop();
    ended.unwrap();
    let (status, head, _) = waiting.join().unwrap();
    assert_eq!(status, 200);
    assert!(head.to_ascii_lowercase().contains("connection: close"), "{head}");
    assert!(took < Duration::from_secs(3), "idle connections do not keep it: {took:?}");
}

#[test]
fn changes_that_make_no_sense_are_refused_with_their_reasons() {
    let target = start(spec());
    let bad = |stage: Option<&str>, name: &str, settings: &[(&str, f64)]| {
        let change = SetPolicy { stage: stage.map(str::to_owned), policy: policy(name, settings) };
        target.control.set_policy(&change).unwrap_err().to_string()
    };
    assert!(bad(None, "sedaa", &[]).contains("seda"));
    assert!(bad(None, "fixed-rate", &[("rat", 1.0)]).contains("rat"));
    assert!(bad(Some("serch"), "none", &[]).contains("work"));
    assert!(target.control.set_work(&WorkSpec::default()).unwrap_err().to_string().contains("no work knob"));
    assert_eq!(target.gauges().policy, "none");
}

#[test]
fn a_queue_discipline_is_not_switched_on_before_several_stages() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("mail.sqlite");
    mailbox(&database);
    let target = start(TargetSpec { app: arashi(&database, &[]), ..spec() });
    let switch = |stage: Option<&str>, place: Option<Place>| {
        let policy = PolicySpec { place, ..policy("codel", &[]) };
        target.control.set_policy(&SetPolicy { stage: stage.map(str::to_owned), policy })
    };
    for refused in [switch(None, Some(Place::Single)), switch(Some("dispatch"), None)] {
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("codel: scope: codel keeps the queue of one stage"), "{refused}");
    }
    assert_eq!(target.gauges().policy, "none");
    switch(Some("search"), None).unwrap();
    switch(None, None).unwrap();
}
