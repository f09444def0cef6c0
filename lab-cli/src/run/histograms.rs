//! Writes `*.hlog`, the histograms of an arm.

use std::{fs::File, io::Write as _, path::Path};

use analysis::histograms::log;
use measure::Report;

use super::RunFailure;

/// Writes every histogram of a report.
pub fn write(report: &Report, path: &Path) -> Result<(), RunFailure> {
    let log = log(report).map_err(std::io::Error::other).map_err(RunFailure::at(path))?;
    let mut file = File::create(path).map_err(RunFailure::at(path))?;
    file.write_all(&log).map_err(RunFailure::at(path))?;
    file.sync_all().map_err(RunFailure::at(path))
}
