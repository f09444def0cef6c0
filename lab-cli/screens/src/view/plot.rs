//! Curves over time, told apart by colour and by their marks.

use analysis::{
    chart::Point,
    series::{
        axis::{Axis as Scale, shown},
        value::{Value, arrows},
    },
};
use ratatui::{prelude::*, symbols::Marker, widgets::*};

use super::widgets::ruled;
use crate::{Palette, column::Column};

/// Between two arrows (`^`) of a line that is drawn at its bound, in columns.
const ARROWS_APART: f64 = 4.0;

/// The upright axis.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Upright {
    /// The lowest and the highest value; where it goes by factors, their logarithms.
    pub ends: [f64; 2],
    /// Evenly spaced from the lowest to the highest.
    pub labels: Vec<String>,
    /// Logarithmic, by factors of ten.
    pub log: bool,
}

impl Upright {
    /// The position of a value; what a logarithmic axis has no place for is at its foot.
    pub fn at(&self, value: f64) -> f64 {
        if self.log { libm::log10(value).max(self.ends[0]) } else { value }
    }

    /// Labels that have room on so many rows: all, or those of the ends.
    fn labels_on(&self, rows: u16) -> Vec<String> {
        match &self.labels[..] {
            [first, .., last] if self.labels.len() > usize::from(rows) => vec![first.clone(), last.clone()],
            all => all.to_vec(),
        }
    }
}

/// A curve: name (empty: it stands in no legend), style, the mark that tells it apart without colour, and its points; `None` is a gap.
#[derive(Default)]
pub(super) struct Series {
    pub name: String,
    pub style: Style,
    pub mark: char,
    pub points: Vec<Point>,
    /// The area under the line is filled, where there is colour.
    pub filled: bool,
    /// Another line is what is looked at.
    pub faint: bool,
}

impl Series {
    /// A value that others are held against, from end to end.
    pub fn level(name: &str, at: f64, span: [f64; 2], palette: Palette) -> Self {
        let points = span.map(|x| (x, Some(Value::known(at)))).to_vec();
        Self { name: name.to_owned(), style: palette.target(), mark: '=', points, ..Self::default() }
    }
}

/// A phase: when it ends, and its name.
pub(super) type PhaseEnd = (f64, String);

/// The contents of one pair of axes.
#[derive(Default)]
pub(super) struct Plot<'a> {
    /// The key that gives it the screen; empty if none does.
    pub key: &'static str,
    pub title: &'a str,
    /// The text at the right end of the title.
    pub latest: String,
    /// The range of the horizontal axis, and its unit.
    pub span: [f64; 2],
    pub unit: &'static str,
    pub up: Upright,
    /// Evenly spaced from the left end to the right; empty: the ends of the span.
    pub places: Vec<String>,
    /// Phases in their order: where one ends and the next begins. Names are left out where they are empty.
    pub phases: Vec<PhaseEnd>,
    /// The point in time that is looked at.
    pub cursor: Option<f64>,
    /// Times of interventions.
    pub marks: Vec<f64>,
    pub series: Vec<Series>,
    /// The series that is drawn over all others.
    pub front: Option<usize>,
    /// Names stand at the ends of their lines, and in no legend.
    pub names_at_ends: bool,
}

