//! A run as Markdown, for a pull request: the answer, then what speaks against it, then what was asked; all figures are folded.

use std::fmt::Write as _;

use super::{
    RunFiles,
    cautions::cautions,
    columns::{REFUSALS, figures_but, refusals},
    comparison, identical, replayed,
};
use crate::{
    answer::{no_conclusion, table},
    recommend::{self, Recommendation},
    text::{scrubbed, table::Table},
};

/// Runs of arms that are listed; a comment has little room.
const TURNS: usize = 30;

/// The document.
pub fn document(run: &RunFiles) -> String {
    let summary = &run.summary;
    let mut text = String::new();
    let codes: Vec<&str> = summary.codes().into_iter().collect();
    let codes = if codes.is_empty() { String::new() } else { format!(" ({})", escaped(&codes.join(", "))) };
    let partial = if summary.partial { ", PARTIAL" } else { "" };
    let _ = writeln!(text, "### {}: {}{codes}{partial}\n", escaped(&summary.experiment), summary.verdict.word());
    answer(run, &mut text);
    if let Some(partial) = summary.partial_in_words() {
        let _ = writeln!(text, "{}.\n", escaped(&partial));
    }
    if let Some(decision) = &summary.decision {
        let _ = writeln!(text, "- Stopping rule: {}", escaped(&decision.in_words()));
        for open in decision.open_points() {
            let _ = writeln!(text, "- {}", escaped(&open));
        }
        text.push('\n');
    }
    let cautions = cautions(summary);
    for caution in &cautions {
        let _ = writeln!(text, "- {}", escaped(&caution.line()));
    }
    if !cautions.is_empty() {
        text.push('\n');
    }
    for line in identical(summary) {
        let _ = writeln!(text, "{}\n", escaped(&line));
    }
    thresholds(run, &mut text);
    let all: [(&str, TableOf); 4] = [
        ("Comparisons with the baseline", |run| comparison::rows(&run.verdicts())),
        ("Every run of every arm, by phase", figures),
        ("Why requests were refused", reasons),
        ("What became of recorded requests", recording),
    ];
    for (title, table) in all {
        folded(title, &table(run), &mut text);
    }
    let _ = writeln!(text, "Run `{}`, lab {}.", code(&run.name), escaped(&run.manifest.lab));
    text
}

/// A table of a run.
type TableOf = fn(&RunFiles) -> Table;

/// The order of the arms, one sentence an arm, and one table.
fn answer(run: &RunFiles, text: &mut String) {
    let found = run.answer();
    if !run.summary.valid {
        let _ = writeln!(text, "{}\n", no_conclusion(&run.summary));
    }
    if let Some(order) = &found.order {
        let _ = writeln!(text, "{}\n", escaped(order));
    }
    let said: Vec<&String> = found.arms.iter().filter_map(|arm| arm.sentence.as_ref()).collect();
    for sentence in &said {
        let _ = writeln!(text, "- {}", escaped(sentence));
    }
    if !said.is_empty() {
        text.push('\n');
    }
    let figures = table::table(&found);
    if !figures.rows.is_empty() {
        put(&figures, text);
        let _ = writeln!(text, "\n{}.\n", escaped(&table::caption(&found, &run.summary).join("; ")));
    }
    if let Some(recommended) = recommend::recommendation(&run.summary) {
        let _ = writeln!(text, "{}", recommendation(&recommended));
    }
}

/// The arm to deploy, as a list.
pub fn recommendation(recommended: &Recommendation) -> String {
    let lines: String = recommended.lines().iter().map(|line| format!("- {}\n", escaped(line))).collect();
    format!("Recommendation\n\n{lines}")
}

/// A table behind a fold; nothing if it is empty.
fn folded(title: &str, table: &Table, text: &mut String) {
    if table.rows.is_empty() {
        return;
    }
    let _ = writeln!(text, "<details><summary>{title}</summary>\n");
    put(table, text);
    text.push_str("\n</details>\n\n");
}

fn thresholds(run: &RunFiles, text: &mut String) {
    if run.summary.thresholds.is_empty() {
        return;
    }
    text.push_str("| threshold | | found |\n|---|---|---|\n");
    for threshold in &run.summary.thresholds {
        let outcome = match threshold.outcome() {
            "FAILED" => "**failed**",
            word => word,
        };
        let _ = writeln!(text, "| `{}` | {outcome} | {} |", code(&threshold.text), escaped(&threshold.why));
    }
    text.push('\n');
}

