//! What happens to requests at a layer: admitted, refused, held, dropped, in shadow mode; and what the policy is told.

#[path = "semantics/body.rs"]
mod body;
#[path = "semantics/client.rs"]
mod client;
#[path = "semantics/held.rs"]
mod held;
#[path = "semantics/notes.rs"]
mod notes;
#[path = "semantics/over_hyper.rs"]
mod over_hyper;
#[path = "semantics/over_tonic.rs"]
mod over_tonic;
#[path = "semantics/recorder.rs"]
mod recorder;
#[path = "semantics/reports.rs"]
mod reports;
#[path = "semantics/running.rs"]
mod running;
#[path = "semantics/shadow.rs"]
mod shadow;

use std::{convert::Infallible, future::Future, time::Duration};

use controllers::{Criticality, Outcome};
use http::{Request, Response};
use recorder::{RECORDER, recorded};
use tower::{Layer, Service, ServiceExt, limit::ConcurrencyLimitLayer, service_fn};
use tower_admission::{AdmissionLayer, RequestTags, policies};

type Answer = Result<Response<String>, Infallible>;

/// Works for so many milliseconds as the request's body says.
async fn work(request: Request<String>) -> Answer {
    let ms = request.body().parse().unwrap_or(0);
    tokio::time::sleep(Duration::from_millis(ms)).await;
    Ok(Response::new("done".to_owned()))
}

fn takes(ms: u64) -> Request<String> {
    Request::new(ms.to_string())
}

/// A call as a task of its own, which has run as far as it can.
async fn call<S>(service: &S, request: Request<String>) -> tokio::task::JoinHandle<Result<S::Response, S::Error>>
where
    S: Service<Request<String>> + Clone + Send + 'static,
    S::Future: Send,
    S::Response: Send,
    S::Error: Send,
{
    let task = tokio::spawn(service.clone().oneshot(request));
    settle().await;
    task
}

async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

/// Waits until something is so, for a minute at most: a machine may be busy.
async fn within_a_minute(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what}: not within a minute");
}

