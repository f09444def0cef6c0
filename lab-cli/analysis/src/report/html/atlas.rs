//! The atlas as one page: every artefact with its figure, its claims, what is not as in the paper, and the command that makes it
//! again.

use maud::{Markup, PreEscaped, html};

use super::{head, page, shown};
use crate::{
    figure::DrawnFigure,
    summary::{Mode, ThresholdResult, Validity},
    text::{counted, table::Table},
};

/// What a page of this kind has in its head, by which it is known again.
pub const MARK: &str = "<!-- the atlas of lab reproduce -->";

/// The page.
#[derive(Debug, Default)]
pub struct AtlasPage {
    /// Version of the lab.
    pub lab: String,
    /// Artefacts that were to be run.
    pub planned: usize,
    /// Those that were, in order.
    pub artefacts: Vec<AtlasArtefact>,
}

/// An artefact, as it was run.
#[derive(Debug)]
pub struct AtlasArtefact {
    /// Of the experiment.
    pub name: String,
    /// Ids of the atlas that it stands for.
    pub ids: Vec<String>,
    /// One line.
    pub about: String,
    /// Figure and paper.
    pub source: Option<String>,
    /// Live or in virtual time.
    pub mode: Mode,
    /// What speaks against the figures.
    pub verdict: Validity,
    /// Codes of the gates that say so.
    pub codes: Vec<String>,
    /// Judged.
    pub claims: Vec<ThresholdResult>,
    /// Its picture.
    pub figure: DrawnFigure,
    /// What the file says of its setup: what is as in the paper, and what is not; by paragraph.
    pub setup: Vec<String>,
    /// By policy, what differs from its source.
    pub deviations: Vec<(String, Vec<String>)>,
    /// What makes it again.
    pub commands: Vec<String>,
}

impl AtlasPage {
    /// The document.
    pub fn document(&self) -> String {
        let claims = || self.artefacts.iter().flat_map(|artefact| &artefact.claims);
        let held = claims().filter(|claim| claim.held).count();
        let headline = format!(
            "{held} of {} held, in {}",
            counted(claims().count(), "threshold"),
            counted(self.artefacts.len(), "artefact")
        );
        let missing = self.planned.saturating_sub(self.artefacts.len());
        let body = html! {
            header {
                h1 { "The atlas" }
                p { strong { (headline) "." } @if missing > 0 { " " (missing) " more were not run, or not to their end." } }
                p.small {
                    "Results of papers on overload control as experiments, made by " code { "lab reproduce" } ", lab " (shown(&self.lab))
                    ". Whole lines and bars are measured here; dashed ones are the paper's own."
                }
            }
            main {
                nav aria-label="Contents" { ol.contents { @for artefact in &self.artefacts { li {
                    a href={ "#" (shown(&artefact.name)) } { (shown(&artefact.name)) } ": " (shown(&artefact.about))
                    " (" (held_of(&artefact.claims)) ")"
                } } } }
                @for artefact in &self.artefacts { (section(artefact)) }
            }
        };
        page("The atlas", &body).replacen("<head>", &format!("<head>{MARK}"), 1)
    }
}

fn held_of(claims: &[ThresholdResult]) -> String {
    let held = claims.iter().filter(|claim| claim.held).count();
    format!("{held} of {} held", claims.len())
}

fn section(artefact: &AtlasArtefact) -> Markup {
    let mode = match artefact.mode {
        Mode::Live => "live",
        Mode::Virtual => "in virtual time",
    };
    let codes = artefact.codes.iter().map(|code| shown(code)).collect::<Vec<_>>().join(", ");
    html! {
        section id=(shown(&artefact.name)) {
            h2 { (shown(&artefact.name)) ": " (shown(&artefact.about)) }
            p.small {
                @if let Some(source) = &artefact.source { (shown(source)) ". " }
                @if artefact.ids != [artefact.name.clone()] { "The short form of " (shown(&artefact.ids.join(", "))) ". " }
                "Run " (mode) ", "
                span.verdict.(artefact.verdict.word().to_lowercase()) { (artefact.verdict.word()) }
                @if !codes.is_empty() { " (" (codes) ")" } "."
            }
            figure.drawn { (PreEscaped(artefact.figure.to_inline_svg())) }
            (claims(&artefact.claims))
            @if !artefact.setup.is_empty() || !artefact.deviations.is_empty() {
                details {
                    summary { "Setup, and what is not as in the source" }
                    @for paragraph in &artefact.setup { p { (shown(paragraph)) } }
                    @for (policy, deviations) in &artefact.deviations {
                        h3 { "The policy " code { (shown(policy)) } }
                        ul { @for deviation in deviations { li { (shown(deviation)) } } }
                    }
                }
            }
            pre { (shown_lines(&artefact.commands)) }
        }
    }
}

fn shown_lines(lines: &[String]) -> String {
    lines.iter().map(|line| shown(line)).collect::<Vec<_>>().join("\n")
}

fn claims(claims: &[ThresholdResult]) -> Markup {
    let several = claims.iter().any(|claim| claim.blocks.len() > 1);
    let heads = if several { &["", "claim", "found", "seeds"][..] } else { &["", "claim", "found"] };
    html! {
        div.wide { table {
            caption { (held_of(claims)) }
            (head(&Table::new(heads, ..0)))
            tbody { @for claim in claims { tr {
                @match claim.word() {
                    "held" => { th.held scope="row" { "held" } }
                    "FAILED" => { th.failed scope="row" { "FAILED" } }
                    word => { th scope="row" { (word) } }
                }
                td { code { (shown(&claim.text.split_whitespace().collect::<Vec<_>>().join(" "))) } }
                td { (shown(&claim.why)) }
                @if several { td { (seeds(claim)) } }
            } } }
        } }
    }
}

/// `9 of 10`.
fn seeds(claim: &ThresholdResult) -> String {
    let judged = || claim.blocks.iter().filter(|block| block.judged);
    format!("{} of {}", judged().filter(|block| block.held).count(), judged().count())
}
