//! A load while it goes on: what was sent and answered so far, and in the last second.

use analysis::{
    series::value::Value,
    text::{rate, scrubbed, time, volume, wrapped},
};
use ratatui::{prelude::*, widgets::*};

use super::{
    agents,
    widgets::{bar, fitted, hints, pane},
};
use crate::{Palette, load::LoadProgress};

/// Percentiles that are shown where no others were asked for.
const PERCENTILES: [f64; 6] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9];

/// Returns the line below it.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, progress: &LoadProgress, palette: Palette) -> Line<'static> {
    let tall = area.height >= 30;
    let rows = [1, 1, agent_rows(progress, area.width, tall), 8, if tall { 7 } else { 4 }].map(Constraint::Length);
    let rows = rows.into_iter().chain([Constraint::Fill(1)]);
    let [head, gauge, senders, counts, over_time, lower] = Layout::vertical(rows).areas(area);
    let shape = &progress.shape;
    let url = Span::styled(format!(" {} ", scrubbed(&shape.url)), palette.title());
    frame.render_widget(Line::from(vec![url, Span::raw(format!(" {}", shape.how))]), head);
    draw_gauge(frame, gauge, progress, palette);
    draw_agents(frame, senders, progress, palette);
    let [now, all, replies] =
        Layout::horizontal([Constraint::Length(26), Constraint::Length(28), Constraint::Fill(1)]).areas(counts);
    figures(frame, now, "last second", last_second(progress), palette);
    figures(frame, all, "total", total(progress), palette);
    draw_replies(frame, replies, progress, palette);
    draw_over_time(frame, over_time, progress, palette);
    let [histogram, times] = Layout::horizontal([Constraint::Fill(1), Constraint::Length(24)]).areas(lower);
    draw_histogram(frame, histogram, progress, palette);
    figures(frame, times, "percentiles", percentiles(progress), palette);
    match progress.stopping {
        true => Line::styled("STOPPING: what is open is awaited. q again: end at once", palette.warn()),
        false => hints("q: stop; ?: help", area.width, palette),
    }
}

fn draw_gauge(frame: &mut Frame<'_>, area: Rect, progress: &LoadProgress, palette: Palette) {
    let (elapsed, sent) = (progress.elapsed.as_secs_f64(), progress.sums.planned);
    let (share, label) = match (progress.shape.requests, progress.shape.lasts.map(|lasts| lasts.as_secs_f64())) {
        // Agents are waited for.
        _ if progress.last.is_none() && !progress.note.is_empty() => (0.0, format!("not begun, {elapsed:.0} s")),
        (Some(requests), _) => {
            (sent as f64 / requests as f64, format!("{sent} of {requests} requests, {elapsed:.0} s"))
        }
        (None, Some(lasts)) if elapsed > lasts => (1.0, "waiting for open requests".to_owned()),
        (None, Some(lasts)) => (elapsed / lasts, format!("{elapsed:.0} s of {lasts:.0} s")),
        (None, None) => (0.0, format!("{elapsed:.0} s")),
    };
    let gauge = Gauge::default().gauge_style(palette.admitted()).ratio(share.clamp(0.0, 1.0)).label(label);
    frame.render_widget(gauge, area);
}

/// Rows of agents that stand beside all else, with their heads; and of what is said of them.
const MOST_AGENTS: u16 = 7;
const MOST_NOTE: usize = 2;

/// Rows for agents and what is said of them; 0: there are none.
fn agent_rows(progress: &LoadProgress, width: u16, tall: bool) -> u16 {
    let note = u16::try_from(note(progress, width).len()).unwrap_or(u16::MAX);
    let agents = u16::try_from(progress.agents.len()).unwrap_or(u16::MAX);
    match agents {
        0 => note,
        agents if tall => agents.saturating_add(1).min(MOST_AGENTS) + note,
        _ => 1 + note,
    }
}

fn note(progress: &LoadProgress, width: u16) -> Vec<Line<'static>> {
    let rows = wrapped(&progress.note, usize::from(width).saturating_sub(2));
    rows.into_iter().filter(|row| !row.is_empty()).take(MOST_NOTE).map(|row| Line::raw(format!(" {row}"))).collect()
}

fn draw_agents(frame: &mut Frame<'_>, area: Rect, progress: &LoadProgress, palette: Palette) {
    let shown = progress.last.as_ref().and_then(|last| last.p99_ms.or(last.p50_ms));
    let note = note(progress, area.width);
    let room = usize::from(area.height).saturating_sub(note.len());
    let mut lines = match progress.agents.is_empty() {
        true => Vec::new(),
        false => agents::rows(&progress.agents, (room, area.width), shown, palette),
    };
    lines.extend(note);
    frame.render_widget(Paragraph::new(lines), area);
}

/// Name, value, and whether that is bad.
type Figure = (String, String, bool);

fn figure(name: &str, value: &dyn ToString) -> Figure {
    (name.to_owned(), value.to_string(), false)
}

