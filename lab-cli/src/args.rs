//! Command line: commands, and their arguments a file each.

use std::path::PathBuf;

use clap::{Args, Command, CommandFactory, Parser, Subcommand, ValueEnum};
use experiment::Repeat;

mod compare;
mod fleet;
mod init;
mod load;
mod overview;
mod past_runs;
mod policies;
mod proxy;
mod replay;
mod reproduce;
mod run;
mod serve;
mod share;
mod suite;
mod sweep;
#[cfg(test)]
mod tests;
mod tips;
mod trace;
mod values;

use overview::CommandGroup;

pub use compare::{CompareArgs, CompareOutput, FailIf, UndecidedIs};
pub use fleet::{AgentArgs, AgentsArgs, NatsArgs, WorkersArgs};
pub use init::{CalibrateArgs, InitArgs, ServiceTransport};
pub use load::{LoadArgs, LoadOutput, RateArgs, RequestArgs, TransportArgs};
pub use past_runs::{HistoryArgs, MergeArgs, RecheckArgs, RecommendArgs, ReportArgs, ReportFormat};
pub use policies::{NewPolicyArgs, PoliciesArgs, PolicyKind};
pub use proxy::{Log, ProxyArgs, ProxyCommand, SetArgs};
pub use replay::{By, ReplayArgs};
pub use reproduce::ReproduceArgs;
pub use run::RunArgs;
pub use serve::ServeArgs;
pub use share::StartArgs;
pub use suite::{SuiteArgs, SuiteOutput};
pub use sweep::{GoalArgs, SweepArgs, TuneArgs, TuneOutput};
pub use tips::with_tip;
pub use trace::{AnonymizeArgs, FitArgs, GenerateArgs, ImportArgs, InspectArgs, Trace};
pub use values::{Color, Colours, Output, ThemeName};

/// Version, with the commit that the program was built from: of a release build, in a clone or from a published package.
pub const VERSION: &str = env!("LAB_VERSION");

/// A laboratory for overload control: runs a service under more load than it can bear, live, and compares what policies
/// make of it.
#[derive(Debug, Parser)]
#[command(name = "lab", version = VERSION, max_term_width = 100, disable_help_subcommand = false)]
#[command(
    after_help = "Start with: lab run flash-crowd --virtual. lab help COMMAND says more of a command.\nExit codes: 0 done, 1 could not be \
                  done, 2 bad usage or input, 3 INVALID, 4 a threshold or claim failed, a load was not served or a \
                  comparison is worse or undecided (where asked for), 130/143 interrupted"
)]
pub struct Cli {
    /// What the terminal shows them with.
    #[command(flatten)]
    pub colours: Colours,
    /// What to do.
    #[command(subcommand)]
    pub command: Option<LabCommand>,
}

/// The command line: commands in groups, with examples.
pub fn command() -> Command {
    overview::arranged(Cli::command(), GROUPS)
}

/// Commands.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Runs an experiment: every arm (setting under test), and what to deploy.
    Run(RunArgs),
    /// Runs a range of values, and draws a measure over them.
    Sweep(SweepArgs),
    /// Looks for a policy's best parameters, and how far from them one may be.
    Tune(TuneArgs),
    /// Scores policies in every scenario of the suite.
    Suite(SuiteArgs),
    /// Takes runs of searches (--workers) and parts of loads (--agents) from other machines.
    Agent(AgentArgs),
    /// The atlas: results of papers as experiments, and which claims hold.
    Reproduce(ReproduceArgs),
    /// Who won: verdicts between runs, or between the arms of one.
    Compare(CompareArgs),
    /// Says which policy to deploy, how, at what price and how sure that is.
    Recommend(RecommendArgs),
    /// Computes every figure of a run again, and says which differ.
    Recheck(RecheckArgs),
    /// Puts the parts of a run, sweep or suite together that several machines ran (--shard).
    Merge(MergeArgs),
    /// Writes a report of a run.
    Report(ReportArgs),
    /// Past runs.
    History(HistoryArgs),
    /// Quick load on any HTTP service.
    Load(Box<LoadArgs>),
    /// Replays a recorded trace, with its own timing.
    Replay(ReplayArgs),
    /// Measures a live target for virtual time: a plant file.
    Calibrate(CalibrateArgs),
    /// Serves the Arashi web mail, for a browser or another load tool.
    Serve(ServeArgs),
    /// A reverse proxy with a policy of admission, before your service.
    Proxy(Box<ProxyArgs>),
    /// Writes an experiment file for your service, by asking it a few requests.
    Init(InitArgs),
    /// Says everything that is wrong with experiment files.
    Check(CheckArgs),
    /// The catalogue of policies.
    Policies(PoliciesArgs),
    /// Writes a crate with a policy of your own.
    NewPolicy(NewPolicyArgs),
    /// Traces and user models: from a log to users, and back.
    #[command(subcommand)]
    Trace(Trace),
    /// JSON Schema of the files that the lab reads and writes.
    Schema {
        /// Of which.
        #[arg(value_enum)]
        of: SchemaOf,
    },
    /// Runs a command that is not the lab's, and ends it with the lab; the lab alone starts this.
    #[command(hide = true)]
    Guard,
    /// Shell completions.
    Completions {
        /// For which shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Man pages, in the format of man(1).
    Man(ManArgs),
}