impl Plot<'_> {
    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, palette: Palette) {
        // Without colour lines differ by their marks; with it, fine lines show more.
        let plain = palette == Palette::Plain;
        let marker = |series: &Series| match (plain, series.points.len()) {
            (true, _) => Marker::Custom(series.mark),
            (false, 1) => Marker::Custom('●'),
            (false, _) => Marker::Braille,
        };
        let latest = Line::styled(self.latest_shown(area.width).to_owned(), palette.strong()).right_aligned();
        let block = ruled(self.legend(area.width, palette), palette).title(latest);
        frame.render_widget(block, area);
        let (whole, area) = (area, self.lines_area(area));
        let [start, end] = self.span;
        let walls: Vec<f64> = self.phases.iter().map(|(end, _)| *end).collect();
        let (walls, marks) = (self.uprights(&walls, area), self.uprights(&self.marks, area));
        let cursor = self.uprights(&Vec::from_iter(self.cursor), area);
        let mut datasets: Vec<Dataset<'_>> = Vec::new();
        let segments: Vec<(&Series, Vec<(f64, f64)>)> =
            self.series.iter().flat_map(|s| self.segments(s).into_iter().map(move |segment| (s, segment))).collect();
        let filled = segments.iter().filter(|(series, _)| series.filled && !plain);
        datasets.extend(filled.map(|(series, segment)| {
            let area = Dataset::default().marker(Marker::Braille).graph_type(GraphType::Area);
            area.fill_to_y(self.up.ends[0]).style(palette.dimmed(series.style)).data(segment)
        }));
        datasets.extend(walls.iter().map(|data| upright(data, ':', palette.faint())));
        datasets.extend(marks.iter().map(|data| upright(data, '!', palette.warn())));
        datasets.extend(cursor.iter().map(|data| upright(data, '│', palette.accent())));
        // At least so far apart, in columns.
        let apart = (end - start) / f64::from(area.width.max(1)) * ARROWS_APART;
        let arrows: Vec<(&Series, Vec<(f64, f64)>)> =
            self.series.iter().map(|series| (series, arrows(&self.placed(series), apart))).collect();
        let front = self.front.and_then(|front| self.series.get(front));
        let is_front = |series: &Series| front.is_some_and(|front| std::ptr::eq(front, series));
        let (above, below): (Vec<_>, Vec<_>) = segments.iter().partition(|(series, _)| is_front(series));
        for (series, segment) in below.into_iter().chain(above) {
            let graph = if segment.len() > 1 { GraphType::Line } else { GraphType::Scatter };
            let style = if series.faint && segment.len() > 1 { palette.dimmed(series.style) } else { series.style };
            datasets.push(Dataset::default().marker(marker(series)).graph_type(graph).style(style).data(segment));
        }
        for (series, arrows) in &arrows {
            datasets.push(Dataset::default().marker(Marker::Custom('^')).style(series.style).data(arrows));
        }
        let axis = Axis::default().style(palette.faint());
        let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        let chart = Chart::new(datasets)
            .legend_position(None)
            .x_axis(axis.clone().bounds([start, end]).labels(self.ends()))
            .y_axis(axis.bounds(self.up.ends).labels(self.up.labels_on(below.height.saturating_sub(2))));
        frame.render_widget(chart, below.intersection(whole));
        self.name_phases(frame, area, palette);
        self.tick(frame, area, palette);
        self.name_ends(frame, whole, palette);
    }

    fn named(&self) -> impl Iterator<Item = &Series> {
        self.series.iter().filter(|series| !series.name.is_empty())
    }

    /// The place of the lines, without that of the names at their ends.
    fn lines_area(&self, area: Rect) -> Rect {
        let longest = self.named().map(|series| series.name.chars().count()).max().filter(|_| self.names_at_ends);
        let names = longest.map_or(0, |longest| u16::try_from(longest + 1).unwrap_or(LONGEST_END));
        Rect { width: area.width - names.min(LONGEST_END).min(area.width / 4), ..area }
    }

    /// Names at the ends of their lines, that in front first, as far as there are free places at most a few rows from there.
    fn name_ends(&self, frame: &mut Frame<'_>, whole: Rect, palette: Palette) {
        let (area, [low, high]) = (self.lines_area(whole), self.up.ends);
        let rows = area.height.saturating_sub(3);
        if !self.names_at_ends || rows == 0 {
            return;
        }
        let front = self.front.and_then(|front| self.series.get(front));
        let others = self.named().filter(|series| front.is_none_or(|front| !std::ptr::eq(front, *series)));
        for series in front.into_iter().chain(others) {
            let in_span = |x: f64| (self.span[0]..=self.span[1]).contains(&x);
            let last =
                series.points.iter().rev().find_map(|(x, value)| Some((*x, (*value)?)).filter(|(x, _)| in_span(*x)));
            let Some((x, value)) = last else { continue };
            let from_top = (high - self.up.at(value.at)) / (high - low) * f64::from(rows - 1);
            let row = area.y + 1 + from_top.round().clamp(0.0, f64::from(rows - 1)) as u16;
            // Names of lines stand below each other.
            let left = if series.points.len() > 1 { area.right() + 1 } else { self.column(x, area) + 2 };
            let name: String = series.name.chars().take(usize::from(whole.right().saturating_sub(left))).collect();
            let wide = u16::try_from(name.chars().count()).unwrap_or(u16::MAX);
            let buffer = frame.buffer_mut();
            let near = (0..=FARTHEST).flat_map(|by| [row.checked_sub(by), Some(row + by)]).flatten();
            let mut places = near.filter(|y| (area.y + 1..area.y + 1 + rows).contains(y));
            let is_free = |y: &u16| (left - 1..left + wide).all(|x| buffer[(x, *y)].symbol().trim().is_empty());
            if let Some(y) = places.find(is_free) {
                let style = if series.faint { series.style } else { series.style.patch(palette.strong()) };
                buffer.set_string(left, y, name, style);
            }
        }
    }

    fn placed(&self, series: &Series) -> Vec<Point> {
        series.points.iter().map(|(x, value)| (*x, value.map(|value| value.map(|at| self.up.at(at))))).collect()
    }

    /// Runs of points without a gap.
    fn segments(&self, series: &Series) -> Vec<Vec<(f64, f64)>> {
        let placed = self.placed(series);
        let runs = placed.split(|(_, y)| y.is_none()).filter(|run| !run.is_empty());
        runs.map(|run| run.iter().filter_map(|(x, y)| Some((*x, (*y)?.at))).collect()).collect()
    }

    /// Upright lines at these times, as far as they are on the axis.
    fn uprights(&self, times: &[f64], area: Rect) -> Vec<Vec<(f64, f64)>> {
        let ([start, end], [low, high]) = (self.span, self.up.ends);
        let rows = f64::from(area.height.max(2));
        let upright = |at: f64| -> Vec<(f64, f64)> {
            (0..area.height).map(|i| (at, low + (high - low) * f64::from(i) / (rows - 1.0))).collect()
        };
        times.iter().filter(|at| (start..end).contains(*at)).map(|at| upright(*at)).collect()
    }

    fn ends(&self) -> Vec<String> {
        let [start, end] = self.span;
        let ends = || vec![format!("{start:.0}"), format!("{end:.0} {}", self.unit)];
        if self.places.is_empty() { ends() } else { self.places.clone() }
    }

    fn in_legend(&self) -> impl Iterator<Item = &Series> {
        self.named().filter(|_| !self.names_at_ends)
    }

    /// The text at the right end; the names of a few lines go before it.
    fn latest_shown(&self, width: u16) -> &str {
        let names: usize = self.in_legend().map(|series| series.name.chars().count() + 2).sum();
        let left = self.key.chars().count() + 2 + names;
        let fits = left + self.latest.chars().count() <= usize::from(width);
        if fits || self.in_legend().count() > FEW || left > usize::from(width) { &self.latest } else { "" }
    }

    /// Names of lines as far as there is room beside what stands at the right end; the number of those that are left out.
    fn legend(&self, width: u16, palette: Palette) -> Line<'static> {
        let named = || self.in_legend();
        let wide = |series: &Series| series.name.chars().count() + 2;
        let latest = self.latest_shown(width).chars().count();
        let room = usize::from(width).saturating_sub(latest);
        let roomy = usize::from(width) > self.title.len() + latest + 40;
        let all: usize = named().map(wide).sum();
        let mut spans = Vec::new();
        let mut used = 0;
        for (word, style, shown) in [
            (self.key, palette.accent(), !self.key.is_empty()),
            (self.title, palette.strong(), !self.title.is_empty() && (roomy || all == 0)),
        ] {
            if shown {
                used += word.chars().count() + 1;
                spans.push(Span::styled(format!(" {word}"), style));
            }
        }
        if !spans.is_empty() {
            used += 1;
            spans.push(Span::raw(" "));
        }
        let count = named().count();
        for (n, series) in named().enumerate() {
            let left_out = format!("+{} ", count - n);
            let rest = if n + 1 < count { left_out.len() } else { 0 };
            if used + wide(series) + rest > room {
                spans.push(Span::styled(left_out, palette.faint()));
                break;
            }
            used += wide(series);
            let mark = palette.mark(series.mark);
            spans.push(Span::styled(format!("{mark}{} ", series.name), series.style.not_dim()));
        }
        Line::from(spans)
    }

    /// The columns in which lines are drawn: what the chart leaves beside the labels of its axis.
    fn columns(&self, area: Rect) -> (u16, u16) {
        let wide = |text: &String| u16::try_from(text.chars().count()).unwrap_or(u16::MAX);
        let labels = self.up.labels.iter().map(wide).max().unwrap_or(0);
        let first = self.ends().first().map_or(0, |first| wide(first).saturating_sub(1));
        let left = area.left() + labels.max(first).min(area.width / 3) + 1;
        (left.min(area.right()), area.right())
    }

    /// The column of a time.
    fn column(&self, at: f64, area: Rect) -> u16 {
        let ((left, right), [start, end]) = (self.columns(area), self.span);
        let wide = f64::from(right - left).max(1.0) - 1.0;
        left + ((at - start) / (end - start).max(1e-9) * wide).round().clamp(0.0, wide) as u16
    }

    /// The time at a column of the screen, in whole units; `None`: no line is drawn there.
    pub(super) fn time_at(&self, area: Rect, x: u16) -> Option<f64> {
        let ((left, right), [start, end]) = (self.columns(self.lines_area(area)), self.span);
        let wide = f64::from(right.saturating_sub(left)).max(1.0);
        (left..right).contains(&x).then(|| (start + f64::from(x - left) / wide * (end - start)).floor())
    }

    /// Each phase's name at the top of its part of the plot, as far as it has room and nothing is drawn there.
    fn name_phases(&self, frame: &mut Frame<'_>, area: Rect, palette: Palette) {
        if area.height < LEAST_NAMED {
            return;
        }
        let (mut begins, [from, to]) = (0.0_f64, self.span);
        for (end, name) in &self.phases {
            let (begin, end) = (begins.max(from), end.min(to));
            begins = end.max(begins);
            if name.is_empty() || begin >= end {
                continue;
            }
            let (left, right) = (self.column(begin, area) + 1, self.column(end, area));
            let name: String = name.chars().take(usize::from(right.saturating_sub(left))).collect();
            let wide = u16::try_from(name.chars().count()).unwrap_or(u16::MAX);
            let row = Rect { x: left, y: area.y + 1, width: wide, height: 1 }.intersection(area);
            let buffer = frame.buffer_mut();
            let is_free = row.positions().all(|place| buffer[place].symbol().trim().is_empty());
            if wide >= LEAST_NAME && is_free {
                buffer.set_string(row.x, row.y, &name, palette.faint());
            }
        }
    }

    /// Round times between the two ends of a time axis.
    fn tick(&self, frame: &mut Frame<'_>, area: Rect, palette: Palette) {
        if !self.places.is_empty() || self.unit != "s" || area.height < 4 {
            return;
        }
        let ([start, end], (left, right)) = (self.span, self.columns(area));
        let most = f64::from((right - left) / 12).max(1.0);
        let step = STEPS.into_iter().find(|step| (end - start) / step <= most).unwrap_or(end - start);
        let row = area.bottom() - 1;
        let mut at = (start / step).floor() * step + step;
        while at < end {
            let text = format!("{at:.0}");
            let wide = u16::try_from(text.len()).unwrap_or(u16::MAX);
            let x = self.column(at, area).saturating_sub(wide / 2);
            let place = Rect { x: x.saturating_sub(1), y: row, width: wide + 2, height: 1 }.intersection(area);
            let buffer = frame.buffer_mut();
            if place.positions().all(|cell| buffer[cell].symbol().trim().is_empty()) {
                buffer.set_string(x, row, &text, palette.faint());
            }
            at += step;
        }
    }
}

