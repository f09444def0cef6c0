//! Shadow mode: the policy decides and is told everything, and nothing is refused.

use tower::{Layer, service_fn};
use tower_admission::AdmissionLayer;

use super::{call, settle, takes, work};

#[tokio::test(start_paused = true)]
async fn nothing_is_refused_and_what_would_have_been_is_counted() {
    let layer = AdmissionLayer::new("concurrency").set("max", 2).shadow(true).build().unwrap();
    let service = layer.layer(service_fn(work));
    let mut tasks = Vec::new();
    for _ in 0..5 {
        tasks.push(call(&service, takes(100)).await);
    }
    let seen = service.admission().gauges();
    assert_eq!((seen.offered, seen.admitted, seen.refused, seen.would_refuse, seen.in_flight), (5, 2, 3, 3, 2));
    for task in tasks {
        assert_eq!(task.await.unwrap().unwrap().status(), 200);
    }
    assert_eq!(service.admission().gauges().in_flight, 0, "the policy was told the ends of what it admitted");
    // Switched off while it runs.
    service.admission().set_shadow(false);
    let mut tasks = Vec::new();
    for _ in 0..5 {
        tasks.push(call(&service, takes(100)).await);
    }
    let mut refused = 0;
    for task in tasks {
        refused += u32::from(task.await.unwrap().unwrap().status() == 503);
    }
    assert_eq!((refused, service.admission().gauges().would_refuse), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn what_would_wait_runs_at_once_and_its_policy_knows_when_it_would_have_begun() {
    let layer = AdmissionLayer::new("codel").capacity(1).shadow(true).build().unwrap();
    let service = layer.layer(service_fn(work));
    let start = tokio::time::Instant::now();
    let (first, second, third) =
        (call(&service, takes(10)).await, call(&service, takes(30)).await, call(&service, takes(5)).await);
    assert_eq!(service.admission().gauges().held, 2, "for the policy two wait");
    assert_eq!(third.await.unwrap().unwrap().status(), 200);
    settle().await;
    assert_eq!(start.elapsed().as_millis(), 5, "it did not wait");
    let seen = service.admission().gauges();
    assert_eq!((seen.held, seen.left), (1, 1), "it ended before the policy let it in: it left");
    first.await.unwrap().unwrap();
    assert_eq!(service.admission().gauges().in_flight, 1, "now the policy has let the second one in");
    second.await.unwrap().unwrap();
    let seen = service.admission().gauges();
    assert_eq!((seen.in_flight, seen.held, seen.admitted, seen.contradictions), (0, 0, 2, 0));
    assert_eq!(start.elapsed().as_millis(), 30);
}
