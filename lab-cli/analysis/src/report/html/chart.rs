//! A figure with one panel: lines over an axis, a column under the pointer that tells its values, and a table of them.
//!
//! Its labels have no text of their own: the style sheet makes them from an attribute. So a browser without style sheets, which
//! would run them together, shows the table alone.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::{shown, wide};
use crate::{
    series::{
        axis::{Axis, shown as tick},
        value::{Value, arrows},
    },
    text::table::Table,
};

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 38.0;
/// Colours and dashes: the pattern changes with each turn of the colours, so that lines differ without colour too.
const COLOURS: usize = 6;
const DASHES: [&str; 4] = ["none", "7 3", "2 3", "9 3 2 3"];
/// Between two arrows of a line.
const ARROWS_APART: f64 = 30.0;
/// Height of a label.
const LABEL: f64 = 16.0;
/// A line in the legend.
const LEGEND: f64 = 18.0;
const LEGEND_COLUMNS: usize = 4;

/// One line.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Its name.
    pub name: String,
    /// Where there is no value, the line has a gap.
    pub points: Vec<(f64, Option<Value>)>,
}

/// A part of what goes to the right: a phase.
#[derive(Debug, Clone)]
pub(super) struct Stretch {
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub from: f64,
    /// Where the next one does.
    pub to: f64,
}

/// A figure.
#[derive(Debug)]
pub(super) struct Chart<'a> {
    /// What is drawn, with its unit.
    pub title: &'a str,
    /// What goes to the right, with its unit.
    pub across: &'a str,
    /// Drawn by factors of ten.
    pub log: bool,
    /// With a mark at each point: they were measured one by one.
    pub marks: bool,
    /// A limit to be held against.
    pub bound: Option<f64>,
    /// Stretches with a name, for which the table has values.
    pub stretches: Vec<Stretch>,
    /// What is drawn.
    pub lines: Vec<Line>,
    /// A value in words.
    pub value: fn(f64) -> String,
}

