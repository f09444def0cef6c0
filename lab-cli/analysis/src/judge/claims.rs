//! The lettered claims of papers over the seeds of a run: which hold, what makes one hold that does not, and how many there are
//! by paper.
//!
//! A threshold is a part of a claim, a part of a variant of it (the controller as coded, other costs, an arm of ours), or about
//! something else. A claim holds with a seed if all of its parts do; over several seeds by one rule ([`holds_with`]), which is
//! that of thresholds too.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::threshold::Threshold;
use crate::{
    summary::{BlockResult, ThresholdResult},
    text::{counted, table::Table},
};

/// A paper whose claims are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Paper {
    /// Welsh & Culler, USITS'03.
    SedaUsits03,
    /// Welsh & Culler, EW'02.
    SedaEw02,
    /// Beyer et al., Site Reliability Engineering, chapter 21.
    SreCh21,
    /// Urgaonkar & Shenoy, WWW'05.
    Cataclysm,
    /// Suresh et al., WebQ.
    Webq,
}

impl Paper {
    /// Keys in an experiment file.
    pub const KEYS: &[(&str, Self)] = &[
        ("seda-usits03", Self::SedaUsits03),
        ("seda-ew02", Self::SedaEw02),
        ("sre-ch21", Self::SreCh21),
        ("cataclysm", Self::Cataclysm),
        ("webq", Self::Webq),
    ];

    /// Name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SedaUsits03 => "SEDA (USITS'03)",
            Self::SedaEw02 => "SEDA (EW'02)",
            Self::SreCh21 => "Google SRE, chapter 21",
            Self::Cataclysm => "Cataclysm (WWW'05)",
            Self::Webq => "WebQ",
        }
    }
}

/// Sentence about a claim that does not hold and has no variant.
const UNTRIED: &str = "nothing was tried.";

/// The rule of the atlas: what holds with at least nine of ten seeds is held. With fewer than ten all must hold.
#[must_use]
pub fn holds_with(held_by: usize, seeds: usize) -> bool {
    seeds > 0 && held_by * 10 >= seeds * 9
}

/// A threshold as a row of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimRow {
    /// The claims that it is about; none: what no paper claims, or what cannot fail.
    pub letters: Vec<char>,
    /// Difference from the paper: `as coded`, `with small steps`. `None`: the row is a part of these claims.
    pub variant: Option<String>,
    /// Statement; where several thresholds say the same, with the threshold itself.
    pub label: String,
}

impl ClaimRow {
    /// The claims of the paper that it is a part of.
    #[must_use]
    pub fn parts_of(&self) -> &[char] {
        if self.variant.is_some() { &[] } else { &self.letters }
    }
}

/// A claim of a paper, over the seeds of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LetteredClaim {
    /// Letter in the paper's list.
    pub letter: char,
    /// Statement of the claim.
    pub label: String,
    /// Verdict by the rule ([`holds_with`]).
    pub held: bool,
    /// Seeds with which all of its parts held.
    pub held_by: usize,
    /// Seeds with which all of its parts could be judged.
    pub seeds: usize,
    /// The same claim under other conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<ClaimVariant>,
    /// Other attempts, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried: Option<String>,
}

/// A claim with something that is not as in the paper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClaimVariant {
    /// Difference from the paper.
    pub what: String,
    /// Arms that this is about, and the claim is not.
    pub arms: Vec<String>,
    /// Verdict by the rule.
    pub held: bool,
    /// Seeds with which all of its parts held.
    pub held_by: usize,
    /// Seeds with which all could be judged.
    pub seeds: usize,
}

impl LetteredClaim {
    /// Outcome in a word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        word_over_seeds(self.held_by, self.seeds)
    }

    /// Remedy for one that does not hold: the arms that make it hold, or what was tried.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        if self.word() != "FAILED" {
            return None;
        }
        let named = |variants: Vec<&ClaimVariant>| variants.into_iter().map(ClaimVariant::named).collect::<Vec<_>>();
        let (holding, failing): (Vec<_>, Vec<_>) = self.variants.iter().partition(|variant| variant.held);
        let (holding, failing) = (named(holding).join("; with "), named(failing).join("; not with "));
        let of_arms = match (holding.as_str(), failing.as_str(), &self.tried) {
            ("", "", Some(_)) => String::new(),
            ("", "", None) => UNTRIED.to_owned(),
            ("", failing, Some(_)) => format!("not with {failing}."),
            ("", failing, None) => format!("nothing tried makes it hold: not with {failing}."),
            (holding, ..) => format!("holds with {holding}."),
        };
        let parts = [Some(of_arms).filter(|said| !said.is_empty()), self.tried.clone()];
        Some(parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }
}

