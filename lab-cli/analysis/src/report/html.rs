//! A run as one HTML file: no network, no script, light and dark and on paper.
//!
//! The answer comes first, then what speaks against it, what was asked and decided, and pictures; tables of everything, and what
//! bears on them, are folded. Everything that is a text goes through [`maud`], which escapes it, after it was scrubbed of control and direction
//! characters; nothing in the page can load or run anything (`Content-Security-Policy`, with the hash of its one style sheet).
//! Values of figures show where the pointer rests (`title` elements). Labels of figures are made by the style sheet, from
//! attributes, and figures have a table: a text-only browser, which would run the labels together, shows the table alone.

use base64::Engine as _;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::{RunFiles, cautions::cautions, identical};
use crate::{
    summary::{GateFinding, Validity},
    text::{scrubbed, table::Table},
};

mod answer;
pub mod atlas;
mod behind;
mod chart;
mod facts;
mod gates;
mod ink;
mod measures;
mod pictures;
mod processes;
mod space;
mod tables;

const STYLE: &str = include_str!("html/style.css");

/// The document.
pub fn document(run: &RunFiles) -> String {
    let title = format!("{}: {}", run.summary.experiment, run.summary.verdict.word());
    let body = html! {
        header {
            h1 { (shown(&run.summary.experiment)) " " (badge(run)) }
            p { (shown(&run.manifest.experiment.about)) }
            p.small { "Run " code { (shown(&run.name)) } ", lab " (shown(&run.manifest.lab)) ", " (mode(run)) "." }
        }
        main {
            (answer::section(run))
            (validity(run))
            @for line in identical(&run.summary) { p { (line) } }
            (tables::thresholds(run))
            (tables::comparison(run))
            (pictures::sections(run))
            (details(run))
        }
    };
    page(&title, &body)
}

/// The verdict on the measurement.
fn badge(run: &RunFiles) -> Markup {
    let word = run.summary.verdict.word();
    html! {
        span.badge.(word.to_lowercase()) { (word) }
        @if run.summary.partial { " " span.badge.warn { "PARTIAL" } }
    }
}

/// Tables of everything, and what bears on them, each folded; nothing for what the run does not have.
fn details(run: &RunFiles) -> Markup {
    let all: [(&str, &str, Markup); 10] = [
        ("phases", "Every run of every arm, by phase", tables::phases(run)),
        ("behind", "Behind the recording", behind::tables(run)),
        ("processes", "Service and proxy", processes::table(run)),
        ("types", "Request types and classes", tables::types(run)),
        ("measures", "Retries, waste, fairness, recovery", measures::section(run)),
        ("ledgers", "Ledgers", tables::ledgers(run)),
        ("parameters", "Parameters", facts::parameters(run)),
        ("gates", "Gates", gates::section(run)),
        ("host", "Machine and order", facts::host(run)),
        ("limits", "Limits of what was measured", facts::limits(run)),
    ];
    html! {
        section {
            h2 { "Details" }
            @for (id, title, content) in all {
                @if !content.0.is_empty() { details.part id=(id) { summary { (title) } (content) } }
            }
        }
    }
}

/// A page with this body, which can load and run nothing.
fn page(title: &str, body: &Markup) -> String {
    let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(STYLE));
    let policy = format!("default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'");
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (shown(title)) }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    };
    page.into_string()
}

fn mode(run: &RunFiles) -> &'static str {
    match run.summary.mode {
        crate::summary::Mode::Live => "live",
        crate::summary::Mode::Virtual => "in virtual time",
    }
}

/// What speaks against the figures: a line a gate, the findings behind it.
fn validity(run: &RunFiles) -> Markup {
    let summary = &run.summary;
    let meaning = match summary.verdict {
        Validity::Valid => "All checks of the measurement passed.",
        Validity::Warn => "The results can be used with these cautions.",
        Validity::Unstable => {
            "The service never reached a steady state: percentiles depend on how long the run was. This is a finding about the service."
        }
        Validity::Invalid => "The measurement went wrong: no conclusion may be drawn from these results.",
    };
    html! {
        section id="validity" {
            h2 { "Can it be believed?" }
            p { span.verdict.(summary.verdict.word().to_lowercase()) { (summary.verdict.word()) } ": " (meaning) }
            @if let Some(partial) = summary.partial_in_words() { p { strong { (partial) "." } } }
            @for caution in cautions(summary) {
                details.caution {
                    summary {
                        span.verdict.(caution.verdict.word().to_lowercase()) { (caution.code) }
                        @let count = caution.count();
                        @if !count.is_empty() { " (" (count) ")" }
                        ": " (caution.meaning())
                    }
                    @for remedy in caution.remedies() { p { "Way out: " (shown(remedy)) "." } }
                    (wide("All findings of this gate", &findings(&caution.findings)))
                }
            }
        }
    }
}

fn findings(reasons: &[&GateFinding]) -> Table {
    let mut table = Table::new(&["arm", "found", "limit"], ..0);
    for GateFinding { arm, value, threshold, .. } in reasons {
        table.row([arm, value, threshold].map(ToOwned::to_owned));
    }
    table
}

/// A table that may be wider than the page.
fn wide(caption: &str, table: &Table) -> Markup {
    html! { div.wide { (whole(caption, table)) } }
}

fn whole(caption: &str, table: &Table) -> Markup {
    html! {
        table {
            caption { (shown(caption)) }
            (head(table))
            tbody { @for row in &table.rows { tr { @for (column, cell) in row.iter().enumerate() {
                @if column == 0 { th scope="row" { (shown(cell)) } }
                @else if table.is_of_numbers(column) { td.n { (shown(cell)) } }
                @else { td { (shown(cell)) } }
            } } } }
        }
    }
}

/// What the columns of a table are of.
fn head(table: &Table) -> Markup {
    html! {
        thead { tr { @for (column, head) in table.heads.iter().enumerate() {
            @if table.is_of_numbers(column) { th.n scope="col" { (shown(head)) } } @else { th scope="col" { (shown(head)) } }
        } } }
    }
}

/// A text that may have come from anywhere.
fn shown(text: &str) -> String {
    scrubbed(text)
}

#[cfg(test)]
mod tests;
