//! A policy while it runs: another one in its place, its timer, its metrics; and configurations that cannot run.

use std::time::Duration;

use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use tower::{Layer, ServiceExt, service_fn};
use tower_admission::{AdmissionLayer, policies};

use super::{call, settle, takes, work};

#[tokio::test(start_paused = true)]
async fn another_policy_takes_over_what_is_inside_and_what_waits() {
    let layer = AdmissionLayer::new("codel").capacity(1).build().unwrap();
    let service = layer.layer(service_fn(work));
    let admission = service.admission().clone();
    let (inside, held) = (call(&service, takes(50)).await, call(&service, takes(50)).await);
    assert_eq!(admission.gauges().held, 1);
    admission.replace(policies::Concurrency::default().max(3)).unwrap();
    settle().await;
    let seen = admission.gauges();
    assert_eq!((seen.held, seen.in_flight, admission.policy()), (0, 2, "concurrency"), "there is room for two");
    let third = call(&service, takes(50)).await;
    assert_eq!(service.clone().oneshot(takes(0)).await.unwrap().status(), 503);
    for task in [inside, held, third] {
        assert_eq!(task.await.unwrap().unwrap().status(), 200);
    }
    let wrong = admission.replace("concurrencyy").unwrap_err().to_string();
    assert!(wrong.contains("did you mean concurrency?"), "{wrong}");
    assert_eq!((admission.policy(), admission.gauges().in_flight), ("concurrency", 0));
}

#[tokio::test(start_paused = true)]
async fn the_timer_ends_with_the_last_service() {
    let layer = AdmissionLayer::new("seda").build().unwrap();
    let service = layer.layer(service_fn(work));
    service.clone().oneshot(takes(0)).await.unwrap();
    settle().await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    assert!(tasks() >= 1, "a timer, and the publisher of metrics");
    drop((layer, service));
    tokio::time::sleep(Duration::from_secs(2)).await;
    settle().await;
    assert_eq!(tasks(), 0);
}

#[test]
fn a_policy_outlives_the_runtime_of_its_timer() {
    let layer = AdmissionLayer::new("codel").capacity(1).build().unwrap();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for _ in 0..2 {
        let service = layer.layer(service_fn(work));
        // The second request is held until the first ends, and refused by the timer if that takes too long.
        let served = runtime().block_on(async {
            let (one, two) = (call(&service, takes(20)).await, call(&service, takes(0)).await);
            [one.await.unwrap().unwrap().status(), two.await.unwrap().unwrap().status()]
        });
        assert_eq!(served, [200, 200]);
    }
}

#[test]
fn numbers_are_published_through_the_facade() {
    let recorder = DebuggingRecorder::new();
    let snapshots = recorder.snapshotter();
    metrics_with(&recorder, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let layer = AdmissionLayer::new("concurrency").set("max", 1).name("front").build().unwrap();
            let service = layer.layer(service_fn(work));
            let inside = call(&service, takes(1_500)).await;
            service.clone().oneshot(takes(0)).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1_100)).await;
            drop(inside);
        });
    });
    let found = snapshots.snapshot().into_vec().into_iter().map(|(key, _, _, value)| {
        let labels: Vec<_> = key.key().labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        let value = match value {
            DebugValue::Counter(count) => count as f64,
            DebugValue::Gauge(value) => value.into_inner(),
            DebugValue::Histogram(_) => f64::NAN,
        };
        format!("{}{{{}}} {value}", key.key().name(), labels.join(","))
    });
    let found: Vec<_> = found.collect();
    for wanted in [
        "admission_offered_total{layer=front,policy=concurrency} 2",
        "admission_refused_total{layer=front,policy=concurrency} 1",
        "admission_in_flight{layer=front,policy=concurrency} 1",
        "admission_policy{layer=front,policy=concurrency,gauge=limit} 1",
    ] {
        assert!(found.iter().any(|line| line == wanted), "{wanted} is not in {found:#?}");
    }
}

fn metrics_with(recorder: &DebuggingRecorder, run: impl FnOnce()) {
    metrics::with_local_recorder(recorder, run);
}

#[test]
fn what_cannot_run_is_an_error_that_says_what_to_do() {
    let said = |layer: AdmissionLayer| layer.build().map(|_| ()).unwrap_err().to_string();
    assert_eq!(said(AdmissionLayer::new("vegass")), "vegass: there is no such policy; did you mean vegas?");
    assert_eq!(
        said(AdmissionLayer::new(policies::Vegas::default().limit_max(0))),
        "vegas.limit_max: 0 is not a whole number from 1 to 1000000"
    );
    assert!(said(AdmissionLayer::new("codel")).contains("set the layer's `capacity`"));
    let queue = || policies::Compose::default().queue("codel");
    assert!(said(AdmissionLayer::new(queue())).contains("or let a limit make the room"));
    assert!(AdmissionLayer::new(queue().limit("vegas")).build().is_ok(), "nobody has to know the capacity");
    assert!(said(AdmissionLayer::new("thread-pool")).contains("it decides about no request"));
    assert!(said(AdmissionLayer::new("connections")).contains("a layer does not have"));
    assert!(said(AdmissionLayer::new("concurrency").shards(4)).contains("a number for all requests together"));
    assert!(said(AdmissionLayer::new("gradient2").shards(0)).contains("0 is out of range: 1 to 256"));
    assert!(said(AdmissionLayer::new("gradient2").set("scope", "per-stage")).starts_with("gradient2.scope:"));
}

#[test]
#[should_panic(expected = "did you mean gradient2?")]
fn a_wrong_configuration_is_not_found_out_at_a_request() {
    let _service = AdmissionLayer::new("gradint2").layer(service_fn(work));
}

#[tokio::test(start_paused = true)]
async fn shards_count_as_one() {
    let layer = AdmissionLayer::new("gradient2").shards(3).build().unwrap();
    let service = layer.layer(service_fn(work));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let service = service.clone();
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                for _ in 0..25 {
                    runtime.block_on(service.clone().oneshot(takes(0))).unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let seen = service.admission().gauges();
    assert_eq!((seen.offered, seen.admitted, seen.in_flight), (100, 100, 0));
    assert!((seen.gauges["limit"] - 20.0).abs() < 1e-9, "the mean of three");
}
