//! The cost of policing, with numbers worked by hand.

use super::*;

/// One class, so that batches are tested on arrival; the servers are told what requests cost.
fn sentry(policing: &str) -> TargetSpec {
    let mut policy = policy("sentry", &[("classes", 1.0), ("alpha", 0.0)]);
    policy.settings.insert("policing".to_owned(), policing.into());
    target(policy)
}

fn costs() -> PlantPlan {
    let costs = PlantSpec { police_batch_ms: 20.0, police_threshold_ms: 5.0, ..PlantSpec::default() };
    PlantPlan { costs, wire: true, ..PlantPlan::default() }
}

#[test]
fn each_way_of_policing_has_its_cost_and_other_policies_have_none() {
    // A user asks 100 ms after each answer; each request takes 10 ms besides.
    for (spec, police_s) in [(sentry("batch"), 0.020), (sentry("threshold"), 0.005), (target(policy("none", &[])), 0.0)]
    {
        let (finished, gauges) = ran(&url_plan(&[("all", 5, 1)]), &spec, &costs());
        let ledger = &finished.report.total.measured;
        let took = finished.report.total.measured.response_time_ms.p50.expect("some were served");
        assert!((took - 1e3 * (0.010 + police_s)).abs() < 0.1, "{took}");
        assert_eq!(ledger.rejected, 0, "{ledger:?}");
        assert!((gauges.cpu_s - ledger.served as f64 * (0.010 + police_s)).abs() < 1e-6, "{}", gauges.cpu_s);
    }
}

#[test]
fn requests_are_policed_in_the_order_of_arrival() {
    // Two users at once: the first is policed at 20 ms, its 10 ms of work share the core with the policing of the second, and it is
    // answered at 40 ms. The second is policed at 50 ms and answered at 60 ms. They come back at 140 and 160 ms, and from
    // then on 20 ms after one another, so that each is answered after 40 ms; shared, both would be policed at 40 ms.
    let (finished, _) = ran(&url_plan(&[("all", 5, 2)]), &sentry("batch"), &costs());
    let times = finished.report.total.measured.response_time_ms;
    assert!(times.p50.is_some_and(|p50| (p50 - 40.0).abs() < 0.3), "{times:?}");
    assert!(times.max.is_some_and(|max| (max - 60.0).abs() < 0.3), "{times:?}");
}
