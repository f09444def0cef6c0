//! Arguments of `lab reproduce`.

use std::path::PathBuf;

use clap::Args;

use super::values::Output;

/// `lab reproduce`.
#[derive(Debug, Args)]
pub struct ReproduceArgs {
    /// Ids of the atlas: seda-fig8, ew-fig3 (lab run --list names them).
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    pub ids: Vec<String>,
    /// All of them.
    #[arg(long)]
    pub all: bool,
    /// At the paper's own length, in virtual time (this is what is done if neither is asked for).
    #[arg(long = "virtual")]
    pub virtual_time: bool,
    /// The short form of each, live, in minutes. Those that have none are named and left out with --all, an error by id.
    #[arg(long, conflicts_with = "virtual_time")]
    pub live: bool,
    /// Repetitions, each with its own seed: what holds in at least nine of ten is held.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: Option<u32>,
    /// Root of all randomness.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=(1 << 53)))]
    pub seed: Option<u64>,
    /// Folder for the folders of results, which must not exist yet [default: runs, with the time in each name].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Writes the figure of one artefact as an SVG picture, the paper's own curve dashed beside ours.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Writes DIR/index.html: one page, sufficient in itself, with the claims by paper and every artefact's figure, claims, deviations and commands. It grows
    /// with each artefact. DIR is made if there is none; one that holds other things is left alone.
    #[arg(short = 'o', long = "page", value_name = "DIR")]
    pub page: Option<PathBuf>,
    /// Form of the result on standard output.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}