fn figures(run: &RunFiles) -> Table {
    let columns = figures_but(&["mean", "offered/s", "late", "timed out", "conn. errors", "failed"], &run.summary);
    let heads = ["arm", "phase"].into_iter().chain(columns.iter().map(|(head, _)| *head));
    let mut table = Table::new(&heads.collect::<Vec<_>>(), 2..);
    for arm in run.summary.arms.iter().take(TURNS) {
        for phase in &arm.phases {
            let cells = columns.iter().map(|(_, cell)| cell(&phase.measured));
            table.row([run.turn(arm), phase.shown_name()].into_iter().chain(cells).collect::<Vec<_>>());
        }
    }
    if run.summary.arms.len() > TURNS {
        let mut row = vec![format!("{} more: summary.json", run.summary.arms.len() - TURNS)];
        row.resize(table.heads.len(), String::new());
        table.row(row);
    }
    table
}

/// Table of the reasons of refusals.
fn reasons(run: &RunFiles) -> Table {
    let mut table = Table::new(&["arm", REFUSALS], 2..);
    for arm in &run.summary.arms {
        if let Some(refusals) = refusals(arm) {
            table.row([run.turn(arm), refusals]);
        }
    }
    table.rows.truncate(TURNS);
    table
}

/// Table of the fates of recorded requests.
fn recording(run: &RunFiles) -> Table {
    let mut table = replayed::table(&run.summary, "arm", |arm| run.turn(arm));
    table.rows.truncate(TURNS);
    table
}

/// A table in Markdown, whose cells are texts.
pub fn put(table: &Table, text: &mut String) {
    let sides = (0..table.heads.len()).map(|column| if table.is_of_numbers(column) { "---:|" } else { "---|" });
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
        format!("| {} |", cells.join(" | "))
    };
    let _ = writeln!(text, "{}\n|{}", row(&table.heads), sides.collect::<String>());
    for cells in &table.rows {
        let _ = writeln!(text, "{}", row(cells));
    }
}

/// Text that Markdown shows as it is: no table, link, HTML, emphasis or mention comes of it.
pub fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in scrubbed(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' => out.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '(' | ')' | '#' | '|' | '~' | '!' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    // Addresses are made into links without any mark.
    out.replace("://", ":&#47;&#47;").replace("www.", "www&#46;")
}

/// Text between backticks, in a table.
fn code(text: &str) -> String {
    scrubbed(text).replace('`', "'").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::whole::sample::{hostile, run};

    #[test]
    fn the_answer_comes_first_then_cautions_and_the_rest_is_folded() {
        let text = document(&run());
        assert!(text.starts_with("### flash-crowd: WARN (STEAL)\n"), "{text}");
        let order =
            ["- seda: 5.0/s of 6.6/s offered", "| seda | spike | 5.0 |", "- WARN STEAL", "| threshold |", "<details>"];
        let at = |text: &str, part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
        assert!(order.windows(2).all(|pair| at(&text, pair[0]) < at(&text, pair[1])), "{text}");
        assert!(!text.contains("Comparisons with"), "one block");
        assert!(text.contains("| `seda.spike.response_time.p90 < 2s` | passed |"));
        assert!(text.contains("| **failed** |"));
        let mut seven = run();
        for comparison in &mut seven.summary.comparisons {
            comparison.blocks = 7;
        }
        let text = document(&seven);
        assert!(text.contains("| goodput | spike | seda | none | \\~ x2.50 |"), "{text}");
    }

    #[test]
    fn reasons_of_refusals_have_their_names() {
        let mut run = run();
        let server = run.summary.arms[0].server.get_or_insert_default();
        server.refused = [("over-learnt-rate".to_owned(), 7)].into();
        let text = document(&run);
        assert!(text.contains("| 7 over-learnt-rate |"), "{text}");
    }

    #[test]
    fn names_stay_names() {
        for name in
            ["<img src=x onerror=alert(1)>", "a|b", "[x](http://evil)", "@everyone", "`x` **y**", "www.evil.example"]
        {
            let text = document(&hostile(name));
            let outside: String = text.split('`').step_by(2).collect();
            assert!(
                !outside.contains('@') && !outside.contains("http://") && !outside.contains("www."),
                "{name}: {text}"
            );
            assert!(!outside.contains("<img") && !outside.contains("](http") && !outside.contains("| **y**"), "{text}");
            let columns = |line: &str| line.replace("\\|", "").matches('|').count();
            // Lines that follow each other are a table, with as many columns in each.
            let lines: Vec<&str> = text.lines().collect();
            let in_table = |line: &str| line.starts_with('|');
            let same = |pair: &[&str]| !pair.iter().all(|line| in_table(line)) || columns(pair[0]) == columns(pair[1]);
            assert!(lines.iter().any(|line| in_table(line)) && lines.windows(2).all(same), "{name}: {text}");
        }
    }
}
