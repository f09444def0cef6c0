//! Runs computed on other machines, over NATS: what a coordinator sends, what an agent makes of it. A program without the feature `fleet`
//! has the flags, and says that it was built without.

#[cfg(feature = "fleet")]
mod access;
#[cfg(feature = "fleet")]
mod bundle;
#[cfg(feature = "fleet")]
mod compute;
#[cfg(feature = "fleet")]
mod item;
#[cfg(feature = "fleet")]
mod queue;
#[cfg(feature = "fleet")]
mod told;

use crate::{
    args::WorkersArgs,
    exit::Failure,
    sweep::{RunPool, Threads},
};
#[cfg(not(feature = "fleet"))]
use {
    crate::{run::StopSignal, sweep::BenchError},
    experiment::Experiment,
    std::path::PathBuf,
};

#[cfg(feature = "fleet")]
pub use {
    access::connect,
    compute::{Computer, stored_recording},
    item::version,
    queue::scenario_folders,
};

/// Where the runs of a search are computed.
///
/// # Errors
/// There is no server, or it will not do.
pub fn pool(args: &WorkersArgs) -> Result<Box<dyn RunPool>, Failure> {
    match (args.workers, &args.nats.nats) {
        (false, None) => Ok(Box::new(Threads)),
        (false, Some(_)) => Err(Failure::usage("--nats: who is to compute? add --workers")),
        (true, _) => of_agents(args),
    }
}

#[cfg(feature = "fleet")]
fn of_agents(args: &WorkersArgs) -> Result<Box<dyn RunPool>, Failure> {
    Ok(Box::new(queue::AgentPool::connect(args)?))
}

#[cfg(not(feature = "fleet"))]
fn of_agents(_: &WorkersArgs) -> Result<Box<dyn RunPool>, Failure> {
    Err(without())
}

/// Folders of scenarios, which need agents.
///
/// # Errors
/// There are none.
#[cfg(not(feature = "fleet"))]
pub fn scenario_folders(_: &WorkersArgs, _: &[(&Experiment, PathBuf)], _: &StopSignal) -> Result<usize, BenchError> {
    Err(BenchError::Said(without()))
}

/// What a program says that was built without it.
#[cfg(not(feature = "fleet"))]
pub fn without() -> Failure {
    Failure::usage("this program was built without workers over NATS: cargo install --path lab-cli --features fleet")
}
