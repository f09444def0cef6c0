//! Word to and from other sites.

use super::{assert_close, each_sample_counts};
use crate::{
    Effect, PeerReport, Seen, Settings, SiteId,
    testing::{MachineBench, settings},
};

const RATE: &str = "admission_rate_per_s";

fn report(from: u16, level: f64) -> Seen {
    Seen::Peer(PeerReport::Pressure { from: SiteId(from), level })
}

#[test]
fn pressure_cuts_at_most_once_a_time_out() {
    let mut bench = MachineBench::new("seda", &Settings::new());
    bench.see(0, &report(7, 0.5));
    bench.see(999, &report(7, 0.5));
    bench.see(999, &report(8, 1.0));
    assert_close(bench.gauge(RATE), 100.0 / 1.2);
    bench.see(1000, &report(7, 0.5));
    assert_close(bench.gauge(RATE), 100.0 / 1.44);
}

#[test]
fn while_it_lasts_the_rate_does_not_rise() {
    let mut bench = MachineBench::new("seda", &each_sample_counts([]));
    bench.see(0, &report(7, 0.5));
    bench.respond(4999, 0, 0);
    assert_close(bench.gauge(RATE), 100.0 / 1.2);
    bench.respond(5000, 0, 0); // forgotten after 5 s
    assert_close(bench.gauge(RATE), 100.0 / 1.2 + 1.8);
}

#[test]
fn relief_ends_it_for_the_one_who_says_so() {
    let mut bench = MachineBench::new("seda", &each_sample_counts([]));
    bench.see(0, &report(7, 0.5));
    bench.see(0, &report(8, 0.5));
    bench.see(1, &report(7, 0.0));
    bench.respond(2, 0, 0);
    assert_close(bench.gauge(RATE), 100.0 / 1.2);
    bench.see(3, &report(8, 0.0));
    bench.respond(4, 0, 0);
    assert_close(bench.gauge(RATE), 100.0 / 1.2 + 1.8);
}

#[test]
fn lower_classes_feel_it_first() {
    let mut bench = MachineBench::new("seda", &settings([("classes", 2_u32.into())]));
    bench.see(0, &report(7, 0.5));
    assert_close(bench.gauge_of(RATE, 0), 10.0);
    assert_close(bench.gauge_of(RATE, 1), 100.0);
    // 1, 0.1, 0.05; then the higher class.
    for second in 1..=4 {
        bench.see(second * 1000, &report(7, 0.5));
    }
    assert_close(bench.gauge_of(RATE, 0), 0.05);
    assert_close(bench.gauge_of(RATE, 1), 100.0 / 1.2);
}

#[test]
fn it_may_be_ignored() {
    let mut bench = MachineBench::new("seda", &settings([("on_pressure", "ignore".into())]));
    bench.see(0, &report(7, 1.0));
    assert_close(bench.gauge(RATE), 100.0);
}

#[test]
fn a_cut_below_the_target_is_pressure_too() {
    let keys = [("signal_upstream", true.into()), ("decrease_above", (-0.2).into())];
    let mut bench = MachineBench::new("seda", &each_sample_counts(keys));
    // 0.9 s is above the mark of 0.8 s: nothing is in excess of the target, and yet it is no relief.
    assert_eq!(bench.respond(0, 0, 900), [Effect::Shed { to: None, level: 0.01 }]);
    assert_eq!(bench.respond(1, 0, 700), [Effect::Shed { to: None, level: 0.0 }]);
}

#[test]
fn a_stage_over_its_target_asks_earlier_ones_for_less_until_it_is_not() {
    let mut bench = MachineBench::new("seda", &each_sample_counts([("signal_upstream", true.into())]));
    assert_eq!(bench.respond(0, 0, 900), []);
    // 4 s for a target of 1 s: three quarters must go.
    assert_eq!(bench.respond(1, 0, 4000), [Effect::Shed { to: None, level: 0.75 }]);
    assert_eq!(bench.respond(2, 0, 2000), [Effect::Shed { to: None, level: 0.5 }]);
    assert_eq!(bench.respond(3, 0, 900), [Effect::Shed { to: None, level: 0.0 }]);
    assert_eq!(bench.respond(4, 0, 900), []);
}
