//! A comparison for a pull request.

use std::fmt::Write as _;

use analysis::{
    judge::compare::sentence,
    report::markdown::{escaped, put, recommendation},
};

use super::verdicts::{Verdicts, asides};

/// A sentence for each comparison that decides, a table for each contest, and what a reader should know.
pub(super) fn document(verdicts: &Verdicts) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}", headline(verdicts));
    for (title, table) in verdicts.contests() {
        let _ = writeln!(text, "\n{}\n", escaped(&title));
        put(&table, &mut text);
    }
    let _ = writeln!(text, "\n{}", escaped(&verdicts.words().join(". ")));
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
