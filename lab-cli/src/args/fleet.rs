//! Arguments of `lab agent`, and of searches whose runs agents compute.

use std::path::PathBuf;

use clap::Args;

/// The server of NATS that machines meet at.
#[derive(Debug, Clone, Args)]
pub struct NatsArgs {
    /// Server of NATS 2.10 or newer, with JetStream: tls://nats.example:4222, or nats://127.0.0.1:4222 on this machine.
    #[arg(long, value_name = "URL")]
    pub nats: Option<String>,
    /// Credentials for it: a file of nsc, the seed of an nkey, a token or USER:PASSWORD, readable for you alone [default: the variable
    /// LAB_NATS_TOKEN].
    #[arg(long, value_name = "FILE", requires = "nats")]
    pub nats_creds: Option<PathBuf>,
    /// Connect to another machine without TLS.
    #[arg(long, requires = "nats")]
    pub insecure_nats: bool,
}

/// Who computes the runs of a search.
#[derive(Debug, Clone, Args)]
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

/// `lab agent`.
#[derive(Debug, Args)]
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
    /// Print settings for nats-server, with what coordinators and agents may do there, and do nothing else.
    #[arg(long, conflicts_with_all = ["nats", "jobs", "name"])]
    pub print_nats_config: bool,
}
