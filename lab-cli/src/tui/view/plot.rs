//! Curves over time, told apart by colour and by their marks.

use analysis::{
    series::value::{Value, arrows},
    text,
};
use ratatui::{
    Frame,
    layout::Rect,
    style::Style,
    symbols::Marker,
    text::{Line, Span},
    widgets::{Axis, Block, Borders, Chart, Dataset, GraphType},
};

use crate::tui::Palette;

/// Between two arrows (`^`) of a line that is drawn at its bound, in columns.
const ARROWS_APART: f64 = 4.0;

/// A curve: name (empty: it stands in no legend), style, the mark that tells it apart without colour, and its points; `None` is a gap.
pub(super) struct Series {
    pub name: String,
    pub style: Style,
    pub mark: char,
    pub points: Vec<(f64, Option<Value>)>,
}

/// What is drawn on one pair of axes.
#[derive(Default)]
pub(super) struct Plot<'a> {
    /// The key that gives it the screen; empty if none does.
    pub key: &'static str,
    pub title: &'a str,
    /// At the right end of the title.
    pub latest: String,
    /// From the left end to the right, and in what.
    pub span: [f64; 2],
    pub unit: &'static str,
    pub y: [f64; 2],
    /// Evenly spaced from the lowest to the highest.
    pub labels: Vec<String>,
    /// Evenly spaced from the left end to the right; empty: the ends of the span.
    pub places: Vec<String>,
    /// Where one phase ends and the next begins.
    pub walls: Vec<f64>,
    /// When a person changed something.
    pub marks: Vec<f64>,
    pub series: Vec<Series>,
}

impl Plot<'_> {
    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, palette: Palette) {
        // Without colour lines differ by their marks; with it, fine lines show more.
        let plain = palette == Palette::Plain;
        let marker = |series: &Series| if plain { Marker::Custom(series.mark) } else { Marker::Braille };
        let [start, end] = self.span;
        let [low, high] = self.y;
        let rows = f64::from(area.height.max(2));
        let wall = |at: f64| -> Vec<(f64, f64)> {
            (0..area.height).map(|i| (at, low + (high - low) * f64::from(i) / (rows - 1.0))).collect()
        };
        let within = |times: &[f64]| -> Vec<Vec<(f64, f64)>> {
            times.iter().filter(|at| (start..end).contains(*at)).map(|at| wall(*at)).collect()
        };
        let (walls, marks) = (within(&self.walls), within(&self.marks));
        let mut datasets: Vec<Dataset<'_>> = Vec::new();
        datasets.extend(walls.iter().map(|data| upright(data, ':', palette.faint())));
        datasets.extend(marks.iter().map(|data| upright(data, '!', palette.warn())));
        let segments: Vec<(&Series, Vec<(f64, f64)>)> =
            self.series.iter().flat_map(|s| segments(&s.points).into_iter().map(move |segment| (s, segment))).collect();
        // At least so far apart, in columns.
        let apart = (end - start) / f64::from(area.width.max(1)) * ARROWS_APART;
        let arrows: Vec<(&Series, Vec<(f64, f64)>)> =
            self.series.iter().map(|series| (series, arrows(&series.points, apart))).collect();
        for (series, segment) in &segments {
            let graph = if segment.len() > 1 { GraphType::Line } else { GraphType::Scatter };
            datasets
                .push(Dataset::default().marker(marker(series)).graph_type(graph).style(series.style).data(segment));
        }
        for (series, arrows) in &arrows {
            datasets.push(Dataset::default().marker(Marker::Custom('^')).style(series.style).data(arrows));
        }
        let roomy = usize::from(area.width) > self.title.len() + self.latest.len() + 40;
        let names: usize = self.series.iter().map(|series| series.name.chars().count() + 2).sum();
        let fits = names + self.latest.chars().count() + self.key.len() + 2 <= usize::from(area.width);
        let words = [(self.key, fits), (self.title, roomy)];
        let words = words.into_iter().filter_map(|(word, shown)| Some(word).filter(|word| shown && !word.is_empty()));
        let mut legend: Vec<Span<'_>> = words.map(|word| Span::raw(format!(" {word}"))).collect();
        if !legend.is_empty() {
            legend.push(Span::raw(" "));
        }
        for series in self.series.iter().filter(|series| !series.name.is_empty()) {
            let mark = palette.mark(series.mark);
            legend.push(Span::styled(format!("{mark}{} ", series.name), series.style));
        }
        let block = Block::new()
            .borders(Borders::TOP)
            .title(Line::from(legend))
            .title(Line::styled(self.latest.clone(), palette.strong()).right_aligned());
        let ends = || vec![format!("{start:.0}"), format!("{end:.0} {}", self.unit)];
        let places = if self.places.is_empty() { ends() } else { self.places.clone() };
        let axis = Axis::default().style(palette.faint());
        let chart = Chart::new(datasets)
            .block(block)
            .legend_position(None)
            .x_axis(axis.clone().bounds([start, end]).labels(places))
            .y_axis(axis.bounds([low, high]).labels(self.labels.clone()));
        frame.render_widget(chart, area);
    }
}

/// A line from below to above.
fn upright(data: &[(f64, f64)], mark: char, style: Style) -> Dataset<'_> {
    Dataset::default().marker(Marker::Custom(mark)).style(style).data(data)
}

/// An axis from nothing up to here, in this unit: its ends and its labels.
pub(super) fn from_zero(top: f64, unit: &str) -> ([f64; 2], Vec<String>) {
    ([0.0, top], vec!["0".to_owned(), text::rate(top / 2.0), format!("{}{unit}", text::rate(top))])
}

/// A logarithmic axis that has these values and the target in it, in whole decades: its ends and its labels.
pub(super) fn decades(values: impl Iterator<Item = f64>, target: f64) -> ([f64; 2], Vec<String>) {
    let (low, high) = values.fold((target, target * 1.01), |(low, high), ms| (low.min(ms), high.max(ms)));
    let low = log(low).floor();
    let high = libm::log10(high).ceil().max(low + 1.0);
    let labels = (0..=(high - low) as usize).map(|i| short_time(libm::pow(10.0, low + i as f64))).collect();
    ([low, high], labels)
}

/// Where a time lies on it.
pub(super) fn log(ms: f64) -> f64 {
    libm::log10(ms.max(0.1))
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

/// Runs of points without a gap.
fn segments(points: &[(f64, Option<Value>)]) -> Vec<Vec<(f64, f64)>> {
    points
        .split(|(_, y)| y.is_none())
        .filter(|run| !run.is_empty())
        .map(|run| run.iter().filter_map(|(x, y)| y.map(|y| (*x, y.at))).collect())
        .collect()
}