/// Names on the left, values on the right.
fn figures(frame: &mut Frame<'_>, area: Rect, title: &str, figures: Vec<Figure>, palette: Palette) {
    let room = usize::from(area.width.saturating_sub(3));
    let line = |(name, value, is_bad): Figure| {
        let room = room.saturating_sub(name.chars().count());
        Line::styled(format!("{name}{value:>room$}"), if is_bad { palette.bad() } else { Style::new() })
    };
    let lines: Vec<Line<'_>> = figures.into_iter().map(line).collect();
    frame.render_widget(Paragraph::new(lines).block(pane(title, false, palette)), area);
}

fn last_second(progress: &LoadProgress) -> Vec<Figure> {
    let Some(last) = &progress.last else { return vec![figure("no second is over yet", &"")] };
    let shown = |known, at_least| Value::of(known, at_least).map_or_else(|| "-".to_owned(), |value| value.shown(time));
    vec![
        figure("sent", &last.sent),
        figure("served", &(last.served + last.late)),
        figure("p50", &shown(last.p50_ms, last.p50_at_least_ms)),
        figure("p99", &shown(last.p99_ms, last.p99_at_least_ms)),
        figure("in flight", &last.in_flight),
        figure("bodies", &format!("{}/s", volume(last.body_bytes as f64))),
    ]
}

fn total(progress: &LoadProgress) -> Vec<Figure> {
    let (sums, last) = (&progress.sums, progress.last.as_ref());
    let seconds = last.map_or(0, |last| last.second + 1).max(1) as f64;
    let served = sums.served + sums.served_late;
    let lost = sums.failed + sums.timed_out + sums.connect_failed + sums.refused_locally;
    let (name, good) = match progress.shape.deadline {
        Some(deadline) => (format!("in {}", time(deadline.as_secs_f64() * 1e3)), sums.served),
        None => ("served/s".to_owned(), served),
    };
    vec![
        figure(&name, &format!("{}/s", rate(good as f64 / seconds))),
        figure("served", &served),
        ("rejected".to_owned(), sums.rejected.to_string(), sums.rejected > 0),
        ("failed, lost".to_owned(), lost.to_string(), lost > 0),
        figure("send lag p99", &last.and_then(|last| last.send_lag_p99_ms).map_or_else(|| "-".to_owned(), time)),
        figure("bodies", &volume(progress.replies.body_bytes as f64)),
    ]
}

fn percentiles(progress: &LoadProgress) -> Vec<Figure> {
    let asked = &progress.shape.percentiles;
    let shown = if asked.is_empty() { &PERCENTILES[..] } else { asked };
    let value = |of| progress.percentile(of).map_or_else(|| "-".to_owned(), |value| value.shown(time));
    shown.iter().map(|of| figure(&format!("p{of}"), &value(*of))).collect()
}

/// Statuses and errors, the most frequent first.
fn draw_replies(frame: &mut Frame<'_>, area: Rect, progress: &LoadProgress, palette: Palette) {
    let replies = &progress.replies;
    let mut rows: Vec<(u64, String, bool)> =
        replies.statuses.iter().map(|(status, count)| (*count, status.to_string(), *status >= 400)).collect();
    rows.extend(replies.errors.iter().map(|(error, count)| (*count, scrubbed(error), true)));
    if progress.sums.timed_out > 0 {
        rows.push((progress.sums.timed_out, "timed out".to_owned(), true));
    }
    rows.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let line = |(count, text, bad): (u64, String, bool)| {
        let line = Line::styled(format!("{count:>9} {text}"), if bad { palette.bad() } else { Style::new() });
        fitted(line, area.width.saturating_sub(2))
    };
    let block = pane("statuses and errors", false, palette);
    frame.render_widget(Paragraph::new(rows.into_iter().map(line).collect::<Vec<_>>()).block(block), area);
}

fn draw_over_time(frame: &mut Frame<'_>, area: Rect, progress: &LoadProgress, palette: Palette) {
    // The whole load has the whole width, as far as its length is known.
    let answered = &progress.answered;
    let lasts = progress.shape.lasts.map_or(0, |lasts| lasts.as_secs() as usize).max(answered.len()).max(1);
    let most = answered.iter().max().copied().unwrap_or_default();
    let block = pane(&format!("served each second, {most}/s at most; from left to right {lasts} s"), false, palette);
    let room = usize::from(area.width.saturating_sub(2));
    let at = |column: usize| answered.get(column * lasts / room).copied();
    frame.render_widget(Sparkline::default().data((0..room).map(at)).style(palette.good()).block(block), area);
}

fn draw_histogram(frame: &mut Frame<'_>, area: Rect, progress: &LoadProgress, palette: Palette) {
    let block = pane("response times: up to, how many", false, palette);
    let inner = block.inner(area);
    let bars = progress.histogram(usize::from(inner.height).clamp(1, 16));
    let most = bars.iter().map(|(_, count)| *count).max().unwrap_or_default().max(1);
    let room = usize::from(inner.width).saturating_sub(22);
    let line = |(end, count): &(f64, u64)| {
        let bar = Span::styled(bar(*count as f64 / most as f64, room), palette.admitted());
        Line::from(vec![Span::raw(format!("{:>10} ", time(*end))), bar, Span::raw(format!(" {count:>9}"))])
    };
    frame.render_widget(Paragraph::new(bars.iter().map(line).collect::<Vec<_>>()).block(block), area);
}
