//! Writes the tables of `docs/atlas.md`.
//!
//! ```sh
//! lab reproduce --all --repeat 10 --output json > found.json
//! cargo run --release -p lab-cli --example atlas -- found.json docs/atlas.md
//! ```
//! Every section `### id: …` gets a line with the claims of its letters, with what speaks against the figures, and a row for each
//! threshold; what else is written in it stays. A section that is missing is put at the end. What holds with at least nine of
//! ten seeds is held; `found` is of block 1, the run that a repeat of 1 makes. The table by paper stands between two comments,
//! `<!-- claims -->` and `<!-- end -->`.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    fs,
    process::ExitCode,
};

use analysis::summary::{BlockResult, GateFinding, ThresholdResult, Validity};
use experiment::{
    Changes, Library,
    letters::{LetteredClaim, claim_rows, holds_with, lettered_claims, paper_of, papers},
};
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
    let (table, total) = by_paper(&found)?;
    text = between_comments(&text, &table)?;
    fs::write(&document, text)?;
    Ok(total)
}

fn holds(claim: &ThresholdResult) -> bool {
    holds_with(claim.blocks.iter().filter(|block| block.held).count(), claim.blocks.len())
}

/// The lettered claims of all artefacts of papers, by paper, and the headline.
fn by_paper(found: &[Artefact]) -> Result<(String, String), Error> {
    let mut rows: BTreeMap<&str, Vec<(bool, String)>> = BTreeMap::new();
    for artefact in found {
        let text = entry(artefact)?.text;
        let source =
            experiment::read(text, &Changes::default()).map_err(|_| "an experiment of the library is not good")?.source;
        let Some(paper) = source.as_deref().and_then(paper_of) else { continue };
        let claims = lettered_claims(text, &artefact.claims);
        let named = claims.iter().map(|claim| (claim.holds(), format!("{} {}", artefact.experiment, claim.letter)));
        rows.entry(paper).or_default().extend(named);
    }
    let mut text = "| paper | claims | held | not held |\n|---|---|---|---|\n".to_owned();
    let (mut all, mut all_held) = (0, 0);
    for paper in papers() {
        let claims = rows.get(paper).map_or(&[][..], Vec::as_slice);
        let held = claims.iter().filter(|(held, _)| *held).count();
        let failed: Vec<&str> = claims.iter().filter(|(held, _)| !held).map(|(_, name)| name.as_str()).collect();
        text += &format!("| {paper} | {} | {held} | {} |\n", claims.len(), failed.join(", "));
        (all, all_held) = (all + claims.len(), all_held + held);
    }
    let thresholds: Vec<&ThresholdResult> = found.iter().flat_map(|artefact| &artefact.claims).collect();
    let held = thresholds.iter().filter(|claim| holds(claim)).count();
    let total = format!(
        "**{all_held} of {all} claims of the papers held**, and {held} of {} thresholds, which are their parts and what stands beneath.",
        thresholds.len()
    );
    Ok((format!("{total}\n\n{text}"), total))
}

/// The document with this between its two comments.
fn between_comments(text: &str, table: &str) -> Result<String, Error> {
    let (before, rest) = text.split_once("<!-- claims -->\n").ok_or("no <!-- claims --> in the document")?;
    let (_, after) = rest.split_once("<!-- end -->").ok_or("no <!-- end --> after it")?;
    Ok(format!("{before}<!-- claims -->\n{table}<!-- end -->{after}"))
}

fn entry(artefact: &Artefact) -> Result<&'static Library, Error> {
    Library::find(&artefact.experiment).ok_or_else(|| format!("no {:?} here", artefact.experiment).into())
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
    let file = entry(artefact)?.text;
    let texts: Vec<String> = artefact.claims.iter().map(|claim| claim.text.clone()).collect();
    let held = artefact.claims.iter().filter(|claim| holds(claim)).count();
    let blocks = artefact.claims.first().map_or(0, |claim| claim.blocks.len());
    let mut text = format!(
        "{}{held} of {} thresholds.{}\n\n| | claim | found | {blocks} seeds |\n|---|---|---|---|\n",
        in_letters(&lettered_claims(file, &artefact.claims)),
        artefact.claims.len(),
        against(artefact.verdict, &artefact.reasons)
    );
    for (claim, row) in artefact.claims.iter().zip(claim_rows(file, &texts)) {
        let first = claim.blocks.first().ok_or("no block ran")?;
        let word = if holds(claim) { "held" } else { "FAILED" };
        text += &format!("| {word} | {} | {} | {} |\n", row.label, bare(&first.found), over_seeds(claim));
    }
    Ok(text)
}

/// `Held: a, c. Not held: b (2 of 10 seeds). `
fn in_letters(claims: &[LetteredClaim]) -> String {
    let part = |word: &str, holds: bool| {
        let of: Vec<String> = claims
            .iter()
            .filter(|claim| claim.holds() == holds)
            .map(|claim| {
                let all = claim.held_by == claim.seeds;
                if all {
                    claim.letter.to_string()
                } else {
                    format!("{} ({} of {} seeds)", claim.letter, claim.held_by, claim.seeds)
                }
            })
            .collect();
        if of.is_empty() { String::new() } else { format!("{word}: {}. ", of.join(", ")) }
    };
    part("Held", true) + &part("Not held", false)
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
