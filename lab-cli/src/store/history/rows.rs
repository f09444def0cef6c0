//! Rows of past runs, a line each, appended as runs are found: a thousand summaries need not be read for each question.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::past_run::{Found, PastRun, listed, read};
use crate::store::put_in_place;

/// The file's name in the folder of the runs.
pub const FILE: &str = ".history.jsonl";

/// The number of lines about runs that have changed or gone, beyond twice those that count, from which the file is written anew.
const STALE: usize = 100;

#[derive(Debug, Serialize, Deserialize)]
struct Row {
    /// Length and time of the files that it was read from.
    mark: String,
    run: PastRun,
}

/// All runs in a folder, and whether the next question finds their rows. `anew`: reads every folder again.
///
/// # Errors
/// If the folder cannot be read.
pub(super) fn all(runs: &Path, anew: bool) -> io::Result<(Vec<PastRun>, bool)> {
    let file = runs.join(FILE);
    // What is broken, or of another program, is read again from its folder.
    let text = if anew { String::new() } else { fs::read_to_string(&file).unwrap_or_default() };
    let known =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).map(|row: Row| (row.run.name.clone(), row));
    let mut known: BTreeMap<String, Row> = known.collect();
    let (mut kept, mut new) = (Vec::new(), Vec::new());
    for Found { name, mark } in listed(runs)? {
        match known.remove(&name).filter(|row| row.mark == mark) {
            Some(row) => kept.push(row),
            None => new.extend(read(runs, &name).map(|run| Row { mark, run })),
        }
    }
    let lines = |rows: &[Row]| -> io::Result<String> {
        rows.iter().map(|row| Ok(serde_json::to_string(row)? + "\n")).collect()
    };
    let written = if anew || !text.is_empty() && !text.ends_with('\n') || text.lines().count() > 2 * kept.len() + STALE
    {
        put_in_place(&file, (lines(&kept)? + &lines(&new)?).as_bytes())
    } else if new.is_empty() {
        Ok(())
    } else {
        let mut options = OpenOptions::new();
        options.create(true).append(true).open(&file).and_then(|mut file| file.write_all(lines(&new)?.as_bytes()))
    };
    Ok((kept.into_iter().chain(new).map(|row| row.run).collect(), written.is_ok()))
}
