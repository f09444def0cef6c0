//! Arguments of `lab recheck`, `lab merge`, `lab report` and `lab history`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::values::{Output, day};

/// `lab recheck`.
#[derive(Debug, Args)]
pub struct RecheckArgs {
    /// A run: its folder, or its name (or the beginning of it) below runs/.
    pub run: String,
    /// Holds files against each other alone: a run in virtual time is not computed a second time.
    #[arg(long)]
    pub no_rerun: bool,
    /// Form of the result on standard output.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// `lab merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Folders of all parts, in any order.
    #[arg(value_name = "FOLDER", required = true)]
    pub parts: Vec<PathBuf>,
    /// Folder of the whole, which must not exist yet.
    #[arg(short = 'o', long, value_name = "DIR")]
    pub out: PathBuf,
    /// Also where parts of the users are missing: the run is INVALID then (SHARES).
    #[arg(long)]
    pub partial: bool,
}

/// `lab report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A run: its folder, or its name (or the beginning of it) below runs/.
    pub run: String,
    /// Form.
    #[arg(long, value_enum, default_value_t = ReportFormat::Html)]
    pub format: ReportFormat,
    /// Of text: also every run of every arm, by phase, with ledgers, comparisons and all findings of gates.
    #[arg(long)]
    pub details: bool,
    /// Where to; - is standard output [default: report.html in the run's folder; for other forms standard output].
    #[arg(short = 'o', long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Forms of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One file with tables and figures, for a browser; needs no network.
    Html,
    /// The summary (lab schema summary).
    Json,
    /// Thresholds and gates as test cases, for CI.
    Junit,
    /// A row a phase, request type and class.
    Csv,
    /// For a pull request.
    Md,
    /// For a terminal: what lab run prints.
    Text,
}

/// `lab recommend`.
#[derive(Debug, Args)]
pub struct RecommendArgs {
    /// An experiment, by file or id, which is run in virtual time for it (the run stays below runs/); or a run: its folder, or its
    /// name below runs/.
    #[arg(value_name = "FILE|RUN")]
    pub of: String,
    /// Change a value of the experiment first, as for lab run: virtual.plant=shop-plant.yaml.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Form of the result on standard output.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// `lab history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Only runs with these words in their name, experiment, policies or verdict.
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
    /// Only of this experiment.
    #[arg(long, value_name = "NAME")]
    pub experiment: Option<String>,
    /// Only with an arm of this policy or name.
    #[arg(long, value_name = "NAME")]
    pub policy: Option<String>,
    /// Only from this day on (UTC): 2026-11-22.
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub since: Option<String>,
    /// Only up to this day.
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub until: Option<String>,
    /// At most so many, the newest first.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,
    /// Rebuilds the index from the folders.
    #[arg(long)]
    pub rebuild: bool,
    /// Where the runs are.
    #[arg(long, value_name = "DIR", default_value = crate::store::RUNS)]
    pub runs: PathBuf,
    /// Form of the result on standard output.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}
