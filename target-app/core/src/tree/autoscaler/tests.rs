//! An autoscaler by hand: what its host is told, and when.

use controllers::{Objective, Settings, catalogue::PolicySpec};
use spec::{
    App, EmulatedSpec, ServiceTime, TargetSpec,
    plant::PlantSpec,
    services::{CallSpec, HostedService, ServiceSpec, WireCosts},
};

use super::*;

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn service(name: &str, spec: ServiceSpec) -> HostedService {
    let app = App::Emulated(EmulatedSpec::one(ServiceTime::Constant(Duration::from_millis(10))));
    let policy = PolicySpec { name: "none".to_owned(), place: None, settings: Settings::new() };
    let objective = Objective { percentile: 95.0, response_time: secs(1) };
    let task = TargetSpec::new(app, policy, objective);
    let spec = ServiceSpec { name: name.to_owned(), ..spec };
    HostedService { spec, task, costs: PlantSpec::default(), wire: WireCosts::default() }
}

/// `front` calls `back`, which has one to three tasks that take 20 s to start.
fn scaler() -> Autoscaler {
    let (utilization, tolerance, period, down, start) = (0.5, 0.1, secs(15), secs(30), secs(20));
    let autoscale = Some(AutoscaleSpec { min: 1, first: 1, utilization, tolerance, period, down, start });
    let front = ServiceSpec { tasks: 1, calls: vec![CallSpec::to("back")], ..ServiceSpec::default() };
    let back = ServiceSpec { tasks: 3, autoscale, ..ServiceSpec::default() };
    let services = vec![service("front", front), service("back", back)];
    let tree = TreeSpec { services, entries: vec![(None, "front".to_owned())], machines: Vec::new(), platform: None };
    Autoscaler::all(&tree).remove(0)
}

fn back(task: usize) -> TaskId {
    TaskId { service: 1, task }
}

/// Senders hear of these tasks.
fn told(tasks: &[usize]) -> Vec<TreeChange> {
    let (caller, tasks) = (TaskId { service: 0, task: 0 }, tasks.to_vec());
    vec![TreeChange::Users { service: 1, tasks: tasks.clone() }, TreeChange::Callees { caller, call: 0, tasks }]
}

/// The changes of a turn, before which each running task has used so many seconds of its two processors, and the second of
/// the next one.
fn turn(scaler: &mut Autoscaler, second: u64, used: u64) -> (Vec<TreeChange>, u64) {
    let now = Timestamp::from_secs(second);
    for task in scaler.samples(now) {
        scaler.load(task, LoadReading { used: secs(used), cpus: 2.0, memory: 0.0 });
    }
    let mut changes = Vec::new();
    let wake = scaler.turn(now, &mut changes);
    (changes, wake.as_nanos() / 1_000_000_000)
}

#[test]
fn a_task_takes_requests_some_time_after_it_is_wanted() {
    let mut scaler = scaler();
    assert_eq!(turn(&mut scaler, 0, 0), (vec![TreeChange::Start(back(0))], 15));
    scaler.started(back(0));
    assert_eq!(turn(&mut scaler, 0, 0), (told(&[0]), 15));
    // The first look has nothing to compare with. By the second both processors were busy for 12 of 15 s: ceil(0.8 / 0.5).
    assert_eq!(turn(&mut scaler, 15, 0), (vec![], 30));
    assert_eq!(turn(&mut scaler, 30, 24), (vec![], 45), "a second task is to run from 50 s on");
    assert_eq!(turn(&mut scaler, 45, 48), (vec![], 50), "it counts as idle: 0.8 / 2 is under the target");
    assert_eq!(turn(&mut scaler, 50, 0), (vec![TreeChange::Start(back(1))], 60));
    scaler.started(back(1));
    assert_eq!(turn(&mut scaler, 50, 0), (told(&[0, 1]), 60));
    // No load any more. Two were wanted at 45 s: they stay for 30 s, and the last one goes first.
    assert_eq!(turn(&mut scaler, 60, 48), (vec![], 75));
    assert_eq!(turn(&mut scaler, 75, 48), (vec![], 90));
    let (changes, _) = turn(&mut scaler, 90, 48);
    assert_eq!(changes, [told(&[0]), vec![TreeChange::Drain(back(1))]].concat());
    scaler.drained(back(1));
    let gauges = scaler.gauges().policy;
    assert_eq!(["tasks", "added", "removed"].map(|gauge| gauges[gauge]), [1.0; 3]);
}
