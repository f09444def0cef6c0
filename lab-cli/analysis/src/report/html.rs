//! A run as one HTML file: no network, no script, light and dark and on paper.
//!
//! The verdict on the measurement comes first, then what was decided, then figures and tables, then everything that bears on
//! them. Everything that is a text goes through [`maud`], which escapes it, after it was scrubbed of control and direction
//! characters; nothing in the page can load or run anything (`Content-Security-Policy`, with the hash of its one style sheet).
//! Values of figures show where the pointer rests (`title` elements). Labels of figures are made by the style sheet, from
//! attributes, and each figure has a table: a text-only browser, which would run the labels together, shows the table alone.

use base64::Engine as _;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::{RunFiles, identical};
use crate::{
    summary::{GateFinding, Validity},
    text::{scrubbed, table::Table},
};

pub mod atlas;
mod behind;
mod chart;
mod facts;
mod figures;
mod gates;
mod measures;
mod processes;
mod tables;

const STYLE: &str = include_str!("html/style.css");

/// The document.
pub fn document(run: &RunFiles) -> String {
    let title = format!("{}: {}", run.summary.experiment, run.summary.verdict.word());
    let body = html! {
        header {
            h1 { (shown(&run.summary.experiment)) }
            p { (shown(&run.manifest.experiment.about)) }
            p.small { "Run " code { (shown(&run.name)) } ", lab " (shown(&run.manifest.lab)) ", " (mode(run)) "." }
        }
        main {
            (validity(run))
            (tables::comparison(run))
            @for line in identical(&run.summary) { p { (line) } }
            (tables::thresholds(run))
            (figures::curves(run))
            (figures::time_lines(run))
            (tables::phases(run))
            (behind::table(run))
            (processes::table(run))
            (tables::types(run))
            (measures::section(run))
            (tables::ledgers(run))
            (facts::parameters(run))
            (gates::section(run))
            (facts::host(run))
            (facts::limits(run))
        }
    };
    page(&title, &body)
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

/// The verdict on the measurement, and why.
fn validity(run: &RunFiles) -> Markup {
    let summary = &run.summary;
    let meaning = match summary.verdict {
        Validity::Valid => "Nothing speaks against these figures.",
        Validity::Warn => "These figures can be used with the caution named.",
        Validity::Unstable => {
            "The system never settled: percentiles depend on how long the run was. This is a finding."
        }
        Validity::Invalid => "The measurement itself went wrong: no conclusion may be drawn from these figures.",
    };
    html! {
        section id="validity" {
            h2 {
                "Validity: " span.verdict.(summary.verdict.word().to_lowercase()) { (summary.verdict.word()) }
                @if summary.partial { " " span.verdict.warn { "PARTIAL" } }
            }
            p { (meaning) }
            @if let Some(partial) = summary.partial_in_words() { p { strong { (partial) "." } } }
            @if !summary.reasons.is_empty() {
                (whole("What speaks against the figures", &findings(&summary.reasons)))
            }
        }
    }
}

fn findings(reasons: &[GateFinding]) -> Table {
    let mut table = Table::new(&["gate", "verdict", "arm", "found", "limit", "meaning, and what to do"], ..0);
    for GateFinding { code, verdict, arm, value, threshold, message, remedy } in reasons {
        let to_do = format!("{message}. {remedy}.");
        table.row([code, verdict.word(), arm, value, threshold, &to_do].map(str::to_owned));
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
