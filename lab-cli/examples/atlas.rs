//! Writes the tables of `docs/atlas.md`.
//!
//! ```sh
//! lab reproduce --all --repeat 10 --output json > found.json
//! cargo run --release -p lab-cli --example atlas -- found.json docs/atlas.md
//! ```
//! Every section `### id: …` gets a line that counts what held, with what speaks against the figures, and a row for each claim;
//! what else is written in it stays. A section that is missing is put at the end. Block 1 of many is the run that a repeat of 1
//! makes.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    fs,
    process::ExitCode,
};

use analysis::summary::{BlockResult, GateFinding, ThresholdResult, Validity};
use experiment::Library;
use serde::Deserialize;

type Error = Box<dyn std::error::Error>;

/// What `lab reproduce --output json` says of an experiment.
#[derive(Deserialize)]
struct Artefact {
    experiment: String,
    about: String,
    verdict: Validity,
    reasons: Vec<GateFinding>,
    claims: Vec<ThresholdResult>,
}

fn main() -> ExitCode {
    match write_tables() {
        Ok(held) => {
            println!("{held}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("atlas: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write_tables() -> Result<String, Error> {
    let mut args = std::env::args().skip(1);
    let (Some(found), Some(document)) = (args.next(), args.next()) else { return Err("FOUND.json DOCUMENT.md".into()) };
    let found: Vec<Artefact> = serde_json::from_str(&fs::read_to_string(&found).map_err(|e| format!("{found}: {e}"))?)?;
    let mut text = fs::read_to_string(&document).map_err(|e| format!("{document}: {e}"))?;
    for artefact in &found {
        text = with_section(&text, artefact)?;
    }
    fs::write(&document, text)?;
    let claims: Vec<&ThresholdResult> = found.iter().flat_map(|artefact| &artefact.claims).collect();
    let in_first = |claim: &&&ThresholdResult| claim.blocks.first().is_some_and(|block| block.held);
    Ok(format!("{} of {} claims held", claims.iter().filter(in_first).count(), claims.len()))
}

fn with_section(text: &str, artefact: &Artefact) -> Result<String, Error> {
    let (id, table) = (&artefact.experiment, table(artefact)?);
    let heading = format!("### {id}: {}\n\n", artefact.about);
    let Some(start) = text.find(&format!("### {id}: ")) else {
        return Ok(format!("{}\n\n{heading}{table}", text.trim_end()));
    };
    let after = start + 3;
    let end = ["\n## ", "\n### "].iter().filter_map(|next| text[after..].find(next)).min();
    let end = end.map_or(text.len(), |at| after + at);
    // Prose comes after the table, whose rows are the last lines that begin with a bar.
    let section = &text[start..end];
    let prose = match section.rfind("\n| ") {
        Some(row) => section[row + 1..].split_once('\n').map_or("", |(_, rest)| rest),
        None => section.split_once('\n').map_or("", |(_, rest)| rest),
    };
    let prose = prose.trim();
    let gap = if prose.is_empty() { "" } else { "\n" };
    let last = if prose.is_empty() { "" } else { "\n" };
    Ok(format!("{}{heading}{table}{gap}{prose}{last}{}", &text[..start], &text[end..]))
}

fn table(artefact: &Artefact) -> Result<String, Error> {
    let entry = Library::find(&artefact.experiment).ok_or_else(|| format!("no {:?} here", artefact.experiment))?;
    let labels = labels(entry.text, &artefact.claims);
    let held = artefact.claims.iter().filter(|claim| claim.blocks.first().is_some_and(|block| block.held)).count();
    let blocks = artefact.claims.first().map_or(0, |claim| claim.blocks.len());
    let mut text = format!(
        "{held} of {} held.{}\n\n| | claim | found | {blocks} seeds |\n|---|---|---|---|\n",
        artefact.claims.len(),
        against(artefact.verdict, &artefact.reasons)
    );
    for (claim, label) in artefact.claims.iter().zip(labels) {
        let first = claim.blocks.first().ok_or("no block ran")?;
        let word = if first.held { "held" } else { "FAILED" };
        text += &format!("| {word} | {label} | {} | {} |\n", bare(&first.found), over_seeds(claim));
    }
    Ok(text)
}

/// Arms, and in which of their blocks something was seen.
type Arms<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// ` INVALID: LAG (seda in 1). WARN: SAMPLES (none in 10, seda in 2).`: the worst first, each gate with the arms that it was seen in
/// and in how many blocks; nothing if all is VALID.
fn against(verdict: Validity, reasons: &[GateFinding]) -> String {
    let mut by_verdict: BTreeMap<Reverse<Validity>, BTreeMap<&str, Arms<'_>>> = BTreeMap::new();
    if verdict != Validity::Valid {
        by_verdict.entry(Reverse(verdict)).or_default();
    }
    for reason in reasons {
        let gates = by_verdict.entry(Reverse(reason.verdict)).or_default();
        let (arm, block) = reason.arm.split_once(" (block ").unwrap_or((&reason.arm, "1"));
        gates.entry(&reason.code).or_default().entry(arm).or_default().insert(block);
    }
    let gate = |(code, arms): (&str, Arms<'_>)| {
        // A reason against the run as a whole names no arm.
        let arms = arms.into_iter().filter(|(arm, _)| !arm.is_empty());
        let arms: Vec<String> = arms.map(|(arm, blocks)| format!("{arm} in {}", blocks.len())).collect();
        if arms.is_empty() { code.to_owned() } else { format!("{code} ({})", arms.join(", ")) }
    };
    let said = by_verdict.into_iter().map(|(Reverse(verdict), gates)| {
        let gates: Vec<String> = gates.into_iter().map(gate).collect();
        let colon = if gates.is_empty() { "" } else { ": " };
        format!(" {}{colon}{}.", verdict.word(), gates.join("; "))
    });
    said.collect()
}

/// `12 to 15; 9 hold`: the left side over all blocks.
fn over_seeds(claim: &ThresholdResult) -> String {
    let left = |block: &BlockResult| bare(&block.found).split(", against ").next().unwrap_or_default().to_owned();
    let mut known: Vec<(f64, String)> =
        claim.values.iter().zip(&claim.blocks).filter_map(|(value, block)| Some(((*value)?, left(block)))).collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let held = claim.blocks.iter().filter(|block| block.held).count();
    match (known.first(), known.last()) {
        (Some((_, low)), Some((_, high))) if low != high => format!("{low} to {high}; {held} hold"),
        (Some((_, same)), _) => format!("{same}; {held} hold"),
        _ => format!("{held} hold"),
    }
}

fn bare(found: &str) -> &str {
    found.strip_prefix("found ").unwrap_or(found)
}

/// What the comments in the file say of each claim; where several share a comment, with the claim itself.
fn labels(file: &str, claims: &[ThresholdResult]) -> Vec<String> {
    let lines = file.lines().skip_while(|line| !line.starts_with("thresholds:")).skip(1);
    let (mut comment, mut fresh) = (String::new(), true);
    let mut comments = Vec::new();
    for line in lines.take_while(|line| line.starts_with(' ')) {
        match line.trim().strip_prefix('#') {
            Some(said) if fresh => comment = format!("{comment} {}", said.trim()).trim().to_owned(),
            Some(said) => (comment, fresh) = (said.trim().to_owned(), true),
            None if line.starts_with("  - ") => {
                fresh = false;
                comments.push(comment.clone());
            }
            None => {}
        }
    }
    let said = |of: &str| of.strip_prefix("Claim ").unwrap_or(of).trim_end_matches('.').to_owned();
    let label = |(n, claim): (usize, &ThresholdResult)| {
        let of = comments.get(n).map(String::as_str).unwrap_or_default();
        let text: Vec<&str> = claim.text.split_whitespace().collect();
        match comments.iter().filter(|other| *other == of).count() {
            _ if of.is_empty() => format!("`{}`", text.join(" ")),
            1 => said(of),
            _ => format!("{}: `{}`", said(of), text.join(" ")),
        }
    };
    claims.iter().enumerate().map(label).collect()
}