impl Chart<'_> {
    /// The figure; nothing if there is no value at all.
    pub fn drawn(&self) -> Markup {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let values = || points().filter_map(|(_, value)| Some((*value)?.at));
        if values().next().is_none() {
            return html! {};
        }
        let least = values().chain(self.bound).filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
        let most = values().chain(self.bound).fold(0.0, f64::max);
        let up = if self.log { Axis::decades(least, most) } else { Axis::linear(least, most) };
        let (from, to) =
            points().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (x, _)| (low.min(*x), high.max(*x)));
        let from = if self.marks { 0.0 } else { from.min(0.0) };
        let across = Axis { from, to: to.max(from + 1e-9), ticks: Vec::new(), log: false }.with_round_ticks(8.0);
        let space = Space { up, across, top: TOP + self.lines.len().div_ceil(LEGEND_COLUMNS) as f64 * LEGEND };
        html! {
            figure {
                figcaption { (self.title) ", over " (self.across) }
                svg viewBox={ "0 0 " (WIDTH) " " (space.bottom() + BOTTOM) } role="img" aria-label=(self.in_a_sentence()) {
                    (self.legend())
                    (self.frame(&space))
                    @for (number, line) in self.lines.iter().enumerate() { (self.line(number, line, &space)) }
                    (self.columns(&space))
                }
                @if !self.stretches.is_empty() { (self.table()) }
            }
        }
    }

    /// For those who hear the page.
    fn in_a_sentence(&self) -> String {
        let names: Vec<String> = self.lines.iter().map(|line| shown(&line.name)).collect();
        format!("{}, over {}, for {}. A table has its values.", self.title, self.across, names.join(", "))
    }

    /// What the lines come to in each stretch.
    fn table(&self) -> Markup {
        let names: Vec<&str> = self.stretches.iter().map(|stretch| stretch.name.as_str()).collect();
        let mut table = Table::new(&[&["arm"], &names[..]].concat(), 1..);
        for line in &self.lines {
            let values = self.stretches.iter().map(|stretch| self.come_to(line, stretch));
            table.row(std::iter::once(line.name.clone()).chain(values).collect::<Vec<_>>());
        }
        let middle = self.middle();
        let caption = format!("{}: the {middle} of each phase, and its highest value in parentheses", self.title);
        html! { details { summary { "As a table" } (wide(&caption, &table)) } }
    }

    /// Percentiles are not averaged; counts that come in waves have no meaning in the middle.
    fn middle(&self) -> &'static str {
        if self.log { "median" } else { "mean" }
    }

    fn come_to(&self, line: &Line, stretch: &Stretch) -> String {
        let inside = line.points.iter().filter(|(x, _)| (stretch.from..stretch.to).contains(x));
        let values: Vec<Value> = inside.filter_map(|(_, value)| *value).collect();
        let (Some(median), Some(most)) = (Value::median(&values), Value::worst(&values)) else { return "-".to_owned() };
        let mean = || Value::known(values.iter().map(|value| value.at).sum::<f64>() / values.len() as f64);
        let middle = if self.log { median } else { mean() };
        format!("{} ({})", middle.shown(self.value), most.shown(self.value))
    }

    fn legend(&self) -> Markup {
        let wide = (WIDTH - LEFT - RIGHT) / LEGEND_COLUMNS as f64;
        let place = |n: usize| (LEFT + (n % LEGEND_COLUMNS) as f64 * wide, TOP + (n / LEGEND_COLUMNS) as f64 * LEGEND);
        html! {
            @for (number, line) in self.lines.iter().enumerate() {
                @let (x, y) = place(number);
                path d={ "M" (round(x)) " " (round(y)) "h26" } class={ "line s" (number % COLOURS) } stroke-dasharray=(dash(number)) {}
                (label(&shown(&line.name), Stands::After(x + 32.0), y, wide - 36.0))
            }
        }
    }

    fn frame(&self, space: &Space) -> Markup {
        let right = WIDTH - RIGHT;
        html! {
            @for value in &space.up.ticks {
                @let y = space.y(*value);
                path d={ "M" (LEFT) " " (round(y)) "H" (right) } class="rule" {}
                (label(&tick(*value), Stands::Before(LEFT - 6.0), y, LEFT - 6.0))
            }
            @for value in &space.across.ticks {
                (label(&tick(*value), Stands::Around(space.x(*value)), space.bottom() + 12.0, 80.0))
            }
            (label(self.across, Stands::Before(right), space.bottom() + 28.0, 400.0))
            @for stretch in &self.stretches {
                @let x = space.x(stretch.from);
                path d={ "M" (round(x)) " " (round(space.top)) "V" (round(space.bottom())) } class="rule" stroke-dasharray="1 3" {}
                (label(&shown(&stretch.name), Stands::After(x + 3.0), space.top + 8.0, (space.x(stretch.to) - x - 3.0).max(24.0)))
            }
            @if let Some(bound) = self.bound {
                path d={ "M" (LEFT) " " (round(space.y(bound))) "H" (right) } class="bound" {}
            }
        }
    }

    fn line(&self, number: usize, line: &Line, space: &Space) -> Markup {
        let mut path = String::new();
        let mut drawing = false;
        for (x, value) in &line.points {
            let Some(value) = value else {
                drawing = false;
                continue;
            };
            let (x, y) = (round(space.x(*x)), round(space.y(value.at)));
            let _ = if drawing { write!(path, "L{x} {y}") } else { write!(path, "M{x} {y}h0.8") };
            drawing = true;
        }
        let placed = |(x, value): &(f64, Option<Value>)| (space.x(*x), value.map(|value| value.map(|at| space.y(at))));
        let placed: Vec<(f64, Option<Value>)> = line.points.iter().map(placed).collect();
        // Those that were measured one by one have each its own.
        let apart = if self.marks { 0.0 } else { ARROWS_APART };
        html! {
            path d=(path) class={ "line s" (number % COLOURS) } stroke-dasharray=(dash(number)) {}
            @for (x, y) in arrows(&placed, apart) {
                path d={ "M" (round(x - 4.0)) " " (round(y)) "h8l-4 -8z" } class={ "arrow f" (number % COLOURS) } {}
            }
            @if self.marks {
                @for (x, y) in placed.iter().filter_map(|(x, value)| Some((*x, value.filter(|value| !value.at_least)?.at))) {
                    circle cx=(round(x)) cy=(round(y)) r="3" class={ "dot f" (number % COLOURS) } {}
                }
            }
        }
    }

    /// A column a place on the axis: where the pointer rests, its values are told.
    fn columns(&self, space: &Space) -> Markup {
        let mut places: Vec<f64> = self.lines.iter().flat_map(|line| line.points.iter().map(|(x, _)| *x)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let edge = |n: usize| -> f64 {
            match n {
                0 => LEFT,
                n if n >= places.len() => WIDTH - RIGHT,
                n => (space.x(places[n - 1]) + space.x(places[n])) / 2.0,
            }
        };
        html! {
            @for (number, place) in places.iter().enumerate() {
                @let (from, to) = (edge(number), edge(number + 1));
                rect class="at" x=(round(from)) y=(round(space.top)) width=(round((to - from).max(0.1))) height=(HEIGHT) {
                    title { (self.told(*place)) }
                }
            }
        }
    }

    fn told(&self, place: f64) -> String {
        let mut text = format!("{} {}", tick(place), self.across);
        for line in &self.lines {
            let value = line.points.iter().find(|(x, _)| *x == place).and_then(|(_, value)| *value);
            let value = value.map_or_else(|| "-".to_owned(), |value| value.shown(self.value));
            let _ = write!(text, "\n{}: {value}", shown(&line.name));
        }
        text
    }
}

/// On which side of a place a label stands.
#[derive(Clone, Copy)]
enum Stands {
    Before(f64),
    Around(f64),
    After(f64),
}

/// A label whose middle is at this height; what has no room is cut off.
fn label(text: &str, stands: Stands, y: f64, room: f64) -> Markup {
    let (x, class) = match stands {
        Stands::Before(x) => (x - room, "label end"),
        Stands::Around(x) => (x - room / 2.0, "label middle"),
        Stands::After(x) => (x, "label"),
    };
    html! {
        foreignObject x=(round(x)) y=(round(y - LABEL / 2.0)) width=(round(room)) height=(LABEL) {
            span class=(class) data-label=(text) {}
        }
    }
}

struct Space {
    up: Axis,
    across: Axis,
    top: f64,
}

impl Space {
    fn bottom(&self) -> f64 {
        self.top + HEIGHT
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + self.across.at(value) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom() - self.up.at(value) * HEIGHT
    }
}

fn dash(number: usize) -> &'static str {
    DASHES[number % DASHES.len()]
}

/// To a tenth of a unit: no difference can be seen, and the file stays small.
fn round(at: f64) -> f64 {
    (at * 10.0).round() / 10.0
}
