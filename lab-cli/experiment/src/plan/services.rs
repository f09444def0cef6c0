//! Several services, as they are meant.

use std::{collections::BTreeMap, ops::Deref};

use controllers::Class;
use serde::{Deserialize, Serialize};
use spec::{EmulatedSpec, StageSpec, fault::Hindrance, platform::PlatformSpec, services::ServiceSpec};

use crate::costs::CostChanges;

/// Several services.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// Entry services by user class (`None`: of every class).
    pub entries: Vec<(Option<Class>, String)>,
    /// Callers before those that they call.
    pub services: Vec<TreeService>,
    /// Platform that adds and takes away tasks; without it nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<PlatformSpec>,
}

/// A service of a tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreeService {
    /// The service.
    #[serde(flatten)]
    pub spec: ServiceSpec,
    /// The servers of one task.
    #[serde(flatten)]
    pub emulated: EmulatedSpec,
    /// Queue, pool and batch.
    pub stage: StageSpec,
    /// Costs where they differ from the plant's.
    pub costs: CostChanges,
}

impl Deref for TreeService {
    type Target = ServiceSpec;

    fn deref(&self) -> &ServiceSpec {
        &self.spec
    }
}

impl Tree {
    /// Requests a second that users may send before some service has more to do than it can, if each call is made once. With
    /// several entries: through the first of them. Where tasks come and go: with those that run at the start.
    pub fn capacity(&self) -> Option<f64> {
        self.capacity_by(TreeService::capacity)
    }

    /// The same while faults hinder tasks: by the name of their service, and their number.
    pub(super) fn capacity_under(&self, hindrance: impl Fn(&str, u32) -> Hindrance) -> Option<f64> {
        self.capacity_by(|service, tasks| {
            let task = |number| {
                let speed = service.slow.filter(|slow| number < slow.tasks).map_or(1.0, |slow| slow.speed);
                let of_faults = hindrance(&service.name, number);
                service.emulated.capacity_at(service.stage.workers, speed * of_faults.share(), of_faults.wait)
            };
            (0..tasks).map(task).sum()
        })
    }

    /// `one`: requests a second that so many tasks of a service can serve.
    fn capacity_by(&self, one: impl Fn(&TreeService, u32) -> Option<f64>) -> Option<f64> {
        let mut visits: BTreeMap<&str, f64> = [(self.entries.first()?.1.as_str(), 1.0)].into();
        let mut least = None::<f64>;
        for service in &self.services {
            let Some(&times) = visits.get(service.name.as_str()).filter(|times| **times > 0.0) else { continue };
            for call in &service.calls {
                *visits.entry(&call.to).or_default() += times * f64::from(call.times) * call.probability;
            }
            let capacity = one(service, self.first_tasks(service))? / times;
            least = Some(least.map_or(capacity, |least| least.min(capacity)));
        }
        least
    }
}

impl Tree {
    /// The tasks of a service at the start.
    fn first_tasks(&self, service: &TreeService) -> u32 {
        let mut applications = self.platform.iter().flat_map(|platform| &platform.applications);
        let first = applications.find_map(|application| {
            let is_sentry = (application.sentries == service.name).then_some(1);
            is_sentry.or((application.servers == service.name).then_some(application.min_servers))
        });
        first.or(service.autoscale.map(|autoscale| autoscale.first)).unwrap_or(service.tasks)
    }

    /// True if tasks are started and drained during a run.
    pub(crate) fn adapts(&self) -> bool {
        self.platform.is_some() || self.is_autoscaled()
    }

    /// True if an autoscaler does that, in virtual time alone.
    pub(crate) fn is_autoscaled(&self) -> bool {
        self.services.iter().any(|service| service.autoscale.is_some())
    }

    /// A service that users ask and that has several tasks.
    pub(crate) fn entry_of_several_tasks(&self) -> Option<&str> {
        let asked = |service: &&TreeService| self.entries.iter().any(|(_, entry)| *entry == service.name);
        let found = self.services.iter().filter(asked).find(|service| service.tasks > 1);
        found.map(|service| service.name.as_str())
    }

    /// Costs that live tasks leave out.
    pub fn live_cautions(&self) -> Vec<String> {
        let left_out = |service: &TreeService| {
            let keys: Vec<_> = service.costs.virtual_only().iter().map(|key| format!("costs.{key}")).collect();
            let said =
                format!("{}: {}: for virtual time alone, a live task does not spend it", service.name, keys.join(", "));
            (!keys.is_empty()).then_some(said)
        };
        let far = |service: &&TreeService| service.calls.iter().any(|call| call.link.is_some());
        let undelayed =
            self.services.iter().filter(far).map(|service| {
                format!("{}: calls.link: for virtual time alone, a live call is not delayed", service.name)
            });
        self.services.iter().filter_map(left_out).chain(undelayed).collect()
    }

    /// Parts of a tree that virtual time leaves out.
    pub fn virtual_cautions(&self) -> Vec<String> {
        let left_out = |service: &TreeService| {
            let said =
                "cpu_allotment: for live tasks alone, in virtual time policies see the CPU of its emulated servers";
            service.cpu_allotment.map(|_| format!("{}: {said}", service.name))
        };
        self.services.iter().filter_map(left_out).collect()
    }
}

impl TreeService {
    /// Requests a second that so many of its tasks together can serve.
    fn capacity(&self, tasks: u32) -> Option<f64> {
        let slow = self.slow.map_or(0.0, |slow| f64::from(slow.tasks.min(tasks)) * (1.0 - slow.speed));
        let one = self.emulated.capacity(self.stage.workers)?;
        Some(one * (f64::from(tasks) - slow))
    }
}
