//! Sessions: how many, how long, and how they arrived.

use analysis::{
    series::value::Value,
    text::{rate, time},
};
use ratatui::{prelude::*, widgets::*};

use super::super::{
    plot::{Plot, Series, from_zero},
    widgets::titled,
};
use crate::{Palette, app::Trace};

/// The height from which their lengths are drawn as well.
const TALL: u16 = 15;
const WORDS: u16 = 7;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, trace: &Trace, palette: Palette) {
    let drawn = area.height >= TALL && trace.seen.lengths.is_some();
    let words = if drawn { Constraint::Length(WORDS) } else { Constraint::Fill(1) };
    let curve = if drawn { Constraint::Fill(1) } else { Constraint::Length(0) };
    let [above, below] = Layout::vertical([words, curve]).areas(area);
    let block = titled(" [5] sessions ", palette);
    frame.render_widget(Paragraph::new(lines(trace, palette)).wrap(Wrap { trim: false }).block(block), above);
    if drawn {
        lengths(trace, palette).draw(frame, below, palette);
    }
}

fn lines(trace: &Trace, palette: Palette) -> Vec<Line<'static>> {
    let seen = &trace.seen;
    let line = |word: &'static str, text: String| {
        Line::from(vec![Span::styled(format!(" {word:<9}"), palette.faint()), Span::raw(text)])
    };
    let mut lines = vec![
        line("number", format!("{} of {} users; {} were cut", seen.sessions, seen.users, seen.cut)),
        line("begin", format!("{}/s over {}", rate(seen.arrivals.per_second), time(seen.length.as_secs_f64() * 1e3))),
    ];
    if let (Some(dispersion), Some(p)) = (seen.arrivals.dispersion, seen.arrivals.p) {
        let bin = time(seen.arrivals.bin.as_secs_f64() * 1e3);
        lines.push(line("", format!("dispersion {dispersion:.2} over {bin} (1: Poisson, even rate; p {p:.3})")));
    }
    if let Some(lengths) = &seen.lengths {
        let text = format!("mean {:.1}, p50 {}, p90 {}, most {}", lengths.mean, lengths.p50, lengths.p90, lengths.max);
        lines.push(line("requests", text));
    }
    if let Some(pauses) = &seen.pauses {
        let ms = |micros: u64| time(micros as f64 / 1e3);
        let text = format!("mean {}, p50 {}, p90 {}", time(pauses.mean / 1e3), ms(pauses.p50), ms(pauses.p90));
        lines.push(line("pauses", text));
    }
    lines
}

/// Up to how many requests each part of them had.
fn lengths(trace: &Trace, palette: Palette) -> Plot<'static> {
    let curve = &trace.seen.lengths_curve;
    let share = 100.0 / curve.len().max(1) as f64;
    let point = |(at, &requests): (usize, &u64)| ((at as f64 + 0.5) * share, Some(Value::known(requests as f64)));
    let top = curve.last().copied().unwrap_or(1).max(1) as f64 * 1.05;
    let points = curve.iter().enumerate().map(point).collect();
    let up = from_zero(top, "");
    Plot {
        title: "lengths:",
        span: [0.0, 100.0],
        unit: "% of them",
        up,
        series: vec![Series {
            name: "requests in a session".to_owned(),
            style: palette.good(),
            mark: '+',
            points,
            ..Series::default()
        }],
        ..Plot::default()
    }
}
