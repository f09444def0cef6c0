//! The plant: an emulated service at a tenth over its capacity, without a policy and with SEDA's.

use std::time::Duration;

use controllers::{Objective, Settings, catalogue::PolicySpec};
use plant::{Plant, PlantPlan};
use spec::{App, EmulatedSpec, ServiceTime, StageSpec, TargetSpec};
use workloads::{
    StopFlag,
    sim::{LinkSpec, run},
};

/// A service of 8000 requests a second on 8 servers.
fn target(policy: &str) -> TargetSpec {
    let one = EmulatedSpec::one(ServiceTime::Exponential { mean: Duration::from_millis(1) });
    let policy = PolicySpec { name: policy.to_owned(), place: None, settings: Settings::new() };
    let objective = Objective { percentile: 90.0, response_time: Duration::from_secs(1) };
    TargetSpec {
        stage_defaults: StageSpec { workers: 8, batch: 1, ..StageSpec::default() },
        seed: 5,
        ..TargetSpec::new(App::Emulated(EmulatedSpec { servers: 8, ..one }), policy, objective)
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
