//! All gates: those that found something, and behind a fold what the others saw.

use maud::{Markup, html};

use super::shown;
use crate::{
    judge::gates::{GATES, Gate, limits},
    report::Whole,
    summary::{Mode, Reason},
    text::{percent, time},
};

/// The section.
pub fn section(run: &Whole) -> Markup {
    let reasons = &run.summary.reasons;
    let (spoke, silent): (Vec<&Gate>, Vec<&Gate>) =
        GATES.iter().partition(|gate| reasons.iter().any(|reason| reason.code == gate.code));
    html! {
        section id="gates" {
            h2 { "Gates" }
            p { (spoke.len()) " of " (GATES.len()) " gates found something." }
            @if !spoke.is_empty() {
                div.wide { table {
                    caption { "Gates that found something: what, in which arm, what it is held against, and what to do" }
                    thead { tr {
                        th scope="col" { "gate" } th scope="col" { "verdict" } th scope="col" { "looks for" } th scope="col" { "arm" }
                        th scope="col" { "value" } th scope="col" { "limit" } th scope="col" { "what to do" }
                    } }
                    tbody { @for gate in &spoke { @for reason in reasons.iter().filter(|reason| reason.code == gate.code) {
                        (found(gate, reason))
                    } } }
                } }
            }
            details {
                summary { (silent.len()) " gates found nothing: what each saw, and its limit" }
                div.wide { table {
                    caption { "Gates that found nothing: the worst that they saw in any arm, and what it is held against" }
                    thead { tr {
                        th scope="col" { "gate" } th scope="col" { "looks for" } th scope="col" { "value" } th scope="col" { "limit" }
                        th scope="col" { "what to do, were it found" }
                    } }
                    tbody { @for gate in &silent { (passed(gate, run)) } }
                } }
            }
            (generator(run))
        }
    }
}

fn found(gate: &Gate, reason: &Reason) -> Markup {
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

fn passed(gate: &Gate, run: &Whole) -> Markup {
    let nothing = match run.summary.mode {
        Mode::Live => "nothing to look at",
        Mode::Virtual => "nothing to look at in virtual time",
    };
    let saw = gate.reading(&run.summary).unwrap_or_else(|| nothing.to_owned());
    html! {
        tr {
            th scope="row" { (gate.code) }
            td { (plain(gate.finds)) }
            td { (shown(&saw)) }
            td { (plain(gate.limit)) }
            td { (plain(gate.remedy)) }
        }
    }
}

/// The table of gates is written for Markdown.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

/// How the generator fared against the limits that gates hold it to, turn by turn.
fn generator(run: &Whole) -> Markup {
    let objective = run.summary.objective.response_time_ms;
    html! {
        div.wide { table {
            caption { "The load generator of each turn" }
            thead { tr {
                th scope="col" { "arm" } th.n scope="col" { "CPU" } th.n scope="col" { "send lag p99" } th.n scope="col" { "waited for its core" }
                th.n scope="col" { "stood still" } th.n scope="col" { "unsent" } th.n scope="col" { "stolen" } th.n scope="col" { "Little" }
            } }
            tbody {
                tr {
                    th scope="row" { "limit" } td.n { (percent(limits::CPU)) } td.n { (time(limits::lag_ms(objective))) }
                    td.n { (percent(limits::RUN_QUEUE)) } td.n { (time(limits::GAP_MS)) } td.n { (percent(limits::UNSENT)) }
                    td.n { (percent(limits::STEAL.1)) } td.n { (percent(limits::LITTLE)) }
                }
                @for arm in run.summary.arms.iter().filter(|arm| !arm.bound) {
                    @let generator = &arm.generator;
                    tr {
                        th scope="row" { (shown(&run.turn(arm))) }
                        td.n { (percent(generator.cpu)) }
                        td.n { (time(generator.send_lag_p99_ms)) }
                        td.n { (percent(generator.run_queue)) }
                        td.n { (time(generator.loop_gap_max_ms)) }
                        td.n { (generator.unsent) }
                        td.n { (percent(generator.steal)) }
                        td.n { (percent(generator.little)) }
                    }
                }
            }
        } }
    }
}
