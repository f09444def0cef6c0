//! The layer and the bare site get the same requests, and must decide the same.
//!
//! [`live`] runs a script through `tower` services under tokio's paused clock: lock, timer, admitted requests and waiting futures
//! are those of a server. [`bare`] runs it on
//! the site of `controllers` alone, which it polls every millisecond. The two share no code but the site: their
//! decisions with the times, all that the policy was
//! told and asked, and their gauges after each step are compared, for every policy that a layer hosts.

mod bare;
mod live;
mod recording;
mod script;

use std::{collections::BTreeSet, time::Duration};

use controllers::{Catalogue, Entry, Objective, Settings, catalogue::Setting};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};

use crate::{AdmissionLayer, PolicyChoice};
use recording::{Decision, Record};
use script::{Op, script};

/// What both hosts are set up with.
#[derive(Debug, Clone)]
struct Setup {
    /// The entry of the catalogue.
    of: &'static Entry,
    settings: Settings,
    at_client: bool,
}

const CAPACITY: u32 = 2;
const SEED: u64 = 7;
const OBJECTIVE: Objective = Objective { percentile: 90.0, response_time: Duration::from_millis(20) };

/// Limits that a few requests reach.
fn tight(policy: &str) -> Settings {
    let number = |key: &str, value: f64| (key.to_owned(), Setting::Number(value));
    let text = |key: &str, value: &str| (key.to_owned(), Setting::Text(value.to_owned()));
    let part = |key: &str, of: &str| (key.to_owned(), Setting::Map([(of.to_owned(), Setting::Map(tight(of)))].into()));
    Settings::from_iter(match policy {
        "concurrency" => vec![number("max", 3.0)],
        "fixed-rate" => vec![number("rate", 60.0), number("depth", 2.0)],
        "vegas" => vec![number("limit_initial", 3.0), number("limit_max", 4.0)],
        "aimd" | "gradient2" => vec![number("limit_min", 1.0), number("limit_initial", 3.0), number("limit_max", 4.0)],
        "lifo" => vec![text("timeout", "30ms"), text("timeout_standing", "15ms")],
        "pid" => vec![number("samples", 5.0), text("timeout", "30ms")],
        "mm1" => vec![number("estimate_every", 5.0), text("estimate_timeout", "30ms")],
        "queue-threshold" => vec![number("every", 3.0)],
        "codel" => vec![text("interval", "20ms"), number("max", 4.0)],
        "dagor" => vec![text("window", "20ms"), text("threshold", "5ms")],
        "utilization" | "dont-retry" | "sre" => vec![text("time_constant", "20ms")],
        "compose" => vec![part("limit", "vegas"), text("select", "dagor"), text("queue", "codel")],
        _ => Vec::new(),
    })
}

/// Every policy that a layer hosts, at a server and at a client.
fn setups() -> Vec<Setup> {
    let sides = |of: &'static Entry| [false, true].map(|at_client| Setup { of, settings: tight(of.name), at_client });
    let runs = |setup: &Setup| {
        let choice = PolicyChoice::entry(setup.of).settings(setup.settings.clone());
        if setup.at_client {
            AdmissionLayer::client(choice).build().map(drop)
        } else {
            AdmissionLayer::new(choice)
                .capacity(CAPACITY)
                .objective(OBJECTIVE.percentile, OBJECTIVE.response_time)
                .build()
                .map(drop)
        }
    };
    let policies = Catalogue::built_in().entries().filter(|of| of.is_policy());
    // A wrong setting is an error of this file, and no reason to leave a policy out.
    let hosted = |setup: &Setup| match runs(setup) {
        Ok(()) => true,
        Err(why) => {
            let why = why.to_string();
            assert!(why.contains("has no place") || why.contains("does not have"), "{why}");
            false
        }
    };
    policies.flat_map(sides).filter(hosted).collect()
}

fn scripts(how_many: usize) -> Vec<Vec<Op>> {
    let mut runner = TestRunner::deterministic();
    (0..how_many).map(|_| script().new_tree(&mut runner).unwrap().current()).collect()
}

proptest! {
    #![proptest_config(Config { cases: 16, failure_persistence: None, max_shrink_iters: 200, ..Config::default() })]

    #[test]
    fn the_layer_decides_as_the_bare_site_does(ops in script()) {
        for setup in setups() {
            let (live, bare) = (live::record(&setup, &ops, None), bare::record(&setup, &ops));
            prop_assert_eq!(live.first_difference(&bare), None, "{} at a client: {}", setup.of.name, setup.at_client);
        }
    }
}

#[test]
fn the_scripts_bring_policies_to_refuse_and_to_hold() {
    let mut refused = BTreeSet::new();
    let mut waited = BTreeSet::new();
    for ops in scripts(20) {
        for setup in setups() {
            let Record { decisions, most_held, .. } = bare::record(&setup, &ops);
            if decisions.iter().any(|(_, _, decision)| matches!(decision, Decision::Refused(..))) {
                refused.insert(setup.of.name);
            }
            if most_held > 0 {
                waited.insert(setup.of.name);
            }
        }
    }
    for policy in ["concurrency", "fixed-rate", "aimd", "vegas", "gradient2", "codel", "lifo", "compose", "throttle"] {
        assert!(refused.contains(policy), "{policy} refuses nothing; those that do: {refused:?}");
    }
    for policy in ["codel", "lifo", "compose"] {
        assert!(waited.contains(policy), "{policy} holds nothing");
    }
    assert!(setups().len() >= 20, "{}", setups().len());
}

#[test]
fn a_layer_with_one_difference_is_found() {
    use live::Difference;

    for difference in Difference::ALL {
        let found = scripts(20).iter().any(|ops| {
            setups().iter().any(|setup| {
                let (live, bare) = (live::record(setup, ops, Some(difference)), bare::record(setup, ops));
                live.first_difference(&bare).is_some()
            })
        });
        assert!(found, "{difference:?} makes no difference to any policy");
    }
}
