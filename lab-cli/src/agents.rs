//! Loads that agents send, over NATS: how a coordinator has them begin together and adds up what they measured; how an agent sends its part.
//! A program without the feature `fleet` has the flags, and says that it was built without.

#[cfg(feature = "fleet")]
mod clock;
#[cfg(feature = "fleet")]
mod crew;
#[cfg(feature = "fleet")]
mod description;
#[cfg(feature = "fleet")]
mod follow;
#[cfg(feature = "fleet")]
mod host;
#[cfg(feature = "fleet")]
mod limits;
#[cfg(feature = "fleet")]
mod order;
#[cfg(feature = "fleet")]
mod part;
#[cfg(feature = "fleet")]
mod seconds;
#[cfg(feature = "fleet")]
mod sender;

use std::{net::SocketAddr, sync::Arc};

use experiment::Experiment;
use measure::Shard;
use workloads::plan::LoadPlan;

use crate::{
    args::AgentsArgs,
    exit::Failure,
    run::{LoadSender, OwnGenerator},
};

#[cfg(feature = "fleet")]
pub use {crew::AgentCrew, host::LoadHost, limits::AgentLimits, part::AgentPart};

/// A load that another coordinator has begun.
#[derive(Debug)]
pub struct AttachedLoad {
    pub sender: Arc<dyn LoadSender>,
    /// One arm.
    pub experiment: Experiment,
    pub plan: LoadPlan,
    pub flat_out: bool,
    pub in_parts: bool,
}

/// Who sends a load: agents, where they are asked for, or this process.
///
/// # Errors
/// There is no server, or it will not do.
pub fn sender(
    args: &AgentsArgs,
    shard: Option<Shard>,
    listen: Option<SocketAddr>,
) -> Result<Arc<dyn LoadSender>, Failure> {
    match (args.agents, shard) {
        (None, _) if args.nats.nats.is_some() => Err(Failure::usage("--nats: who is to send? add --agents 4")),
        (None, _) => Ok(Arc::new(OwnGenerator)),
        (Some(_), Some(shard)) => {
            Err(Failure::usage(format!("--shard {shard}: agents share the users among themselves: leave it out")))
        }
        (Some(_), None) => of_agents(args, listen),
    }
}

#[cfg(feature = "fleet")]
fn of_agents(args: &AgentsArgs, listen: Option<SocketAddr>) -> Result<Arc<dyn LoadSender>, Failure> {
    Ok(Arc::new(AgentCrew::connect(args, listen)?))
}

/// A load of this name.
///
/// # Errors
/// There is none, or no server.
#[cfg(feature = "fleet")]
pub fn attached(args: &AgentsArgs, load: &str) -> Result<AttachedLoad, Failure> {
    let (crew, described) = AgentCrew::attached(args, load)?;
    let description::LoadDescription { experiment, plan, flat_out, in_parts, .. } = described;
    Ok(AttachedLoad { sender: Arc::new(crew), experiment, plan, flat_out, in_parts })
}

#[cfg(not(feature = "fleet"))]
fn of_agents(_: &AgentsArgs, _: Option<SocketAddr>) -> Result<Arc<dyn LoadSender>, Failure> {
    Err(crate::workers::without())
}

/// A load of this name.
///
/// # Errors
/// There is none.
#[cfg(not(feature = "fleet"))]
pub fn attached(_: &AgentsArgs, _: &str) -> Result<AttachedLoad, Failure> {
    Err(crate::workers::without())
}
