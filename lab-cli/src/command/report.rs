//! `lab report`.

use std::path::{Path, PathBuf};

use analysis::{
    Recorded,
    report::{RunFiles, csv, html, junit, markdown},
    text::scrubbed_lines,
};

use super::stdout::{print, print_text};
use crate::{
    args::{self, ReportFormat},
    exit::{CommandResult, End, Failure},
    store::{find_run, put_in_place},
};

pub fn report(args: &args::ReportArgs) -> CommandResult {
    if args.details && args.format != ReportFormat::Text {
        return Err(Failure::usage("--details is for --format text; the other forms have them all"));
    }
    let folder = find_run(&args.run).map_err(Failure::usage)?;
    let Some(run) = RunFiles::read(&folder)? else {
        let why = Recorded::read(&folder)?.why_no_summary();
        let what =
            if folder.join("service.log").exists() { "timeline.jsonl and service.log" } else { "timeline.jsonl" };
        return Err(Failure::because(format!("{} {why}; what there is is its {what}", folder.display())));
    };
    let bytes = match args.format {
        ReportFormat::Html => html::document(&run.with_times(&folder)).into_bytes(),
        ReportFormat::Json => analysis::text::json(&run.summary).map_err(Failure::because)?.into_bytes(),
        ReportFormat::Junit => junit::document(&run).into_bytes(),
        ReportFormat::Csv => csv::table(&run.name, &run.summary).map_err(Failure::because)?,
        ReportFormat::Md => markdown::document(&run).into_bytes(),
        ReportFormat::Text => scrubbed_lines(&analysis::report::text(&run.summary, args.details)).into_bytes(),
    };
    match place(args, &folder) {
        None if args.format == ReportFormat::Text => print_text(&String::from_utf8_lossy(&bytes)),
        None => print(&bytes),
        Some(path) => {
            // A file in the folder may be a link to anywhere, if the folder is another's.
            let written = if args.out.is_some() { std::fs::write(&path, &bytes) } else { put_in_place(&path, &bytes) };
            written.map_err(|error| {
                Failure::because(format!("{}: {error}; name another place with -o", path.display()))
            })?;
            print(format!("{}\n", path.display()).as_bytes())?;
            Ok(End::Done)
        }
    }
}

/// The path of the report; `None`: standard output.
fn place(args: &args::ReportArgs, folder: &Path) -> Option<PathBuf> {
    match &args.out {
        Some(out) if out.as_os_str() == "-" => None,
        Some(out) => Some(out.clone()),
        None => (args.format == ReportFormat::Html).then(|| folder.join("report.html")),
    }
}
