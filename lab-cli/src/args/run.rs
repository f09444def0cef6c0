//! Arguments of `lab run`.

use std::{net::SocketAddr, path::PathBuf};

use analysis::manifest::ShardBy;
use clap::Args;
use experiment::Repeat;
use measure::Shard;

use super::{
    fleet::AgentsArgs,
    share::{StartArgs, shared_by},
    values::{Output, address},
};

/// Heading of what is printed and written.
const RESULTS: &str = "Results";
/// Heading of what several machines carry out together.
const MACHINES: &str = "Several machines";
/// Heading of what live runs alone have.
const LIVE: &str = "Live runs";

/// `lab run`.
#[derive(Debug, Default, Args)]
pub struct RunArgs {
    /// Experiment files, ids of experiments (see --list), or - for standard input.
    #[arg(value_name = "FILE|ID", required_unless_present = "list")]
    pub experiments: Vec<String>,
    /// List the experiments that come with the program.
    #[arg(long)]
    pub list: bool,
    /// Only these arms, or these policies with their defaults.
    #[arg(long = "policy", aliases = ["arm", "arms"], value_name = "NAME")]
    pub policies: Vec<String>,
    /// Run every arm so often; or until the differences are known.
    ///
    /// In random order within each repetition; until-decided: until every arm's difference from the baseline is known.
    #[arg(long, value_name = "N|until-decided")]
    pub repeat: Option<Repeat>,
    /// Root of all randomness.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=(1 << 53)))]
    pub seed: Option<u64>,
    /// Change a value of the file: users.think=50ms, arms.gradient2.limit_min=2.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Folder for the results, which must not exist yet [default: runs/NAME-TIME].
    #[arg(long, help_heading = RESULTS, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Progress lines instead of the live view.
    #[arg(long, help_heading = LIVE)]
    pub no_tui: bool,
    /// Form of the result on standard output.
    #[arg(long, help_heading = RESULTS, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Also print every run of every arm, thresholds that passed, comparisons and ledgers.
    #[arg(long, help_heading = RESULTS)]
    pub details: bool,
    /// Also draw the run over time (90th percentile, goodput, rejects of all arms) into this SVG file.
    #[arg(long, help_heading = RESULTS, hide_short_help = true, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Also draw goodput, 99th percentile and rejects of all arms over the load into this SVG file: for runs with three loads
    /// or more.
    #[arg(long, help_heading = RESULTS, hide_short_help = true, value_name = "FILE")]
    pub curves: Option<PathBuf>,
    /// Also write the run over time, a row of whole numbers a second, into this text file.
    #[arg(long, help_heading = RESULTS, hide_short_help = true, value_name = "FILE")]
    pub series: Option<PathBuf>,
    /// A host beyond this machine that may be loaded, where target.url names one.
    ///
    /// It is yours, and prepared for it.
    #[arg(long, help_heading = LIVE, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// In virtual time: a simulated service, in seconds instead of minutes.
    ///
    /// In place of the real one, and bit for bit repeatable.
    #[arg(long = "virtual")]
    pub virtual_time: bool,
    /// End a live run at its first INVALID arm, with exit code 3.
    #[arg(long, help_heading = LIVE, conflicts_with = "virtual_time")]
    pub fail_fast: bool,
    /// One of several parts, each on a machine of its own; lab merge puts them together.
    ///
    /// Part 2/8 has users 2, 10, 18 and so on, with the times, accounts and draws that they have in the whole run; or, with --shard-by
    /// block, blocks 2, 10, 18, with their seeds and plans.
    #[arg(long, help_heading = MACHINES, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// What a part has of the whole: users of one load, sent at the same time, or each block with all of its users.
    #[arg(long, help_heading = MACHINES, hide_short_help = true, value_name = "users|block", value_parser = shared_by, default_value = "users", requires = "shard")]
    pub shard_by: ShardBy,
    #[command(flatten)]
    pub start: StartArgs,
    #[command(flatten)]
    pub agents: AgentsArgs,
    /// Of a part of the users: this machine starts the service.
    #[arg(long, help_heading = MACHINES, hide_short_help = true, value_name = "here", value_parser = ["here"], hide_possible_values = true, conflicts_with = "virtual_time")]
    pub target: Option<String>,
    /// Of a part of the users: the service that another machine has started, http://10.0.0.5:8080.
    #[arg(long, help_heading = MACHINES, hide_short_help = true, value_name = "URL", conflicts_with_all = ["target", "virtual_time"])]
    pub target_at: Option<String>,
    /// Where the service of --target here, or of a run with --agents, listens: 10.0.0.5:8080 [default: on loopback, at a free port].
    #[arg(long, help_heading = MACHINES, hide_short_help = true, value_name = "ADDR", value_parser = address)]
    pub listen: Option<SocketAddr>,
}
