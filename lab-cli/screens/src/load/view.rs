//! The frame: a pure function of the progress.

use analysis::text::{rate, scrubbed, time, volume};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
    widgets::{Gauge, Paragraph, Sparkline},
};

use super::progress::Progress;
use crate::{
    Palette,
    view::{
        bars::bar,
        widgets::{hints, pane},
    },
};

/// Below this nothing useful fits.
const LEAST: (u16, u16) = (60, 16);
/// Percentiles that are shown where no others were asked for.
const PERCENTILES: [f64; 6] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9];

pub(super) fn draw(frame: &mut Frame<'_>, progress: &Progress, palette: Palette) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let text = format!("{} x {} is too small; the load goes on. q stops it.", area.width, area.height);
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    let chart = if area.height >= 30 { 7 } else { 4 };
    let [head, gauge, counts, over_time, lower, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(8),
        Constraint::Length(chart),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(area);
    let shape = &progress.shape;
    let url = Span::styled(format!(" {} ", scrubbed(&shape.url)), palette.title());
    frame.render_widget(Line::from(vec![url, Span::raw(format!(" {}", shape.how))]), head);
    draw_gauge(frame, gauge, progress, palette);
    let [now, all, replies] =
        Layout::horizontal([Constraint::Length(26), Constraint::Length(28), Constraint::Fill(1)]).areas(counts);
    draw_now(frame, now, progress, palette);
    draw_all(frame, all, progress, palette);
    draw_replies(frame, replies, progress, palette);
    draw_over_time(frame, over_time, progress, palette);
    let [histogram, percentiles] = Layout::horizontal([Constraint::Fill(1), Constraint::Length(24)]).areas(lower);
    draw_histogram(frame, histogram, progress, palette);
    draw_percentiles(frame, percentiles, progress, palette);
    let hint = match progress.stopping {
        true => Line::styled("STOPPING: what is open is awaited. q again: end at once", palette.warn()),
        false => hints(&[("q", "stop")], area.width, palette),
    };
    frame.render_widget(hint, keys);
}

fn draw_gauge(frame: &mut Frame<'_>, area: Rect, progress: &Progress, palette: Palette) {
    let elapsed = progress.elapsed.as_secs_f64();
    let (share, label) = match (progress.shape.requests, progress.shape.lasts) {
        (Some(requests), _) => {
            let share = progress.sums.planned as f64 / requests as f64;
            (share, format!("{} of {requests} requests, {elapsed:.0} s", progress.sums.planned))
        }
        (None, Some(lasts)) => {
            let lasts = lasts.as_secs_f64();
            let label = if elapsed > lasts {
                "waiting for open requests".to_owned()
            } else {
                format!("{elapsed:.0} s of {lasts:.0} s")
            };
            (elapsed / lasts, label)
        }
        (None, None) => (0.0, format!("{elapsed:.0} s")),
    };
    let gauge = Gauge::default().gauge_style(palette.admitted()).ratio(share.clamp(0.0, 1.0)).label(label);
    frame.render_widget(gauge, area);
}

fn row(name: &str, value: &str) -> Line<'static> {
    Line::raw(format!("{name:<14}{value:>9}"))
}