#[tokio::test(start_paused = true)]
async fn over_the_limit_the_answer_is_503_with_the_time_of_a_retry() {
    let layer = AdmissionLayer::new("concurrency").set("max", 1).build().unwrap();
    let service = layer.layer(service_fn(work));
    let first = call(&service, takes(100)).await;
    let refused = service.clone().oneshot(takes(0)).await.unwrap();
    assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()), (503, "1"));
    assert_eq!(refused.body(), "", "it was not the service's answer");
    assert_eq!(first.await.unwrap().unwrap().body(), "done");
    assert_eq!(service.clone().oneshot(takes(0)).await.unwrap().status(), 200, "there is room again");
    let seen = service.admission().gauges();
    assert_eq!((seen.offered, seen.admitted, seen.refused, seen.in_flight), (3, 2, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_gives_back_what_the_inner_service_reserved() {
    let layer = AdmissionLayer::new("concurrency").set("max", 1).build().unwrap();
    let mut service = layer.layer(ConcurrencyLimitLayer::new(2).layer(service_fn(work)));
    let other = service.clone();
    let _first = call(&other, takes(1_000)).await;
    let refused = service.ready().await.unwrap().call(takes(0)).await.unwrap();
    assert_eq!(refused.status(), 503);
    // One place of two is taken by the first request: the other must be free, though `service` lives and was ready.
    let mut third = other.clone();
    let ready = tokio::time::timeout(Duration::from_millis(1), third.ready()).await;
    assert!(ready.is_ok(), "the refused request keeps a place");
}

#[tokio::test(start_paused = true)]
async fn readiness_is_that_of_the_inner_service() {
    let layer = AdmissionLayer::new("concurrency").set("max", 5).build().unwrap();
    let mut service = layer.layer(ConcurrencyLimitLayer::new(1).layer(service_fn(work)));
    let first = call(&service, takes(100)).await;
    assert!(tokio::time::timeout(Duration::from_millis(50), service.ready()).await.is_err(), "it is full");
    assert_eq!(service.admission().gauges().offered, 1, "and nobody was asked about");
    first.await.unwrap().unwrap();
    service.ready().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_policy_is_told_how_each_request_ends() {
    let layer = AdmissionLayer::new(&RECORDER).classify(|request: &Request<String>| {
        let ms = request.body().parse().unwrap_or(0);
        RequestTags::new().class(3).user(ms).criticality(Criticality::Sheddable).time_left(Duration::from_secs(1))
    });
    let service = layer.layer(service_fn(|request: Request<String>| async move {
        let ms: u64 = request.body().parse().unwrap_or(0);
        tokio::time::sleep(Duration::from_millis(ms)).await;
        assert_ne!(ms, 13, "a bug of the service");
        let mut response = Response::new(String::new());
        *response.status_mut() = if ms == 7 { 500 } else { 200 }.try_into().unwrap();
        Ok::<_, Infallible>(response)
    }));
    assert_eq!(service.clone().oneshot(takes(5)).await.unwrap().status(), 200);
    assert_eq!(service.clone().oneshot(takes(7)).await.unwrap().status(), 500);
    let gone = call(&service, takes(1_000)).await;
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    assert!(tokio::spawn(service.clone().oneshot(takes(13))).await.unwrap_err().is_panic());
    let ends: Vec<_> = recorded().into_iter().filter_map(|line| line.end).collect();
    let wanted =
        [(5, Outcome::Served, 5), (7, Outcome::Failed, 7), (1_000, Outcome::Abandoned, 0), (13, Outcome::Failed, 13)];
    assert_eq!(ends, wanted, "user, outcome, milliseconds");
    let tags = recorded()[0].tags;
    assert_eq!((tags.class.0, tags.criticality, tags.deadline.is_some()), (3, Criticality::Sheddable, true));
    let seen = service.admission().gauges();
    assert_eq!((seen.offered, seen.in_flight, seen.contradictions), (4, 0, 0));
}

#[tokio::test]
async fn an_error_of_the_service_is_passed_on_and_told() {
    let layer = AdmissionLayer::new(&RECORDER);
    let service = layer.layer(service_fn(|_: Request<String>| async { Err::<Response<String>, _>("no database") }));
    assert_eq!(service.clone().oneshot(takes(0)).await.unwrap_err(), "no database");
    assert_eq!(recorded()[0].end.unwrap().1, Outcome::Failed);
    let own = AdmissionLayer::new(&RECORDER).outcome(|result: Result<&Response<String>, &&str>| {
        if result.is_err_and(|error| *error == "no database") { Outcome::Ignored } else { Outcome::Served }
    });
    let service = own.layer(service_fn(|_: Request<String>| async { Err::<Response<String>, _>("no database") }));
    service.clone().oneshot(takes(0)).await.unwrap_err();
    assert_eq!(recorded()[0].end.unwrap().1, Outcome::Ignored);
}

#[tokio::test(start_paused = true)]
async fn services_of_one_layer_share_the_policy_and_those_of_a_changed_one_do_not() {
    let layer = AdmissionLayer::new(policies::Concurrency::default().max(1));
    let (one, two) = (layer.layer(service_fn(work)), layer.clone().layer(service_fn(work)));
    let other = layer.clone().name("other").layer(service_fn(work));
    let _inside = call(&one, takes(100)).await;
    assert_eq!(two.oneshot(takes(0)).await.unwrap().status(), 503);
    assert_eq!(other.oneshot(takes(0)).await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_service_without_http_needs_its_own_refusal() {
    let layer = AdmissionLayer::new("fixed-rate")
        .set("rate", 0.01)
        .set("depth", 1)
        .refuse_with(|number: u32, refused| format!("{number}: {refused}"))
        .outcome(|_: Result<&String, &Infallible>| Outcome::Served);
    let service = layer.layer(service_fn(|number: u32| async move { Ok::<_, Infallible>(number.to_string()) }));
    let said = [service.clone().oneshot(1).await.unwrap(), service.clone().oneshot(2).await.unwrap()];
    assert_eq!(said[0], "1");
    assert!(said[1].starts_with("2: refused by admission control (rate)"), "{}", said[1]);
    let boxed = AdmissionLayer::new("fixed-rate").set("rate", 0.01).set("depth", 1).refuse_with_error();
    let service = boxed.layer(service_fn(work));
    service.clone().oneshot(takes(0)).await.unwrap();
    let refused = service.oneshot(takes(0)).await.unwrap_err();
    assert_eq!(refused.downcast_ref::<tower_admission::Refused>().unwrap().reason.unwrap().name(), "rate");
}

/// A future is what the type says: nothing here may wait for a lock or a runtime.
#[test]
fn without_a_runtime_requests_pass_all_the_same() {
    let service = AdmissionLayer::new("gradient2")
        .build()
        .unwrap()
        .layer(service_fn(|_: Request<String>| async { Ok::<_, Infallible>(Response::new(String::new())) }));
    let mut future = std::pin::pin!(service.oneshot(takes(0)));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(future.as_mut().poll(&mut cx).is_ready());
}