/// Lines whose names are all to be seen.
const FEW: usize = 3;
/// Columns at the most of a name at the end of its line, and rows between both.
const LONGEST_END: u16 = 16;
const FARTHEST: u16 = 2;
/// Seconds between two ticks of a time axis.
const STEPS: [f64; 13] = [1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0];
/// Rows from which on phases are named, and letters of a name below which it says nothing.
const LEAST_NAMED: u16 = 6;
const LEAST_NAME: u16 = 3;

/// A line from below to above.
fn upright(data: &[(f64, f64)], mark: char, style: Style) -> Dataset<'_> {
    Dataset::default().marker(Marker::Custom(mark)).style(style).data(data)
}

/// An axis from nothing to a round number above this value, in this unit.
pub(super) fn from_zero(most: f64, unit: &str) -> Upright {
    let (top, ticks) = round_top(&Scale::linear(0.0, most), most);
    let label = |at: f64| if at < top { shown(at) } else { format!("{}{unit}", shown(at)) };
    Upright { ends: [0.0, top], labels: ticks.into_iter().map(label).collect(), log: false }
}

/// Ticks of an axis from zero that ends at one of them, since labels on a terminal are evenly spaced from end to end.
pub(super) fn round_top(up: &Scale, most: f64) -> (f64, Vec<f64>) {
    let step = up.ticks.get(1).copied().unwrap_or(up.to);
    let steps = libm::ceil(most / step - 1e-9).max(1.0);
    (steps * step, (0..=steps as u32).map(|n| f64::from(n) * step).collect())
}

/// Axis of a figure: of times by factors of ten about the target, of others from nothing.
pub(super) fn axis_of(column: Column, values: impl Iterator<Item = f64>, target: f64) -> Upright {
    if column.is_time() { decades(values, target) } else { from_zero(values.fold(1.0, f64::max), column.unit()) }
}

/// An axis of times, by factors of ten, that has these values and the target in it, in whole decades.
pub(super) fn decades(values: impl Iterator<Item = f64>, target: f64) -> Upright {
    let (low, high) = values.fold((target, target * 1.01), |(low, high), ms| (low.min(ms), high.max(ms)));
    let low = libm::log10(low.max(0.1)).floor();
    let high = libm::log10(high).ceil().max(low + 1.0);
    let labels = (0..=(high - low) as usize).map(|i| short_time(libm::pow(10.0, low + i as f64))).collect();
    Upright { ends: [low, high], labels, log: true }
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