fn draw_now(frame: &mut Frame<'_>, area: Rect, progress: &Progress, palette: Palette) {
    let block = pane("last second", false, palette);
    let Some(last) = &progress.last else {
        frame.render_widget(Paragraph::new("no second is over yet").block(block), area);
        return;
    };
    let shown = |known: Option<f64>, least: Option<f64>| match (known, least) {
        (Some(ms), _) => time(ms),
        (None, Some(ms)) => format!(">= {}", time(ms)),
        (None, None) => "-".to_owned(),
    };
    let lines = vec![
        row("sent", &last.sent.to_string()),
        row("served", &(last.served + last.late).to_string()),
        row("p50", &shown(last.p50_ms, last.p50_at_least_ms)),
        row("p99", &shown(last.p99_ms, last.p99_at_least_ms)),
        row("in flight", &last.in_flight.to_string()),
        row("bodies", &format!("{}/s", volume(last.body_bytes as f64))),
    ];
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn draw_all(frame: &mut Frame<'_>, area: Rect, progress: &Progress, palette: Palette) {
    let sums = &progress.sums;
    let seconds = progress.last.as_ref().map_or(0, |last| last.second + 1).max(1) as f64;
    let served = sums.served + sums.served_late;
    let lost = sums.failed + sums.timed_out + sums.connect_failed + sums.refused_locally;
    let goodput = match progress.shape.deadline {
        Some(deadline) => row(
            &format!("in {}", time(deadline.as_secs_f64() * 1e3)),
            &format!("{}/s", rate(sums.served as f64 / seconds)),
        ),
        None => row("served/s", &format!("{}/s", rate(served as f64 / seconds))),
    };
    let bad = |line: Line<'static>, count: u64| if count > 0 { line.style(palette.bad()) } else { line };
    let lines = vec![
        goodput,
        row("served", &served.to_string()),
        bad(row("rejected", &sums.rejected.to_string()), sums.rejected),
        bad(row("failed, lost", &lost.to_string()), lost),
        row(
            "send lag p99",
            &progress.last.as_ref().and_then(|last| last.send_lag_p99_ms).map_or_else(|| "-".to_owned(), time),
        ),
        row("bodies", &volume(progress.replies.body_bytes as f64)),
    ];
    let block = pane("total", false, palette);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// Statuses and errors, the most frequent first.
fn draw_replies(frame: &mut Frame<'_>, area: Rect, progress: &Progress, palette: Palette) {
    let replies = &progress.replies;
    let mut rows: Vec<(u64, String, bool)> =
        replies.statuses.iter().map(|(status, count)| (*count, status.to_string(), *status >= 400)).collect();
    rows.extend(replies.errors.iter().map(|(error, count)| (*count, scrubbed(error), true)));
    if progress.sums.timed_out > 0 {
        rows.push((progress.sums.timed_out, "no answer within the time-out".to_owned(), true));
    }
    rows.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let line = |(count, text, bad): (u64, String, bool)| {
        let line = Line::raw(format!("{count:>9} {text}"));
        if bad { line.style(palette.bad()) } else { line }
    };
    let block = pane("statuses and errors", false, palette);
    frame.render_widget(Paragraph::new(rows.into_iter().map(line).collect::<Vec<_>>()).block(block), area);
}

fn draw_over_time(frame: &mut Frame<'_>, area: Rect, progress: &Progress, palette: Palette) {
    let most = progress.answered.iter().max().copied().unwrap_or_default();
    let title = format!("served each second, {most} at most");
    let block = pane(&title, false, palette);
    // The whole load has the whole width, as far as its length is known.
    let answered = &progress.answered;
    let lasts = progress.shape.lasts.map_or(0, |lasts| lasts.as_secs() as usize).max(answered.len()).max(1);
    let room = usize::from(area.width.saturating_sub(2));
    let at = |column: usize| answered.get(column * lasts / room).copied();
    frame.render_widget(Sparkline::default().data((0..room).map(at)).style(palette.good()).block(block), area);
}

fn draw_histogram(frame: &mut Frame<'_>, area: Rect, progress: &Progress, palette: Palette) {
    let block = pane("response times up to", false, palette);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let bars = progress.histogram(usize::from(inner.height).clamp(1, 16));
    let most = bars.iter().map(|(_, count)| *count).max().unwrap_or_default().max(1);
    let room = usize::from(inner.width).saturating_sub(22);
    let line = |(end, count): &(f64, u64)| {
        let bar = bar(*count as f64 / most as f64, room, palette);
        let label = Span::raw(format!("{:>10} ", time(*end)));
        Line::from(vec![label, Span::styled(bar, palette.admitted()), Span::raw(format!(" {count:>9}"))])
    };
    frame.render_widget(Paragraph::new(bars.iter().map(line).collect::<Vec<_>>()), inner);
}

fn draw_percentiles(frame: &mut Frame<'_>, area: Rect, progress: &Progress, palette: Palette) {
    let asked = &progress.shape.percentiles;
    let shown = if asked.is_empty() { &PERCENTILES[..] } else { asked };
    let line = |percentile: &f64| {
        let value = match progress.percentile(*percentile) {
            Some((ms, false)) => time(ms),
            Some((ms, true)) => format!(">= {}", time(ms)),
            None => "-".to_owned(),
        };
        let name = format!("p{percentile}");
        Line::raw(format!("{name:<8}{value:>13}"))
    };
    let block = pane("percentiles", false, palette);
    frame.render_widget(Paragraph::new(shown.iter().map(line).collect::<Vec<_>>()).block(block), area);
}
