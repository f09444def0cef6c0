//! Tables of figures.

use maud::{Markup, html};

use super::markup::{head, shown, wide};
use crate::{
    report::{
        RunFiles,
        columns::{self, FIGURES},
        comparison, parts, processes, replay_lag, replayed,
    },
    summary::{Arm, Measured},
    text::table::Table,
};

/// Blocks that are listed one by one.
pub(super) const BLOCKS: u32 = 10;

/// Table of the comparisons.
pub fn comparison(run: &RunFiles) -> Markup {
    let verdicts = run.verdicts();
    let none = if !run.summary.valid {
        "The run is INVALID: nothing is compared."
    } else if run.summary.comparisons.is_empty() {
        "There is nothing to compare: one arm, or none that shares a block with the baseline."
    } else {
        "One block: differences between arms may be chance, and nothing is decided. --repeat 6 or more can decide."
    };
    html! {
        section id="comparison" {
            h2 { "Comparison" }
            @if let Some(decision) = &run.summary.decision {
                p { "Stopping rule: " (decision.in_words()) "." }
                @for open in decision.open_points() { p.small { (shown(&open)) } }
            }
            @if verdicts.is_empty() { p { (none) } } @else {
                p.small {
                    "Each arm gives one value a block. Paired within blocks, exact sign-flip test, adjusted over the arms by the largest of all (joint flips, step-down) without those of hindsight, which nobody can choose; \
                     the effect is that of Hodges and Lehmann, with its 95 % interval. ~ means undecided."
                }
                details.part { summary { "All metrics, with p values and margins" } (wide("Each arm against the baseline", &comparison::rows(&verdicts))) }
            }
        }
    }
}

/// Table of the thresholds.
pub fn thresholds(run: &RunFiles) -> Markup {
    if run.summary.thresholds.is_empty() {
        return html! {};
    }
    html! {
        section id="thresholds" {
            h2 { "Thresholds" }
            div.wide { table {
                caption { "What the experiment asks of its result" }
                (head(&Table::new(&["threshold", "result", "found"], ..0)))
                tbody { @for threshold in &run.summary.thresholds { tr {
                    th scope="row" { code { (shown(&threshold.text)) } }
                    @match threshold.outcome() {
                        "passed" => { td.held { "passed" } }
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
fn listed(run: &RunFiles) -> (impl Iterator<Item = &Arm>, bool) {
    (run.summary.arms.iter().filter(|arm| arm.block <= BLOCKS), run.summary.arms.iter().any(|arm| arm.block > BLOCKS))
}

fn more() -> Markup {
    html! { p.small { "The first " (BLOCKS) " blocks; summary.json has all of them." } }
}

/// Every phase of every turn.
pub fn phases(run: &RunFiles) -> Markup {
    let (turns, others) = listed(run);
    let mut table = Table::new(&heads(&["arm", "phase", "load"]), 3..);
    let planned = run.shape().map_or(&[][..], |shape| &shape.phases);
    for arm in turns {
        for phase in &arm.phases {
            let load = planned.iter().find(|planned| planned.name == phase.name);
            let load = load.map_or_else(String::new, |planned| planned.load.clone());
            table.row(cells(&[run.turn(arm), phase.shown_name(), load], &phase.measured));
        }
    }
    html! {
        @if others { (more()) }
        (wide(
            "Response times are of what was served, from the intended start, connecting included. A percentile that time-outs hide is a \
             bound; - means too few samples. Of all: of every request that users wanted, from its first attempt; those without an answer \
             take longer than any other.",
            &table,
        ))
    }
}

/// Table by request type and class, in the phase that the comparison is about, in the block that is drawn.
pub fn types(run: &RunFiles) -> Markup {
    let Some(name) = run.busiest() else { return html! {} };
    let block = run.drawn_block();
    let mut table = Table::new(&heads(&["arm", "type or class"]), 2..);
    for arm in run.summary.arms.iter().filter(|arm| arm.block == block) {
        let Some(phase) = arm.phases.iter().find(|phase| phase.name == name) else { continue };
        let types = phase.by_type.iter().map(|(kind, measured)| (kind.clone(), measured));
        let classes = phase.by_class.iter().map(|(class, measured)| (format!("class {class}"), measured));
        for (group, measured) in types.chain(classes) {
            table.row(cells(&[arm.shown_name().to_owned(), group], measured));
        }
    }
    let of_block = if run.several_blocks() { format!(", block {block}") } else { String::new() };
    wide(&format!("Phase {name}{of_block}"), &table)
}

fn heads<'a>(first: &[&'a str]) -> Vec<&'a str> {
    first.iter().copied().chain(FIGURES.map(|(head, _)| head)).collect()
}

fn cells(first: &[String], measured: &Measured) -> Vec<String> {
    first.iter().cloned().chain(FIGURES.map(|(_, cell)| cell(measured))).collect()
}

/// Both sides' books.
pub fn ledgers(run: &RunFiles) -> Markup {
    let (turns, others) = listed(run);
    let table = columns::ledgers("arm", &turns.collect::<Vec<_>>(), true, |arm| run.turn(arm));
    html! {
        @if others { (more()) }
        (wide("What users wrote against what the service read", &table))
    }
}

/// What a service that is not the lab's and the proxy before it used: a row for each arm; nothing where the service is the lab's.
pub fn processes(run: &RunFiles) -> Markup {
    let used = processes::table(&run.summary, "arm", |arm| run.turn(arm));
    if used.rows.is_empty() {
        return html! {};
    }
    html! {
        (wide("CPU as a share of a core, and the most memory, of the service's processes and of the proxy before them", &used))
        @if let Some(why) = processes::unknown(&run.summary) { p.small { (why) } }
    }
}

/// Parts of the users that several generators sent; nothing where there was one.
pub fn parts(run: &RunFiles) -> Markup {
    let parts = parts::table(&run.summary, "arm", |arm| run.turn(arm));
    if parts.rows.is_empty() {
        return html! {};
    }
    wide(
        "Each by the gates of its generator and machine; when it began after the first one, and by how much that may be wrong",
        &parts,
    )
}

/// Phases of a recording that was replayed; nothing where there is none.
pub fn replayed(run: &RunFiles) -> Markup {
    let behind = replay_lag::table(&run.summary, "arm", |arm| run.turn(arm));
    if behind.rows.is_empty() {
        return html! {};
    }
    html! {
        (wide(
            "How long after their recorded times requests were wanted of the service, because their users were still at the one before",
            &behind,
        ))
        (wide(
            "Recorded requests, and what became of them: those cut off were not reached before the time was over or the user gave up",
            &replayed::table(&run.summary, "arm", |arm| run.turn(arm)),
        ))
    }
}
