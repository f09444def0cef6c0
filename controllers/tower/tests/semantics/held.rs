//! Requests that wait in their response future.

use std::time::Duration;

use http::Response;
use tokio::time::Instant;
use tower::{Layer, ServiceExt, service_fn};
use tower_admission::AdmissionLayer;

use super::{call, recorder::IMPATIENT, settle, takes, work};

#[tokio::test(start_paused = true)]
async fn a_held_request_waits_until_there_is_room() {
    let layer = AdmissionLayer::new("codel").capacity(1).build().unwrap();
    let service = layer.layer(service_fn(work));
    let (first, second) = (call(&service, takes(30)).await, call(&service, takes(10)).await);
    let seen = service.admission().gauges();
    assert_eq!((seen.in_flight, seen.held), (1, 1));
    let start = Instant::now();
    first.await.unwrap().unwrap();
    assert_eq!(second.await.unwrap().unwrap().body(), "done");
    assert!(start.elapsed() >= Duration::from_millis(40), "one after the other: {:?}", start.elapsed());
    let seen = service.admission().gauges();
    assert_eq!((seen.admitted, seen.in_flight, seen.held, seen.left), (2, 0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_held_request_whose_future_is_dropped_leaves_the_queue() {
    let layer = AdmissionLayer::new("lifo").capacity(1).build().unwrap();
    let service = layer.layer(service_fn(work));
    let first = call(&service, takes(30)).await;
    let held = call(&service, takes(10)).await;
    held.abort();
    settle().await;
    let seen = service.admission().gauges();
    assert_eq!((seen.held, seen.left, seen.in_flight), (0, 1, 1));
    first.await.unwrap().unwrap();
    assert_eq!(service.admission().gauges().in_flight, 0);
    assert_eq!(service.clone().oneshot(takes(0)).await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn the_timer_decides_about_held_requests_when_the_policy_is_due() {
    let layer = AdmissionLayer::new(&IMPATIENT).build().unwrap();
    let service = layer.layer(service_fn(work));
    let start = Instant::now();
    let refused = service.clone().oneshot(takes(0)).await.unwrap();
    assert_eq!((refused.status(), start.elapsed()), (503.try_into().unwrap(), Duration::from_millis(50)));
    // Once more: the timer comes for each, the earlier one first.
    let first = call(&service, takes(0)).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    let second = call(&service, takes(0)).await;
    let start = Instant::now();
    first.await.unwrap().unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(30));
    second.await.unwrap().unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(50));
}

#[tokio::test(start_paused = true)]
async fn a_request_between_its_admission_and_its_start_ends_as_abandoned() {
    let layer = AdmissionLayer::new("codel").capacity(1).build().unwrap();
    let service = layer.layer(service_fn(work));
    let first = call(&service, takes(30)).await;
    let mut held = Box::pin(service.clone().oneshot(takes(10)));
    // Polled once by this task, which then does not come back to it.
    assert!(futures_poll(&mut held).is_none());
    first.await.unwrap().unwrap();
    assert_eq!(service.admission().gauges().in_flight, 1, "it was let in, and has not been polled");
    drop(held);
    let seen = service.admission().gauges();
    assert_eq!((seen.in_flight, seen.held, seen.contradictions), (0, 0, 0));
    assert_eq!(service.clone().oneshot(takes(0)).await.unwrap().status(), 200);
}

fn futures_poll<F: Future<Output = Result<Response<String>, E>> + Unpin, E>(future: &mut F) -> Option<F::Output> {
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::Pin::new(future).poll(&mut cx) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_ready_service_is_kept_for_a_held_request() {
    // The inner service panics if it is called without having said that it is ready.
    let inner = tower::ServiceBuilder::new().concurrency_limit(2).service(service_fn(work));
    let service = AdmissionLayer::new("codel").capacity(1).build().unwrap().layer(inner);
    let (first, second) = (call(&service, takes(30)).await, call(&service, takes(10)).await);
    assert_eq!(first.await.unwrap().unwrap().status(), 200);
    assert_eq!(second.await.unwrap().unwrap().status(), 200);
}
