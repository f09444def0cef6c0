//! Drawing of a chart as SVG.

use maud::{Markup, PreEscaped, html};

use super::{
    Chart, ChartLine, ChartPanel, Point, Scale, gaps,
    layout::{Anchor, LETTER, PlotArea, Size, round},
    palette::dash,
};
use crate::{
    series::{axis::Axis, value::arrows},
    text::{scrubbed, wrapped},
};

/// Style sheet of pictures.
const STYLE: &str = include_str!("chart.css");
/// Between two arrows of a line.
const ARROWS_APART: f64 = 34.0;
/// Between two marks of a line of dense points.
const MARKS_APART: f64 = 120.0;
/// Width of a letter of a title, with its share of the margins.
const TITLE_LETTER: f64 = 8.3;
/// Height of a row of text.
const ROW: f64 = 18.0;
/// Share of a group's width that its bars take.
const BARS: f64 = 0.82;

impl Chart {
    /// The chart as a file of its own.
    pub fn to_svg(&self, size: &'static Size) -> String {
        let (body, height) = self.whole(size, &wrapped(&self.title, (size.width / TITLE_LETTER) as usize));
        let picture = html! {
            svg xmlns="http://www.w3.org/2000/svg" class=(size.class) width=(size.width) viewBox={ "0 0 " (size.width) " " (height) } role="img" {
                title { (scrubbed(&self.title)) }
                style { (PreEscaped(STYLE)) }
                (body)
            }
        };
        picture.into_string() + "\n"
    }

    /// The chart as a part of a page that has its title above.
    pub(crate) fn inline(&self, size: &'static Size) -> Markup {
        let (body, height) = self.whole(size, &[]);
        size.svg(height, &self.title, &body)
    }

    /// Titles, legend, panels and notes under each other, and the height of all.
    fn whole(&self, size: &'static Size, titles: &[String]) -> (Markup, f64) {
        let row = |top: f64, number: usize| top + (number as f64 + 0.5) * ROW;
        let (legend, top) = self.legend_rows(size, 4.0 + titles.len() as f64 * ROW);
        let panel_height = size.height(&self.across);
        let below = top + self.panels.len() as f64 * panel_height;
        let mut notes = self.notes.clone();
        for note in self.panels.iter().flat_map(|panel| self.notes_of(panel)).map(|note| note + ".") {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        let wide = (size.width / LETTER) as usize - 3;
        let lines: Vec<String> = notes.iter().flat_map(|note| wrapped(note, wide)).collect();
        let label = |text: &str, y: f64| size.label(text, Anchor::After(8.0), y, size.width);
        let body = html! {
            g.title { @for (number, title) in titles.iter().enumerate() { (label(title, row(4.0, number))) } }
            (legend)
            @for (number, panel) in self.panels.iter().enumerate() {
                g transform={ "translate(0 " (top + number as f64 * panel_height) ")" } {
                    (self.panel(panel, &panel.with_unit(), size))
                }
            }
            @for (number, line) in lines.iter().enumerate() { (label(line, row(below, number))) }
        };
        (body, below + lines.len() as f64 * ROW + 8.0)
    }

    /// Each line with its name, as many in a row as there is room for; and where the next row would be.
    fn legend_rows(&self, size: &Size, top: f64) -> (Markup, f64) {
        let (mut x, mut y) = (8.0, top + ROW / 2.0);
        let mut entries = Vec::new();
        for line in self.legend() {
            let name = (line.name.chars().count() + 1) as f64 * LETTER;
            if x > 8.0 && x + 40.0 + name > size.width {
                (x, y) = (8.0, y + ROW);
            }
            entries.push((line, x, y, name));
            x += 52.0 + name;
        }
        let bars = matches!(self.across.scale, Scale::Groups(_));
        let rows = html! {
            @for (line, x, y, name) in entries {
                @if bars { rect class=(line.class("bar")) x=(x) y=(y - 5.0) width="34" height="10" {} }
                @else { (line.key((x, y), self.dash(line))) }
                (size.label(&line.name, Anchor::After(x + 40.0), y, name))
            }
        };
        (rows, y + ROW)
    }

    /// A panel under this title.
    pub(crate) fn panel(&self, panel: &ChartPanel, title: &str, size: &'static Size) -> Markup {
        let up = panel.up();
        // Arrows at the highest value stay inside the frame.
        let headroom = if up.log { 0.08 * (up.to - up.from) } else { 0.0 };
        let plot = PlotArea::new(size, Axis { to: up.to + headroom, ..up }, &self.across);
        let bars = matches!(self.across.scale, Scale::Groups(_));
        html! {
            (plot.phases())
            @for area in panel.against.iter().filter(|against| against.area) { path d=(plot.area(&area.points)) class="area" {} }
            (plot.faults())
            (plot.frame(title))
            @if bars { (self.bars(panel, &plot)) } @else { @for line in &panel.lines { (self.line(line, &plot)) } }
            @for dashed in panel.against.iter().filter(|against| !against.area) {
                @let (last, right) = (dashed.points.last().map_or(0.0, |(_, at)| *at), size.right());
                path d=(plot.steps(&dashed.points)) class="bound" {}
                (size.label(&dashed.name, Anchor::Before(right - 2.0), plot.y(last) - 8.0, 160.0))
            }
            @if !size.narrow && !bars { (self.columns(panel, &plot)) }
        }
    }

    /// Dash of a line; none beside the paper's, which are dashed.
    fn dash(&self, line: &ChartLine) -> &'static str {
        let papers = self.panels.iter().flat_map(|panel| &panel.lines).any(|line| line.paper);
        dash(line.colour.filter(|_| !papers && !line.fitted).unwrap_or(0))
    }

