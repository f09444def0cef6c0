//! The lettered claims of an artefact, and the thresholds that stand for each.
//!
//! A comment in front of a threshold says what it is about. If it begins with a letter (`a:`, `Claim b, as published:`, `a (and
//! c):`), the threshold is a part of that claim of the paper; if other words follow the letter (`b, with small steps:`), of the same
//! claim with something that is not as in the paper. All others are what we added. [`analysis::judge::claims`] judges them.

use std::collections::BTreeMap;

use analysis::{
    judge::claims::{ClaimRow, LetteredClaim},
    summary::ThresholdResult,
};

/// Words after a letter with which a claim is still the paper's own.
const AS_THE_PAPER: [&str; 3] = ["", "as published", "the paper's controller"];
/// Words by which a threshold says that it is no claim.
const NO_CLAIM: &str = "cannot fail";

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
        match head(&said) {
            Some((letters, variant)) => {
                let variant = Some(variant).filter(|variant| !AS_THE_PAPER.contains(variant)).map(str::to_owned);
                ClaimRow { letters, variant, label }
            }
            None => ClaimRow { label, ..ClaimRow::default() },
        }
    };
    thresholds.iter().enumerate().map(row).collect()
}

/// The claims of an experiment file, from the results of its thresholds; `tried`: what it says was tried besides.
#[must_use]
pub fn lettered_claims(file: &str, tried: &BTreeMap<char, String>, results: &[ThresholdResult]) -> Vec<LetteredClaim> {
    let thresholds: Vec<String> = results.iter().map(|result| result.text.clone()).collect();
    analysis::judge::claims::lettered_claims(&claim_rows(file, &thresholds), results, tried)
}

/// Of `a, as coded: …` the letter and `as coded`; of `a (and c): …` both letters and nothing. `None` of `b (ours…)`, and of what
/// cannot fail.
fn head(said: &str) -> Option<(Vec<char>, &str)> {
    let head = said.split(':').next()?;
    let (head, variant) = head.split_once(", ").unwrap_or((head, ""));
    let words = head.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty() && *word != "and");
    let one = |word: &str| {
        let mut letters = word.chars();
        letters.next().filter(|letter| letter.is_ascii_lowercase() && letters.next().is_none())
    };
    let letters: Vec<char> = words.map(one).collect::<Option<_>>()?;
    (!letters.is_empty() && !variant.contains(NO_CLAIM)).then_some((letters, variant))
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
  # c, which cannot fail: less.
  - u > 2
  # c, by halves (ours)
  - t > 2
declares: []
";

    #[test]
    fn a_row_is_a_part_of_a_claim_or_of_a_variant_of_it_or_of_none() {
        let texts = ["x > 1", "y > 1", "z > 2", "w > 2", "v > 2", "u > 2", "t > 2"].map(str::to_owned);
        let rows = claim_rows(FILE, &texts);
        let letters: Vec<String> = rows.iter().map(|row| row.letters.iter().collect()).collect();
        assert_eq!(letters, ["a", "a", "bc", "bc", "", "", "c"]);
        let variants: Vec<Option<&str>> = rows.iter().map(|row| row.variant.as_deref()).collect();
        assert_eq!(variants, [None, Some("as coded"), None, None, None, None, Some("by halves (ours)")]);
        assert_eq!(rows[0].label, "a, as published: rates are cut, quickly");
        assert_eq!(rows[2].label, "b (and c): both: `z > 2`");
    }
}
