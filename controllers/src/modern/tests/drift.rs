//! An overload of a tenth that lasts an hour: which limit keeps its place?

use std::time::Duration;

use crate::{
    catalogue::Setting,
    testing::{
        plant::{Phase, Plant, Second, Series, Service},
        policy, settings,
    },
};

const HALF_A_SECOND: Duration = Duration::from_millis(500);

/// Ten workers serve 20 jobs a second, and 22 come. Twenty in flight would be enough, at a response time of 1 s.
fn hour(name: &str, pairs: &[(&'static str, Setting)], service: Service) -> Series {
    let overload = Phase { users: 0, lasts: Duration::from_secs(3600), arrive_over: Duration::ZERO, open_per_s: 22 };
    let plant = Plant {
        workers: 10,
        service,
        think: Duration::ZERO,
        retreat: Duration::ZERO,
        classes: 1,
        phases: vec![overload],
        seed: 5,
    };
    plant.run(policy(name, &settings(pairs.iter().cloned()), Duration::from_secs(1)), Vec::new())
}

/// The mean limit in each ten minutes.
fn limits(series: &Series) -> Vec<u64> {
    let mean = |seconds: &[Second]| seconds.iter().filter_map(|second| second.limit).sum::<u64>() / 600;
    series.seconds.chunks(600).map(mean).collect()
}

fn served(series: &Series) -> u32 {
    series.seconds.iter().map(|second| second.served).sum()
}

/// The scenario S14, concurrency-limits' pull request 134: room for a queue is added at each window, and what that queue
/// costs in time is learned as normal.
#[test]
fn gradient2_creeps_up_to_its_largest_limit_and_serves_no_more_for_it() {
    for service in [Service::Constant(HALF_A_SECOND), Service::Exponential(HALF_A_SECOND)] {
        let series = hour("gradient2", &[], service);
        let limits = limits(&series);
        assert!(limits[0] < 60 && limits[5] == 200, "{service:?}: {limits:?}");
        assert!(limits.is_sorted(), "{service:?}: {limits:?}");
        let [first, last] = [300..600, 3300..3600].map(|part| Series::median_p90_ms(&series.seconds[part]));
        assert!(first < 4500 && last > 8500, "{service:?}: {first} ms in the first minutes, {last} ms in the last");
    }
}

#[test]
fn vegas_keeps_its_place_where_jobs_are_alike() {
    let series = hour("vegas", &[], Service::Constant(HALF_A_SECOND));
    let limits = limits(&series);
    assert!(limits.iter().all(|limit| (10..40).contains(limit)), "{limits:?}");
    assert!(served(&series) > 3600 * 19, "{} served", served(&series));
    let p90 = Series::median_p90_ms(&series.seconds);
    assert!(p90 < 1500, "{p90} ms");
}

/// What it pays for that: the shortest of times that differ is no measure of a service without load.
#[test]
fn vegas_leaves_half_the_service_idle_where_jobs_differ() {
    let series = hour("vegas", &[], Service::Exponential(HALF_A_SECOND));
    let limits = limits(&series);
    assert!(limits.iter().all(|limit| *limit < 10), "{limits:?} for ten workers");
    assert!(served(&series) < 3600 * 12, "{} served", served(&series));
}

#[test]
fn aimd_saws_below_what_its_time_out_allows() {
    for service in [Service::Constant(HALF_A_SECOND), Service::Exponential(HALF_A_SECOND)] {
        let series = hour("aimd", &[("timeout", "2s".into())], service);
        let limits = limits(&series);
        // 2 s at 20 a second are 40 in flight; the limit passes that while it is not reached.
        assert!(limits.iter().all(|limit| (25..80).contains(limit)), "{service:?}: {limits:?}");
        let late = Series::median_p90_ms(&series.seconds[3300..]);
        assert!(late < 2500, "{service:?}: {late} ms");
        assert!(served(&series) > 3600 * 19, "{service:?}: {} served", served(&series));
    }
}
