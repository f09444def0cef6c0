//! Analysis of a run's results folder: its summary, verdict, comparisons and reports, and all of them computed again.
//!
//! Functions of the files in the folder: no clock, no network, no randomness, and floating-point functions that are the same on
//! every machine (`clippy.toml` beside this crate enforces it). Its dependencies have neither `tokio` nor `may` nor `sqlx`
//! (`lab-cli/tests/integration/architecture.rs`). So whatever this crate computes at the end of a run, it computes again from the run's
//! files ([`recheck`]), to the last bit.
//!
//! [`live`] is the stream of what happens in a run, [`summary`] the result.

pub mod answer;
pub mod arm_metrics;
mod arm_runs;
pub mod chart;
pub mod comparable;
pub mod digests;
pub mod error;
pub mod figure;
pub mod folder;
pub mod goal;
pub mod histograms;
pub mod interval_log;
pub mod json_diff;
pub mod judge;
pub mod live;
pub mod manifest;
pub mod merge;
mod oracle_share;
pub mod recheck;
pub mod recommend;
pub mod record;
pub mod report;
pub mod run_file;
pub mod seconds_log;
pub mod series;
pub mod sha256;
pub mod suite;
pub mod sum_up;
pub mod summary;
#[cfg(test)]
mod testing;
pub mod text;
pub mod whole_arm;

pub use error::FolderError;
pub use folder::Recorded;
pub use manifest::Manifest;
