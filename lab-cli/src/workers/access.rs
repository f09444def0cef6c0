//! The server that was named, and how a program says who it is there.

use std::fs;

use fleet::{Fleet, FleetError, NatsAccess};

use crate::{args::NatsArgs, exit::Failure, run::RunFailure};

/// Connects as this name [default: the machine's, and the number of the process].
///
/// # Errors
/// No server was named, none is there, or it will not do.
pub fn connect(args: &NatsArgs, name: Option<&str>) -> Result<Fleet, Failure> {
    let Some(url) = args.nats.clone() else {
        return Err(Failure::usage("--nats is missing: where do machines meet? (nats://127.0.0.1:4222)"));
    };
    let is_plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let name = match name {
        Some(name) if name.is_empty() || name.len() > 64 || !is_plain(name) => {
            return Err(Failure::usage(format!("--name {name:?}: letters, digits, - and _, at most 64")));
        }
        Some(name) => name.to_owned(),
        None => own_name(),
    };
    let access = NatsAccess { url, credentials: args.nats_creds.clone(), insecure: args.insecure_nats };
    Ok(Fleet::connect(&access, &name)?)
}

fn own_name() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' };
    let host: String = host.trim().chars().take(40).map(plain).collect();
    format!("{host}-{}", std::process::id())
}

impl From<FleetError> for Failure {
    fn from(error: FleetError) -> Self {
        match error {
            FleetError::Unfit(_) => Self::usage(error),
            FleetError::Server(_) | FleetError::Differ { .. } | FleetError::Stopped => Self::because(error),
        }
    }
}

impl From<FleetError> for RunFailure {
    fn from(error: FleetError) -> Self {
        match error {
            FleetError::Unfit(why) => Self::Agents(why),
            error => Self::AgentsFailed(error.to_string()),
        }
    }
}
