//! Arms of an experiment.

use std::{collections::BTreeMap, time::Duration};

use controllers::catalogue::PolicySpec;
use installed::catalogue;
use serde::{Deserialize, Serialize};
use workloads::plan::ClientPolicy;

use super::{
    hindsight::{Foreknowledge, Hindsight},
    target::TargetPlan,
};
use crate::{calls::CallChanges, own_proxy::OwnProxy};

/// One thing that is compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmPlan {
    /// Name in tables and thresholds: the policy's, unless `as` says otherwise.
    pub label: String,
    /// Policy at the service.
    pub policy: PolicySpec,
    /// Reaction of a stage when the next one refuses.
    pub on_refuse: Option<controllers::site::OnRefuse>,
    /// Length of the kernel's listen queue.
    pub backlog: Option<u32>,
    /// Policy on the users' own side, before they send: the arm's own, else that of all arms.
    pub client: Option<ClientPolicy>,
    /// Knowledge of the future, as no policy can have it: for runs in virtual time alone.
    pub hindsight: Option<Hindsight>,
    /// Policies at single services of a tree, instead of `policy`.
    pub services: BTreeMap<String, PolicySpec>,
    /// Changes of all calls between services.
    pub calls: CallChanges,
    /// Balancer in all services of a tree, instead of that of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balancer: Option<workloads::balance::Balancer>,
    /// The service of this arm, where it is another than that of the experiment.
    pub own_target: Option<Box<OwnTarget>>,
    /// Users go to the service itself, past the lab's proxy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
    /// Somebody else's proxy in the place of the lab's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<OwnProxy>,
    /// The largest additional delay of a message of this arm's users, where it is not that of the link: in virtual time alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Duration>,
}

/// A service as one arm changes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnTarget {
    /// Settings as written, by key.
    pub changes: controllers::Settings,
    /// All of it.
    pub target: TargetPlan,
}

impl ArmPlan {
    /// No control.
    pub fn none() -> Self {
        Self {
            label: "none".to_owned(),
            policy: PolicySpec { name: "none".to_owned(), place: None, settings: controllers::Settings::new() },
            on_refuse: None,
            backlog: None,
            client: None,
            hindsight: None,
            services: BTreeMap::new(),
            calls: CallChanges::default(),
            balancer: None,
            own_target: None,
            direct: false,
            proxy: None,
            jitter: None,
        }
    }

    /// True if a policy of its leaves connections to the kernel.
    pub fn works_at_accept(&self) -> bool {
        self.services.values().chain([&self.policy]).any(|policy| policy.works_at_accept(catalogue()))
    }

    /// The name of who decides, in tables.
    pub fn policy_name(&self) -> &str {
        if self.proxy.is_some() {
            return &self.label;
        }
        let of = |service: &String| self.services.get(service).unwrap_or(&self.policy);
        match &self.hindsight {
            Some(Hindsight { entry, known: Foreknowledge::Costs { .. } }) => entry,
            Some(Hindsight { known: Foreknowledge::BestValue(range), .. }) => {
                &range.service.as_ref().map_or(&self.policy, of).name
            }
            None => &self.policy.name,
        }
    }
}

/// The percentile that a policy holds against its target, if it does: a parameter of all but the M/M/1 model, which is
/// written for the 90th.
pub(super) fn steers_by(policy: &PolicySpec) -> Option<f64> {
    let factory = catalogue().check(catalogue().find(&policy.name)?, policy.place, &policy.settings).ok()?;
    match policy.name.as_str() {
        "mm1" => Some(90.0),
        _ => factory.setting("percentile")?.number(),
    }
}
