//! `lab agent`: computes for searches on other machines.

use super::stdout::print;
use crate::{args::AgentArgs, exit::CommandResult};

#[cfg(feature = "fleet")]
mod working;

/// An agent needs nothing but the server: it opens no port.
pub fn agent(args: &AgentArgs) -> CommandResult {
    #[cfg(feature = "fleet")]
    return match args.print_nats_config {
        true => print(fleet::SERVER_FILE.as_bytes()),
        false => working::work(args),
    };
    #[cfg(not(feature = "fleet"))]
    Err(crate::workers::without())
}
