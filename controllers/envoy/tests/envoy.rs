//! The module in a real Envoy, before a service that is this test program's own.

mod bench;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use bench::{Bench, Service, get, leave};

const LIMIT_OF_TWO: &str = r#"{policy: concurrency, settings: {max: 2}}"#;

/// Statuses of so many requests at once.
fn at_once(bench: &Bench, many: usize, path: &'static str) -> Vec<u16> {
    let port = bench.port;
    let asked: Vec<_> = (0..many).map(|_| thread::spawn(move || get(port, path, "").0)).collect();
    let mut all: Vec<u16> = asked.into_iter().map(|asked| asked.join().expect("it ends")).collect();
    all.sort_unstable();
    all
}

#[test]
fn requests_within_the_limit_go_on_and_others_are_refused_with_the_reason() {
    let service = Service::begin(Duration::from_millis(400));
    let Some(bench) = Bench::begin(&service, 1, &format!("{{admission: {LIMIT_OF_TWO}, exempt: [/health]}}")) else {
        return;
    };
    assert_eq!(at_once(&bench, 5, "/page"), [200, 200, 503, 503, 503]);
    let port = bench.port;
    let busy: Vec<_> = (0..2).map(|_| thread::spawn(move || get(port, "/page", ""))).collect();
    thread::sleep(Duration::from_millis(100));
    let (status, head) = get(port, "/page", "");
    assert!(status == 503 && head.contains("x-refused: concurrency"), "{head}");
    assert_eq!(get(port, "/health?x=1", "").0, 200, "exempt");
    busy.into_iter().for_each(|asked| assert_eq!(asked.join().expect("it ends").0, 200));
    bench.until("admission.refused", 4);
    bench.until("admission.completed", 4);
    bench.until("admission.in_flight", 0);
    assert_eq!(bench.stat("admission.limit"), Some(2));
}

#[test]
fn several_workers_share_one_limit() {
    let service = Service::begin(Duration::from_millis(400));
    let Some(bench) = Bench::begin(&service, 2, &format!("{{admission: {LIMIT_OF_TWO}}}")) else { return };
    assert_eq!(at_once(&bench, 12, "/page").iter().filter(|status| **status == 200).count(), 2);
}

#[test]
fn who_is_held_waits_in_envoy_and_one_that_leaves_frees_its_place() {
    let service = Service::begin(Duration::from_millis(300));
    let config = r#"{admission: {policy: maxconn-queue, settings: {maxconn: 1, timeout_queue: 1s}}}"#;
    let Some(bench) = Bench::begin(&service, 2, config) else { return };
    let port = bench.port;
    let began = Instant::now();
    let first = thread::spawn(move || get(port, "/page", "").0);
    thread::sleep(Duration::from_millis(50));
    leave(port, "/page", Duration::from_millis(50));
    let third = thread::spawn(move || get(port, "/page", "").0);
    assert_eq!((first.join().expect("it ends"), third.join().expect("it ends")), (200, 200));
    let took = began.elapsed();
    assert!((Duration::from_millis(550)..Duration::from_millis(880)).contains(&took), "two in turn: {took:?}");
    // Seven at 300 ms each: those whose turn does not come within a second are refused.
    let statuses = at_once(&bench, 7, "/page");
    let served = statuses.iter().filter(|status| **status == 200).count();
    assert!((3..=4).contains(&served) && statuses[6] == 503, "{statuses:?}");
    bench.until("admission.held", 0);
    bench.until("admission.in_flight", 0);
}

#[test]
fn a_posted_body_waits_with_its_request() {
    let service = Service::begin(Duration::from_millis(200));
    let config = r#"{admission: {policy: maxconn-queue, settings: {maxconn: 1}}}"#;
    let Some(bench) = Bench::begin(&service, 1, config) else { return };
    let port = bench.port;
    let asked: Vec<_> = (0..3).map(|_| thread::spawn(move || get(port, "/echo", &"x".repeat(100_000)))).collect();
    for asked in asked {
        let (status, head) = asked.join().expect("it ends");
        assert!(status == 200 && head.contains("x-length: 100000"), "{head}");
    }
}

#[test]
fn clients_that_leave_leak_no_slot() {
    let service = Service::begin(Duration::from_millis(150));
    let Some(bench) = Bench::begin(&service, 2, &format!("{{admission: {LIMIT_OF_TWO}}}")) else { return };
    for _ in 0..30 {
        leave(bench.port, "/page", Duration::from_millis(10));
    }
    bench.until("admission.in_flight", 0);
    assert_eq!(at_once(&bench, 2, "/page"), [200, 200]);
}

#[test]
fn a_dry_run_refuses_nobody_and_says_whom_it_would() {
    let service = Service::begin(Duration::from_millis(300));
    let config = format!("{{admission: {LIMIT_OF_TWO}, dry_run: true}}");
    let Some(bench) = Bench::begin(&service, 1, &config) else { return };
    assert_eq!(at_once(&bench, 6, "/page"), [200; 6]);
    bench.until("admission.would_refuse", 4);
    let held = r#"{admission: {policy: maxconn-queue, settings: {maxconn: 1, timeout_queue: 100ms}}, dry_run: true}"#;
    let Some(queue) = Bench::begin(&service, 1, held) else { return };
    assert_eq!(at_once(&queue, 5, "/page"), [200; 5]);
    queue.until("admission.would_refuse", 4);
    queue.until("admission.in_flight", 0);
    queue.until("admission.held", 0);
}