impl ClaimVariant {
    /// `the arm small-step (with small steps, 10 of 10 seeds)`.
    fn named(&self) -> String {
        let seeds = format!("{} of {}", self.held_by, counted(self.seeds, "seed"));
        match &self.arms[..] {
            [] => format!("other conditions ({}, {seeds})", self.what),
            [arm] => format!("the arm `{arm}` ({}, {seeds})", self.what),
            arms => format!("the arms `{}` ({}, {seeds})", arms.join("`, `"), self.what),
        }
    }
}

/// The claims of an experiment, by letter: `rows` say which of them each threshold is about, in the order of `results`; `tried`,
/// by letter, what was tried that is none of the experiment's arms.
#[must_use]
pub fn lettered_claims(
    rows: &[ClaimRow],
    results: &[ThresholdResult],
    tried: &BTreeMap<char, String>,
) -> Vec<LetteredClaim> {
    let mut letters: Vec<char> = rows.iter().flat_map(ClaimRow::parts_of).copied().collect();
    letters.sort_unstable();
    letters.dedup();
    let claim = |letter: char| {
        let of = |variant: Option<&str>| -> Vec<&ThresholdResult> {
            let are = rows.iter().zip(results);
            let are = are.filter(|(row, _)| row.letters.contains(&letter) && row.variant.as_deref() == variant);
            are.map(|(_, result)| result).collect()
        };
        let parts = of(None);
        let mut variants: Vec<&str> = Vec::new();
        for variant in rows.iter().filter(|row| row.letters.contains(&letter)).filter_map(|row| row.variant.as_deref())
        {
            // One that leaves out parts of the claim is not that claim.
            if !variants.contains(&variant) && of(Some(variant)).len() >= parts.len() {
                variants.push(variant);
            }
        }
        let variants = variants.into_iter().map(|what| variant(what, &of(Some(what)), &parts)).collect();
        let label = rows.iter().find(|row| row.parts_of().contains(&letter)).map(|row| row.label.as_str());
        let label = label.and_then(|label| label.split(": `").next()).unwrap_or_default().to_owned();
        let (held_by, seeds) = over_seeds(&parts);
        let tried = tried.get(&letter).cloned();
        LetteredClaim { letter, label, held: holds_with(held_by, seeds), held_by, seeds, variants, tried }
    };
    letters.into_iter().map(claim).collect()
}

fn variant(what: &str, of: &[&ThresholdResult], parts: &[&ThresholdResult]) -> ClaimVariant {
    let known = arms(parts);
    let mut arms = arms(of);
    arms.retain(|arm| !known.contains(arm));
    let (held_by, seeds) = over_seeds(of);
    ClaimVariant { what: what.to_owned(), arms, held: holds_with(held_by, seeds), held_by, seeds }
}

/// Every arm that these name, once.
fn arms(results: &[&ThresholdResult]) -> Vec<String> {
    let mut arms: Vec<String> = Vec::new();
    for threshold in results.iter().filter_map(|result| Threshold::parse(&result.text).ok()) {
        for arm in threshold.arms() {
            if !arms.iter().any(|known| known == arm) {
                arms.push(arm.to_owned());
            }
        }
    }
    arms
}

/// Seeds with which all of these held, and those with which all could be judged.
fn over_seeds(parts: &[&ThresholdResult]) -> (usize, usize) {
    let blocks = parts.iter().map(|result| result.blocks.len()).min().unwrap_or(0);
    let judged = |block: &usize| parts.iter().all(|result| result.blocks[*block].judged);
    let held = |block: &usize| parts.iter().all(|result| result.blocks[*block].held);
    ((0..blocks).filter(judged).filter(held).count(), (0..blocks).filter(judged).count())
}

fn word_over_seeds(held_by: usize, seeds: usize) -> &'static str {
    match seeds {
        0 => "not judged",
        _ if holds_with(held_by, seeds) => "held",
        _ => "FAILED",
    }
}

impl ThresholdResult {
    /// Seeds with which it held, and those with which it could be judged.
    #[must_use]
    pub fn over_seeds(&self) -> (usize, usize) {
        over_seeds(&[self])
    }

    /// Held by the rule of the atlas ([`holds_with`]).
    #[must_use]
    pub fn holds_over_seeds(&self) -> bool {
        let (held_by, seeds) = self.over_seeds();
        holds_with(held_by, seeds)
    }

