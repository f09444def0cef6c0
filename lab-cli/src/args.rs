//! Command line: commands, and their arguments a file each.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use experiment::Repeat;

mod calibrate;
mod colours;
mod compare;
mod init;
mod load;
mod output;
mod past_runs;
mod policies;
mod proxy;
mod replay;
mod reproduce;
mod run;
mod serve;
mod service_transport;
mod suite;
mod sweep;
mod trace;
mod values;

pub use calibrate::CalibrateArgs;
pub use colours::{Color, Colours, ThemeName};
pub use compare::{CompareArgs, CompareOutput, FailIf, UndecidedIs};
pub use init::InitArgs;
pub use load::{LoadArgs, LoadOutput, RateArgs, RequestArgs, TransportArgs};
pub use output::Output;
pub use past_runs::{HistoryArgs, RecheckArgs, RecommendArgs, ReportArgs, ReportFormat};
pub use policies::{NewPolicyArgs, PoliciesArgs, PolicyKind};
pub use proxy::{Log, ProxyArgs, ProxyCommand, SetArgs};
pub use replay::{By, ReplayArgs};
pub use reproduce::ReproduceArgs;
pub use run::RunArgs;
pub use serve::ServeArgs;
pub use service_transport::ServiceTransport;
pub use suite::{SuiteArgs, SuiteOutput};
pub use sweep::{GoalArgs, SweepArgs, TuneArgs, TuneOutput};
pub use trace::{AnonymizeArgs, FitArgs, GenerateArgs, ImportArgs, InspectArgs, Trace};

/// Version, with the commit that the program was built from: of a release build, in a clone or from a published package.
pub const VERSION: &str = env!("LAB_VERSION");

/// A laboratory for overload control: runs a service under more load than it can bear, live, and compares what policies
/// make of it.
#[derive(Debug, Parser)]
#[command(name = "lab", version = VERSION, max_term_width = 100, disable_help_subcommand = false)]
#[command(
    after_help = "Start with: lab run flash-crowd\nExit codes: 0 done, 1 could not be done, 2 bad usage or input, \
                        3 INVALID, 4 a threshold or claim failed, a load was not served or a comparison is \
                        undecided, 130/143 interrupted"
)]
pub struct Cli {
    /// What the terminal shows them with.
    #[command(flatten)]
    pub colours: Colours,
    /// What to do.
    #[command(subcommand)]
    pub command: Option<LabCommand>,
}

/// Commands.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Runs every arm of an experiment.
    Run(RunArgs),
    /// Runs the values of a range in virtual time, and draws a measure over them.
    Sweep(SweepArgs),
    /// Looks for the best parameters of a policy in virtual time, and says how far from them one may be.
    Tune(TuneArgs),
    /// Runs policies in every scenario of the suite in virtual time, and scores them.
    Suite(SuiteArgs),
    /// The atlas: runs the results of the papers as experiments, and says which of their claims hold.
    Reproduce(ReproduceArgs),
    /// Verdicts between runs, or between the arms of one.
    Compare(CompareArgs),
    /// Says which policy to deploy, how, at what price and how sure that is.
    Recommend(RecommendArgs),
    /// Computes every figure and verdict of a run again from its files, and says which differ.
    Recheck(RecheckArgs),
    /// Writes a report of a run.
    Report(ReportArgs),
    /// Past runs.
    History(HistoryArgs),
    /// Quick load on any HTTP service.
    Load(Box<LoadArgs>),
    /// Replays a recorded trace, with its own timing.
    Replay(ReplayArgs),
    /// Measures a live target and writes a plant file for virtual time.
    Calibrate(CalibrateArgs),
    /// Serves the Arashi web mail alone, for a browser or another load tool.
    Serve(ServeArgs),
    /// A reverse proxy with a policy of admission, before a service of your own.
    Proxy(Box<ProxyArgs>),
    /// Writes an experiment file for a service of your own, by asking it a few requests.
    Init(InitArgs),
    /// Reads experiment files and says everything that is wrong with them.
    Check(CheckArgs),
    /// The catalogue of policies.
    Policies(PoliciesArgs),
    /// Writes a crate with a policy of your own, which runs in all of the lab at once.
    NewPolicy(NewPolicyArgs),
    /// Traces and user models: from a log to a model of its users, and back.
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