#[test]
fn what_a_request_says_of_itself_counts_if_it_is_believed() {
    let service = Service::begin(Duration::from_millis(100));
    let config =
        r#"{admission: {policy: limit-conn, settings: {max: 1, key: customer}}, trust: {customer: x-customer}}"#;
    let Some(bench) = Bench::begin(&service, 1, config) else { return };
    let port = bench.port;
    let of =
        |customer: &'static str| thread::spawn(move || bench::ask(port, "/page", &[("x-customer", customer)], "").0);
    let asked = [of("1"), of("2"), of("3")];
    asked.into_iter().for_each(|asked| assert_eq!(asked.join().expect("it ends"), 200));
    let same = [of("1"), of("1"), of("1")];
    let served = same.into_iter().map(|asked| asked.join().expect("it ends")).filter(|s| *s == 200);
    assert_eq!(served.count(), 1);
}

#[test]
fn after_the_service_was_killed_and_is_back_nothing_is_left_over() {
    let mut service = Service::begin(Duration::from_millis(50));
    let Some(bench) = Bench::begin(&service, 2, &format!("{{admission: {LIMIT_OF_TWO}}}")) else { return };
    let port = bench.port;
    let load = thread::spawn(move || (0..60).map(|_| get(port, "/page", "").0).collect::<Vec<_>>());
    thread::sleep(Duration::from_millis(500));
    service.kill();
    thread::sleep(Duration::from_millis(500));
    service.come_back();
    let statuses = load.join().expect("it ends");
    assert!(statuses.contains(&503) && statuses[0] == 200, "{statuses:?}");
    let back = Instant::now();
    while get(port, "/page", "").0 != 200 {
        assert!(back.elapsed() < Duration::from_secs(5), "the limit is not back");
    }
    bench.until("admission.in_flight", 0);
    assert_eq!(at_once(&bench, 2, "/page"), [200, 200]);
}

#[test]
fn an_envoy_that_was_killed_under_load_is_back_with_its_limit_within_five_seconds() {
    let service = Service::begin(Duration::from_millis(20));
    let config = "{admission: {policy: gradient2, settings: {limit_initial: 4, limit_min: 2}}}";
    let Some(mut bench) = Bench::begin(&service, 2, config) else { return };
    let (port, over) = (bench.port, Arc::new(AtomicBool::new(false)));
    let client = move |over: Arc<AtomicBool>| {
        let mut answers = Vec::new();
        while !over.load(Ordering::SeqCst) {
            let asked = Instant::now();
            answers.push((asked, get(port, "/page", "").0));
            thread::sleep(Duration::from_millis(2));
        }
        answers
    };
    let clients: Vec<_> = (0..8).map(|_| Arc::clone(&over)).map(|over| thread::spawn(move || client(over))).collect();
    let limit = |bench: &Bench| bench.stat("admission.limit").unwrap_or_default();
    bench.wait_until("the limit has grown", || limit(&bench) >= 6);
    let before = limit(&bench);
    bench.kill();
    let killed = Instant::now();
    thread::sleep(Duration::from_millis(200));
    bench.start_again();
    let back = Instant::now();
    bench.wait_until("the limit is back", || limit(&bench) * 5 >= before * 4);
    assert!(back.elapsed() < Duration::from_secs(5), "{:?}", back.elapsed());
    over.store(true, Ordering::SeqCst);
    let answers: Vec<_> = clients.into_iter().flat_map(|client| client.join().expect("it ends")).collect();
    let since = |status| answers.iter().filter(|answer| answer.0 > killed && answer.1 == status).count() as u64;
    assert!(since(200) > 100, "{answers:?}");
    bench.until("admission.in_flight", 0);
    bench.until("admission.completed", since(200));
    bench.until("admission.refused", since(503));
    bench.until("admission.offered", since(200) + since(503));
}

#[test]
fn a_hot_restart_under_load_hands_over_and_loses_nothing() {
    let service = Service::begin(Duration::from_millis(30));
    let Some(mut bench) = Bench::begin(&service, 1, &format!("{{admission: {LIMIT_OF_TWO}}}")) else { return };
    let port = bench.port;
    let load = thread::spawn(move || (0..150).map(|_| get(port, "/page", "").0).collect::<Vec<_>>());
    thread::sleep(Duration::from_millis(500));
    bench.restart_hot();
    let statuses = load.join().expect("it ends");
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 150, "{statuses:?}");
    assert_eq!(at_once(&bench, 2, "/page"), [200, 200]);
}

#[test]
fn a_bad_configuration_is_told_and_envoy_does_not_start() {
    let service = Service::begin(Duration::ZERO);
    let Some(why) = Bench::refused(&service, "{admission: {policy: gradint2}}") else { return };
    assert!(why.contains("admission: ") && why.contains("did you mean gradient2"), "{why}");
    let Some(why) = Bench::refused(&service, "{admission: {policy: none}, limit: 3}") else { return };
    assert!(why.contains("unknown field `limit`"), "{why}");
}
