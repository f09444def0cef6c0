//! The lettered claims of an artefact, and the thresholds that stand for each.
//!
//! A comment in front of a threshold says what it is about. If it begins with a letter (`a:`, `Claim b, as published:`, `a (and
//! c):`), the threshold is a part of that claim of the paper, which holds with a seed if all of its parts do. All other
//! thresholds are rows beneath: the controllers as coded, what we varied, what we added.

use analysis::summary::ThresholdResult;

/// Words after a letter with which a claim is still the paper's own.
const AS_THE_PAPER: [&str; 3] = ["", "as published", "the paper's controller"];

/// Papers by what the source of an experiment says.
const PAPERS: [(&str, &str); 5] = [
    ("USITS'03", "SEDA (USITS'03)"),
    ("EW'02", "SEDA (EW'02)"),
    ("Site Reliability Engineering", "Google SRE, chapter 21"),
    ("WWW'05", "Cataclysm (WWW'05)"),
    ("WebQ", "WebQ"),
];

/// The papers, in the order of tables.
pub fn papers() -> impl Iterator<Item = &'static str> {
    PAPERS.into_iter().map(|(_, name)| name)
}

/// The paper whose claims an experiment has, by its source; `None` if setup, loads or claims are ours.
#[must_use]
pub fn paper_of(source: &str) -> Option<&'static str> {
    let known = PAPERS.into_iter().find(|(word, _)| source.contains(word)).map(|(_, name)| name);
    known.filter(|_| !source.ends_with(" ours"))
}

/// A threshold as a row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRow {
    /// The claims that it is a part of; none: a row beneath.
    pub letters: Vec<char>,
    /// What the comment says; where several thresholds share a comment, with the threshold itself.
    pub label: String,
}

/// A claim of a paper, over the seeds of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LetteredClaim {
    /// Its letter.
    pub letter: char,
    /// What it says.
    pub label: String,
    /// Seeds with which all of its parts held.
    pub held_by: usize,
    /// Seeds that were run.
    pub seeds: usize,
}

impl LetteredClaim {
    /// With at least nine of ten seeds.
    #[must_use]
    pub fn holds(&self) -> bool {
        holds_with(self.held_by, self.seeds)
    }
}

/// The rule of the atlas: what holds with at least nine of ten seeds is held.
#[must_use]
pub fn holds_with(held_by: usize, seeds: usize) -> bool {
    seeds > 0 && held_by * 10 >= seeds * 9
}

/// The rows of an experiment file, in the order of its thresholds.
#[must_use]
pub fn claim_rows(file: &str, thresholds: &[String]) -> Vec<ClaimRow> {
    let comments = comments(file);
    let row = |(n, threshold): (usize, &String)| {
        let comment = comments.get(n).map(String::as_str).unwrap_or_default();
        let said = comment.strip_prefix("Claim ").unwrap_or(comment).trim_end_matches('.').to_owned();
        let threshold: Vec<&str> = threshold.split_whitespace().collect();
        let label = match comments.iter().filter(|other| *other == comment).count() {
            _ if comment.is_empty() => format!("`{}`", threshold.join(" ")),
            1 => said.clone(),
            _ => format!("{said}: `{}`", threshold.join(" ")),
        };
        ClaimRow { letters: letters(&said), label }
    };
    thresholds.iter().enumerate().map(row).collect()
}

/// The claims of an experiment file, from the results of its thresholds.
#[must_use]
pub fn lettered_claims(file: &str, results: &[ThresholdResult]) -> Vec<LetteredClaim> {
    let thresholds: Vec<String> = results.iter().map(|result| result.text.clone()).collect();
    let rows = claim_rows(file, &thresholds);
    let mut letters: Vec<char> = rows.iter().flat_map(|row| row.letters.iter().copied()).collect();
    letters.sort_unstable();
    letters.dedup();
    let claim = |letter: char| {
        let parts = || rows.iter().zip(results).filter(move |(row, _)| row.letters.contains(&letter));
        let seeds = parts().map(|(_, result)| result.blocks.len()).min().unwrap_or(0);
        let holds = |seed: &usize| parts().all(|(_, result)| result.blocks[*seed].held);
        let label = parts().next().map(|(row, _)| row.label.split(": `").next().unwrap_or_default().to_owned());
        LetteredClaim { letter, label: label.unwrap_or_default(), held_by: (0..seeds).filter(holds).count(), seeds }
    };
    letters.into_iter().map(claim).collect()
}

