//! The digest of a load plan: as it is when a run begins, and made again from the run's manifest.

use controllers::random::seed_for;
use workloads::plan::{LoadPlan, Target};

use super::{RunFailure, manifest::Block, resolve};
use crate::{
    spec::plan::{Arm, Experiment},
    summary::Capacity,
};

/// What users mean to do, without the port that the target happened to get, and without the policy that an arm puts before
/// them.
pub fn digest_of(plan: &LoadPlan) -> Result<String, serde_json::Error> {
    let mut plan = plan.clone();
    plan.client = None;
    plan.target.url.clear();
    plan.target.host.clear();
    plan.target.address = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    plan.target.entries.clear();
    workloads::schedule::digest(&plan)
}

/// The target of a plan that is not sent: nobody listens there.
pub fn nowhere() -> Target {
    Target::at(([127, 0, 0, 1], 1).into())
}

/// The seed of a block.
pub fn seed_of(experiment: &Experiment, block: u32) -> u64 {
    seed_for(experiment.seed, &format!("block {block}"))
}

/// The digest that a block's plan has by its experiment; `None`: it takes a recording, which is no part of a run.
///
/// # Errors
/// If the plan cannot be written as JSON.
pub fn again(
    experiment: &Experiment,
    capacity: Option<&Capacity>,
    block: &Block,
) -> Result<Option<String>, RunFailure> {
    if experiment.users.trace.is_some() {
        return Ok(None);
    }
    let accounts = resolve::accounts(&experiment.target.app);
    let rate = capacity.map(|found| found.wanted_per_s).or(experiment.nominal_capacity());
    let seed = seed_of(experiment, block.block);
    let plan = resolve::load_plan(experiment, &Arm::none(), &accounts, nowhere(), seed, rate);
    Ok(Some(digest_of(&plan)?))
}
