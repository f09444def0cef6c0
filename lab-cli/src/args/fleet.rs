//! Arguments of `lab agent`, of searches whose runs agents compute, and of loads that agents send.

use std::{path::PathBuf, time::Duration};

use clap::{Arg, Args};

use super::values::{share, size, time};

/// The server of NATS that machines meet at.
#[derive(Debug, Clone, Default, Args)]
pub struct NatsArgs {
    /// Server of NATS 2.10 or newer, with JetStream: tls://nats.example:4222, or nats://127.0.0.1:4222 on this machine.
    #[arg(long, hide_short_help = true, value_name = "URL")]
    pub nats: Option<String>,
    /// Credentials for it: a file of nsc, the seed of an nkey, a token or USER:PASSWORD, readable for you alone [default: the variable
    /// LAB_NATS_TOKEN].
    #[arg(long, hide_short_help = true, value_name = "FILE", requires = "nats")]
    pub nats_creds: Option<PathBuf>,
    /// Connect to another machine without TLS.
    #[arg(long, hide_short_help = true, requires = "nats")]
    pub insecure_nats: bool,
}

/// True if it says where a server is, and how to get there.
fn is_of_server(arg: &Arg) -> bool {
    arg.get_id().as_str().contains("nats")
}

/// Who computes the runs of a search.
#[derive(Debug, Clone, Args)]
#[command(mut_args(|arg| if is_of_server(&arg) { arg.hide_short_help(false) } else { arg }))]
pub struct WorkersArgs {
    /// Have the runs computed by agents (lab agent) at the server of --nats, in place of this machine.
    #[arg(long, requires = "nats")]
    pub workers: bool,
    /// Send agents the recording that the experiment replays: it may say what people did.
    #[arg(long, requires = "workers")]
    pub send_recording: bool,
    /// Where they are.
    #[command(flatten)]
    pub nats: NatsArgs,
}

/// Who sends a load.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Several machines")]
pub struct AgentsArgs {
    /// Have the load sent by so many agents (lab agent) that are at the server of --nats, each a part of the users.
    ///
    /// Part 2/8 has users 2, 10, 18 and so on, with the times, accounts and draws that they have in the whole load. All begin at one
    /// moment, each by its own clock, which is compared with this machine's.
    #[arg(long, hide_short_help = true, value_name = "N", requires = "nats", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub agents: Option<u32>,
    /// The share of the agents that may be lost while the load goes on: 0.25; beyond that all end, and the run is INVALID [default: none].
    #[arg(long, hide_short_help = true, value_name = "SHARE", requires = "agents", value_parser = share)]
    pub lost_at_most: Option<f64>,
    /// Send agents the recording that is replayed: it may say what people did.
    #[arg(long, hide_short_help = true, requires = "agents")]
    pub send_recording: bool,
    #[command(flatten)]
    pub nats: NatsArgs,
}

/// `lab agent`.
#[derive(Debug, Args)]
#[command(mut_args(|arg| arg.hide_short_help(false)))]
pub struct AgentArgs {
    /// Where it takes work.
    #[command(flatten)]
    pub nats: NatsArgs,
    /// Runs at once [default: one on each processor].
    #[arg(long, short, value_name = "JOBS", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Name that others see [default: the machine's, and a number].
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// A host beyond this machine that it may load, where a coordinator asks for it.
    ///
    /// It is yours, and prepared for it.
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// Requests a second that it sends at most, whoever asks for more.
    #[arg(long, value_name = "N", default_value = "100k", value_parser = size)]
    pub most_rate: u64,
    /// Users at once that it has at most.
    #[arg(long, value_name = "N", default_value = "1m", value_parser = size)]
    pub most_users: u64,
    /// The time that it sends a load for at most.
    #[arg(long, value_name = "TIME", default_value = "6h", value_parser = time)]
    pub longest: Duration,
    /// Print settings for nats-server, with what coordinators and agents may do there, and do nothing else; with `--name a,b` each agent has
    /// a user of its own.
    #[arg(long, conflicts_with_all = ["nats", "jobs"])]
    pub print_nats_config: bool,
}
