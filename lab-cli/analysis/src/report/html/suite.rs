//! The matrix of a suite as one page: a heat map, whose cells open the reports of the runs.

use maud::{Markup, html};

use super::{
    markup::{shown, wide},
    page::page,
};
use crate::{
    report::suite::{SCORE, left_out, marks, recovery, run, share},
    suite::{SuiteCell, SuiteMatrix, SuiteRow},
    text::{counted, table::Table, time},
};

/// Shades of scores that are not good.
const SHADES: f64 = 9.0;
/// Score from which on it is good.
const GOOD: f64 = 0.97;

/// The page. It lies beside the folders of the runs.
pub fn document(matrix: &SuiteMatrix) -> String {
    let body = html! {
        header {
            h1 { "The suite" }
            p { (run(matrix).count()) " policies in " (matrix.scenarios.len()) " scenarios, " (counted(matrix.repeat as usize, "run")) " of each in virtual time." }
            p.small { (SCORE) " Lab " (shown(&matrix.lab)) "." }
        }
        main {
            section id="marks" { h2 { "Policies" } (wide("Best first", &marks(matrix))) }
            section id="scores" { h2 { "Scores" } (heat(matrix)) (reasons(matrix)) }
            section id="scenarios" { h2 { "Scenarios" } (scenarios(matrix)) }
            section id="figures" {
                h2 { "Figures beside the score" }
                @for (title, figure) in figures() {
                    details.part { summary { (title) } (wide(title, &table(matrix, figure))) }
                }
            }
        }
    };
    page("The suite", &body)
}

/// Rows of policies, columns of scenarios.
fn heat(matrix: &SuiteMatrix) -> Markup {
    html! {
        div.wide { table.matrix {
            caption { span { "Each cell opens its run; where the pointer rests, its figures show." } }
            thead { tr {
                th scope="col" { "policy" }
                @for name in &matrix.scenarios { th.steep scope="col" { a href={ "#" (shown(name)) } { (shown(name)) } } }
            } }
            tbody { @for row in &matrix.rows { tr {
                th scope="row" { (shown(&row.policy)) }
                @for name in &matrix.scenarios { (cell(matrix, row, name)) }
            } } }
        } }
    }
}

fn cell(matrix: &SuiteMatrix, row: &SuiteRow, scenario: &str) -> Markup {
    let Some(cell) = row.cells.get(scenario) else { return html! { td {} } };
    let words = in_words(cell, matrix, scenario);
    if cell.verdict.is_none() {
        return html! { td.n title=(shown(&words)) { "-" } };
    }
    let folder = matrix.about.get(scenario).map_or("", |about| about.folder.as_str());
    let shade = |score: f64| if score >= GOOD { SHADES } else { (score * SHADES).clamp(0.0, SHADES - 1.0).floor() };
    let shade = cell.score.map_or_else(String::new, |score| format!("s{}", shade(score)));
    html! { td.n.(shade) { a href={ (shown(folder)) "/report.html" } title=(shown(&words)) { (share(cell.score)) } } }
}

/// Figures of a cell in a line.
fn in_words(cell: &SuiteCell, matrix: &SuiteMatrix, scenario: &str) -> String {
    if let Some(reason) = &cell.reason {
        return reason.clone();
    }
    let unscored = matrix.about.get(scenario).and_then(|about| about.unscored.clone());
    let phase = cell.phase.as_ref().map(|phase| format!("worst in {phase}"));
    let range = cell.range.map(|[low, high]| format!("{low:.2} to {high:.2}"));
    let rest = figures().into_iter().map(|(title, figure)| (title, figure(cell))).filter(|(_, text)| text != "-");
    let rest = rest.map(|(title, text)| format!("{title} {text}"));
    unscored.into_iter().chain(phase).chain(range).chain(rest).collect::<Vec<_>>().join("; ")
}

/// A figure of a cell in words.
type FigureOf = fn(&SuiteCell) -> String;

fn figures() -> [(&'static str, FigureOf); 6] {
    let p99 = |cell: &SuiteCell| {
        let bound = if cell.p99_at_least { ">= " } else { "" };
        cell.p99_ms.map_or_else(|| "-".to_owned(), |ms| format!("{bound}{}", time(ms)))
    };
    [
        ("p99", p99),
        ("recovery", recovery),
        ("calm", |cell| share(cell.calm)),
        ("fairness", |cell| share(cell.fairness)),
        ("degraded", |cell| share(cell.degraded)),
        ("verdict", |cell| cell.verdict.map_or_else(|| "-".to_owned(), |verdict| verdict.word().to_owned())),
    ]
}

/// A figure of all cells.
fn table(matrix: &SuiteMatrix, figure: FigureOf) -> Table {
    let heads: Vec<&str> = std::iter::once("policy").chain(matrix.scenarios.iter().map(String::as_str)).collect();
    let mut table = Table::new(&heads, 1..);
    for row in &matrix.rows {
        let cells = matrix.scenarios.iter().map(|name| row.cells.get(name).map_or_else(String::new, figure));
        table.row(std::iter::once(row.policy.clone()).chain(cells).collect::<Vec<_>>());
    }
    table
}

fn scenarios(matrix: &SuiteMatrix) -> Markup {
    html! {
        ul { @for name in &matrix.scenarios { @if let Some(about) = matrix.about.get(name) {
            li id=(shown(name)) {
                a href={ (shown(&about.folder)) "/report.html" } { (shown(name)) } ": " (shown(&about.about))
                ", within " (time(about.objective_ms)) "."
                @if let Some(why) = &about.unscored { " No score: " (shown(why)) "." }
            }
        } } }
    }
}

fn reasons(matrix: &SuiteMatrix) -> Markup {
    let all = left_out(matrix);
    html! {
        @if !all.is_empty() {
            details { summary { "Cells without a score" } ul { @for (what, why) in all { li { (shown(&what)) ": " (shown(&why)) } } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{suite::SuiteScenario, summary::Validity};

    #[test]
    fn each_cell_opens_its_run_and_texts_stay_texts() {
        let name = "<step>".to_owned();
        let about = SuiteScenario { folder: "step".to_owned(), objective_ms: 200.0, ..SuiteScenario::default() };
        let cell = SuiteCell { score: Some(0.5), verdict: Some(Validity::Valid), ..SuiteCell::default() };
        let row = SuiteRow::of("codel", [(name.clone(), cell)].into(), std::slice::from_ref(&name));
        let matrix = SuiteMatrix {
            about: [(name.clone(), about)].into(),
            rows: vec![row],
            scenarios: vec![name],
            ..SuiteMatrix::default()
        };
        let page = document(&matrix);
        assert!(
            page.contains(r#"<td class="n s4"><a href="step/report.html" title="verdict VALID">0.50</a></td>"#),
            "{page}"
        );
        assert!(page.contains("&lt;step&gt;") && !page.contains("<step>"));
    }
}
