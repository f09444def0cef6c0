//! One policy's turn in one block.

use std::collections::BTreeMap;

use measure::{Offered, Replayed, Shard, WalkCell};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Conditions, GateFinding, Generator, Joined, Kernel, Measured, PartSummary, PhaseSummary, Server, ServiceUse,
    Touched, Validity,
};

/// The parameter of somebody else's proxy that names its program.
pub const PROGRAM: &str = "program";

/// One policy's turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Arm {
    /// Name in tables and thresholds: the policy's, or the file's `as:`.
    #[serde(default)]
    pub name: String,
    /// Name in the catalogue; of an arm that is somebody else's proxy, the arm's.
    pub policy: String,
    /// All its parameters, as resolved; of somebody else's proxy its `program`, and a preset's settings.
    pub parameters: BTreeMap<String, serde_json::Value>,
    /// The policy on the users' own side; `None`: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Client>,
    /// Which repetition, from 1.
    pub block: u32,
    /// Nothing was run: these are bounds, computed from arrivals and costs that were known beforehand.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bound: bool,
    /// False for [`Validity::Invalid`] alone.
    pub valid: bool,
    /// Its own verdict.
    #[serde(default)]
    pub verdict: Validity,
    /// Why not VALID.
    pub reasons: Vec<GateFinding>,
    /// How the load generator fared.
    pub generator: Generator,
    /// Under which conditions it was measured.
    #[serde(default)]
    pub conditions: Conditions,
    /// Share of what the service finished that was of no use: answered late, or with nobody there to take it. The drain is
    /// part of it. `None`: it finished nothing, or did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wasted: Option<f64>,
    /// Goodput a second, by phase, that nobody exceeds in the mean who does not know sizes, on the tasks that this arm was given; where an
    /// autoscaler gives them, since their number depends on what the arm refused.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub blind_per_s: BTreeMap<String, f64>,
    /// What the service itself counted.
    #[serde(default)]
    pub server: Option<Server>,
    /// Of a service that is not the lab's: what its processes and the proxy's used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceUse>,
    /// The requests of both sides, joined; `None` where they carried no numbers, or too many had no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Joined>,
    /// Why a phase that was to begin with a fresh policy did not; `None` if all did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renewal_failed: Option<String>,
    /// What a person changed while it ran: it is compared with nothing then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touches: Vec<Touched>,
    /// The part of its users that were sent from here: only its generator is judged. `None`: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub part: Option<Shard>,
    /// Parts of its users, where several generators sent them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartSummary>,
    /// What the kernel did behind both their backs.
    #[serde(default)]
    pub kernel: Kernel,
    /// In order.
    pub phases: Vec<PhaseSummary>,
    /// How users walked their model, row by row; empty for users without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub walk: Vec<WalkRow>,
    /// How often pages offered what these users drew, minute by minute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offered: Vec<Offered>,
    /// What became of the recorded requests, where a recording was replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed: Option<Replayed>,
}

/// A policy on the users' own side.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Client {
    /// Name in the catalogue.
    pub policy: String,
    /// Who shares one: `user`, `group of 50`, `all`.
    pub scope: String,
    /// All its parameters, as resolved.
    pub parameters: BTreeMap<String, serde_json::Value>,
}

/// How users left one state of their model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WalkRow {
    /// The state before, for a row of second order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The state.
    pub from: String,
    /// Transitions made on pages that offered every state of the row: these are held against the model.
    pub made: u64,
    /// Chance of a fit at least as bad if users follow the model: Pearson's chi-square test. `None`: nothing was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// By the state drawn.
    pub to: BTreeMap<String, WalkCell>,
}

impl Arm {
    /// Name in tables and thresholds.
    pub fn shown_name(&self) -> &str {
        if self.name.is_empty() { &self.policy } else { &self.name }
    }

    /// Policy of an arm that has a name of its own: `seda`, or `retry-budget, on the users' side`.
    pub fn other_policy(&self) -> Option<String> {
        match &self.client {
            Some(client) if self.policy == "none" => Some(format!("{}, on the users' side", client.policy)),
            _ if self.name.is_empty() || self.policy.is_empty() || self.name == self.policy => None,
            _ => Some(self.policy.clone()),
        }
    }

    /// A count, over all its phases.
    pub fn sum(&self, count: impl Fn(&Measured) -> u64) -> u64 {
        self.phases.iter().map(|phase| count(&phase.measured)).sum()
    }

    /// No phase of it was cut off.
    pub fn is_whole(&self) -> bool {
        self.phases.iter().all(|phase| !phase.cut_off)
    }

    /// The phase with this name, if it ran to its end: what was cut off is not compared with what was not.
    pub fn whole_phase(&self, name: &str) -> Option<&PhaseSummary> {
        self.phases.iter().find(|phase| phase.name == name && !phase.cut_off)
    }

    /// True if its figures may stand beside those of others: it is not INVALID, and nobody changed it while it ran.
    pub fn is_comparable(&self) -> bool {
        self.verdict != Validity::Invalid && self.touches.is_empty()
    }
}

/// The names of arms, each once.
pub fn arm_names<'a>(arms: impl IntoIterator<Item = &'a Arm>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for arm in arms {
        if !names.contains(&arm.shown_name()) {
            names.push(arm.shown_name());
        }
    }
    names
}
