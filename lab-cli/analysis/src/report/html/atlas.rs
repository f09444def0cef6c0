//! The atlas as one page: every artefact with its figure, its claims, what is not as in the paper, and the command that makes it
//! again.

use maud::{Markup, html};

use super::{
    markup::{head, shown, wide},
    page::page,
};
use crate::{
    chart::{Chart, Size},
    figure::merit::Merit,
    judge::claims::{ClaimCount, ClaimRow, LetteredClaim, Paper},
    summary::{Mode, ThresholdResult, Validity},
    text::{counted, table::Table},
};

/// Comment in the head of such a page, by which it is known again.
pub const MARK: &str = "<!-- the atlas of lab reproduce -->";

/// The page.
#[derive(Debug, Default)]
pub struct AtlasPage {
    /// Version of the lab.
    pub lab: String,
    /// Artefacts that were to be run.
    pub planned: usize,
    /// Artefacts that were run, in order.
    pub artefacts: Vec<AtlasArtefact>,
}

/// An artefact, as it was run.
#[derive(Debug)]
pub struct AtlasArtefact {
    /// Name of the experiment.
    pub name: String,
    /// Ids of the atlas that it stands for.
    pub ids: Vec<String>,
    /// One line.
    pub about: String,
    /// Figure and paper.
    pub source: Option<String>,
    /// Paper whose claims the letters are.
    pub paper: Option<Paper>,
    /// Live or in virtual time.
    pub mode: Mode,
    /// Verdict on the figures.
    pub verdict: Validity,
    /// Codes of the gates that say so.
    pub codes: Vec<String>,
    /// Thresholds of the artefact, judged.
    pub thresholds: Vec<ThresholdResult>,
    /// Claim of each threshold.
    pub rows: Vec<ClaimRow>,
    /// The claims that they are parts of.
    pub claims: Vec<LetteredClaim>,
    /// Figure of the artefact.
    pub figure: Chart,
    /// Setup in the file: what is as in the paper, and what is not; by paragraph.
    pub setup: Vec<String>,
    /// Deviations from their source, by policy.
    pub deviations: Vec<(String, Vec<String>)>,
    /// Commands that make it again.
    pub commands: Vec<String>,
}

impl AtlasPage {
    /// The document.
    pub fn document(&self) -> String {
        let mut tally = ClaimCount::default();
        for AtlasArtefact { name, paper, claims, thresholds, .. } in &self.artefacts {
            tally.add(name, *paper, claims, thresholds);
        }
        let missing = self.planned.saturating_sub(self.artefacts.len());
        let body = html! {
            header {
                h1 { "The atlas" }
                p {
                    strong { (tally.claims()) ", in " (counted(self.artefacts.len(), "artefact")) "." }
                    @if missing > 0 { " Not run, or not to their end: " (missing) " more." }
                    " " (self.rule())
                }
                div.tally { (wide("Claims by paper", &tally.table())) }
                p.small {
                    "Results of papers on overload control as experiments, made by " code { "lab reproduce" } ", lab " (shown(&self.lab))
                    ". A claim is held with a seed if all thresholds that are its parts hold; " (tally.thresholds())
                    " hold, of claims and of what was varied or added. Claims of artefacts with setups of our own count for no paper. "
                    "In figures, whole lines and bars are measured here; dashed ones are the paper's own."
                }
            }
            main {
                nav aria-label="Contents" { ol.contents { @for artefact in &self.artefacts { li {
                    a href={ "#" (shown(&artefact.name)) } { (shown(&artefact.name)) } ": " (shown(&artefact.about))
                    " (" (letters(&artefact.claims)) ")"
                } } } }
                @for artefact in &self.artefacts { (section(artefact)) }
            }
        };
        page("The atlas", &body).replacen("<head>", &format!("<head>{MARK}"), 1)
    }

    /// Meaning of "held" on this page.
    fn rule(&self) -> String {
        let most = self.artefacts.iter().map(AtlasArtefact::seeds).max().unwrap_or(0);
        if most <= 1 {
            return "This is one seed: a claim that holds with it may fail with another. The atlas counts over ten (--repeat 10).".to_owned();
        }
        format!("Up to {most} seeds were run; a claim is held if it holds with at least nine of ten.")
    }
}

impl AtlasArtefact {
    /// Seeds that were run.
    fn seeds(&self) -> usize {
        self.thresholds.iter().map(|threshold| threshold.blocks.len()).max().unwrap_or(0)
    }
}

