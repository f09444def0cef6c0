//! Targets: the service under test.

use std::collections::BTreeMap;

use controllers::{Class, ClassRule, Criticality, catalogue::PolicySpec};
use serde::{Deserialize, Serialize};
use service_core::synthetic::{checksum_graph, emulated_graph, typed_graph};
use spec::{
    ArashiSpec, ChecksumSpec, ConnectionSpec, EmulatedSpec, GenerationSpec, HealthChecks, StageSpec, WorkSpec,
    graph::Graph, waiting_room::RoomsSpec,
};

use super::{Mail, OwnService, Tree};

/// Service under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetPlan {
    /// App that it serves.
    pub app: AppPlan,
    /// Queue, pool and batch of every stage.
    pub stage_defaults: StageSpec,
    /// Overrides by stage.
    pub stages: BTreeMap<String, StageSpec>,
    /// Pool sizing, batching, monitors.
    pub machines: Vec<PolicySpec>,
    /// Rule that finds a request's class.
    pub class: ClassRule,
    /// Part of the service that answers health checks.
    pub health: HealthChecks,
    /// Default criticality by class.
    pub criticality: BTreeMap<Class, Criticality>,
    /// Length of the kernel's listen queue, in every arm; `None`: long, and short in arms that limit connections.
    pub backlog: Option<u32>,
    /// What comes of a connection after an answer.
    #[serde(flatten)]
    pub kept: ConnectionSpec,
    /// Waiting rooms before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_room: Option<RoomsSpec>,
    /// Names that it answers to beside `localhost` and addresses.
    pub hosts: Vec<String>,
}

/// App of a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "app", rename_all = "kebab-case")]
pub enum AppPlan {
    /// The web-mail service.
    Arashi(ArashiPlan),
    /// The checksum service.
    Checksum(ChecksumSpec),
    /// Emulated service times.
    Emulated(EmulatedSpec),
    /// Token generation, in virtual time alone.
    Generation(GenerationSpec),
    /// Several services with emulated service times that call each other.
    Tree(Tree),
    /// A service that is not the lab's, behind the lab's proxy.
    Own(OwnService),
}

/// The web-mail service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArashiPlan {
    /// Source of the mail.
    pub mail: Mail,
    /// Work of a request.
    pub work: Work,
    /// Weights of types that differ.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub work_weights: BTreeMap<String, f64>,
    /// Standard deviation of the logarithm of a mailbox's factor of extra work.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub work_spread: f64,
    /// How it works.
    #[serde(flatten)]
    pub spec: ArashiSpec,
}

pub(super) fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

impl ArashiPlan {
    /// True if an operation more or less changes the service's capacity as it does that one's.
    pub fn has_work_of(&self, other: &Self) -> bool {
        self.work_weights == other.work_weights && self.work_spread == other.work_spread
    }

    /// The work knob at this number of operations.
    pub fn work_at(&self, operations: f64) -> WorkSpec {
        WorkSpec { operations, weights: self.work_weights.clone(), spread: self.work_spread }
    }
}

/// The work knob.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Solve for this many requests a second on the users' own mix, without pauses.
    Capacity(f64),
    /// This many extra database operations a request.
    Operations(f64),
}

impl AppPlan {
    /// The web mail, if it is that.
    pub fn arashi(&self) -> Option<&ArashiPlan> {
        if let Self::Arashi(arashi) = self { Some(arashi) } else { None }
    }

    /// The several services, if it is these.
    pub fn tree(&self) -> Option<&Tree> {
        if let Self::Tree(tree) = self { Some(tree) } else { None }
    }

    /// Notes the pace at which people read what is generated. False: nothing is.
    pub(crate) fn is_read_at(&mut self, tokens_per_s: Option<f64>) -> bool {
        let Self::Generation(tokens) = self else { return false };
        tokens.tokens_per_s = tokens_per_s;
        true
    }

    /// Meaning of response times, where it is not the time to the end of an answer.
    pub(super) fn said_of_times(&self) -> Option<String> {
        let Self::Generation(tokens) = self else { return None };
        let later = match tokens.tokens_per_s {
            Some(pace) => format!("or to later ones, where people who read {pace} a second have to wait for these"),
            None => "however slowly the others come (objective.tokens_per_s)".to_owned(),
        };
        Some(format!("target.app: generation: response times are those to the first token, {later}"))
    }

    /// Graph of its request types and stages.
    pub fn graph(&self) -> Graph {
        match self {
            Self::Arashi(_) => service_core::mail::graph(),
            Self::Checksum(_) => checksum_graph(),
            Self::Emulated(emulated) => typed_graph(emulated),
            // Every service of a tree has the same stages.
            // One that is not the lab's shows nothing of itself: to policies it is one stage.
            Self::Tree(_) | Self::Generation(_) | Self::Own(_) => emulated_graph(),
        }
    }
}
