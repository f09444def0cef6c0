//! A run as one HTML file: no network, no script, light and dark and on paper.
//!
//! The answer comes first, then what speaks against it, what was asked and decided, and pictures; tables of everything, and what
//! bears on them, are folded. Everything that is a text goes through [`maud`], which escapes it, after it was scrubbed of control and direction
//! characters; nothing in the page can load or run anything (`Content-Security-Policy`, with the hash of its one style sheet).
//! Values of figures show where the pointer rests (`title` elements). Labels of figures are made by the style sheet, from
//! attributes, and figures have a table: a text-only browser, which would run the labels together, shows the table alone.

use maud::{Markup, html};

use super::{RunFiles, cautions::cautions, identical};
use crate::{
    summary::{GateFinding, Validity},
    text::table::Table,
};

mod answer;
pub mod atlas;
mod facts;
mod figures;
mod gates;
mod markup;
mod measures;
mod page;
mod pictures;
pub mod suite;
mod tables;

use markup::{shown, wide};
use page::page;
pub use pictures::{chart_over_load, chart_over_time};

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
    let all: [(&str, &str, Markup); 11] = [
        ("phases", "Every run of every arm, by phase", tables::phases(run)),
        ("behind", "Behind the recording", tables::replayed(run)),
        ("processes", "Service and proxy", tables::processes(run)),
        ("parts", "Parts of the users", tables::parts(run)),
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

fn mode(run: &RunFiles) -> &'static str {
    match run.summary.mode {
        crate::summary::Mode::Live => "live",
        crate::summary::Mode::Virtual => "in virtual time",
    }
}

/// Cautions against the figures: a line a gate, the findings behind it.
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

#[cfg(test)]
mod tests;
