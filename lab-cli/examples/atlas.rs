//! Writes the tables of `docs/atlas.md`.
//!
//! ```sh
//! lab reproduce --all --repeat 10 --output json > found.json
//! cargo run --release -p lab-cli --example atlas -- found.json docs/atlas.md
//! ```
//! The section `### id: …` of each artefact in `found.json` gets a line with its claims and with what speaks against the figures, a
//! line for each claim that does not hold, a row for each threshold, and one for each number of its paper; what else is written in it
//! stays. Of a run with one seed the numbers alone are taken over. A section that is
//! missing is put at the end. `found` is of block 1, the run that a repeat of 1 makes. The table by paper, between the comments
//! `<!-- claims -->` and `<!-- end -->`, counts the sections of the document, so that a few artefacts can be written without the
//! others.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::Range,
    process::ExitCode,
};

use analysis::{
    figure::merit::Merit,
    judge::claims::{ClaimCount, LetteredClaim, lettered_claims},
    summary::{GateFinding, ThresholdResult, Validity},
    text::table::Table,
};
use experiment::{Changes, Experiment, Library};
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
    #[serde(default)]
    merit: Option<Merit>,
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
    let tally = tally(&text)?;
    let total =
        format!("**{}**, and {}, which are their parts and what stands beneath.", tally.claims(), tally.thresholds());
    text = between_comments(&text, &format!("{total}\n\n{}", markdown(&tally.table())))?;
    fs::write(&document, text)?;
    Ok(total)
}

/// The claims of the document.
fn tally(text: &str) -> Result<ClaimCount, Error> {
    let mut tally = ClaimCount::default();
    for entry in Library::atlas() {
        let Some(section) = section(text, entry.id).map(|range| &text[range]) else { continue };
        let words = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        let thresholds = words.filter(|word| ["held", "FAILED"].contains(word)).map(|word| word == "held");
        tally.add_counted(entry.id, experiment_of(entry)?.paper, letters(section), thresholds);
    }
    Ok(tally)
}

fn markdown(table: &Table) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rows: String = table.rows.iter().map(|row| line(row)).collect();
    format!("{}|{}\n{rows}", line(&table.heads), "---|".repeat(table.heads.len()))
}

/// What a section's line has of letters (`in_letters`), and whether they hold.
fn letters(section: &str) -> Vec<(char, bool)> {
    let sentences = || section.lines().filter(|line| line.contains(" thresholds.")).flat_map(|line| line.split(". "));
    let named = |begins: &str, held: bool| {
        let lists: Vec<&str> = sentences().filter_map(|sentence| sentence.strip_prefix(begins)).collect();
        let names = lists.into_iter().flat_map(|list| list.split(", "));
        names.filter_map(|name| name.chars().next()).map(|letter| (letter, held)).collect::<Vec<_>>()
    };
    let mut letters = [named("Held: ", true), named("Not held: ", false)].concat();
    letters.sort_unstable();
    letters
}

fn experiment_of(entry: &Library) -> Result<Experiment, Error> {
    experiment::read(entry.text, &Changes::default()).map_err(|_| format!("{} is not good", entry.id).into())
}

/// Where the section of an artefact is.
fn section(text: &str, id: &str) -> Option<Range<usize>> {
    let start = text.find(&format!("### {id}: "))?;
    let after = start + 3;
    let end = ["\n## ", "\n### "].iter().filter_map(|next| text[after..].find(next)).min();
    Some(start..end.map_or(text.len(), |at| after + at))
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
    let Some(range) = section(text, id) else {
        return Ok(format!("{}\n\n{heading}{table}", text.trim_end()));
    };
    let section = &text[range.clone()];
    // Tables of claims are of several seeds: one adds its numbers alone.
    let one_seed = artefact.claims.first().is_none_or(|claim| claim.blocks.len() == 1);
    if let Some(section) = one_seed.then(|| with_numbers(section, artefact)).flatten() {
        return Ok(format!("{}{section}{}", &text[..range.start], &text[range.end..]));
    }
    // Prose comes after the table, whose rows are the last lines that begin with a bar.
    let prose = match section.rfind("\n| ") {
        Some(row) => section[row + 1..].split_once('\n').map_or("", |(_, rest)| rest),
        None => section.split_once('\n').map_or("", |(_, rest)| rest),
    };
    let prose = prose.trim();
    let gap = if prose.is_empty() { "" } else { "\n" };
    let last = if prose.is_empty() { "" } else { "\n" };
    Ok(format!("{}{heading}{table}{gap}{prose}{last}{}", &text[..range.start], &text[range.end..]))
}

/// Where the numbers of the paper begin in a section.
const NUMBERS: &str = "\nBeside the paper, seed 1: ";

/// The paper's numbers and ours.
fn numbers(artefact: &Artefact) -> String {
    let of = |merit: &Merit| format!("{NUMBERS}{}.\n\n{}", merit.in_words(), markdown(&merit.table()));
    artefact.merit.as_ref().map(of).unwrap_or_default()
}

/// The section with other numbers of the paper, where it has a table of claims.
fn with_numbers(section: &str, artefact: &Artefact) -> Option<String> {
    let (before, after) = match section.split_once(NUMBERS) {
        Some((before, rest)) => (before, rest.split_once("|\n\n").map_or("", |(_, prose)| prose)),
        None => {
            let claims = section.find("| | claim | found | ")?;
            let end = section[claims..].find("|\n\n").map_or(section.len(), |at| claims + at + 2);
            (&section[..end], section[end..].trim_start())
        }
    };
    Some(format!("{before}{}\n{after}", numbers(artefact)))
}

fn table(artefact: &Artefact) -> Result<String, Error> {
    let experiment = experiment_of(entry(artefact)?)?;
    let held = artefact.claims.iter().filter(|claim| claim.holds_over_seeds()).count();
    let seeds = artefact.claims.first().map_or(0, |claim| claim.blocks.len());
    let claims = lettered_claims(&experiment.rows, &artefact.claims, &experiment.tried);
    let remedy = |claim: &LetteredClaim| Some(format!("- {}: {}\n", claim.letter, claim.remedy()?));
    let remedies: String = claims.iter().filter_map(remedy).collect();
    let gap = if remedies.is_empty() { "" } else { "\n" };
    let mut text = format!(
        "{}{held} of {} thresholds.{}\n\n{remedies}{gap}| | claim | found | {seeds} seeds |\n|---|---|---|---|\n",
        in_letters(&claims),
        artefact.claims.len(),
        against(artefact.verdict, &artefact.reasons)
    );
    for (claim, row) in artefact.claims.iter().zip(&experiment.rows) {
        let word = if claim.holds_over_seeds() { "held" } else { "FAILED" };
        text += &format!("| {word} | {} | {} | {} |\n", row.label, claim.found_first(), over_seeds(claim));
    }
    Ok(text + &numbers(artefact))
}

/// `Held: a, c. Not held: b (2 of 10 seeds). `
fn in_letters(claims: &[LetteredClaim]) -> String {
    let part = |word: &str, holds: bool| {
        let of: Vec<String> = claims
            .iter()
            .filter(|claim| claim.held == holds)
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
    let (range, (held, _)) = (claim.range(), claim.over_seeds());
    if range.is_empty() { format!("{held} hold") } else { format!("{range}; {held} hold") }
}
