//! Who waits how long when more comes than can be served.

use std::time::Duration;

use crate::{
    catalogue::Setting,
    testing::{
        plant::{Phase, Plant, Series, Service},
        policy, settings,
    },
};

/// Ten workers serve 100 jobs a second, and so many come, for five minutes.
fn overload(name: &str, pairs: &[(&'static str, Setting)], open_per_s: u32) -> Series {
    let phase = Phase { users: 0, lasts: Duration::from_secs(300), arrive_over: Duration::ZERO, open_per_s };
    let plant = Plant {
        workers: 10,
        service: Service::Exponential(Duration::from_millis(100)),
        think: Duration::ZERO,
        retreat: Duration::ZERO,
        classes: 1,
        phases: vec![phase],
        seed: 5,
    };
    plant.run(policy(name, &settings(pairs.iter().cloned()), Duration::from_secs(1)), Vec::new())
}

/// The newest first, and nobody is ever refused.
fn patient(adaptive: bool) -> [(&'static str, Setting); 4] {
    let hour = || Setting::from("1h");
    [("adaptive", adaptive.into()), ("timeout", hour()), ("timeout_standing", hour()), ("max", 100_000_u32.into())]
}

/// The longest wait at the end of the fifth, fourth ... minute, s.
fn oldest(series: &Series) -> Vec<u64> {
    series.seconds.chunks(60).map(|minute| minute[59].oldest_ms / 1000).collect()
}

#[test]
fn lifo_starves_the_old_while_the_new_are_served_at_once() {
    for adaptive in [false, true] {
        for rate in [110, 200] {
            let series = overload("lifo", &patient(adaptive), rate);
            // Nearly as old as the run: turning round when the queue stands does not help those who stand in it.
            let oldest = oldest(&series);
            assert!(oldest.iter().zip(1..).all(|(age, minute)| *age >= minute * 60 - 2), "{rate}: {oldest:?}");
            let p90 = Series::median_p90_ms(&series.seconds);
            assert!(p90 < 600, "{rate}: {p90} ms for those who are served");
        }
    }
}

/// In order of arrival everybody waits, and nobody for as long.
#[test]
fn in_order_of_arrival_all_wait_for_what_is_over_capacity() {
    let series = overload("none", &[], 110);
    // A tenth over capacity: 6 s more with each minute, within the chance of arrivals.
    let oldest = oldest(&series);
    assert!(oldest.iter().zip(1..).all(|(age, minute)| (3 * minute..9 * minute).contains(age)), "{oldest:?}");
    assert!(Series::median_p90_ms(&series.seconds) > 10_000);
}

#[test]
fn time_outs_bound_the_wait_of_the_old() {
    for rate in [110, 200] {
        for (name, bound_ms) in [("lifo", 1000), ("fail-at-scale", 100)] {
            let series = overload(name, &[], rate);
            let longest = series.seconds.iter().map(|second| second.oldest_ms).max().unwrap();
            assert!(longest <= bound_ms, "{name} at {rate}: {longest} ms");
            let p90 = Series::median_p90_ms(&series.seconds);
            assert!(p90 < 600, "{name} at {rate}: {p90} ms");
            let served: u32 = series.seconds.iter().map(|second| second.served).sum();
            assert!(served > 300 * 90, "{name} at {rate}: {served} served");
        }
    }
}

/// Drops at interval / √n were made for senders that slow down when they lose a packet. These do not, and at four times
/// capacity seconds pass until enough are refused, again and again; all that waited too long at once is quicker.
#[test]
fn codel_as_in_linux_is_slow_under_heavy_overload_and_follys_is_not() {
    let p90 = |name, rate| {
        let series = overload(name, &[], rate);
        let first = series.seconds[..20].iter().map(|second| second.p90_ms).max().unwrap();
        (Series::median_p90_ms(&series.seconds[20..]), first)
    };
    let (linux, first) = p90("linux", 110);
    assert!(linux < 350 && first < 500, "{linux} ms, at first {first} ms: a tenth over capacity is what it is for");
    let (linux, first) = p90("linux", 400);
    assert!(linux > 800 && first > 2000, "{linux} ms, at first {first} ms");
    for rate in [110, 400, 1000] {
        let (folly, first) = p90("folly", rate);
        assert!(folly < 350 && first < 500, "{rate}: {folly} ms, at first {first} ms");
    }
}