    fn line(&self, line: &ChartLine, plot: &PlotArea<'_>) -> Markup {
        let placed: Vec<Point> =
            line.points.iter().map(|(x, value)| (plot.x(*x), value.map(|value| value.map(|at| plot.y(at))))).collect();
        let apart = if self.across.dense { ARROWS_APART } else { 0.0 };
        let dotted = if self.across.dense { gaps(&placed) } else { Vec::new() };
        let class = line.class("line");
        html! {
            @for [from, to] in dotted {
                path d={ "M" (round(from.0)) " " (round(from.1)) "L" (round(to.0)) " " (round(to.1)) } class={ (class) " gap" } {}
            }
            @if !self.across.scattered || line.paper || line.fitted {
                path d=(plot.path(&placed)) class=(class) stroke-dasharray=(self.dash(line)) {}
            }
            @for place in arrows(&placed, apart) { (arrow(line, place)) }
            @for place in self.marked(line, &placed) { (line.mark(place)) }
        }
    }

    /// Places of its marks: at every point, or at some of dense ones, each line's at places of its own.
    fn marked(&self, line: &ChartLine, placed: &[Point]) -> Vec<(f64, f64)> {
        let known = placed.iter().filter_map(|(x, value)| Some((*x, value.filter(|value| !value.at_least)?.at)));
        if line.fitted {
            return Vec::new();
        }
        if !self.across.dense {
            return known.collect();
        }
        let own = (line.colour.unwrap_or(0) * 37 % 100) as f64 / 100.0 * MARKS_APART;
        let mut next = own + placed.first().map_or(0.0, |(x, _)| *x);
        let mut found = Vec::new();
        for (x, y) in known {
            if x >= next {
                found.push((x, y));
                next = x + MARKS_APART;
            }
        }
        found
    }

    /// A column a place on the axis: where the pointer rests, its values are told.
    fn columns(&self, panel: &ChartPanel, plot: &PlotArea<'_>) -> Markup {
        let lines = || panel.lines.iter().filter(|line| !line.fitted);
        let mut places: Vec<f64> = lines().flat_map(|line| line.points.iter().map(|(x, _)| *x)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let edge = |n: usize| -> f64 {
            match n {
                0 => plot.size.left,
                n if n >= places.len() => plot.size.right(),
                n => (plot.x(places[n - 1]) + plot.x(places[n])) / 2.0,
            }
        };
        let told = |place: f64| {
            let unit = match self.across.scale {
                Scale::Shares(_) => "",
                _ => self.across.title.rsplit(", ").next().unwrap_or_default(),
            };
            let mut text = format!("{} {unit}", self.across.scale.label(place)).trim_end().to_owned();
            for line in lines() {
                let Some((_, value)) = line.points.iter().find(|(x, _)| *x == place) else { continue };
                let value = value.map_or_else(|| "-".to_owned(), |value| value.shown(panel.value));
                text.push_str(&format!("\n{}: {value}", scrubbed(&line.name)));
            }
            text
        };
        html! {
            @for (number, place) in places.iter().enumerate() {
                @let (from, to) = (edge(number), edge(number + 1));
                rect class="at" x=(round(from)) y=(plot.size.top()) width=(round((to - from).max(0.1))) height=(plot.size.plot) {
                    title { (told(*place)) }
                }
            }
        }
    }

    /// Each group's bars side by side.
    fn bars(&self, panel: &ChartPanel, plot: &PlotArea<'_>) -> Markup {
        let (lines, groups) = (panel.bars(), self.across.scale.groups());
        let group = plot.size.group(&self.across);
        let wide = group * BARS / lines.len().max(1) as f64;
        let bars = lines.iter().enumerate().flat_map(|(number, line)| {
            let known = line.points.iter().filter_map(|(at, value)| Some((*at, (*value)?)));
            known.map(move |(at, value)| (*line, number as f64, at, value))
        });
        html! {
            @for (line, number, at, value) in bars {
                @let (x, y) = (plot.x(at + (1.0 - BARS) / 2.0) + number * wide, plot.y(value.at));
                rect class=(line.class("bar")) x=(round(x)) y=(round(y)) width=(round((wide - 1.0).max(0.8))) height=(round((plot.size.bottom() - y).max(0.6))) {
                    title { (scrubbed(&line.name)) ", " (groups.get(at as usize).map_or("", String::as_str)) ": " (value.shown(panel.value)) }
                }
                @if value.at_least { (arrow(line, (x + wide / 2.0, y))) }
            }
        }
    }
}

/// An arrow upwards: the value is at least that.
fn arrow(line: &ChartLine, (x, y): (f64, f64)) -> Markup {
    html! { path d={ "M" (round(x - 4.0)) " " (round(y)) "h8l-4 -8z" } class=(line.class("arrow")) {} }
}
