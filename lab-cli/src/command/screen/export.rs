//! Exports of a comparison: files in the run's folder.

use std::path::Path;

use analysis::{
    chart::Size,
    report::{RunFiles, html},
};

use crate::{exit::Failure, screens::Export, store::put_in_place};

/// Puts it there; what was done, in a line.
pub fn put(what: Export, folder: &Path, table: &str) -> Result<String, Failure> {
    let whole = || -> Result<RunFiles, Failure> {
        let run = RunFiles::read(folder)?;
        run.ok_or_else(|| Failure::because(format!("{} has no summary", folder.display())))
    };
    let (name, bytes) = match what {
        Export::Report => ("report.html", html::document(&whole()?).into_bytes()),
        Export::Picture => ("over-time.svg", html::chart_over_time(&whole()?).to_svg(&Size::FILE).into_bytes()),
        Export::Table | Export::Folder => ("table.md", table.as_bytes().to_vec()),
    };
    let path = folder.join(name);
    put_in_place(&path, &bytes).map_err(|error| Failure::because(format!("{}: {error}", path.display())))?;
    Ok(format!("wrote {}", path.display()))
}
