//! Machines in a closed loop, beside a policy.

use std::time::Duration;

use crate::{
    Settings,
    testing::{
        machine,
        plant::{Phase, Plant, Series, Service},
        policy, settings,
    },
};

const TARGET: Duration = Duration::from_secs(1);

/// 5 users, then 300 for a minute, then none; each worker serves 100 a second.
fn crowd() -> Plant {
    let phase = |users, lasts| {
        let arrive_over = Duration::from_secs(1);
        Phase { users, lasts: Duration::from_secs(lasts), arrive_over, open_per_s: 0 }
    };
    Plant {
        workers: 1,
        service: Service::Exponential(Duration::from_millis(10)),
        think: Duration::from_millis(500),
        retreat: Duration::from_secs(5),
        classes: 1,
        phases: vec![phase(5, 5), phase(300, 60), phase(0, 30)],
        seed: 3,
    }
}

#[test]
fn a_thread_pool_grows_with_the_crowd_and_shrinks_after_it() {
    let without = crowd().run(policy("none", &Settings::new(), TARGET), Vec::new());
    let keys = settings([("threshold", 20_u32.into())]);
    let with = crowd().run(policy("none", &Settings::new(), TARGET), vec![machine("thread-pool", &keys, TARGET)]);
    let late = |series: &Series| Series::median_p90_ms(series.between(45, 65));
    // One worker: 300 users wait about 3 s less their 0.5 s of thinking. About 6 workers carry them all.
    assert!(late(&without) > 2000, "{} ms with one worker", late(&without));
    assert!(late(&with) < 500, "{} ms with a growing pool", late(&with));
    let most = with.seconds.iter().map(|second| second.workers).max();
    assert!((3..=20).contains(&most.unwrap_or(0)), "{most:?} workers at most");
    assert_eq!(with.seconds.last().map(|second| second.workers), Some(1), "idle workers went");
}

#[test]
fn a_monitor_makes_a_policy_that_hears_it_admit_less() {
    let refused = |on_pressure: &str| {
        let keys = settings([("on_pressure", on_pressure.into()), ("target", "10s".into())]);
        let watched = machine("monitor", &Settings::new(), TARGET);
        Series::refused_share(crowd().run(policy("seda", &keys, TARGET), vec![watched]).between(20, 65))
    };
    // Response times are within this target: left to itself the controller refuses nobody it could admit.
    let (hears, ignores) = (refused("cut"), refused("ignore"));
    assert!(hears > ignores + 0.1, "{hears} refused with the monitor, {ignores} without");
}
