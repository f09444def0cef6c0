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

pub use compare::{CompareArgs, CompareOutput, FailIf, UndecidedIs};
pub use fleet::{AgentArgs, NatsArgs, WorkersArgs};
pub use init::{CalibrateArgs, InitArgs, ServiceTransport};
pub use load::{LoadArgs, LoadOutput, RateArgs, RequestArgs, TransportArgs};
pub use past_runs::{HistoryArgs, MergeArgs, RecheckArgs, RecommendArgs, ReportArgs, ReportFormat};
pub use policies::{NewPolicyArgs, PoliciesArgs, PolicyKind};
pub use proxy::{Log, ProxyArgs, ProxyCommand, SetArgs};
pub use replay::{By, ReplayArgs};
pub use reproduce::ReproduceArgs;
pub use run::RunArgs;
pub use serve::ServeArgs;
pub use share::{SharedBy, StartArgs};
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
    overview::arranged(Cli::command())
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
    /// Computes runs for lab sweep, tune and suite --workers on other machines.
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