    /// Outcome over all seeds, in a word.
    #[must_use]
    pub fn word_over_seeds(&self) -> &'static str {
        let (held_by, seeds) = self.over_seeds();
        word_over_seeds(held_by, seeds)
    }

    /// Finding with the first seed: `0.368`, `41.45 s, against 13.96 s`.
    #[must_use]
    pub fn found_first(&self) -> &str {
        self.blocks.first().map_or("no arm ran", |block| bare(&block.found))
    }

    /// The left side from its lowest to its highest value over all seeds: `12 to 15`. Empty if it has none.
    #[must_use]
    pub fn range(&self) -> String {
        let left = |block: &BlockResult| bare(&block.found).split(", against ").next().unwrap_or_default().to_owned();
        let known = self.values.iter().zip(&self.blocks).filter_map(|(value, block)| Some(((*value)?, left(block))));
        let mut known: Vec<(f64, String)> = known.collect();
        known.sort_by(|a, b| a.0.total_cmp(&b.0));
        match (known.first(), known.last()) {
            (Some((_, low)), Some((_, high))) if low != high => format!("{low} to {high}"),
            (Some((_, same)), _) => same.clone(),
            _ => String::new(),
        }
    }
}

fn bare(found: &str) -> &str {
    found.strip_prefix("found ").unwrap_or(found)
}

/// Count of the claims that hold, by paper.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimCount {
    papers: BTreeMap<Paper, PaperCount>,
    thresholds: usize,
    thresholds_held: usize,
    /// Claims of runs that say nothing of them.
    unjudged: usize,
}

/// The claims of a paper.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct PaperCount {
    claims: usize,
    held: usize,
    /// `seda-fig7 b`.
    failed: Vec<String>,
}

impl ClaimCount {
    /// Adds an artefact. One of no paper counts with its thresholds alone.
    pub fn add(
        &mut self,
        artefact: &str,
        paper: Option<Paper>,
        claims: &[LetteredClaim],
        thresholds: &[ThresholdResult],
    ) {
        let judged = |seeds: usize| seeds > 0;
        let (claims, void): (Vec<_>, Vec<_>) = claims.iter().partition(|claim| judged(claim.seeds));
        let thresholds = thresholds.iter().filter(|threshold| judged(threshold.over_seeds().1));
        self.unjudged += paper.map_or(0, |_| void.len());
        self.add_counted(
            artefact,
            paper,
            claims.into_iter().map(|claim| (claim.letter, claim.held)),
            thresholds.map(ThresholdResult::holds_over_seeds),
        );
    }

    /// The same of letters and thresholds of which no more is known than whether they hold.
    pub fn add_counted(
        &mut self,
        artefact: &str,
        paper: Option<Paper>,
        claims: impl IntoIterator<Item = (char, bool)>,
        thresholds: impl IntoIterator<Item = bool>,
    ) {
        for held in thresholds {
            self.thresholds += 1;
            self.thresholds_held += usize::from(held);
        }
        let Some(paper) = paper else { return };
        let count = self.papers.entry(paper).or_default();
        for (letter, held) in claims {
            count.claims += 1;
            if held {
                count.held += 1;
            } else {
                count.failed.push(format!("{artefact} {letter}"));
            }
        }
    }

    /// `66 of 87 claims of the papers held, 2 not judged`.
    #[must_use]
    pub fn claims(&self) -> String {
        let of = |count: fn(&PaperCount) -> usize| self.papers.values().map(count).sum::<usize>();
        let claims = counted(of(|paper| paper.claims), "claim");
        let unjudged = if self.unjudged > 0 { format!(", {} not judged", self.unjudged) } else { String::new() };
        format!("{} of {claims} of the papers held{unjudged}", of(|paper| paper.held))
    }

    /// `329 of 422 thresholds`.
    #[must_use]
    pub fn thresholds(&self) -> String {
        format!("{} of {}", self.thresholds_held, counted(self.thresholds, "threshold"))
    }

    /// A row for each paper of which there is a claim.
    #[must_use]
    pub fn table(&self) -> Table {
        let mut table = Table::new(&["paper", "claims", "held", "not held"], 1..3);
        for (paper, PaperCount { claims, held, failed }) in &self.papers {
            table.row([paper.name().to_owned(), claims.to_string(), held.to_string(), failed.join(", ")]);
        }
        table
    }

    /// All of it, for a terminal.
    #[must_use]
    pub fn to_text(&self) -> String {
        let table = if self.papers.is_empty() { String::new() } else { self.table().to_text() };
        format!("{table}{}; {}\n", self.claims(), self.thresholds())
    }
}

#[cfg(test)]
mod tests;
