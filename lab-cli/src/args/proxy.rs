//! Arguments of `lab proxy`.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use super::values::ToldObjective;

/// `lab proxy`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ProxyArgs {
    #[command(subcommand)]
    pub command: Option<ProxyCommand>,
    /// Say everything that is wrong with the settings, or that they are right, and start nothing: those of FILE, or of --config and the
    /// other flags.
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub check: Option<Option<String>>,
    /// A file with all settings (YAML), or - for standard input; flags count more than what it says.
    #[arg(long, value_name = "FILE")]
    pub config: Option<String>,
    /// Where it takes requests [default: 127.0.0.1:8000]; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", value_parser = super::values::address)]
    pub listen: Option<SocketAddr>,
    /// The service: http://127.0.0.1:8080, h2c://… for HTTP/2 without TLS, https://…; once for each of several.
    #[arg(long, value_name = "URL")]
    pub to: Vec<String>,
    /// Who decides on admission [default: none].
    #[arg(long, value_name = "NAME")]
    pub policy: Option<String>,
    /// A file with a sentry in place of a policy (YAML): sentry: {delays: {1: 50ms}}, class: {header: User-Class}.
    #[arg(long, value_name = "FILE", conflicts_with = "policy")]
    pub sentry: Option<String>,
    /// A waiting room before the policy: who does not fit gets a turn, and a page that waits for it.
    #[arg(long)]
    pub waiting_room: bool,
    /// A setting of the policy: limit_max=500; with --waiting-room one of the waiting room: capacity=100/s [default: it is
    /// estimated], preset=as-published, stay=10m.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// What policies are told to keep: a percentile of response times within a time, p90=200ms; of a time alone the 99th, or that of
    /// the file [default: 1s].
    #[arg(long, value_name = "[pN=]TIME", value_parser = super::values::objective)]
    pub objective: Option<ToldObjective>,
    /// Requests that one backend works on side by side, for policies that keep a queue [default: 64].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub concurrency: Option<u32>,
    /// The policy decides and is told everything, but nothing is refused: what it would have refused is counted.
    #[arg(long)]
    pub dry_run: bool,
    /// A file with the page for refused requests.
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub refusal_page: Option<PathBuf>,
    /// Where the metrics for Prometheus are, without a token and read-only [default: nowhere].
    #[arg(long, value_name = "ADDR", value_parser = super::values::address)]
    pub metrics: Option<SocketAddr>,
    /// The collector of OpenTelemetry that metrics are exported to, http://127.0.0.1:4318 (in builds with the feature otel).
    #[arg(long, hide_short_help = true, value_name = "URL")]
    pub otlp: Option<String>,
    /// Where the control port is, on loopback [default: a free port of 127.0.0.1].
    #[arg(long, hide_short_help = true, value_name = "ADDR", value_parser = super::values::address)]
    pub control: Option<SocketAddr>,
    /// What opens the control port: a file with one line, which nobody but its owner may read (mode 0600) [default: a new
    /// token, which is printed on a terminal].
    #[arg(long, value_name = "FILE")]
    pub control_token_file: Option<PathBuf>,
    /// Most connections of clients at once [default: two fifths of the descriptors, at most 2048].
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_connections: Option<u32>,
    /// Log lines on standard error.
    #[arg(long, value_enum)]
    pub log: Option<Log>,
    /// The ready line as JSON: how `lab run` starts its proxies.
    #[arg(long, hide_short_help = true)]
    pub json: bool,
}

/// What is done with a proxy that runs.
#[derive(Debug, Clone, Subcommand)]
pub enum ProxyCommand {
    /// Changes settings of a running proxy: lab proxy set dry_run=false --control http://127.0.0.1:PORT --control-token-file FILE.
    Set(SetArgs),
}

/// `lab proxy set`.
#[derive(Debug, Clone, Args)]
pub struct SetArgs {
    /// A setting as its file has it: dry_run=false, timeouts.head=2s, policy=vegas, policy.gradient2.limit_max=500.
    #[arg(value_name = "KEY=VALUE", required = true)]
    pub changes: Vec<String>,
    /// Its control port, as it printed it at the start.
    #[arg(long, value_name = "URL")]
    pub control: String,
    /// The file with the token that it was started with.
    #[arg(long, value_name = "FILE")]
    pub control_token_file: PathBuf,
}

/// What is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Log {
    /// Nothing.
    Off,
    /// Changes of the proxy: policy, backends, drain.
    Changes,
    /// And every request.
    Requests,
}
