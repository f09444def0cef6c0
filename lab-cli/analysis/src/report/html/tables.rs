//! Tables of figures.

use maud::{Markup, html};

use super::shown;
use crate::{
    judge::compare::words::{chance, in_words},
    report::{Whole, difference, percentile},
    summary::{Arm, Measured},
    text::{percent, rate, time},
};

/// Blocks that are listed one by one.
pub(super) const BLOCKS: u32 = 10;

/// What was decided.
pub fn comparison(run: &Whole) -> Markup {
    let verdicts = run.verdicts();
    let none = if !run.summary.valid {
        "The run is INVALID: nothing is compared."
    } else if run.summary.comparisons.is_empty() {
        "There is nothing to compare: one arm, or none that shares a block with the baseline."
    } else {
        "One block shows what happened once and decides nothing: no verdicts (--repeat 7 and more can decide)."
    };
    html! {
        section id="comparison" {
            h2 { "Comparison" }
            @if verdicts.is_empty() { p { (none) } } @else {
                p.small {
                    "A run of an arm in a block is one figure. Paired within blocks, exact sign-flip test, adjusted over the arms (Holm) without those of hindsight, which nobody can choose; \
                     the effect is that of Hodges and Lehmann, with its 95 % interval. ~ means that nothing can be said."
                }
                div.wide { table {
                    caption { "Each arm against the baseline" }
                    thead { tr {
                        th scope="col" { "metric" } th scope="col" { "phase" } th scope="col" { "arm" } th scope="col" { "against" }
                        th scope="col" { "result" } th scope="col" { "verdict" } th.n scope="col" { "p" } th.n scope="col" { "margin" }
                        th.n scope="col" { "blocks" }
                    } }
                    tbody { @for found in verdicts { tr {
                        th scope="row" { (shown(&found.metric)) @if !found.primary { " (to look at)" } }
                        td { (shown(&found.phase)) }
                        td { (shown(&found.policy)) }
                        td { (shown(&found.baseline)) }
                        td { (shown(&in_words(found))) }
                        td.(shown(&found.verdict)) { (shown(&found.verdict)) }
                        td.n { (chance(found).trim_start_matches("p ")) }
                        td.n { (percent(found.margin)) }
                        td.n { (found.blocks) }
                    } } }
                } }
            }
        }
    }
}

/// What was promised.
pub fn thresholds(run: &Whole) -> Markup {
    if run.summary.thresholds.is_empty() {
        return html! {};
    }
    html! {
        section id="thresholds" {
            h2 { "Thresholds" }
            div.wide { table {
                caption { "What the experiment asked of its result" }
                thead { tr { th scope="col" { "threshold" } th scope="col" { "held" } th scope="col" { "found" } } }
                tbody { @for threshold in &run.summary.thresholds { tr {
                    th scope="row" { code { (shown(&threshold.text)) } }
                    @match threshold.word() {
                        "held" => { td.held { "held" } }
                        "FAILED" => { td.failed { "FAILED" } }
                        word => { td { (word) } }
                    }
                    td { (shown(&threshold.why)) }
                } } }
            } }
        }
    }
}

/// The turns that are listed, and whether others are not.
fn listed(run: &Whole) -> (impl Iterator<Item = &Arm>, bool) {
    (run.summary.arms.iter().filter(|arm| arm.block <= BLOCKS), run.summary.arms.iter().any(|arm| arm.block > BLOCKS))
}

fn more() -> Markup {
    html! { p.small { "The first " (BLOCKS) " blocks; summary.json has all of them." } }
}

/// Every phase of every turn.
pub fn phases(run: &Whole) -> Markup {
    let (turns, others) = listed(run);
    html! {
        section id="phases" {
            h2 { "Phases" }
            @if others { (more()) }
            div.wide { table {
                caption {
                    "Response times are of what was served, from the intended start, connecting included. A percentile that time-outs hide is a \
                     bound; - means too few samples."
                }
                (head(&["arm", "phase"], &["users"]))
                tbody { @for arm in turns { @for phase in &arm.phases { tr {
                    th scope="row" { (shown(&run.turn(arm))) }
                    td { (shown(&phase.shown_name())) }
                    td.n { (phase.users) }
                    (cells(&phase.measured))
                } } } }
            } }
        }
    }
}

