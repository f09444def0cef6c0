//! Writes `*.hlog`, the histograms of an arm.

use std::{fs::File, io::Write as _, path::Path};

use analysis::{FolderError, histograms::log};
use measure::Report;

/// Writes every histogram of a report.
pub fn write(report: &Report, path: &Path) -> Result<(), FolderError> {
    let log = log(report).map_err(std::io::Error::other).map_err(FolderError::at(path))?;
    let mut file = File::create(path).map_err(FolderError::at(path))?;
    file.write_all(&log).map_err(FolderError::at(path))?;
    file.sync_all().map_err(FolderError::at(path))
}
