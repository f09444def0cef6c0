//! Likeness of runs: what keeps them from being compared, and what a reader of a comparison should know.

use analysis::text::scrubbed;

use super::sides::Entry;
use crate::exit::Failure;

const GREW: &str =
    "blocks of a run were added until its own comparison was decided: p values between runs do not know that";

/// Checks that the others may be compared with the first; returns what a reader must know of the differences.
pub(super) fn alike(first: &Entry, others: &[Entry], anyway: bool) -> Result<Vec<String>, Failure> {
    let mut notes = Vec::new();
    let mut refused = Vec::new();
    for other in others {
        for reason in analysis::comparable::unlike(&first.manifest, &other.manifest) {
            let line = scrubbed(&format!("{} and {}: {reason}", first.name, other.name));
            if anyway { notes.push(line) } else { refused.push(line) }
        }
        if first.manifest.lab != other.manifest.lab {
            notes.push(format!(
                "{} ran with lab {}, {} with {}",
                first.name, first.manifest.lab, other.name, other.manifest.lab
            ));
        }
    }
    for entry in std::iter::once(first).chain(others).filter(|entry| entry.summary.partial) {
        notes.push(format!("{} is partial: it was interrupted", entry.name));
    }
    if refused.is_empty() {
        let grew = |entry: &Entry| entry.manifest.experiment.compare.until_decided.is_some();
        notes.extend((!others.is_empty() && (grew(first) || others.iter().any(grew))).then(|| GREW.to_owned()));
        return Ok(notes);
    }
    Err(Failure::usage(format!(
        "these runs cannot be compared (--anyway compares them all the same)\n{}",
        refused.join("\n")
    )))
}
