//! Calls against bare sockets.

use std::{net::SocketAddr, time::Duration};

use controllers::{Criticality, Objective, RetryHint, Tags, catalogue::PolicySpec};
use service_core::calls::{CallsEnded, CallsResult, Visits, key_of_attempt, key_of_call};
use spec::{
    App, EmulatedSpec, ServiceTime, TargetSpec,
    services::{CallSpec, CalleeSpec, TaskSpec, WhenRefused},
    wire::{CallCounts, SetCallees},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::mpsc,
};
use workloads::balance::{Balancer, Per};

use super::Callers;
use crate::clock::ServiceClock;

fn call() -> CallSpec {
    let timeout = Duration::from_secs(5);
    CallSpec { attempts: 3, when_refused: WhenRefused::DontRetry, timeout, ..CallSpec::to("back") }
}

/// A service of bare sockets: each request's head is told, and answered by `answers` in turn (`None`: it hangs up). Says
/// how many connections there were.
async fn back(answers: &'static [Option<&'static str>]) -> (SocketAddr, mpsc::UnboundedReceiver<(usize, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, heads) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let (mut connections, mut answers) = (0, answers.iter());
        while let Ok((mut stream, _)) = listener.accept().await {
            connections += 1;
            let mut bytes = Vec::new();
            while stream.read_buf(&mut bytes).await.is_ok_and(|count| count > 0) {
                if !bytes.ends_with(b"\r\n\r\n") {
                    continue;
                }
                tell.send((connections, String::from_utf8(std::mem::take(&mut bytes)).unwrap())).unwrap();
                match answers.next() {
                    Some(Some(answer)) => stream.write_all(answer.as_bytes()).await.unwrap(),
                    Some(None) => break,
                    None => return,
                }
            }
        }
    });
    (address, heads)
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const LATER: &str = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
const NEVER: &str = "HTTP/1.1 503 Busy\r\nX-Retry: never\r\nContent-Length: 0\r\n\r\n";

fn callers(to: SocketAddr, call: CallSpec) -> Callers {
    callers_of(vec![Some(to)], call)
}

fn callers_of(tasks: Vec<Option<SocketAddr>>, call: CallSpec) -> Callers {
    callers_reaching(tasks, Vec::new(), call)
}

fn callers_reaching(tasks: Vec<Option<SocketAddr>>, reach: Vec<usize>, call: CallSpec) -> Callers {
    let none = PolicySpec { name: "none".to_owned(), place: None, settings: controllers::Settings::new() };
    let target = TargetSpec::new(
        App::Emulated(EmulatedSpec::one(ServiceTime::Constant(Duration::from_millis(10)))),
        none,
        Objective { percentile: 90.0, response_time: Duration::from_secs(1) },
    );
    let callee = CalleeSpec { call, tasks, balancer: Balancer::RoundRobin, per: Per::Request, cap: 0, reach };
    let task = TaskSpec { name: "front".to_owned(), calls: vec![callee], ..TaskSpec::alone(target) };
    Callers::of(&task, ServiceClock::start()).unwrap().unwrap()
}

fn counts(callers: &Callers) -> CallCounts {
    let counts = callers.counts()[0].counts;
    assert!(counts.balances(), "{counts:?}");
    counts
}

#[tokio::test]
async fn a_call_has_draws_of_its_own_and_so_has_each_attempt_that_draws_anew_as_in_virtual_time() {
    let (address, mut heads) = back(&[Some(OK), Some(LATER), Some(OK), Some(OK), Some(OK)]).await;
    let callers = callers(address, CallSpec { times: 2, redraw: true, ..call() });
    assert_eq!(callers.make(Tags::default(), Some(42), None).await.ended, CallsEnded::Answered);
    let keys = [(0, 0), (1, 0), (1, 1)].map(|(number, attempt)| key_of_attempt(key_of_call(42, 0, number), attempt));
    for key in keys {
        let (_, head) = heads.recv().await.unwrap();
        assert!(head.contains(&format!("\r\nX-Draw: {key}\r\n")), "{head}");
    }
    assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2]);
    // For a request without a key, the callee draws by the order of arrival.
    assert_eq!(callers.make(Tags::default(), None, None).await.ended, CallsEnded::Answered);
    assert!(!heads.recv().await.unwrap().1.contains("X-Draw"));
}

#[tokio::test]
async fn a_live_request_makes_the_calls_that_its_key_draws_in_virtual_time() {
    let (address, _heads) = back(&[Some(OK); 40]).await;
    let spec = CallSpec { times: 2, probability: 0.3, ..call() };
    let drawn: usize = (0..20).map(|key| Visits::of(&spec).of_request(key, 0).count()).sum();
    let callers = callers(address, spec);
    for key in 0..20 {
        assert_eq!(callers.make(Tags::default(), Some(key), None).await.ended, CallsEnded::Answered);
    }
    assert_eq!(counts(&callers).answered, drawn as u64);
    assert!((1..40).contains(&drawn), "{drawn}");
}

