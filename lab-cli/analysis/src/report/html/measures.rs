//! Measures of phases beside counts and times: repeated attempts, wasted work, fairness, backlog, recovery.

use maud::{Markup, html};

use super::{markup::wide, tables::BLOCKS};
use crate::{
    report::{RunFiles, measures},
    text::{percent, table::Table},
};

/// Every phase of every turn of which something is known; nothing if there is none.
pub fn section(run: &RunFiles) -> Markup {
    let mut table = Table::new(&[&["arm", "phase"], &measures::HEADS[..]].concat(), ..0);
    for arm in run.summary.arms.iter().filter(|arm| !arm.bound && arm.block <= BLOCKS) {
        for phase in &arm.phases {
            let cells = measures::cells(phase);
            if cells.iter().any(|cell| cell != "-") {
                table.row([&[run.turn(arm), phase.name.clone()], &cells[..]].concat());
            }
        }
        if let Some(wasted) = arm.wasted {
            let mut cells = vec!["-".to_owned(); measures::HEADS.len()];
            cells[WASTED] = percent(wasted);
            table.row([vec![run.turn(arm), "all, with the drain".to_owned()], cells].concat());
        }
    }
    if table.rows.is_empty() {
        return html! {};
    }
    html! {
        (wide("By phase; - where it is not known", &table))
        ul.small { @for meaning in MEANINGS { li { (meaning) } } }
    }
}

/// Index of the column whose share is known of a whole arm too.
const WASTED: usize = 1;

const MEANINGS: [&str; 6] = [
    "Retry amplification: attempts for each request that users wanted.",
    "Wasted: the share of what the service finished that came late, or to nobody.",
    "Fairness: Jain's index over what users, or classes, got of what they wanted: 1 if it was the same for all. Worst decile: what the \
     tenth of the users with the least got.",
    "Backlog: steady, or by how much the requests in flight kept growing.",
    "Hysteresis: the share of goodput that is missing on the way down, of that under the same load on the way up.",
    "Recovery time: after more load or a fault, until goodput was 95 % of what it was and the objective was kept for 10 s. \
     Metastable: goodput was still under 80 % at the end, though it was watched for a minute and six times the trigger.",
];
