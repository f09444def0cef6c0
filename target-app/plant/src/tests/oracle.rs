//! The oracle where it can be worked out what it should do.

use super::{draws::Watched, *};

fn with_oracle() -> PlantPlan {
    PlantPlan { foresight: Some(policy("oracle", &[])), ..PlantPlan::default() }
}

#[test]
fn of_a_crowd_that_comes_at_once_it_finishes_as_many_as_can_be_finished() {
    // 40 users ask once within 4 ms: exponential work, mean 10 ms, one server, 200 ms. All are due at about the same time, so
    // that the shortest whose sum is under the 180 ms that are planned with are the most that can be in time.
    for seed in 0..20 {
        let mut plan = url_plan(&[("all", 1, 40)]);
        plan.seed = seed;
        if let Users::Url(users) = &mut plan.users {
            users.think = traces::Think::Constant(Duration::from_secs(10));
        }
        plan.objective = Duration::from_millis(200);
        let mut spec = target(policy("none", &[]));
        spec.objective.response_time = plan.objective;
        spec.app = emulated(ServiceTime::Exponential { mean: Duration::from_millis(10) });
        let plant = Plant::new(&spec, &with_oracle()).expect("it can be");
        let mut world = Watched::new(plant);
        let finished = run(&plan, LinkSpec::default(), &mut world, |_, _, _| {}, &StopFlag::new()).expect("it runs");
        let ledger = &finished.report.total.measured;
        assert_eq!((ledger.planned, ledger.served_late, ledger.served + ledger.rejected), (40, 0, 40), "{ledger:?}");
        let mut work: Vec<Duration> = world.work.values().copied().collect();
        work.sort();
        let within = |time: Duration| {
            let mut sum = Duration::ZERO;
            let fits = work.iter().filter(|work| {
                sum += **work;
                sum <= time
            });
            fits.count() as u64
        };
        // The first job begins before the others are known, however long it takes.
        let first = world.came.iter().min_by_key(|(_, at)| **at).and_then(|(key, _)| world.work.get(key)).copied();
        let planned = Duration::from_millis(180);
        let (least, most) = (within(planned.saturating_sub(first.unwrap_or_default())), within(planned) + 1);
        assert!((least..=most).contains(&ledger.served), "seed {seed}: {} of {least} to {most}", ledger.served);
    }
}

#[test]
fn nothing_is_refused_that_can_be_done_and_it_is_the_same_twice() {
    let plan = url_plan(&[("all", 10, 5)]);
    let with = with_oracle();
    let (finished, gauges) = ran(&plan, &target(policy("none", &[])), &with);
    let ledger = &finished.report.total.measured;
    assert_eq!((ledger.served, ledger.rejected), (ledger.planned, 0), "{ledger:?}");
    assert!(gauges.stages.iter().any(|stage| stage.policy_name == "oracle"), "{gauges:?}");
    assert_eq!(finished.digest, ran(&plan, &target(policy("none", &[])), &with).0.digest);
}