#[tokio::test]
async fn calls_are_tried_again_on_the_connection_that_is_kept() {
    let (address, mut heads) = back(&[Some(LATER), Some(OK), Some(NEVER)]).await;
    let callers = callers(address, call());
    assert_eq!(callers.make(Tags { customer: 7, ..Tags::default() }, None, None).await.ended, CallsEnded::Answered);
    assert_eq!(callers.make(Tags::default(), None, None).await.ended, CallsEnded::Refused(RetryHint::Never));
    let found = counts(&callers);
    assert_eq!((found.attempts, found.retries, found.refused, found.answered), (3, 1, 2, 1));
    let (_, first) = heads.recv().await.unwrap();
    assert!(first.contains("X-Caller: front\r\n") && first.contains("X-Customer: 7\r\n"), "{first}");
    assert!(!first.contains("X-Attempt"), "{first}");
    assert!(heads.recv().await.unwrap().1.contains("X-Attempt: 1\r\n"));
    assert_eq!(heads.recv().await.unwrap().0, 1, "one connection");
}

#[tokio::test]
async fn a_call_that_was_read_is_not_sent_again_on_a_new_connection() {
    let (address, mut heads) = back(&[Some(OK), None, Some(OK)]).await;
    let callers = callers(address, call());
    assert_eq!(callers.make(Tags::default(), None, None).await.ended, CallsEnded::Answered);
    // Hung up on the kept connection, after it was read.
    assert_eq!(callers.make(Tags::default(), None, None).await.ended, CallsEnded::Failed);
    assert_eq!(callers.make(Tags::default(), None, None).await.ended, CallsEnded::Answered);
    assert_eq!((counts(&callers).attempts, counts(&callers).failed, callers.counts()[0].written), (3, 1, 3));
    let mut read = Vec::new();
    while let Ok((connection, _)) = heads.try_recv() {
        read.push(connection);
    }
    assert_eq!(read, [1, 1, 2]);
}

/// With a limit on calls in flight at the caller, 10 at first.
fn limited() -> CallSpec {
    let ten = [("limit_initial".to_owned(), 10_u32.into()), ("limit_min".to_owned(), 1_u32.into())];
    CallSpec { client: client("aimd", ten.into()), ..call() }
}

fn limit(callers: &Callers) -> f64 {
    callers.counts()[0].client["limit"]
}

#[tokio::test]
async fn a_refused_connection_lowers_the_limit_of_a_caller() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let callers = callers(gone, limited());
    assert_eq!(callers.make(Tags::default(), None, None).await.ended, CallsEnded::Failed);
    assert_eq!(counts(&callers).failed, 1);
    assert!((limit(&callers) - 9.0).abs() < 1e-9, "10 x 0.9, not {}", limit(&callers));
}

#[tokio::test]
async fn so_does_a_connection_that_breaks_and_an_answered_error_does_not() {
    let (address, _heads) = back(&[Some("HTTP/1.1 500 Bad\r\nContent-Length: 0\r\n\r\n"), None]).await;
    let callers = callers(address, limited());
    assert_eq!(callers.make(Tags::default(), None, None).await.ended, CallsEnded::Failed);
    assert!((limit(&callers) - 10.0).abs() < 1e-9, "ignored: {}", limit(&callers));
    // Hung up on the kept connection.
    assert_eq!(callers.make(Tags::default(), None, None).await.ended, CallsEnded::Failed);
    assert!((limit(&callers) - 9.0).abs() < 1e-9, "{}", limit(&callers));
}

#[tokio::test]
async fn a_call_waits_no_longer_than_its_own_sender() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let callers = callers(listener.local_addr().unwrap(), call());
    let deadline = Some(controllers::Timestamp::from_millis(50));
    let ended =
        tokio::time::timeout(Duration::from_secs(3), callers.make(Tags { deadline, ..Tags::default() }, None, None))
            .await;
    assert_eq!(ended, Ok(CallsResult { ended: CallsEnded::Failed, note: None }));
    assert_eq!(counts(&callers).failed, 1);
}

#[tokio::test]
async fn a_caller_sends_to_the_tasks_that_are_its_own() {
    let ((first, mut to_first), (second, mut to_second)) = (back(&[Some(OK)]).await, back(&[Some(OK); 3]).await);
    let callers = callers_reaching(vec![Some(first), Some(second)], vec![1], call());
    for _ in 0..3 {
        assert_eq!(callers.make(Tags::default(), None, None).await.ended, CallsEnded::Answered);
        assert!(to_second.recv().await.is_some());
    }
    assert!(to_first.try_recv().is_err(), "the other caller's");
}

