//! Arguments of `lab sweep` and `lab tune`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use measure::Shard;

use super::{StartArgs, WorkersArgs, values::Output};

/// What both search by.
#[derive(Debug, Args)]
pub struct GoalArgs {
    /// What is to be as good as possible, in the language of thresholds: goodput, p99, reject_fraction, class-1.goodput.
    #[arg(long = "for", value_name = "MEASURE", default_value = "goodput")]
    pub measure: String,
    /// What must hold with every seed: 'p99 < 1s'.
    #[arg(long, value_name = "CONDITION")]
    pub under: Option<String>,
    /// In which phase [default: the experiment's, else the busiest].
    #[arg(long, value_name = "NAME")]
    pub phase: Option<String>,
    /// Root of all seeds [default: the experiment's].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=(1 << 53)))]
    pub seed: Option<u64>,
    /// Folder of the search [default: sweeps/NAME-TIME]. One that was stopped goes on if the same command names it.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// `lab sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// An experiment file, an id of an experiment, or - for standard input.
    #[arg(value_name = "FILE|ID")]
    pub experiment: String,
    /// A range: arms.gradient2.limit_min=2..50, users.think=10ms..1s; with one --policy its parameter alone: limit_min=2..50. Or a
    /// single value, as for lab run.
    #[arg(long, value_name = "KEY=A..B", required = true)]
    pub set: Vec<String>,
    /// Only these arms, or these policies with their defaults [default: the arms that ranges name, else all].
    #[arg(long = "policy", value_name = "NAME")]
    pub policies: Vec<String>,
    /// Values of each range: by factors if it is wide (20 times or more), else by differences.
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(2..=200))]
    pub points: u32,
    /// One of several parts of the runs, each on a machine of its own with a folder of its own; lab merge puts them together.
    #[arg(long, value_name = "I/N", requires = "out", conflicts_with = "workers")]
    pub shard: Option<Shard>,
    /// Seeds that every value is run with.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// What it is judged by, and where it goes.
    #[command(flatten)]
    pub goal: GoalArgs,
    /// Who computes.
    #[command(flatten)]
    pub workers: WorkersArgs,
    /// Form of the result on standard output.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    #[command(flatten)]
    pub start: StartArgs,
}

/// `lab tune`.
#[derive(Debug, Args)]
pub struct TuneArgs {
    /// An experiment file, an id of an experiment, or - for standard input. With --suite a folder of scenarios [default: the suite
    /// that comes with the program].
    #[arg(value_name = "FILE|ID|DIR", required_unless_present = "suite")]
    pub experiment: Option<String>,
    /// One setting for all scenarios of a suite, and one for each, beside the defaults: what a policy's parameters are worth, and what
    /// they cost who cannot turn them.
    #[arg(long, conflicts_with_all = ["measure", "under", "phase"])]
    pub suite: bool,
    /// The arm, or the policy, whose parameters are looked for; with --suite there may be several policies.
    #[arg(long = "policy", value_name = "NAME", required = true)]
    pub policies: Vec<String>,
    /// Turn only these parameters, in this range: limit_min=2..50, of one of several policies arms.gradient2.limit_min=2..50 [default:
    /// all numbers and times, in their declared range]. Or a single value of the file, as for lab run.
    #[arg(long, value_name = "KEY=A..B")]
    pub set: Vec<String>,
    /// How many settings are tried; with --suite, in each search: one over half of the scenarios, and one in each.
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u32).range(5..=100_000))]
    pub evaluations: u32,
    /// Seeds that each setting is tried with.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub training: u32,
    /// Seeds that the winner is judged with: others than those of the search.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub held_out: u32,
    /// What it is judged by, and where it goes.
    #[command(flatten)]
    pub goal: GoalArgs,
    /// Who computes.
    #[command(flatten)]
    pub workers: WorkersArgs,
    /// Form of the result on standard output; md is for --suite.
    #[arg(long, value_enum, default_value_t = TuneOutput::Text)]
    pub output: TuneOutput,
    #[command(flatten)]
    pub start: StartArgs,
}

/// Forms of what a search has found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum TuneOutput {
    /// For people.
    #[default]
    Text,
    /// For scripts.
    Json,
    /// For a page of docs.
    Md,
}
