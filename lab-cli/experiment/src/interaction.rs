//! Whether users bear on each other at a service, so that a part of them alone would find another service.

use analysis::text::counted;
use workloads::{Schedule, schedule::ScheduleChange};

use crate::{
    plan::{AppPlan, ArmPlan, Experiment},
    plan_digest::{nowhere, seed_of},
    resolve::load_plan,
};

impl Experiment {
    /// Reason why requests of different users bear on each other at the first arm's service in its first block; `None`: each has a
    /// server of its own, and nobody decides about it.
    pub fn interaction(&self) -> Option<String> {
        let none = ArmPlan::none();
        let arm = self.arms.first().unwrap_or(&none);
        let AppPlan::Emulated(service) = &self.target.app else {
            return Some("only an emulated service can have a server for each".to_owned());
        };
        if arm.policy_name() != "none" || arm.client.is_some() {
            return Some(format!("{} decides by the requests of all", arm.label));
        }
        if arm.target(self).waiting_room.is_some() {
            return Some("its waiting room knows all of them".to_owned());
        }
        if !self.faults(true).is_empty() {
            return Some("a fault is about all of them".to_owned());
        }
        let plan = load_plan(self, arm, &[], nowhere(), seed_of(self, 1), self.nominal_capacity());
        let comes = |what: &ScheduleChange| matches!(what, ScheduleChange::Arrive(_));
        let users = Schedule::new(&plan).filter(|event| comes(&event.what)).count();
        let target = arm.target(self);
        let workers = target.stages.values().chain([&target.stage_defaults]).map(|stage| stage.workers);
        let at_once = workers.fold(service.servers, u32::min) as usize;
        (users > at_once).then(|| format!("{}, {at_once} at once", counted(users, "user")))
    }
}
