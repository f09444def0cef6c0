//! Layers at clients: refusals are errors, ends are replies, retries have a budget.

use std::{
    io,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use http::{Request, Response, StatusCode};
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};
use tower_admission::{AdmissionLayer, Refused, ReplaceError, RequestTags, policies};

use super::{
    recorder::{IMPATIENT, LATER},
    settle,
};

/// A server that refuses everything, and counts what it gets.
fn refusing(
    asked: &'static AtomicU32,
) -> impl Service<Request<u8>, Response = Response<()>, Error = io::Error, Future: Send> + Clone + Send + 'static {
    service_fn(move |_: Request<u8>| async move {
        asked.fetch_add(1, Ordering::Relaxed);
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        Ok::<_, io::Error>(response)
    })
}

#[tokio::test(start_paused = true)]
async fn a_throttle_keeps_most_requests_from_a_server_that_refuses_all() {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let layer = AdmissionLayer::client("throttle").seed(1).build().unwrap();
    let service = layer.layer(refusing(&ASKED));
    let mut refused = 0;
    for _ in 0..1000 {
        if let Err(error) = service.clone().oneshot(Request::new(0)).await {
            assert!(error.downcast_ref::<Refused>().is_some(), "{error}");
            refused += 1;
        }
    }
    let asked = ASKED.load(Ordering::Relaxed);
    assert!(asked < 100 && asked + refused == 1000, "{asked} of 1000 were sent");
    let seen = service.admission().gauges();
    assert_eq!((seen.offered, seen.admitted, seen.in_flight), (1000, asked.into(), 0));
}

#[tokio::test(start_paused = true)]
async fn a_retry_budget_lets_first_attempts_through_and_a_tenth_of_retries() {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let layer = AdmissionLayer::client("retry-budget")
        .classify(|request: &Request<u8>| RequestTags::new().attempt(*request.body()))
        .build()
        .unwrap();
    let service = layer.layer(refusing(&ASKED));
    let mut sent = [0, 0];
    for _ in 0..500 {
        for attempt in [0_u8, 1] {
            sent[usize::from(attempt)] += u32::from(service.clone().oneshot(Request::new(attempt)).await.is_ok());
        }
    }
    assert_eq!(sent[0], 500);
    assert!((10..150).contains(&sent[1]), "{} of 500 retries", sent[1]);
}

#[tokio::test]
async fn an_error_of_the_client_is_passed_on() {
    let failing = service_fn(|_: Request<u8>| async { Err::<Response<()>, _>(io::Error::other("connection reset")) });
    let service = AdmissionLayer::client(policies::SreClient::default()).layer(failing);
    let error: BoxError = service.oneshot(Request::new(0)).await.unwrap_err();
    assert_eq!(error.downcast_ref::<io::Error>().unwrap().to_string(), "connection reset");
}

#[test]
fn a_policy_without_a_place_at_clients_is_an_error_that_says_its_places() {
    let said = |layer: Result<_, tower_admission::BuildError>| layer.map(|_| ()).unwrap_err().to_string();
    let wrong = said(AdmissionLayer::client("utilization").build());
    assert_eq!(wrong, "utilization: it has no place at a client; it has: single, per-stage, proxy");
}

#[tokio::test(start_paused = true)]
async fn another_policy_takes_over_while_requests_are_open() {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let slow = service_fn(|_: Request<u8>| async {
        ASKED.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok::<_, io::Error>(Response::new(()))
    });
    // It holds each request for 50 ms, and refuses it then.
    let service = AdmissionLayer::client(&IMPATIENT).layer(slow);
    let admission = service.admission().clone();
    let waits = tokio::spawn(service.clone().oneshot(Request::new(0)));
    settle().await;
    assert_eq!((admission.gauges().held, ASKED.load(Ordering::Relaxed)), (1, 0));
    admission.replace(policies::Throttle::default()).unwrap();
    settle().await;
    let seen = admission.gauges();
    assert_eq!((seen.policy.as_str(), seen.held, seen.in_flight, ASKED.load(Ordering::Relaxed)), ("throttle", 0, 1, 1));
    admission.replace(policies::RetryBudget::default()).unwrap();
    waits.await.unwrap().unwrap();
    let seen = admission.gauges();
    assert_eq!((seen.policy.as_str(), seen.admitted, seen.in_flight, seen.contradictions), ("retry-budget", 1, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_cannot_take_over_is_a_typed_error_and_the_one_that_runs_stays() {
    let client = AdmissionLayer::client("throttle").admission().unwrap();
    assert!(matches!(client.replace("utilization"), Err(ReplaceError::Build(_))), "it has no place at a client");
    let server = AdmissionLayer::new("gradient2").admission().unwrap();
    let wrong = server.replace("throttle").unwrap_err();
    assert!(matches!(wrong, ReplaceError::OtherSide { policy: "throttle", .. }), "{wrong:?}");
    assert_eq!(
        wrong.to_string(),
        "throttle: it would run as a policy of scope client, and the one that runs is of scope single: build another \
         layer for it"
    );
    assert_eq!((client.policy(), server.policy()), ("throttle", "gradient2"));
    // A server's layer with a client's policy takes another one of clients.
    let server = AdmissionLayer::new("throttle").admission().unwrap();
    server.replace("retry-budget").unwrap();
    assert_eq!(server.policy(), "retry-budget");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_sent_back_is_an_error_with_the_time_and_may_come_again() {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let service = AdmissionLayer::client(&LATER).layer(refusing(&ASKED));
    let start = tokio::time::Instant::now();
    let error = service.clone().oneshot(Request::new(0)).await.unwrap_err();
    let wait = error.downcast_ref::<Refused>().unwrap().retry_after().unwrap();
    assert_eq!((wait, ASKED.load(Ordering::Relaxed)), (Duration::from_millis(250), 0), "it was not sent");
    assert_eq!(start.elapsed(), Duration::ZERO, "the layer does not wait by itself");
    assert_eq!(error.to_string(), "refused by admission control; retry after 250ms");
    tokio::time::sleep(wait).await;
    service.clone().oneshot(Request::new(0)).await.unwrap();
    let seen = service.admission().gauges();
    assert_eq!((seen.offered, seen.refused, seen.admitted, ASKED.load(Ordering::Relaxed)), (2, 1, 1, 1));
}