/// Every command once, with examples.
const GROUPS: &[CommandGroup] = &[
    (
        "Experiments",
        &[
            ("run", &["lab run flash-crowd --virtual", "lab run shop.yaml --repeat until-decided"]),
            ("recommend", &["lab recommend shop.yaml", "lab recommend runs/shop-20261130T101500Z"]),
            ("compare", &["lab compare OLD NEW --fail-if worse", "lab compare RUN --baseline concurrency"]),
            ("report", &["lab report RUN", "lab report RUN --format md > comment.md"]),
            ("history", &["lab history shop", "lab history --policy gradient2 --since 2026-11-22"]),
            ("recheck", &["lab recheck RUN"]),
            ("merge", &["lab merge part-1 part-2 part-3 -o whole"]),
            ("check", &["lab check shop.yaml --repeat 7"]),
        ],
    ),
    (
        "Your service",
        &[
            (
                "init",
                &["lab init './my-service --port {port}' --path /items -o shop.yaml", "lab init 127.0.0.1:8080/items"],
            ),
            (
                "load",
                &[
                    "lab load 127.0.0.1:8080/items -R 200 -d 30s",
                    "lab load http://127.0.0.1:8080/ --find-rate 'p99 < 200ms'",
                    "lab load http://127.0.0.1:8080/ -c 16 -n 10k --fail-if 'error_rate > 1%' --output json",
                ],
            ),
            ("calibrate", &["lab calibrate http://127.0.0.1:8080/items -o shop-plant.yaml"]),
            (
                "proxy",
                &[
                    "lab proxy --to http://127.0.0.1:8080 --policy concurrency --set max=16",
                    "lab proxy --config proxy.yaml --check",
                    "lab proxy set dry_run=false --control http://127.0.0.1:9000 --control-token-file token",
                ],
            ),
        ],
    ),
    (
        "Searches in virtual time",
        &[
            ("sweep", &["lab sweep shop.yaml --policy gradient2 --set limit_min=2..50"]),
            ("tune", &["lab tune shop.yaml --policy gradient2 --under 'p99 < 1s'"]),
            ("suite", &["lab suite --policy gradient2 --output html", "lab suite --random 20 --compare suite.json"]),
            (
                "agent",
                &[
                    "lab agent --nats tls://nats.example:4222 --allow-host shop.example",
                    "lab agent --print-nats-config > nats.conf",
                ],
            ),
            ("reproduce", &["lab reproduce seda-fig10", "lab reproduce --all"]),
        ],
    ),
    (
        "Policies and users",
        &[
            ("policies", &["lab policies", "lab policies gradient2"]),
            ("new-policy", &["lab new-policy my-limit"]),
            ("trace", &["lab trace import access.log -o monday.trace.zst", "lab trace inspect monday.trace.zst"]),
            (
                "replay",
                &[
                    "lab replay monday.trace.zst --speed 10 --policy none --policy seda --capacity 100",
                    "lab replay monday.trace.zst --target 'http://127.0.0.1:8080/{action}?id={object}'",
                ],
            ),
            ("serve", &["lab serve --mail ~/Maildir --policy seda --port 8080"]),
        ],
    ),
    (
        "The program",
        &[
            ("schema", &["lab schema experiment > experiment.schema.json"]),
            ("completions", &["lab completions bash > /etc/bash_completion.d/lab"]),
            ("man", &["lab man trace import", "lab man --out man1"]),
        ],
    ),
];

/// `lab man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Of this command, as in `lab man trace import` [default: of lab].
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    pub command: Vec<String>,
    /// Write the pages of lab and all its commands into this folder, which is made if it is missing.
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// `lab check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Experiment files, ids, or - for standard input.
    #[arg(value_name = "FILE|ID", required = true)]
    pub files: Vec<String>,
    /// Change a value first.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Check it as `lab run --repeat` would run it.
    #[arg(long, value_name = "N|until-decided")]
    pub repeat: Option<Repeat>,
}

/// What has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// Experiment files.
    Experiment,
    /// The file of a proxy (lab proxy --config FILE).
    Proxy,
    /// `summary.json`.
    Summary,
    /// A line of `timeline.jsonl`.
    Timeline,
    /// A line of a trace.
    Trace,
}
