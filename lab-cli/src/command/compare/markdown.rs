//! A comparison for a pull request.

use std::fmt::Write as _;

use analysis::{
    judge::compare::{
        sentence,
        words::{chance, in_words},
    },
    report::markdown::{escaped, recommendation},
};

use super::verdicts::{Verdicts, asides};

/// A sentence for each comparison that decides, a table for each metric, and what a reader should know.
pub(super) fn document(verdicts: &Verdicts) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}", headline(verdicts));
    for (title, found) in verdicts.tables() {
        let _ = writeln!(text, "\n| {} | effect | p | how |\n|---|---|---|---|", escaped(&title));
        for found in found {
            let comparison = &found.comparison;
            let p = if comparison.blocks > 1 { chance(comparison) } else { String::new() };
            let p = p.strip_prefix("p ").unwrap_or(&p);
            let (policy, effect, how) = (&comparison.policy, in_words(comparison), found.how());
            let _ = writeln!(text, "| {} | {} | {p} | {} |", escaped(policy), escaped(&effect), escaped(&how));
        }
    }
    let asides = asides(&verdicts.left_out, &verdicts.notes);
    if !asides.is_empty() {
        text.push('\n');
        asides.iter().for_each(|aside| text.push_str(&format!("- {}\n", escaped(aside))));
    }
    if let Some(recommended) = &verdicts.recommendation {
        let _ = write!(text, "\n{}", recommendation(recommended));
    }
    text
}

fn headline(verdicts: &Verdicts) -> String {
    let lines: Vec<String> =
        verdicts.deciding().into_iter().map(|found| format!("**{}**", escaped(&sentence(found)))).collect();
    lines.join("  \n")
}