#[tokio::test]
async fn calls_wait_in_order_for_the_only_connection() {
    let (address, mut heads) = back(&[Some(OK); 9]).await;
    let spec = CallSpec { times: 8, connections: 1, ..call() };
    let mut callers = callers(address, spec);
    callers.fan_out = true;
    assert_eq!(callers.make(Tags::default(), None, None).await.ended, CallsEnded::Answered);
    assert_eq!(counts(&callers).answered, 8);
    for _ in 0..8 {
        assert_eq!(heads.recv().await.unwrap().0, 1, "all on one connection");
    }
}

fn client(policy: &str, settings: controllers::Settings) -> Option<workloads::plan::ClientPolicy> {
    let (policy, scope) = (policy.to_owned(), workloads::plan::ClientScope::All);
    Some(workloads::plan::ClientPolicy { policy, settings, scope })
}

/// DAGOR's mark, and level 1: only the most important requests are admitted.
const FULL: &str = "HTTP/1.1 200 OK\r\nX-Note: 15735577098032513025\r\nContent-Length: 2\r\n\r\nok";

#[test]
fn a_note_of_dagor_is_what_the_test_says() {
    assert!(FULL.contains(&format!("X-Note: {}\r\n", 0xDA60_u64 << 48 | 1)));
}

#[tokio::test]
async fn a_caller_refuses_what_its_callee_has_said_that_it_would_refuse() {
    let (address, mut heads) = back(&[Some(FULL), Some(OK), Some(FULL), Some(OK)]).await;
    let settings = [("user_levels".to_owned(), 1.0.into()), ("window".to_owned(), "300ms".into())].into();
    let callers = callers(address, CallSpec { client: client("dagor", settings), ..call() });
    let critical = Tags::default();
    assert_eq!(callers.make(critical, None, None).await.ended, CallsEnded::Answered, "it knows of nothing");
    assert_eq!(
        callers.make(critical, None, None).await.ended,
        CallsEnded::Refused(RetryHint::Never),
        "the callee would"
    );
    let first = Tags { criticality: Criticality::CriticalPlus, ..critical };
    assert_eq!(callers.make(first, None, None).await.ended, CallsEnded::Answered, "those it would let in");
    assert!(callers.counts()[0].client["callee_level"] < 1.5);
    tokio::time::sleep(Duration::from_millis(350)).await;
    assert_eq!(callers.make(critical, None, None).await.ended, CallsEnded::Answered, "after a window it asks again");
    let found = counts(&callers);
    assert_eq!((found.attempts, found.answered, found.refused_locally), (4, 3, 1));
    for _ in 0..3 {
        heads.try_recv().expect("what was sent");
    }
    assert!(heads.try_recv().is_err(), "and no more");
}

#[tokio::test]
async fn a_callers_own_policy_refuses_before_anything_is_sent() {
    let (address, mut heads) = back(&[Some(LATER), Some(LATER), Some(LATER)]).await;
    let settings = [("attempts".to_owned(), 2.0.into()), ("per_client".to_owned(), false.into())].into();
    let client = client("retry-budget", settings);
    let callers = callers(address, CallSpec { client, ..call() });
    assert_eq!(callers.make(Tags::default(), None, None).await.ended, CallsEnded::Refused(RetryHint::Never));
    let found = counts(&callers);
    assert_eq!((found.attempts, found.refused, found.refused_locally), (3, 2, 1));
    assert!(heads.try_recv().is_ok() && heads.try_recv().is_ok() && heads.try_recv().is_err());
}

#[tokio::test]
async fn calls_go_to_the_tasks_that_are_there_now() {
    let (first, mut of_first) = back(&[Some(OK)]).await;
    let (second, mut of_second) = back(&[Some(OK), Some(OK)]).await;
    let callers = callers_of(vec![None, None], CallSpec { attempts: 1, connections: 1, ..call() });
    let make = || async { callers.make(Tags::default(), None, None).await.ended };
    assert_eq!(make().await, CallsEnded::Failed, "nobody is there");
    let set = |call, tasks: &[Option<SocketAddr>]| callers.set_tasks(&SetCallees { call, tasks: tasks.to_vec() });
    set(0, &[Some(first), None]).unwrap();
    assert_eq!((make().await, of_first.recv().await.unwrap().0), (CallsEnded::Answered, 1));
    set(0, &[None, Some(second)]).unwrap();
    assert_eq!((make().await, of_second.recv().await.unwrap().0), (CallsEnded::Answered, 1));
    // The process in another place: the connection to the place before was given up, for there is room for one.
    set(0, &[Some(second), None]).unwrap();
    assert_eq!((make().await, of_second.recv().await.unwrap().0), (CallsEnded::Answered, 2));
    for (call, tasks) in [(1, vec![None, None]), (0, vec![None])] {
        assert!(set(call, &tasks).is_err(), "there is one call, to two tasks");
    }
    counts(&callers);
}
