//! The plant: an emulated service at a tenth over its capacity, without a policy and with SEDA's.

use std::time::Duration;

use controllers::{ClassRule, Objective, Settings};
use target_app::{
    plant::{Plant, PlantPlan},
    spec::{App, Discipline, EdgeSpec, OnRefuse, PolicySpec, ServiceTime, StageSpec, TargetSpec},
};
use workloads::{
    StopFlag,
    sim::{LinkSpec, run},
};

/// A service of 8000 requests a second on 8 servers.
fn target(policy: &str) -> TargetSpec {
    let address = ([127, 0, 0, 1], 0).into();
    TargetSpec {
        app: App::Emulated {
            service: ServiceTime::Exponential { mean: Duration::from_millis(1) },
            servers: 8,
            discipline: Discipline::Fifo,
            answer_bytes: 0,
            degradable: 0.0,
        },
        listen: address,
        control: address,
        policy: PolicySpec { name: policy.to_owned(), place: None, settings: Settings::new() },
        machines: Vec::new(),
        objective: Objective { percentile: 90.0, response_time: Duration::from_secs(1) },
        stage_defaults: StageSpec {
            queue: 10_000,
            workers: 8,
            batch: 1,
            on_refuse: OnRefuse::Reject,
            drop_abandoned: false,
            criticality: None,
        },
        stages: std::collections::BTreeMap::new(),
        edge: EdgeSpec::default(),
        class: ClassRule::default(),
        criticality: std::collections::BTreeMap::new(),
        health: target_app::spec::Health::default(),
        seed: 5,
        cpus: Vec::new(),
        die_with: None,
    }
}

pub fn measure() {
    let plan = super::host::plan(60, 1000);
    for policy in ["none", "seda"] {
        let spec = target(policy);
        super::speed(&format!("plant, emulated service, {policy}"), || {
            let mut plant = Plant::new(&spec, &PlantPlan::default()).expect("it can be");
            let link = LinkSpec::default();
            let finished = run(&plan, link, &mut plant, |_, _, _| {}, &StopFlag::new()).expect("it runs");
            finished.events
        });
    }
}
