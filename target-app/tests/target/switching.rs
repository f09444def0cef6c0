//! Policies and machines that are switched while a target runs.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

use controllers::catalogue::PolicySpec;
use installed::catalogue;
use spec::{
    StageSpec, TargetSpec,
    services::TaskSpec,
    wire::{Gauges, SetMachines, SetPolicy},
};

use crate::common::{Target, calls_to_back, emulated, keep_asking, policy, spec, start, start_task};

/// Ends the asking, also after a failure.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Asks at twelve connections while `switches` goes on. Returns the gauges after the last answer: nothing is lost.
fn under_load(target: &Target, switches: impl FnOnce()) -> Gauges {
    let (stop, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| keep_asking(target.address, &stop, &answered));
        }
        let _ends = Ends(&stop);
        switches();
    });
    let gauges = target.until("all connections to close", |gauges| gauges.ledger.connections_open == 0);
    let ledger = &gauges.ledger;
    assert_eq!(ledger.requests_read, answered.load(Ordering::Relaxed));
    assert_eq!((ledger.client_gone, ledger.errors, ledger.in_flight), (0, 0, 0), "{ledger:?}");
    assert!(ledger.balances());
    assert_eq!(gauges.panics, 0);
    gauges
}

#[test]
fn policies_are_switched_under_load_and_no_request_is_lost() {
    let target = start(TargetSpec { app: emulated(Duration::from_micros(500), 4), ..spec() });
    let mut switched = 0;
    under_load(&target, || {
        for _ in 0..2 {
            for entry in catalogue().entries().filter(|entry| entry.is_policy()) {
                let here = [controllers::Place::Accept, controllers::Place::Single, controllers::Place::Stage];
                for place in entry.places.iter().copied().filter(|place| here.contains(place)) {
                    let policy = PolicySpec { place: Some(place), ..policy(entry.name, &[]) };
                    target.control.set_policy(&SetPolicy { stage: None, policy }).unwrap();
                    switched += 1;
                    thread::sleep(Duration::from_millis(40));
                }
            }
        }
    });
    assert!(switched > 20);
}

/// The same, ten times a second.
fn often(time: &str, mut machine: PolicySpec) -> PolicySpec {
    machine.settings.insert(time.to_owned(), "100ms".into());
    machine
}

/// Workers and batch of the stage.
fn size(gauges: &Gauges) -> (u32, u32) {
    let stage = gauges.stages.iter().find(|stage| stage.name == "work").expect("the stage");
    (stage.workers, stage.batch)
}

#[test]
fn machines_are_switched_under_load_and_leave_a_stage_as_it_was() {
    let target = start(TargetSpec { app: emulated(Duration::from_millis(2), 12), ..spec() });
    let put = |stage: Option<&str>, machines: Vec<PolicySpec>| {
        target.control.set_machines(&SetMachines { stage: stage.map(str::to_owned), machines })
    };
    let named = |at: &str| target.control.policies().unwrap().machines.get(at).cloned().unwrap_or_default();
    assert_eq!(size(&target.gauges()), (4, 4));
    under_load(&target, || {
        let grows = often("tick", policy("thread-pool", &[("threshold", 1.0), ("max", 9.0)]));
        let batches = often("window", policy("batching", &[("act_every", 1.0), ("min", 1.0), ("max", 3.0)]));
        put(None, vec![grows, batches, policy("monitor", &[])]).unwrap();
        target.until("more workers and smaller batches", |gauges| size(gauges).0 > 4 && size(gauges).1 < 4);
        assert_eq!(
            (named("work"), named("system")),
            (vec!["thread-pool".into(), "batching".into()], vec!["monitor".into()])
        );
        put(Some("work"), vec![policy("batching", &[])]).unwrap();
        assert_eq!((named("work"), named("system")), (vec!["batching".into()], vec!["monitor".into()]));
        for _ in 0..20 {
            put(None, vec![often("tick", policy("thread-pool", &[("threshold", 0.0), ("max", 40.0)]))]).unwrap();
            thread::sleep(Duration::from_millis(30));
            put(None, Vec::new()).unwrap();
        }
        target.until("the stage as it was", |gauges| size(gauges) == (4, 4));
    });
    let all = target.gauges();
    let stage = all.stages.iter().find(|stage| stage.name == "work").expect("the stage");
    assert_eq!((stage.workers, stage.idle), (4, 4));
    assert!(target.control.policies().unwrap().machines.is_empty());
}

#[test]
fn machines_that_make_no_sense_are_refused_and_nothing_changes() {
    let target = start(spec());
    let bad = |stage: Option<&str>, machines: Vec<PolicySpec>| {
        let change = SetMachines { stage: stage.map(str::to_owned), machines };
        target.control.set_machines(&change).unwrap_err().to_string()
    };
    for (stage, machine, hint) in [
        (None, policy("thread-pol", &[]), "thread-pool"),
        (None, policy("thread-pool", &[("maxx", 1.0)]), "maxx"),
        (None, policy("codel", &[]), "policy"),
        (None, policy("quota-server", &[]), "app: tree"),
        (Some("work"), policy("monitor", &[]), "whole process"),
        (Some("dispatch"), policy("thread-pool", &[]), "work"),
    ] {
        let said = bad(stage, vec![policy("batching", &[]), machine]);
        assert!(said.contains(hint), "{said}");
    }
    assert!(target.control.policies().unwrap().machines.is_empty());
}

#[test]
fn the_policy_of_a_tasks_own_calls_is_switched_under_load_also_where_there_was_none() {
    let back = start(TargetSpec { app: emulated(Duration::from_millis(1), 12), ..spec() });
    let calls = calls_to_back(&back, Duration::from_secs(5));
    let stage_defaults = StageSpec { workers: 12, batch: 1, ..spec().stage_defaults };
    let front = TargetSpec { app: emulated(Duration::from_millis(1), 12), stage_defaults, ..spec() };
    let front = start_task(TaskSpec { name: "front".to_owned(), calls, ..TaskSpec::alone(front) });
    let put = |stage: Option<&str>, name: &str, settings: &[(&str, f64)]| {
        let mut policy = policy(name, settings);
        policy.place = Some(controllers::Place::Client);
        front.control.set_policy(&SetPolicy { stage: stage.map(str::to_owned), policy })
    };
    let refused = |gauges: &Gauges| gauges.calls.made[0].counts.refused_locally;
    let gauges = under_load(&front, || {
        put(None, "fixed-rate", &[("rate", 5.0), ("depth", 1.0)]).unwrap();
        let then = front.until("calls that are kept back", |gauges| refused(gauges) > 20);
        for _ in 0..20 {
            for name in ["throttle", "concurrency", "none"] {
                put(Some("back"), name, &[]).unwrap();
                thread::sleep(Duration::from_millis(10));
            }
        }
        front.until("calls that go out", |gauges| gauges.calls.made[0].written > then.calls.made[0].written + 50);
    });
    assert_eq!(gauges.calls.made[0].contradictions, 0);
    let said = put(Some("bak"), "none", &[]).unwrap_err().to_string();
    assert!(said.contains("those to: back"), "{said}");
    assert!(put(None, "seda", &[]).is_err());
    let nobody = back.control.set_policy(&SetPolicy { stage: None, policy: policy("retry-budget", &[]) });
    assert!(nobody.unwrap_err().to_string().contains("makes no calls"));
}