/// `a, c held; b not; d not judged`.
fn letters(claims: &[LetteredClaim]) -> String {
    let named = |word: &str| -> Vec<String> {
        claims.iter().filter(|claim| claim.word() == word).map(|claim| claim.letter.to_string()).collect()
    };
    let judged = match (&named("held")[..], &named("FAILED")[..]) {
        ([], []) if claims.is_empty() => "no claim".to_owned(),
        ([], []) => String::new(),
        (held, []) => format!("{} held", held.join(", ")),
        ([], failed) => format!("{} not held", failed.join(", ")),
        (held, failed) => format!("{} held; {} not", held.join(", "), failed.join(", ")),
    };
    let void = named("not judged");
    match (judged.as_str(), &void[..]) {
        (_, []) => judged,
        ("", void) => format!("{} not judged", void.join(", ")),
        (judged, void) => format!("{judged}; {} not judged", void.join(", ")),
    }
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
            figure.drawn { (artefact.figure.inline(&Size::FIGURE)) }
            @if let Some(merit) = Merit::of(&artefact.figure) {
                details { summary { (shown(&merit.in_words())) } (wide("Numbers of the paper, and ours", &merit.table())) }
            }
            (claims(artefact))
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

/// Each claim with its parts, and beneath them all thresholds that are a part of none.
fn claims(artefact: &AtlasArtefact) -> Markup {
    let several = artefact.seeds() > 1;
    let heads =
        if several { &["", "claim", "found, first seed", "seeds", "all seeds"][..] } else { &["", "claim", "found"] };
    let rows = || artefact.rows.iter().zip(&artefact.thresholds);
    let beneath: Vec<_> = rows().filter(|(row, _)| row.parts_of().is_empty()).collect();
    html! {
        div.wide { table.claims {
            caption { (letters(&artefact.claims)) ", " (counted(artefact.seeds(), "seed")) }
            (head(&Table::new(heads, ..0)))
            @for claim in &artefact.claims {
                tbody {
                    (heading(claim, heads.len() - 1))
                    @for (_, part) in rows().filter(|(row, _)| row.parts_of().contains(&claim.letter)) {
                        (threshold(part, None, several))
                    }
                }
            }
            @if !beneath.is_empty() { tbody {
                tr { th scope="rowgroup" {} td colspan=(heads.len() - 1) { "Beneath: what was varied, and what is ours" } }
                @for (row, beneath) in beneath { (threshold(beneath, Some(&row.label), several)) }
            } }
        } }
    }
}

/// A claim in words, with the seeds that it holds with, and what makes it hold.
fn heading(claim: &LetteredClaim, columns: usize) -> Markup {
    let seeds = format!("with {} of {}", claim.held_by, counted(claim.seeds, "seed"));
    html! {
        tr.claim {
            (verdict(claim.word(), "rowgroup"))
            td colspan=(columns) {
                strong { (shown(&claim.label)) } " (" (seeds) ")"
                @if let Some(remedy) = claim.remedy() { br; (claim.letter) ": " (in_code(&remedy)) }
            }
        }
    }
}

fn threshold(threshold: &ThresholdResult, label: Option<&str>, several: bool) -> Markup {
    let text = threshold.text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Where several share what they say, the threshold is a part of it.
    let said = label.map(|label| label.split(": `").next().unwrap_or(label)).filter(|label| !label.contains(&text));
    let (held_by, seeds) = threshold.over_seeds();
    html! {
        tr {
            (verdict(threshold.word_over_seeds(), "row"))
            td { @if let Some(said) = said { (shown(said)) ": " } code { (shown(&text)) } }
            td { (shown(threshold.found_first())) }
            @if several { td { (held_by) " of " (seeds) } td { (shown(&threshold.range())) } }
        }
    }
}

fn verdict(word: &str, scope: &str) -> Markup {
    match word {
        "held" => html! { th.held scope=(scope) { "held" } },
        "FAILED" => html! { th.failed scope=(scope) { "FAILED" } },
        word => html! { th scope=(scope) { (word) } },
    }
}

/// Words between backquotes as code.
fn in_code(text: &str) -> Markup {
    html! { @for (n, part) in text.split('`').enumerate() {
        @if n % 2 == 1 { code { (shown(part)) } } @else { (shown(part)) }
    } }
}
