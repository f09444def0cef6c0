//! The digest of a load plan: as it is when a run begins, and made again from the run's manifest.

use analysis::{Manifest, manifest::Block, recheck::BlockPlan};
use controllers::random::seed_for;
use serde::Deserialize as _;
use serde_json::Value;
use workloads::plan::{LoadPlan, RefusalMarks, Target, Users};

use super::resolve;
use crate::plan::{ArmPlan, Experiment, concealed, concealed_plan};

/// Digest of what users mean to do, without the port that the target happened to get, without the policy that an arm puts
/// before them, and without the marks of what its proxy refuses.
pub fn digest_of(plan: &LoadPlan) -> Result<String, serde_json::Error> {
    let mut plan = concealed_of(plan);
    plan.client = None;
    plan.users.behaviour_mut().refused = RefusalMarks::default();
    plan.target.url.clear();
    plan.target.host.clear();
    plan.target.address = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    plan.target.others.clear();
    plan.target.entries.clear();
    workloads::schedule::digest(&plan)
}

/// The plan without what must not be written down.
#[must_use]
pub fn concealed_of(plan: &LoadPlan) -> LoadPlan {
    let mut plan = plan.clone();
    match &mut plan.users {
        Users::Url(users) => users.requests = concealed(&users.requests),
        Users::Script(users) => users.plan = concealed_plan(&users.plan),
        Users::Mail(_) => {}
    }
    plan
}

/// The target of a plan that is not sent: nothing listens there.
pub fn nowhere() -> Target {
    Target::at(([127, 0, 0, 1], 1).into())
}

/// The seed of a block.
pub fn seed_of(experiment: &Experiment, block: u32) -> u64 {
    seed_for(experiment.seed, &format!("block {block}"))
}

/// The experiment that a manifest holds.
///
/// # Errors
/// Why it is none, in words.
pub fn experiment_of(manifest: &Manifest) -> Result<Experiment, String> {
    Experiment::deserialize(manifest.whole.get("experiment").unwrap_or(&Value::Null))
        .map_err(|error| format!("the manifest's experiment is not one of this lab ({error})"))
}

/// The plans of a run's blocks, made again from its manifest.
///
/// # Errors
/// Why they cannot be made, in words.
pub fn replan(manifest: &Manifest, experiment: &Experiment) -> Result<Vec<BlockPlan>, String> {
    let accounts = resolve::accounts(&experiment.target.app);
    let rate = manifest.capacity.as_ref().map(|found| found.wanted_per_s).or(experiment.nominal_capacity());
    let plan = |block: &Block| {
        let seed = seed_of(experiment, block.block);
        let plan = || resolve::load_plan(experiment, &ArmPlan::none(), &accounts, nowhere(), seed, rate);
        let digest = experiment.users.trace.is_none().then(|| digest_of(&plan())).transpose();
        Ok(BlockPlan { seed, digest: digest.map_err(|error| error.to_string())? })
    };
    manifest.blocks.iter().map(plan).collect()
}
