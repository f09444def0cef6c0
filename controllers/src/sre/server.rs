//! The whole service's side in one policy.

use crate::{
    Entry,
    catalogue::{Make, Param, ParamKind, Place, Problem, Values},
};

use super::{
    Guard, Guarded,
    dont_retry::{self, Attempts},
    joined,
    quota::{self, Quota},
    section,
    throttle::WINDOW,
    utilization::{self, Utilization},
};

const SWITCHES: [Param; 3] = [
    switch("quota", "whether customers have limits", "chapter 21, Per-Customer Limits"),
    switch("utilization", "whether the task looks at its own load", "chapter 21, Utilization Signals"),
    switch("dont_retry", "whether refusals say when retrying is in vain", "chapter 21, Deciding to Retry"),
];

const fn switch(name: &'static str, about: &'static str, source: &'static str) -> Param {
    Param { name, about, kind: ParamKind::Flag { default: true }, source }
}

fn policy(values: &Values) -> Guarded {
    let mut guards: Vec<Box<dyn Guard>> = Vec::new();
    if values.flag("quota") {
        guards.push(Box::new(Quota::new(values)));
    }
    if values.flag("utilization") {
        guards.push(Box::new(Utilization::new(values)));
    }
    let guarded = Guarded::new(guards);
    if values.flag("dont_retry") { guarded.advising(Attempts::new(values)) } else { guarded }
}

fn clashes(values: &Values) -> Vec<Problem> {
    if values.flag("utilization") { utilization::clashes(values) } else { utilization::falling_thresholds(values) }
}

pub(crate) const SRE: Entry = Entry {
    name: "sre",
    about: "the service's side as Google has it: quotas, then utilization by criticality, with \"don't retry\" on refusals",
    caution: "as for its parts; a service whose work is waiting needs higher load thresholds than one that computes",
    source: section("Per-Customer Limits; Criticality; Utilization Signals; Deciding to Retry"),
    deviations: &[
        "All of quota's, utilization's and dont-retry's.",
        "With every part switched off everything comes in.",
    ],
    places: &[Place::Single, Place::Stage, Place::Proxy],
    params: &joined::<30>(&[&SWITCHES, &quota::PARAMS, &utilization::PARAMS, &[WINDOW], &dont_retry::PARAMS]),
    presets: &utilization::PRESETS,
    clashes,
    samples: &utilization::SAMPLES,
    make: Make::Policy(|values, _| Box::new(policy(values))),
};
