//! Rates on one axis, and the 90th percentile against the target, both over the time of the arm.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::Style,
    symbols::Marker,
    text::{Line, Span},
    widgets::{Axis, Block, Borders, Chart, Dataset, GraphType},
};

use crate::{
    live::Second,
    text,
    tui::{
        Palette,
        state::{Running, State},
    },
};

/// A line of a chart: name, style, the mark that tells it apart without colour, and its points; `None` is a gap.
struct Series {
    name: &'static str,
    style: Style,
    mark: char,
    points: Vec<(f64, Option<f64>)>,
}

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let [left, right] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(area);
    let Some(running) = &state.running else {
        for (area, title) in [(left, " requests a second "), (right, " response time ")] {
            frame.render_widget(Block::new().borders(Borders::TOP).title(title), area);
        }
        return;
    };
    rates(frame, left, state, running, palette);
    response_time(frame, right, state, running, palette);
}

fn rates(frame: &mut Frame<'_>, area: Rect, state: &State, running: &Running, palette: Palette) {
    let of = |read: fn(&Second) -> u64| points(running, |second| Some(read(second) as f64));
    let series = [
        Series { name: "offered", style: palette.offered(), mark: '.', points: of(|s| s.planned) },
        Series {
            name: "admitted",
            style: palette.admitted(),
            mark: '-',
            points: of(|s| s.planned.saturating_sub(s.rejected + s.connect_failed)),
        },
        Series { name: "in time", style: palette.good(), mark: '+', points: of(|s| s.served) },
        Series { name: "rejected", style: palette.bad(), mark: 'x', points: of(|s| s.rejected) },
    ];
    let top = series.iter().flat_map(|s| &s.points).filter_map(|(_, y)| *y).fold(1.0, f64::max) * 1.05;
    let labels = vec![Line::raw("0"), Line::raw(text::rate(top / 2.0)), Line::raw(format!("{}/s", text::rate(top)))];
    plot(frame, area, state, "requests", "", &series, ([0.0, top], labels), palette);
}

/// On a logarithmic axis: without control it is a hundred times the target.
fn response_time(frame: &mut Frame<'_>, area: Rect, state: &State, running: &Running, palette: Palette) {
    let target = state.objective_ms().unwrap_or(1000.0);
    let measured = |second: &Second| second.p90_ms;
    let values: Vec<f64> = running.seconds.iter().filter_map(measured).collect();
    let low = values.iter().copied().fold(target, f64::min).max(0.1).log10().floor();
    let high = values.iter().copied().fold(target * 1.01, f64::max).log10().ceil().max(low + 1.0);
    let to = |ms: f64| ms.max(0.1).log10();
    let end = x_end(state, running);
    let series = [
        Series {
            name: "target",
            style: palette.target(),
            mark: '=',
            points: vec![(0.0, Some(to(target))), (end, Some(to(target)))],
        },
        Series {
            name: "p90",
            style: if running.latest().and_then(measured).is_some_and(|p90| p90 > target) {
                palette.bad()
            } else {
                palette.good()
            },
            mark: 'o',
            points: points(running, |second| measured(second).map(to)),
        },
    ];
    let decades = (high - low) as usize;
    let labels = (0..=decades).map(|i| Line::raw(short_time(10_f64.powf(low + i as f64)))).collect();
    let latest = match running.latest().and_then(measured) {
        Some(p90) => {
            format!(" p90 {} {} {} ", text::time(p90), if p90 > target { ">" } else { "<=" }, text::time(target))
        }
        None => " p90: too few answers ".to_owned(),
    };
    plot(frame, area, state, "response time", &latest, &series, ([low, high], labels), palette);
}

/// Axis labels: powers of ten.
fn short_time(ms: f64) -> String {
    if ms >= 1000.0 {
        format!("{:.0} s", ms / 1000.0)
    } else if ms >= 1.0 {
        format!("{ms:.0} ms")
    } else {
        format!("{ms:.1} ms")
    }
}

fn points(running: &Running, read: impl Fn(&Second) -> Option<f64>) -> Vec<(f64, Option<f64>)> {
    running.seconds.iter().map(|second| (f64::from(second.second) + 0.5, read(second))).collect()
}

/// The whole arm, or what is kept of it.
fn x_end(state: &State, running: &Running) -> f64 {
    let so_far = running.latest().map_or(0.0, |second| f64::from(second.second) + 1.0);
    state.planned_seconds().max(so_far).max(1.0)
}

#[expect(clippy::too_many_arguments, reason = "one call draws one chart; a struct would only rename its arguments")]
fn plot(
    frame: &mut Frame<'_>,
    area: Rect,
    state: &State,
    title: &str,
    latest: &str,
    series: &[Series],
    (y, labels): ([f64; 2], Vec<Line<'_>>),
    palette: Palette,
) {
    let Some(running) = &state.running else { return };
    let start = running.seconds.front().map_or(0.0, |second| f64::from(second.second));
    let end = x_end(state, running);

    // Without colour lines are told apart by their marks; with it, fine lines show more.
    let plain = palette == Palette::Plain;
    let marker = |series: &Series| if plain { Marker::Custom(series.mark) } else { Marker::Braille };
    let segments: Vec<(usize, Vec<(f64, f64)>)> =
        series.iter().enumerate().flat_map(|(i, s)| segments(&s.points).into_iter().map(move |seg| (i, seg))).collect();
    let rows = f64::from(area.height.max(2));
    let walls: Vec<Vec<(f64, f64)>> = state
        .boundaries()
        .into_iter()
        .filter(|at| (start..end).contains(at))
        .map(|at| (0..area.height).map(|i| (at, y[0] + (y[1] - y[0]) * f64::from(i) / (rows - 1.0))).collect())
        .collect();
    let mut datasets: Vec<Dataset<'_>> = walls
        .iter()
        .map(|wall| Dataset::default().marker(Marker::Custom(':')).style(palette.faint()).data(wall))
        .collect();
    for (index, segment) in &segments {
        let series = &series[*index];
        let graph = if segment.len() > 1 { GraphType::Line } else { GraphType::Scatter };
        datasets.push(Dataset::default().marker(marker(series)).graph_type(graph).style(series.style).data(segment));
    }
    let roomy = usize::from(area.width) > title.len() + latest.len() + 40;
    let mut legend = if roomy { vec![Span::raw(format!(" {title} "))] } else { Vec::new() };
    for series in series {
        let mark = if plain { series.mark } else { '━' };
        legend.push(Span::styled(format!("{mark}{} ", series.name), series.style));
    }
    let chart = Chart::new(datasets)
        .block(
            Block::new()
                .borders(Borders::TOP)
                .title(Line::from(legend))
                .title(Line::styled(latest.to_owned(), palette.strong()).right_aligned()),
        )
        .legend_position(None)
        .x_axis(
            Axis::default()
                .bounds([start, end])
                .labels([format!("{start:.0}"), format!("{end:.0} s")])
                .style(palette.faint()),
        )
        .y_axis(Axis::default().bounds(y).labels(labels).style(palette.faint()));
    frame.render_widget(chart, area);
}

/// Runs of points without a gap.
fn segments(points: &[(f64, Option<f64>)]) -> Vec<Vec<(f64, f64)>> {
    points
        .split(|(_, y)| y.is_none())
        .filter(|run| !run.is_empty())
        .map(|run| run.iter().filter_map(|(x, y)| y.map(|y| (*x, y))).collect())
        .collect()
}
