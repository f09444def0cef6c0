//! Users without pauses, who keep a service busy.

use std::time::Duration;

use workloads::plan::{Load, LoadPlan, Phase, Target, Users};

/// A load of users without pauses: who, how many at once, and for how long.
#[derive(Debug, Clone)]
pub struct Busy {
    /// Users without pauses.
    pub users: Users,
    /// Users at once.
    pub at_once: u32,
    /// The length of the load.
    pub lasts: Duration,
    /// Seed of their walks.
    pub seed: u64,
}

impl Busy {
    /// The plan of the load for the generator.
    pub fn plan(&self, target: Target) -> LoadPlan {
        let loads = vec![Load::users(self.at_once)];
        let phases = vec![Phase { name: PHASE.to_owned(), duration: self.lasts, loads }];
        LoadPlan {
            seed: self.seed,
            objective: Duration::from_secs(60),
            drain: Duration::from_secs(5),
            ..LoadPlan::new(target, self.users.clone(), phases)
        }
    }
}

pub(super) const PHASE: &str = "busy";
