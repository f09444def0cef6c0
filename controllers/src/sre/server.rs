//! The complete service's side in one policy.

use crate::{
    Entry, Place,
    entry::{CompositionRole, EntryKind, Flag, ParamDeclaration, Problem, flag, params},
};

use super::{
    attempts::{Attempts, AttemptsParams},
    chapter::section,
    guard::{Guard, Guarded},
    quota::{Quota, QuotaParams},
    utilization::{self, Utilization, UtilizationParams},
};

const fn switch(about: &'static str, source: &'static str) -> ParamDeclaration<Flag> {
    ParamDeclaration { kind: flag(true), about, source }
}

params! {
    struct ServerParams {
        quota: bool = switch("whether customers have limits", "chapter 21, Per-Customer Limits");
        utilization: bool = switch("whether the task looks at its own load", "chapter 21, Utilization Signals");
        dont_retry: bool = switch("whether refusals say when retrying is in vain", "chapter 21, Deciding to Retry");
        limits: QuotaParams;
        signals: UtilizationParams;
        attempts: AttemptsParams;
    }
}

fn policy(params: &ServerParams) -> Guarded {
    let mut guards: Vec<Box<dyn Guard>> = Vec::new();
    if params.quota {
        guards.push(Box::new(Quota::new(&params.limits)));
    }
    if params.utilization {
        guards.push(Box::new(Utilization::new(&params.signals)));
    }
    let guarded = Guarded::new(guards);
    if params.dont_retry { guarded.advising(Attempts::new(&params.attempts)) } else { guarded }
}

fn clashes(params: &ServerParams) -> Vec<Problem> {
    let mut problems = if params.utilization { params.signals.clashes() } else { params.signals.falling_thresholds() };
    problems.extend(params.limits.clashes());
    problems
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
    presets: &utilization::PRESETS,
    samples: &utilization::SAMPLES,
    roles: &[CompositionRole::Select],
    kind: EntryKind::Policy(|reader| reader.make_unless(clashes, |params, _| Box::new(policy(params)))),
};
