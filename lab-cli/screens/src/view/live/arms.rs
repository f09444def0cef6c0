//! Arms that are over, side by side. No winner is named: a run is not a result before it is judged.

use analysis::{
    summary::{Arm, PhaseSummary, busiest, verdict_and_codes},
    text::{self, scrubbed},
};
use ratatui::{prelude::*, widgets::*};

use super::super::widgets::{nothing, table, titled};
use crate::{Palette, column::Column, state::State};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let Some(last) = state.finished.back() else {
        return nothing(frame, area, titled(" [7] finished arms ", palette), "none yet", palette);
    };
    // The busiest phase is what the experiment is about.
    let busiest = busiest(&last.phases).map_or("", |phase| &phase.name);
    let block = titled(&format!(" [7] finished arms: {} ", scrubbed(busiest)), palette);
    let percentile = state.percentile();
    let room = usize::from(area.height.saturating_sub(2));
    let rows = state.finished.iter().skip(state.finished.len().saturating_sub(room)).map(|arm| {
        let phase = arm.phases.iter().find(|phase| phase.name == busiest);
        row(arm, phase, percentile, state.objective_ms(), palette)
    });
    let heads = ["arm", percentile.name(), "goodput/s", "rejected", "timed out", "conn. err.", "verdict"];
    frame.render_widget(table(heads, [14, 9, 9, 8, 9, 10, 0], rows, palette).block(block), area);
}

fn row<'a>(
    arm: &'a Arm,
    phase: Option<&PhaseSummary>,
    percentile: Column,
    objective: Option<f64>,
    palette: Palette,
) -> Row<'a> {
    let name = Cell::new(scrubbed(arm.shown_name()));
    let verdict = verdict_and_codes(arm.verdict, arm.reasons.iter().map(|reason| reason.code.as_str()));
    let style = palette.verdict(arm.verdict);
    let cut_off = if arm.is_whole() { "" } else { ", cut off" };
    let verdict = Cell::new(Span::styled(format!("{verdict}{cut_off}"), style));
    let Some(phase) = phase else { return Row::new(vec![name, Cell::new("-")]) };
    let measured = &phase.measured;
    let time = percentile.of_phase(measured);
    let late = time.is_some_and(|time| objective.is_some_and(|limit| time.at > limit));
    Row::new(vec![
        name,
        Cell::new(Span::styled(percentile.shown(time), if late { palette.bad() } else { palette.good() })),
        Cell::new(text::rate(measured.goodput_per_s)),
        Cell::new(text::percent(measured.reject_fraction)),
        Cell::new(measured.timed_out.to_string()),
        Cell::new(measured.connect_failed.to_string()),
        verdict,
    ])
}