/// By request type and class, in the phase that the comparison is about, in the block that is drawn.
pub fn types(run: &Whole) -> Markup {
    let Some(name) = run.busiest() else { return html! {} };
    let block = run.drawn_block();
    let groups = || {
        run.summary.arms.iter().filter(|arm| arm.block == block).filter_map(|arm| {
            let phase = arm.phases.iter().find(|phase| phase.name == name)?;
            Some((arm, &phase.by_type, &phase.by_class))
        })
    };
    let classes = groups().any(|(_, _, classes)| !classes.is_empty());
    html! {
        section id="types" {
            h2 { "Request types" @if classes { " and classes" } }
            div.wide { table {
                caption { "Phase " (shown(name)) @if run.several_blocks() { ", block " (block) } }
                (head(&["arm", "type or class"], &[]))
                tbody { @for (arm, types, classes) in groups() {
                    @for (kind, measured) in types { tr {
                        th scope="row" { (shown(arm.shown_name())) } td { (shown(kind)) } (cells(measured))
                    } }
                    @for (class, measured) in classes { tr {
                        th scope="row" { (shown(arm.shown_name())) } td { "class " (shown(class)) } (cells(measured))
                    } }
                } }
            } }
        }
    }
}

const FIGURES: [&str; 10] =
    ["p50", "p90", "p99", "mean", "offered/s", "in time/s", "rejected", "timed out", "no connection", "failed"];

fn head(left: &[&str], right: &[&str]) -> Markup {
    html! {
        thead { tr {
            @for name in left { th scope="col" { (name) } }
            @for name in right.iter().chain(&FIGURES) { th.n scope="col" { (name) } }
        } }
    }
}

fn cells(measured: &Measured) -> Markup {
    let times = &measured.response_time_ms;
    // Time-outs are longer than what is known: a mean of the known ones would be too small.
    let mean = times.mean.filter(|_| times.censored == 0).map_or_else(|| "-".to_owned(), time);
    let cells = [
        percentile(times.p50, times.p50_at_least),
        percentile(times.p90, times.p90_at_least),
        percentile(times.p99, times.p99_at_least),
        mean,
        rate(measured.offered_per_s),
        rate(measured.goodput_per_s),
        percent(measured.reject_fraction),
        measured.timed_out.to_string(),
        measured.connect_failed.to_string(),
        measured.failed.to_string(),
    ];
    html! { @for cell in cells { td.n { (cell) } } }
}

/// Both sides' books.
pub fn ledgers(run: &Whole) -> Markup {
    let (turns, others) = listed(run);
    let sum = |arm: &Arm, read: fn(&Measured) -> u64| -> u64 { arm.phases.iter().map(|p| read(&p.measured)).sum() };
    html! {
        section id="ledgers" {
            h2 { "Ledgers" }
            @if others { (more()) }
            div.wide { table {
                caption { "What users wrote against what the service read" }
                thead { tr {
                    th scope="col" { "arm" }
                    @for name in ["planned", "unsent", "refused locally", "no connection", "written", "read by the service"] {
                        th.n scope="col" { (name) }
                    }
                    th scope="col" { "difference" }
                } }
                tbody { @for arm in turns.filter(|arm| !arm.bound) {
                    @let written = sum(arm, Measured::written);
                    tr {
                        th scope="row" { (shown(&run.turn(arm))) }
                        td.n { (sum(arm, |m| m.planned)) }
                        td.n { (sum(arm, |m| m.unsent)) }
                        td.n { (sum(arm, |m| m.refused_locally)) }
                        td.n { (sum(arm, |m| m.connect_failed)) }
                        td.n { (written) }
                        @match &arm.server {
                            None => { td.n { "-" } td { "-" } }
                            Some(server) => {
                                td.n { (server.requests_read) }
                                td { (difference(written, server.requests_read, arm.requests.as_ref())) }
                            }
                        }
                    }
                } }
            } }
        }
    }
}
