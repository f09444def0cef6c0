//! The time before there are seconds to be shown: steps of the preparation, and how far a computation is.

use std::time::Duration;

use analysis::text::{counted, percent};
use ratatui::{prelude::*, widgets::*};

use super::super::widgets::{bar, rounded, titled};
use crate::{Palette, state::State};

/// A shorter time says nothing about the rest.
const LEAST_SHARE: f64 = 0.05;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let waited = state.waiting_for.unwrap_or_default();
    let mut lines = Vec::new();
    if let Some((done_s, of_s)) = state.computing {
        let share = if of_s > 0.0 { (done_s / of_s).clamp(0.0, 1.0) } else { 0.0 };
        let left = if share >= LEAST_SHARE {
            format!(", about {} left", rounded(waited.mul_f64((1.0 - share) / share)))
        } else {
            String::new()
        };
        let so_far = format!("{done_s:.0} s of {of_s:.0} s of virtual time over all arms");
        let room = usize::from(area.width.saturating_sub(2));
        lines.push(Line::styled(format!(" {}", bar(share, room)), palette.admitted()));
        lines.push(Line::styled(format!(" {}, {so_far}{left}", percent(share)), palette.strong()));
    }
    lines.extend(steps(state, waited, palette));
    if let Some(shape) = &state.shape {
        let arms = counted(shape.arms.len(), "arm");
        let turns =
            if shape.blocks > 1 { format!(", {}", counted(shape.blocks as usize, "block")) } else { String::new() };
        let then = format!(" then  {arms}{turns}, {:.0} s each: {}", shape.seconds(), shape.arms.join(", "));
        lines.push(Line::styled(analysis::text::scrubbed(&then), palette.faint()));
    }
    let most = usize::from(area.height.saturating_sub(1));
    let title = format!(" preparing: {} so far ", rounded(waited));
    let block = titled(&title, palette);
    let first = lines.len().saturating_sub(most);
    frame.render_widget(Paragraph::new(lines.split_off(first)).wrap(Wrap { trim: false }).block(block), area);
}

/// What has been done, each with its time, and what is being done.
fn steps(state: &State, waited: Duration, palette: Palette) -> Vec<Line<'static>> {
    let ends = state.steps.iter().skip(1).map(|(began, _)| *began).chain([waited]);
    let last = state.steps.len().saturating_sub(1);
    let step = |(n, ((began, what), end)): (usize, (&(Duration, String), Duration))| {
        let (mark, style) = if n == last { (" > ", palette.strong()) } else { (" + ", palette.faint()) };
        let took = format!("  {}", rounded(end.saturating_sub(*began)));
        Line::from(vec![Span::styled(format!("{mark}{what}"), style), Span::styled(took, palette.faint())])
    };
    if state.steps.is_empty() {
        return vec![Line::styled(" > preparing the arms", palette.strong())];
    }
    state.steps.iter().zip(ends).enumerate().map(step).collect()
}
