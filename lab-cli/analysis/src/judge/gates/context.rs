//! Context of the gates: the plan of a run, as far as verdicts depend on it.

use serde::{Deserialize, Serialize};

use crate::summary::{Headroom, LatencyObjective};

/// Facts of the plan on which verdicts depend.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// The promise: some limits scale with it.
    pub objective: LatencyObjective,
    /// The load is closed (a slow service makes its users slow), and the experiment does not declare that it is about that.
    pub closed: bool,
    /// True if it goes as fast as it can: no request has a time at which it is to be sent, and a busy generator is
    /// what was asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flat_out: bool,
    /// The policy works at accept: connections that wait or are dropped in the kernel are part of the experiment.
    pub kernel_backlog_declared: bool,
    /// Tasks crash, live: what the kernel still had for a process that died was never read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tasks_crash: bool,
    /// The target is ours and has a ledger of its own. False for `lab load` on a foreign service.
    pub own_target: bool,
    /// The service is not the lab's. It has a listen queue of its own: what overflows there is what it does under load, and the
    /// kernel does not tell it from what overflows before the lab's proxy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign_service: bool,
    /// The run was not shown in the live view, which takes time of the generator's core.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_live_view: bool,
    /// True in virtual time if the plant was measured with a debug build.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub debug_build_plant: bool,
    /// Other doubts about the plant, in virtual time.
    #[serde(default, skip_serializing_if = "PlantDoubts::is_none")]
    pub plant: PlantDoubts,
    /// Ability of the generator here; `None` where it was not measured: in virtual time, and for `lab load`.
    pub headroom: Option<Headroom>,
    /// The share of the parts of a load whose loss was declared to be bearable beforehand, 0 to 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_at_most: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

impl Context {
    /// `lab load`: what runs beside it may belong to the service.
    pub(super) fn is_load(&self) -> bool {
        !self.own_target && !self.foreign_service
    }
}

/// Doubts about the plant file that an experiment names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlantDoubts {
    /// It does not say what measured it.
    pub unknown_origin: bool,
    /// Another number or model of processors.
    pub other_machine: bool,
    /// Another version of the lab.
    pub other_version: bool,
    /// It was measured, and the verdict was not VALID.
    pub not_valid: bool,
}

impl PlantDoubts {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The way out where something else has the generator's core. Only runs on a target of ours have a live view.
pub(super) fn quieter(context: &Context) -> &'static str {
    if context.own_target && !context.without_live_view {
        "stop other programs, and leave the live view off (--no-tui)"
    } else {
        "stop other programs, or run on a quieter machine"
    }
}
