//! A comparison for a pull request.

use std::fmt::Write as _;

use analysis::{
    judge::compare::words::{chance, in_words},
    report::markdown::escaped,
    summary::deciding,
};

use super::{Verdicts, asides};

/// A sentence that says whether it is decided, a table for each metric, and what a reader should know.
pub(super) fn of(verdicts: &Verdicts) -> String {
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
    text
}

fn headline(verdicts: &Verdicts) -> String {
    let deciding = deciding(verdicts.comparisons.iter().map(|found| &found.comparison));
    let open = deciding.iter().filter(|comparison| comparison.verdict == "inconclusive").count();
    let what = format!("**{} in {}**", verdicts.metric, escaped(&verdicts.phase));
    match (deciding.len(), open) {
        (all, 0) => format!("{what}: decided ({all} of {all})"),
        (all, open) => format!("{what}: not decided ({open} of {all} inconclusive, marked ~)"),
    }
}