/// `a`; `a, as published`; `a (and c)`. Of `a, as coded` and of `b (ours…)` nothing.
fn letters(said: &str) -> Vec<char> {
    let Some((head, _)) = said.split_once(':') else { return Vec::new() };
    let (head, variant) = head.split_once(", ").unwrap_or((head, ""));
    let mut words = head.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let one = |word: &str| {
        let mut letters = word.chars();
        letters.next().filter(|letter| letter.is_ascii_lowercase() && letters.next().is_none())
    };
    let first = words.next().and_then(one);
    let others: Option<Vec<char>> = words.filter(|word| *word != "and").map(one).collect();
    match (first, others) {
        (Some(first), Some(others)) if AS_THE_PAPER.contains(&variant) => [vec![first], others].concat(),
        _ => Vec::new(),
    }
}

/// The comment of each threshold: the one before it, or before the first of several.
fn comments(file: &str) -> Vec<String> {
    let lines = file.lines().skip_while(|line| !line.starts_with("thresholds:")).skip(1);
    let (mut comment, mut fresh, mut comments) = (String::new(), true, Vec::new());
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
    comments
}

#[cfg(test)]
mod tests {
    use analysis::summary::BlockResult;

    use super::*;

    const FILE: &str = "arms: [none]
thresholds:
  # Claim a, as published: rates are cut,
  # quickly.
  - x > 1
  # Claim a, as coded: the same.
  - y > 1
  # b (and c): both.
  - z >
    2
  - w > 2
  # b (ours: no paper says so): more.
  - v > 2
declares: []
";

    fn result(text: &str, held: &[bool]) -> ThresholdResult {
        let block = |(n, held): (usize, &bool)| BlockResult {
            block: n as u32 + 1,
            held: *held,
            judged: true,
            found: String::new(),
        };
        let blocks = held.iter().enumerate().map(block).collect();
        ThresholdResult {
            text: text.to_owned(),
            held: false,
            judged: true,
            why: String::new(),
            values: Vec::new(),
            blocks,
            aborted: None,
        }
    }

    #[test]
    fn a_row_is_a_part_of_the_papers_claim_or_stands_beneath() {
        let texts = ["x > 1", "y > 1", "z > 2", "w > 2", "v > 2"].map(str::to_owned);
        let rows = claim_rows(FILE, &texts);
        let letters: Vec<String> = rows.iter().map(|row| row.letters.iter().collect()).collect();
        assert_eq!(letters, ["a", "", "bc", "bc", ""]);
        assert_eq!(rows[0].label, "a, as published: rates are cut, quickly");
        assert_eq!(rows[2].label, "b (and c): both: `z > 2`");
    }

    #[test]
    fn a_claim_holds_with_a_seed_if_all_of_its_parts_do_and_with_nine_of_ten_in_all() {
        let (nine, ten) = ([&[false][..], &[true; 9]].concat(), [true; 10]);
        let other_nine = [&[true; 9][..], &[false]].concat();
        let results = [
            result("x > 1", &nine),
            result("y > 1", &[false; 10]),
            result("z > 2", &nine),
            result("w > 2", &other_nine),
            result("v > 2", &ten),
        ];
        let claims = lettered_claims(FILE, &results);
        let of: Vec<(char, usize, bool)> =
            claims.iter().map(|claim| (claim.letter, claim.held_by, claim.holds())).collect();
        assert_eq!(of, [('a', 9, true), ('b', 8, false), ('c', 8, false)]);
        assert_eq!(claims[1].label, "b (and c): both");
    }
}
