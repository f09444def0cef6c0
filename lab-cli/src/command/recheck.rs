//! `lab recheck`.

use std::fmt::Write as _;

use serde_json::Value;

use super::{counted, print};
use crate::{
    args::{self, Output},
    exit::{End, Failure, Outcome},
    run::{Difference, Rechecked, find_run, recheck as compute_again},
    text::scrubbed,
};

/// Differences that are printed as text; all of them are in the JSON.
const SHOWN: usize = 30;

pub fn recheck(args: &args::Recheck) -> Outcome {
    let folder = find_run(&args.run).map_err(Failure::usage)?;
    let found = compute_again(&folder).map_err(Failure::because)?;
    match args.output {
        Output::Json => {
            let report = serde_json::json!({
                "same": found.differences.is_empty(), "values": found.values, "differences": found.differences,
                "notes": found.notes, "verdict": found.summary.verdict,
            });
            print(format!("{report:#}\n").as_bytes())?;
        }
        Output::Text => {
            print(text(&found).as_bytes())?;
        }
    }
    Ok(if found.differences.is_empty() { End::Done } else { End::Failed })
}

fn text(found: &Rechecked) -> String {
    let Rechecked { summary, values, differences, notes } = found;
    let mut text = String::new();
    for note in notes {
        let _ = writeln!(text, "{}", scrubbed(note));
    }
    for Difference { file, place, found, computed } in differences.iter().take(SHOWN) {
        let place = scrubbed(&format!("{file} {place}"));
        let _ = match (found, computed) {
            (None, None) => writeln!(text, "DIFFERS {place}"),
            _ => writeln!(text, "DIFFERS {place}: {} there, {} by the records", shown(found), shown(computed)),
        };
    }
    if differences.len() > SHOWN {
        let _ = writeln!(text, "and {} more (--output json has all)", differences.len() - SHOWN);
    }
    let _ = match differences.len() {
        0 => writeln!(
            text,
            "{values} values of {} computed again from {}: all the same; verdict {}",
            scrubbed(&summary.experiment),
            counted(summary.arms.len(), "record"),
            summary.verdict.word()
        ),
        n => writeln!(
            text,
            "{} of {values} values: the summary is not what the records make of it",
            counted(n, "difference")
        ),
    };
    text
}

fn shown(value: &Option<Value>) -> String {
    const CHARS: usize = 60;
    let Some(value) = value else { return "nothing".to_owned() };
    let whole = scrubbed(&value.to_string());
    let mut short: String = whole.chars().take(CHARS).collect();
    if short.len() < whole.len() {
        short.push('…');
    }
    short
}
