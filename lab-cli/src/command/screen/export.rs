//! Exports of a comparison: files in the run's folder.

use std::path::Path;

use analysis::{
    folder::Recorded,
    judge::gates::first_kept,
    report::{RunFiles, html},
};

use crate::{exit::Failure, store::put_in_place, tui::Export};

/// Puts it there; what was done, in a line.
pub fn put(what: Export, folder: &Path, table: &str) -> Result<String, Failure> {
    let (name, bytes) = match what {
        Export::Report => {
            let run = RunFiles::read(folder)?;
            let run = run.ok_or_else(|| Failure::because(format!("{} has no summary", folder.display())))?;
            ("report.html", html::document(&run).into_bytes())
        }
        Export::Picture => {
            let recorded = Recorded::read(folder)?;
            let shape = recorded.shape().ok_or_else(|| Failure::because("the run does not say what it was to be"))?;
            let block = recorded.summary.as_ref().map_or(1, |summary| first_kept(&summary.arms));
            ("over-time.svg", analysis::series::svg(shape, &recorded.timeline, block).into_bytes())
        }
        Export::Table | Export::Folder => ("table.md", table.as_bytes().to_vec()),
    };
    let path = folder.join(name);
    put_in_place(&path, &bytes).map_err(|error| Failure::because(format!("{}: {error}", path.display())))?;
    Ok(format!("wrote {}", path.display()))
}
