//! All gates: those that found something, and behind a fold what the others saw.

use maud::{Markup, html};

use super::markup::{head, shown, wide};
use crate::{
    judge::gates::{GATES, ValidityGate, limits},
    report::RunFiles,
    summary::{GateFinding, Mode},
    text::{percent, table::Table, time},
};

/// The section.
pub fn section(run: &RunFiles) -> Markup {
    let reasons = &run.summary.reasons;
    let (spoke, silent): (Vec<&ValidityGate>, Vec<&ValidityGate>) =
        GATES.iter().partition(|gate| reasons.iter().any(|reason| reason.code == gate.code));
    html! {
        p { (spoke.len()) " of " (GATES.len()) " gates found something." }
        @if !spoke.is_empty() {
            div.wide { table {
                caption { "Gates that found something: what, in which arm, its limit, and what to do" }
                (head(&Table::new(&["gate", "verdict", "looks for", "arm", "value", "limit", "what to do"], ..0)))
                tbody { @for gate in &spoke { @for reason in reasons.iter().filter(|reason| reason.code == gate.code) {
                    (found(gate, reason))
                } } }
            } }
        }
        details {
            summary { (silent.len()) " gates found nothing: what each saw, and its limit" }
            (wide("Gates that found nothing: the worst value of any arm, and the limit", &passed(&silent, run)))
        }
        (generator(run))
    }
}

fn found(gate: &ValidityGate, reason: &GateFinding) -> Markup {
    html! {
        tr {
            th scope="row" { (gate.code) }
            td.(reason.verdict.word().to_lowercase()) { (reason.verdict.word()) }
            td { (plain(gate.finds)) }
            td { (shown(&reason.arm)) }
            td { (shown(&reason.value)) }
            td { (shown(&reason.threshold)) }
            td { (shown(&reason.remedy)) }
        }
    }
}

fn passed(gates: &[&ValidityGate], run: &RunFiles) -> Table {
    let nothing = match run.summary.mode {
        Mode::Live => "nothing to look at",
        Mode::Virtual => "nothing to look at in virtual time",
    };
    let mut table = Table::new(&["gate", "looks for", "value", "limit", "what to do, were it found"], ..0);
    for gate in gates {
        let saw = gate.reading(&run.summary).unwrap_or_else(|| nothing.to_owned());
        table.row([gate.code.to_owned(), plain(gate.finds), saw, plain(gate.limit), plain(gate.remedy)]);
    }
    table
}

/// The table of gates is written for Markdown.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

/// Table of the generator against the limits that gates hold it to, turn by turn.
fn generator(run: &RunFiles) -> Markup {
    let heads = ["arm", "CPU", "send lag p99", "run queue", "longest pause", "unsent", "steal", "Little"];
    let mut table = Table::new(&heads, 1..);
    table.row([
        "limit".to_owned(),
        percent(limits::CPU),
        "by effect".to_owned(),
        "by effect".to_owned(),
        time(limits::GAP_MS),
        percent(limits::UNSENT),
        percent(limits::MOVED.1),
        percent(limits::LITTLE),
    ]);
    for arm in run.summary.arms.iter().filter(|arm| !arm.bound) {
        let generator = &arm.generator;
        table.row([
            run.turn(arm),
            percent(generator.cpu),
            time(generator.send_lag_p99_ms),
            percent(generator.run_queue),
            time(generator.loop_gap_max_ms),
            generator.unsent.to_string(),
            percent(generator.steal),
            percent(generator.little),
        ]);
    }
    wide("The load generator, run by run", &table)
}
