//! The answer at the head of the page: a sentence an arm, and one table.

use maud::{Markup, html};

use super::markup::shown;
use crate::{
    answer::{
        no_conclusion,
        table::{
            Share, caption, class_name, deciding, interval, load_in_words, recovery_in_words, shares, shown as median,
            shown_name, verdict_head,
        },
    },
    chart::palette::swatch,
    recommend::{HOW, recommendation},
    report::RunFiles,
    summary::{AnswerColumn, ArmAnswer, ArmVerdictWord, BlockMedian, ColumnFigures, RunAnswer, RunSummary},
    text::{percent, rate, time},
};

/// Figures of a column.
const FIGURES: [&str; 3] = ["goodput/s", "p99", "rejected"];

/// The section.
pub fn section(run: &RunFiles) -> Markup {
    let answer = run.answer();
    let recommended = recommendation(&run.summary).map_or_else(Vec::new, |found| found.lines());
    html! {
        section id="answer" {
            @if let Some((what, others)) = recommended.split_first() {
                p.headline { strong { (shown(what)) } }
                ul { @for line in others { li { (recommended_line(line)) } } }
            }
            @if !run.summary.valid { p.headline.invalid { (no_conclusion(&run.summary)) } }
            @if let Some(order) = &answer.order { p.headline { (shown(order)) } }
            @let said = answer.arms.iter().enumerate().filter_map(|(number, arm)| Some((number, arm.sentence.as_ref()?)));
            ul.headline { @for (number, sentence) in said { li { (swatch(number)) span { (shown(sentence)) } } } }
            @if !answer.columns.is_empty() { (table(&answer, &run.summary)) }
        }
    }
}

/// A way to deploy as code, which on a narrow screen breaks between its words.
fn recommended_line(line: &str) -> Markup {
    match line.strip_prefix(HOW) {
        Some(way) => html! { (HOW) code.command { @for word in way.split(' ') { span { (shown(word)) } " " } } },
        None => html! { (shown(line)) },
    }
}

fn table(answer: &RunAnswer, summary: &RunSummary) -> Markup {
    let shares = shares(answer);
    let recovery = answer.arms.iter().any(|arm| arm.recovery.is_some());
    let verdicts = answer.arms.len() > 1;
    // What decides comes first: a narrow screen shows no more.
    let (first, others): (Vec<usize>, Vec<usize>) =
        (0..answer.columns.len()).partition(|at| Some(*at) == deciding(answer));
    html! {
        div.wide { table.answer {
            caption { span { (caption(answer, summary).join("; ")) "." } }
            thead {
                tr {
                    th scope="col" rowspan="2" { "arm" }
                    @for at in &first { (head(&answer.columns[*at])) }
                    @if verdicts { th.first scope="col" rowspan="2" { (verdict_head(answer)) } }
                    @if recovery { th scope="col" rowspan="2" { "recovery time" } }
                    @for at in &others { (head(&answer.columns[*at])) }
                    @for (head, _) in &shares { th.n.first scope="col" rowspan="2" { (head) } }
                }
                tr { @for _ in &answer.columns { @for name in FIGURES {
                    th.n.first[name == FIGURES[0]] scope="col" { (name) }
                } } }
            }
            @for (number, arm) in answer.arms.iter().enumerate() { tbody {
                tr {
                    th scope="row" { (swatch(number)) " " (shown_name(arm)) }
                    (figures(&arm.columns, &first))
                    @if verdicts { td.words.first.(class(arm.verdict.word)) {
                        (arm.verdict.word.words()) @if let Some(effect) = &arm.verdict.effect { " " small { (effect) } }
                    } }
                    @if recovery { td.words { @if let Some(found) = &arm.recovery { (recovery_in_words(found)) } @else { "-" } } }
                    (figures(&arm.columns, &others))
                    @for (_, of) in &shares { (share(arm, deciding(answer), *of)) }
                }
                @for (name, columns) in &arm.classes { tr.class {
                    th scope="row" { (class_name(name)) }
                    (figures(columns, &first))
                    @if verdicts { td.first {} }
                    @if recovery { td {} }
                    (figures(columns, &others))
                    @for _ in &shares { td.first {} }
                } }
            } }
        } }
    }
}

/// Role of a column, with its phase and load.
fn head(column: &AnswerColumn) -> Markup {
    let load = column.load.map(load_in_words);
    html! {
        th.group scope="colgroup" colspan="3" {
            (shown(column.title()))
            small {
                @if column.role.is_some() { (shown(&column.phase)) @if load.is_some() { ", " } }
                @if let Some(load) = load { (load) }
            }
        }
    }
}

fn figures(columns: &[Option<ColumnFigures>], places: &[usize]) -> Markup {
    html! { @for column in places.iter().map(|at| &columns[*at]) {
        @if let Some(found) = column {
            td.n.first { (cell(&found.goodput_per_s, rate)) @if found.cut_off { small { "cut off" } } }
            td.n {
                @if let Some(p99) = &found.p99_ms { (cell(p99, time)) }
                @else if let Some(lower) = &found.below_p99 { (lower.percentile) " " (cell(&lower.ms, time)) }
                @else { "-" }
            }
            td.n { @if let Some(share) = &found.reject_fraction { (median(share, percent)) } @else { "-" } }
        } @else { td.n.first { "-" } td.n { "-" } td.n { "-" } }
    } }
}

/// The median, and its interval in small.
fn cell(found: &BlockMedian, number: fn(f64) -> String) -> Markup {
    let interval = interval(found, number);
    html! { (median(found, number)) @if !interval.is_empty() { " " small { (interval) } } }
}

fn share(arm: &ArmAnswer, at: Option<usize>, of: Share) -> Markup {
    let found = at.and_then(|at| arm.columns[at].as_ref()).and_then(of);
    html! { td.n.first { @if let Some(found) = found { (cell(found, percent)) } @else { "-" } } }
}

fn class(word: ArmVerdictWord) -> &'static str {
    match word {
        ArmVerdictWord::Better => "good",
        ArmVerdictWord::Worse => "bad",
        _ => "plain",
    }
}
