//! Measures of phases beside counts and times: repeated attempts, wasted work, fairness, backlog, recovery.

use maud::{Markup, html};

use super::{markup::wide, tables::BLOCKS};
use crate::{
    report::{RunFiles, measures},
    summary::{MeasureColumn, WASTED},
    text::percent,
};

/// Every phase of every turn of which something is known; nothing if there is none.
pub fn section(run: &RunFiles) -> Markup {
    let columns = MeasureColumn::all();
    let mut table = measures::with_columns(["arm", "phase"], &columns, ..0);
    for arm in run.summary.arms.iter().filter(|arm| !arm.bound && arm.block <= BLOCKS) {
        for phase in &arm.phases {
            let measures = measures::shown(phase);
            let cells: Vec<String> = columns.iter().map(|column| column.shown(&measures)).collect();
            if cells.iter().any(|cell| cell != "-") {
                table.row([&[run.turn(arm), phase.name.clone()], &cells[..]].concat());
            }
        }
        if let Some(wasted) = arm.wasted {
            let cell = |column: &MeasureColumn| if column.head == WASTED { percent(wasted) } else { "-".to_owned() };
            let cells = columns.iter().map(cell).collect();
            table.row([vec![run.turn(arm), "all, with the drain".to_owned()], cells].concat());
        }
    }
    if table.rows.is_empty() {
        return html! {};
    }
    html! {
        (wide("By phase; - where it is not known", &table))
        ul.small { @for meaning in columns.iter().filter_map(|column| column.meaning) { li { (meaning) } } }
    }
}
