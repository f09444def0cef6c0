//! Refusals: what the stage upstream does with them, at dispatch, at a stage and at accept, and that switching policies
//! loses nothing.

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use controllers::{catalogue::PolicySpec, site::OnRefuse};
use spec::{StageSpec, TargetSpec, wire::SetPolicy};

use crate::common::{Target, answer, emulated, policy, spec, start, status};

/// One worker, one server, a queue of one: the third request at once is refused.
fn tight(on_refuse: OnRefuse) -> Target {
    let stage = StageSpec { queue: 1, workers: 1, batch: 1, on_refuse, ..StageSpec::default() };
    start(TargetSpec {
        app: emulated(Duration::from_millis(300), 1),
        stage_defaults: StageSpec { workers: 8, queue: 8, ..stage.clone() },
        stages: [("work".to_owned(), stage)].into(),
        ..spec()
    })
}

/// The answers to five requests at once.
fn five(target: &Target) -> Vec<String> {
    let mut all: Vec<TcpStream> = (0..5).map(|_| target.connect()).collect();
    let asked = b"GET /page?n=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    all.iter_mut().for_each(|stream| stream.write_all(asked).unwrap());
    let read = |mut stream: TcpStream| {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.to_ascii_lowercase()
    };
    all.into_iter().map(read).collect()
}

fn with_status(answers: &[String], wanted: u16) -> Vec<&String> {
    answers.iter().filter(|answer| status(answer) == wanted).collect()
}

#[test]
fn a_refusal_becomes_a_page_with_its_reason() {
    let target = tight(OnRefuse::Reject);
    let answers = five(&target);
    let refused = with_status(&answers, 503);
    assert!((2..=3).contains(&refused.len()), "{answers:#?}");
    assert!(refused.iter().all(|answer| answer.contains("x-refused: queue-full")));
    assert_eq!(target.gauges().ledger.refused["queue-full"], refused.len() as u64);
}

#[test]
fn a_refusal_becomes_a_wait() {
    let target = tight(OnRefuse::Block);
    let began = Instant::now();
    assert_eq!(with_status(&five(&target), 200).len(), 5);
    assert!(began.elapsed() >= Duration::from_millis(1400), "five of 300 ms on one server: {:?}", began.elapsed());
    assert!(target.gauges().ledger.refused.is_empty());
}

#[test]
fn waiting_fills_the_dispatch_stage_and_is_refused_there() {
    let stage = StageSpec { queue: 1, workers: 1, batch: 1, on_refuse: OnRefuse::Block, ..StageSpec::default() };
    let target = start(TargetSpec { app: emulated(Duration::from_millis(300), 1), stage_defaults: stage, ..spec() });
    // One is worked on, one is in the stage's queue, one blocks the only dispatcher, one is in its queue.
    let answers = five(&target);
    assert!(!with_status(&answers, 503).is_empty(), "{answers:#?}");
    assert!(with_status(&answers, 200).len() >= 3, "{answers:#?}");
}

#[test]
fn a_refusal_becomes_a_redirect_to_the_same_page_elsewhere() {
    let target = tight(OnRefuse::Redirect("http://127.0.0.1:9/".to_owned()));
    let answers = five(&target);
    let sent_on = with_status(&answers, 307);
    assert!(!sent_on.is_empty(), "{answers:#?}");
    assert!(sent_on[0].contains("location: http://127.0.0.1:9/page?n=1\r\n"), "{}", sent_on[0]);
    assert!(target.gauges().ledger.balances());
}

#[test]
fn a_refusal_becomes_a_cheaper_answer() {
    let target = tight(OnRefuse::Degrade);
    let answers = five(&target);
    assert_eq!(with_status(&answers, 200).len(), 5);
    assert!(answers.iter().any(|answer| answer.contains("x-degraded: 1")), "{answers:#?}");
    assert!(target.gauges().stages.iter().any(|stage| stage.name == "work" && stage.refused > 0));
}

#[test]
fn a_limit_at_dispatch_counts_until_the_answer() {
    let target = start(TargetSpec {
        app: emulated(Duration::from_millis(200), 8),
        policy: policy("concurrency", &[("max", 2.0)]),
        ..spec()
    });
    let answers = five(&target);
    assert_eq!((with_status(&answers, 200).len(), with_status(&answers, 503).len()), (2, 3), "{answers:#?}");
    assert!(answers.iter().any(|answer| answer.contains("x-refused: concurrency")));
    // Room is back with the answer: one after the other all are served.
    assert!((0..5).all(|_| status(&target.get("/")) == 200));
    let gauges = target.gauges();
    let dispatch = gauges.stages.iter().find(|stage| stage.name == "dispatch").unwrap();
    assert_eq!((dispatch.admitted, dispatch.completed, dispatch.refused), (7, 7, 3));
}

