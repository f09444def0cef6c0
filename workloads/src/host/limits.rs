//! What the machine gives, checked before the first user arrives: running out later would look like the target's fault.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::options::{Options, RunError};
use crate::{
    health,
    plan::{ConnectionHabit, Load, LoadPlan, Users},
};

/// Descriptors for everything else: the process's own files, the scheduler, the control connection.
const RESERVED_DESCRIPTORS: u64 = 64;
/// Memory maps for everything else.
const RESERVED_MAPS: u64 = 4096;
/// Guard page and stack are a map each.
const MAPS_PER_FIBER: u64 = 2;

/// What a run may take up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allowance {
    /// Requests in flight at once.
    pub(crate) in_flight: u32,
    /// The process's limit of descriptors.
    pub(crate) descriptors: u64,
}

/// Raises the soft limit of descriptors to the hard one, and sees whether the plan fits.
pub(crate) fn check(plan: &LoadPlan, options: &Options) -> Result<Allowance, RunError> {
    raise_descriptor_limit();
    let descriptors = health::descriptor_limit();
    let free = descriptors.saturating_sub(health::open_descriptors() + RESERVED_DESCRIPTORS);
    let kept = kept_connections(plan);
    if kept > free {
        return Err(RunError::TooFewDescriptors { wanted: kept, limit: free });
    }
    let ports = u64::from(plan.sources.max(1)) * health::local_ports();
    if kept > ports {
        return Err(RunError::TooFewPorts { wanted: kept, sources: plan.sources.max(1), ports });
    }
    let fibers = health::max_map_count().saturating_sub(RESERVED_MAPS) / MAPS_PER_FIBER;
    // A request on a kept connection takes no further descriptor; in the worst case none is.
    let most = free.min(fibers).max(1);
    let in_flight = u32::try_from(most).unwrap_or(u32::MAX);
    Ok(Allowance {
        in_flight: options.in_flight_limit.map_or(in_flight, |limit| limit.clamp(1, in_flight)),
        descriptors,
    })
}

/// Connections that closed users keep at once, at most. How many users of an open load are there at once depends on the
/// target, so they are not counted here: when they run out, the run says so.
fn kept_connections(plan: &LoadPlan) -> u64 {
    let habit = match &plan.users {
        Users::Mail(users) => users.connections,
        Users::Url(users) => users.connections,
    };
    let share = match habit {
        ConnectionHabit::PerUser | ConnectionHabit::PerSession => 1.0,
        ConnectionHabit::Mixed { keep } => keep,
        ConnectionHabit::PerRequest => 0.0,
    };
    let users = plan.phases.iter().map(|phase| phase.loads.iter().map(closed_users).sum::<u64>()).max();
    (users.unwrap_or_default() as f64 * share) as u64
}

fn closed_users(load: &Load) -> u64 {
    match load {
        Load::Users { from, to, .. } => u64::from(*from.max(to)),
        Load::Sessions { .. } | Load::Requests { .. } => 0,
    }
}

fn raise_descriptor_limit() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // If it cannot be raised, the plan is checked against what there is.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}
