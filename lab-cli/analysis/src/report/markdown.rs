//! A run as Markdown, for a pull request: the verdict, then what was decided, then the figures.

use std::fmt::Write as _;

use super::{REFUSALS, RunFiles, identical, percentiles, refusals, replayed};
use crate::{
    judge::compare::words::{chance, in_words},
    summary::Comparison,
    text::{percent, rate, scrubbed, table::Table},
};

/// Turns that are listed; a comment has little room.
const TURNS: usize = 30;

/// The document.
pub fn document(run: &RunFiles) -> String {
    let summary = &run.summary;
    let mut text = String::new();
    let codes: Vec<&str> = summary.codes().into_iter().collect();
    let codes = if codes.is_empty() { String::new() } else { format!(" ({})", codes.join(", ")) };
    let partial = if summary.partial { ", PARTIAL" } else { "" };
    let _ = writeln!(text, "### {}: {}{codes}{partial}\n", escaped(&summary.experiment), summary.verdict.word());
    if !summary.valid {
        text.push_str("No conclusion may be drawn from these figures.\n\n");
    }
    if let Some(partial) = summary.partial_in_words() {
        let _ = writeln!(text, "{partial}.\n");
    }
    for reason in &summary.reasons {
        let place = if reason.arm.is_empty() { String::new() } else { format!(" ({})", reason.arm) };
        let line = format!("{} {}: {}; limit: {}", reason.verdict.word(), reason.code, reason.value, reason.threshold);
        let _ = writeln!(text, "- {}", escaped(&format!("{line}{place}")));
    }
    if !summary.reasons.is_empty() {
        text.push('\n');
    }
    verdicts(run, &mut text);
    for line in identical(summary) {
        let _ = writeln!(text, "{}\n", escaped(&line));
    }
    thresholds(run, &mut text);
    figures(run, &mut text);
    reasons(run, &mut text);
    recording(run, &mut text);
    let _ = writeln!(text, "Run `{}`, lab {}.", code(&run.name), escaped(&run.manifest.lab));
    text
}

fn verdicts(run: &RunFiles, text: &mut String) {
    let verdicts = run.verdicts();
    if verdicts.is_empty() {
        if run.summary.valid && run.summary.arms.len() > 1 {
            text.push_str("One block shows what happened once and decides nothing: no verdicts.\n\n");
        }
        return;
    }
    let mut table = Table::new(&["metric", "phase", "arm", "against", "result", "p", "blocks"], 5..);
    for comparison in verdicts {
        let Comparison { metric, phase, policy, baseline, primary, blocks, .. } = comparison;
        let rank = if *primary { "" } else { " (to look at)" };
        let p = chance(comparison);
        let p = p.trim_start_matches("p ");
        table.row(
            [&format!("{metric}{rank}"), phase, policy, baseline, &in_words(comparison), p, &blocks.to_string()]
                .map(str::to_owned),
        );
    }
    put(&table, text);
    text.push('\n');
}

fn thresholds(run: &RunFiles, text: &mut String) {
    if run.summary.thresholds.is_empty() {
        return;
    }
    text.push_str("| threshold | | found |\n|---|---|---|\n");
    for threshold in &run.summary.thresholds {
        let held = match threshold.word() {
            "FAILED" => "**failed**",
            word => word,
        };
        let _ = writeln!(text, "| `{}` | {held} | {} |", code(&threshold.text), escaped(&threshold.why));
    }
    text.push('\n');
}

fn figures(run: &RunFiles, text: &mut String) {
    let mut table = Table::new(&["arm", "phase", "p50", "p90", "p99", "in time/s", "rejected"], 2..);
    for arm in run.summary.arms.iter().take(TURNS) {
        for phase in &arm.phases {
            let [p50, p90, p99] = percentiles(&phase.measured.response_time_ms);
            let (in_time, rejected) = (rate(phase.measured.goodput_per_s), percent(phase.measured.reject_fraction));
            table.row([run.turn(arm), phase.shown_name(), p50, p90, p99, in_time, rejected]);
        }
    }
    put(&table, text);
    if run.summary.arms.len() > TURNS {
        let _ = writeln!(text, "\n{} more turns are in `summary.json`.", run.summary.arms.len() - TURNS);
    }
    text.push('\n');
}

/// Why requests were refused.
fn reasons(run: &RunFiles, text: &mut String) {
    let mut table = Table::new(&["arm", REFUSALS], 2..);
    for arm in &run.summary.arms {
        if let Some(refusals) = refusals(arm) {
            table.row([run.turn(arm), refusals]);
        }
    }
    table.rows.truncate(TURNS);
    if !table.rows.is_empty() {
        put(&table, text);
        text.push('\n');
    }
}

/// What became of recorded requests.
fn recording(run: &RunFiles, text: &mut String) {
    let mut table = replayed::table(&run.summary, "arm", |arm| run.turn(arm));
    table.rows.truncate(TURNS);
    if !table.rows.is_empty() {
        put(&table, text);
        text.push('\n');
    }
}

/// A table in Markdown, whose cells are texts.
fn put(table: &Table, text: &mut String) {
    let sides = (0..table.heads.len()).map(|column| if table.is_of_numbers(column) { "---:|" } else { "---|" });
    let _ = writeln!(text, "| {} |\n|{}", table.heads.join(" | "), sides.collect::<String>());
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(|cell| escaped(cell)).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
}

/// Text that Markdown shows as it is: no table, link, HTML, emphasis or mention comes of it.
fn escaped(text: &str) -> String {
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
    fn the_verdict_comes_first_and_one_block_decides_nothing() {
        let text = document(&run());
        assert!(text.starts_with("### flash-crowd: WARN (STEAL)\n"), "{text}");
        assert!(text.contains("decides nothing") && !text.contains("x2.50"));
        assert!(text.contains("| `seda.spike.response_time.p90 < 2s` | held |"));
        assert!(text.contains("| **failed** |"));
        let mut seven = run();
        for comparison in &mut seven.summary.comparisons {
            comparison.blocks = 7;
        }
        assert!(
            document(&seven).contains("| goodput\\_per\\_s | spike | seda | none | \\~ x2.50 |"),
            "{}",
            document(&seven)
        );
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
            let table = text.lines().filter(|line| line.starts_with("| ") && !line.contains("threshold"));
            assert!(table.map(columns).all(|n| n == 8 || n == 4), "{name}: {text}");
        }
    }
}