#[test]
fn with_a_limit_on_connections_the_others_stay_in_the_kernel() {
    let mut spec = TargetSpec { policy: policy("connections", &[("max", 2.0), ("backlog", 1.0)]), ..spec() };
    spec.edge.kept.idle_timeout = Duration::from_secs(60);
    let target = start(spec);
    let mut inside: Vec<_> = (0..2).map(|_| target.connect()).collect();
    for stream in &mut inside {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        assert_eq!(answer(stream).0, 200);
    }
    // The kernel takes two more into its queue (backlog 1 means two in Linux), where they wait unread; others' SYNs are
    // dropped.
    let mut queued = target.connect();
    queued.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    queued.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(queued.read(&mut [0]).is_err(), "nobody answers");
    let _also_queued = target.connect();
    let late = TcpStream::connect_timeout(&target.address, Duration::from_millis(700));
    assert!(late.is_err(), "the queue is full");
    let gauges = target.gauges();
    assert_eq!((gauges.ledger.connections_accepted, gauges.ledger.requests_read), (2, 2));
    // One leaves, the next comes in.
    drop(inside.pop());
    queued.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert_eq!(answer(&mut queued).0, 200);
    // Lifted, everybody comes in.
    target.control.set_policy(&SetPolicy { stage: None, policy: policy("none", &[]) }).unwrap();
    let mut free = target.connect();
    free.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert_eq!(answer(&mut free).0, 200);
}

#[test]
fn the_books_balance_whatever_clients_do() {
    let target = start(TargetSpec {
        app: emulated(Duration::from_millis(3), 2),
        policy: policy("concurrency", &[("max", 8.0)]),
        ..spec()
    });
    let sent = Arc::new(AtomicU64::new(0));
    let clients: Vec<_> = (0..8_u64)
        .map(|client| {
            let (address, sent) = (target.address, Arc::clone(&sent));
            thread::spawn(move || {
                for round in 0..40 {
                    let mut stream = TcpStream::connect(address).unwrap();
                    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
                    sent.fetch_add(1, Ordering::Relaxed);
                    match (client + round) % 4 {
                        0 => drop(answer(&mut stream)),
                        1 => {
                            thread::sleep(Duration::from_millis(2)); // gone while it is worked on, and says so
                            socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
                        }
                        2 => {
                            stream.write_all(b"GET / HT").unwrap(); // and half a head after
                            drop(answer(&mut stream));
                        }
                        _ => {
                            stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap(); // one ahead
                            sent.fetch_add(1, Ordering::Relaxed);
                            answer(&mut stream);
                            drop(answer(&mut stream));
                        }
                    }
                }
            })
        })
        .collect();
    while !clients.iter().all(thread::JoinHandle::is_finished) {
        let ledger = target.gauges().ledger;
        assert!(ledger.balances(), "at every moment: {ledger:?}");
    }
    clients.into_iter().for_each(|client| client.join().unwrap());
    // Work goes on for clients that hung up, so the last pass may come back after the last connection is closed. That all
    // do come back says that nothing leaks.
    let gauges = target.until("all to close and every pass to be back", |gauges| {
        let dispatch = gauges.stages.iter().find(|stage| stage.name == "dispatch").unwrap();
        gauges.ledger.connections_open == 0
            && gauges.ledger.in_flight == 0
            && dispatch.admitted > 0
            && dispatch.admitted == dispatch.completed
    });
    let ledger = &gauges.ledger;
    assert!(ledger.balances(), "{ledger:?}");
    assert!(ledger.client_gone > 0 && ledger.served > 0, "{ledger:?}");
    // A request whose client hung up at once may die with its connection before it was read.
    let unread = sent.load(Ordering::Relaxed) - ledger.requests_read;
    assert!(unread <= 80, "{unread} of {ledger:?}");
}

/// Response times of 200s and the number of refusals, of users that ask again at once, or after a pause when refused.
fn crowd(target: &Target, users: usize, time: Duration) -> (Vec<Duration>, u64) {
    let end = Instant::now() + time;
    let user = || {
        let (mut served, mut refused) = (Vec::new(), 0);
        let mut stream = target.connect();
        while Instant::now() < end {
            let asked = Instant::now();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
            if answer(&mut stream).0 == 200 {
                served.push(asked.elapsed());
            } else {
                refused += 1;
                thread::sleep(Duration::from_millis(200));
            }
        }
        (served, refused)
    };
    thread::scope(|scope| {
        let all: Vec<_> = (0..users).map(|_| scope.spawn(user)).collect();
        all.into_iter().map(|one| one.join().unwrap()).fold((Vec::new(), 0), |mut sum, (served, refused)| {
            sum.0.extend(served);
            (sum.0, sum.1 + refused)
        })
    })
}

/// 64 users on one server of 5 ms: uncontrolled, each waits for the 63 others, 320 ms. With a target of 50 ms SEDA's
/// controller must refuse most, and the admitted ones must be much faster.
#[test]
fn sedas_control_turns_many_away_and_is_quick_for_the_others() {
    let run = |name: &str| {
        let target = start(TargetSpec {
            app: emulated(Duration::from_millis(5), 1),
            policy: PolicySpec { place: Some(controllers::Place::Stage), ..policy(name, &[]) },
            objective: controllers::Objective { percentile: 90.0, response_time: Duration::from_millis(50) },
            stage_defaults: StageSpec { workers: 1, batch: 1, ..spec().stage_defaults },
            ..spec()
        });
        crowd(&target, 64, Duration::from_secs(1)); // it has to find its rate first
        let (mut served, refused) = crowd(&target, 64, Duration::from_secs(2));
        served.sort();
        (served[served.len() / 2], served.len(), refused)
    };
    let (uncontrolled, _, none_refused) = run("none");
    let (controlled, _, refused) = run("seda");
    assert_eq!(none_refused, 0);
    assert!(refused > 100, "{refused}");
    assert!(controlled < uncontrolled / 2, "median {controlled:?} under control, {uncontrolled:?} without");
}
