//! Form of a result on standard output.

use clap::ValueEnum;

/// Forms of results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    #[default]
    Text,
    /// For scripts.
    Json,
}
