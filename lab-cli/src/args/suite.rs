//! Arguments of `lab suite`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use measure::Shard;

use super::{StartArgs, WorkersArgs};

/// `lab suite`.
#[derive(Debug, Args)]
pub struct SuiteArgs {
    /// Folder of scenarios: experiment files whose one arm, none, gives way to each policy in turn [default: the suite that comes
    /// with the program].
    #[arg(value_name = "DIR")]
    pub scenarios: Option<PathBuf>,
    /// These policies with their defaults, and none, which is always there [default: those that adapt].
    #[arg(long = "policy", value_name = "NAME", conflicts_with = "all")]
    pub policies: Vec<String>,
    /// Every policy of the catalogue.
    #[arg(long)]
    pub all: bool,
    /// Runs of each policy in each scenario, each with a seed of its own.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// So many scenarios drawn by the seed, in place of a folder: services, loads, faults and users within the ranges of
    /// docs/suite.md.
    #[arg(long, value_name = "N", conflicts_with = "scenarios", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub random: Option<u32>,
    /// Root of all randomness [default: each scenario's, 1 of random ones].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=(1 << 53)))]
    pub seed: Option<u64>,
    /// One of several parts of the scenarios, each on a machine of its own with a folder of its own; lab merge puts them together.
    #[arg(long, value_name = "I/N", requires = "out", conflicts_with_all = ["compare", "workers"])]
    pub shard: Option<Shard>,
    /// Who computes.
    #[command(flatten)]
    pub workers: WorkersArgs,
    /// Runs at once [default: one on each processor].
    #[arg(long, short, value_name = "JOBS", conflicts_with = "workers", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Form of the matrix on standard output; html writes a page with a report of each scenario, and prints its place.
    #[arg(long, value_enum, default_value_t = SuiteOutput::Text)]
    pub output: SuiteOutput,
    /// A matrix of before (suite.json, or what --output json printed): exit code 4 if a cell is worse now.
    #[arg(long, value_name = "OLD")]
    pub compare: Option<PathBuf>,
    /// Folder for the runs, one a scenario [default: suites/TIME]. A suite that was stopped goes on if the same command names it.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub start: StartArgs,
}

/// Forms of a matrix.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum SuiteOutput {
    /// For people.
    #[default]
    Text,
    /// For scripts.
    Json,
    /// For a page of docs.
    Md,
    /// For a browser: a heat map whose cells open the reports of their runs.
    Html,
}
