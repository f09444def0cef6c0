//! A figure with one panel: lines over an axis, a column under the pointer that tells its values, and a table of them. It is drawn
//! twice, for a wide and for a narrow page; the style sheet shows one of them.
//!
//! Its labels have no text of their own: the style sheet makes them from an attribute. So a browser without style sheets, which
//! would run them together, shows the table alone.

use maud::{Markup, html};

use super::{
    layout::{Anchor, Band, PlotArea, Point, Size, XAxis, label, round},
    markup::{shown, wide},
    palette::{dash, fill, mark, stroke},
};
use crate::{
    series::{
        axis::Axis,
        value::{Value, arrows},
    },
    text::table::Table,
};

/// Between two arrows of a line.
const ARROWS_APART: f64 = 34.0;
/// Between two marks of a line over time.
const MARKS_APART: f64 = 120.0;

/// One line.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Name in the legend.
    pub name: String,
    /// The number of its arm, for colour, dash and mark.
    pub arm: usize,
    /// Points of the line; where one has no value, it is dotted to the next one.
    pub points: Vec<(f64, Option<Value>)>,
}

/// Mark that lines are read against.
#[derive(Debug, Clone)]
pub(super) enum Against {
    /// A value, dashed across: the objective, the capacity.
    Level { name: String, at: f64 },
    /// Values that change at once, dashed: the capacity under faults. Each from its place on, to the next one's.
    Steps { name: String, points: Vec<(f64, f64)> },
    /// Grey behind the lines: what was offered.
    Area { name: String, points: Vec<(f64, f64)> },
}

/// A figure.
#[derive(Debug)]
pub(super) struct Chart<'a> {
    /// Title without the unit.
    pub title: &'a str,
    /// Unit at the upright axis.
    pub unit: &'a str,
    /// Axis to the right.
    pub across: XAxis,
    /// Drawn by factors of ten.
    pub log: bool,
    /// True with a mark at each point: they were measured one by one.
    pub marks: bool,
    /// Marks that lines are read against.
    pub against: Vec<Against>,
    /// Bands with a name, for which the table has values.
    pub bands: Vec<Band>,
    /// Lines of the arms.
    pub lines: Vec<Line>,
    /// A value in words.
    pub value: fn(f64) -> String,
}

impl Chart<'_> {
    /// The figure; nothing if there is no value at all.
    pub fn drawn(&self) -> Markup {
        if self.values().next().is_none() {
            return html! {};
        }
        html! {
            figure {
                figcaption { strong { (self.title) } ", over " (self.across.name) @for note in self.notes() { "; " (note) } "." }
                (self.picture(&Size::WIDE))
                (self.picture(&Size::NARROW))
                @if !self.bands.is_empty() { (self.table()) }
            }
        }
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        self.lines.iter().flat_map(|line| &line.points).filter_map(|(_, value)| Some((*value)?.at))
    }

    /// Notes on what is not a line of an arm.
    fn notes(&self) -> Vec<String> {
        let against = self.against.iter().map(|against| match against {
            Against::Level { name, at } => format!("dashed: {name}, {}", (self.value)(*at)),
            Against::Steps { name, points } => {
                let least = points.iter().map(|(_, at)| *at).fold(f64::INFINITY, f64::min);
                format!(
                    "dashed: {name}, {} at the most, {} at the least",
                    (self.value)(highest(points)),
                    (self.value)(least)
                )
            }
            Against::Area { name, points } => {
                let most = highest(points);
                let beyond = most > self.most_drawn();
                let beyond = if beyond {
                    format!(", {} at the most, beyond the frame", (self.value)(most))
                } else {
                    String::new()
                };
                format!("grey: {name}{beyond}")
            }
        });
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let hidden = points().any(|(_, value)| value.is_some_and(|value| value.at_least));
        let gaps = !self.marks && self.lines.iter().any(|line| !gaps(&line.points).is_empty());
        let hidden = hidden.then(|| "arrows: time-outs hide the value, it is at least that".to_owned());
        against.chain(hidden).chain(gaps.then(|| "dotted: too few requests ended to tell".to_owned())).collect()
    }

    fn picture(&self, size: &'static Size) -> Markup {
        let plot = self.plot_area(size);
        let label = if size.narrow { String::new() } else { self.in_a_sentence() };
        html! {
            svg class=(size.class) viewBox={ "0 0 " (size.width) " " (size.height()) } role="img" aria-hidden=[size.narrow.then_some("true")]
                aria-label=[(!size.narrow).then_some(label)] {
                (plot.phases(&self.bands))
                (self.behind(&plot))
                (plot.frame(self.unit, &self.across))
                @for line in &self.lines { (self.line(line, &plot)) }
                (self.dashed(&plot))
                @if !size.narrow { (self.columns(&plot)) }
            }
        }
    }

    fn levels(&self) -> impl Iterator<Item = f64> {
        self.against.iter().filter_map(|against| match against {
            Against::Level { at, .. } => Some(*at),
            Against::Steps { points, .. } => Some(highest(points)),
            Against::Area { .. } => None,
        })
    }

    /// Highest value that the frame has room for. Offered load may be so much that lines would lie flat below it:
    /// then it goes beyond.
    fn most_drawn(&self) -> f64 {
        let most = self.values().chain(self.levels()).fold(0.0, f64::max);
        let offered = self.against.iter().filter_map(|against| match against {
            Against::Area { points, .. } => Some(highest(points)),
            Against::Level { .. } | Against::Steps { .. } => None,
        });
        f64::max(most, offered.fold(0.0, f64::max).min(1.6 * most))
    }

    fn plot_area(&self, size: &'static Size) -> PlotArea {
        let least = self.values().chain(self.levels()).filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
        let most = self.most_drawn();
        let up = if self.log { with_headroom(Axis::decades(least, most)) } else { Axis::linear(least, most) };
        let points = self.lines.iter().flat_map(|line| &line.points);
        let (from, to) =
            points.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (x, _)| (low.min(*x), high.max(*x)));
        let from = if self.marks { 0.0 } else { from.min(0.0) };
        let end = self.bands.last().map_or(to, |band| band.to.max(to));
        let across = Axis { from, to: end.max(from + 1e-9), ticks: Vec::new(), log: false };
        let across = match &self.across.ticks {
            Some(ticks) => Axis { ticks: ticks.iter().copied().filter(|tick| *tick <= end).collect(), ..across },
            None => across.with_round_ticks(size.ticks),
        };
        PlotArea { size, up, across }
    }

    /// For those who hear the page.
    fn in_a_sentence(&self) -> String {
        let names: Vec<String> = self.lines.iter().map(|line| shown(&line.name)).collect();
        format!("{}, over {}, for {}.", self.title, self.across.name, names.join(", "))
    }

    /// Table of the lines, band by band.
    fn table(&self) -> Markup {
        let names: Vec<&str> = self.bands.iter().map(|band| band.name.as_str()).collect();
        let mut table = Table::new(&[&["arm"], &names[..]].concat(), 1..);
        for line in &self.lines {
            let values = self.bands.iter().map(|band| self.come_to(line, band));
            table.row(std::iter::once(line.name.clone()).chain(values).collect::<Vec<_>>());
        }
        // Percentiles are not averaged; counts that come in waves have no meaning in the middle.
        let middle = if self.log { "median" } else { "mean" };
        let caption = format!("{}: the {middle} of each phase, and its highest value in parentheses", self.title);
        html! { details { summary { "As a table" } (wide(&caption, &table)) } }
    }

    fn come_to(&self, line: &Line, band: &Band) -> String {
        let inside = line.points.iter().filter(|(x, _)| (band.from..band.to).contains(x));
        let values: Vec<Value> = inside.filter_map(|(_, value)| *value).collect();
        let (Some(median), Some(most)) = (Value::median(&values), Value::worst(&values)) else { return "-".to_owned() };
        let mean = || Value::known(values.iter().map(|value| value.at).sum::<f64>() / values.len() as f64);
        let middle = if self.log { median } else { mean() };
        format!("{} ({})", middle.shown(self.value), most.shown(self.value))
    }

    /// Areas behind the lines.
    fn behind(&self, plot: &PlotArea) -> Markup {
        let areas = self.against.iter().filter_map(|against| match against {
            Against::Area { points, .. } => Some(plot.area(points)),
            Against::Level { .. } | Against::Steps { .. } => None,
        });
        html! { @for area in areas { path d=(area) class="area" {} } }
    }

    /// Above them, with their names.
    fn dashed(&self, plot: &PlotArea) -> Markup {
        html! {
            @for against in &self.against {
                @if let Against::Level { name, at } = against {
                    @let (y, right) = (plot.y(*at), plot.size.right());
                    path d={ "M" (plot.size.left) " " (round(y)) "H" (right) } class="bound" {}
                    (label(&shown(name), Anchor::Before(right - 2.0), y - 8.0, 160.0))
                }
                @if let Against::Steps { name, points } = against {
                    @let (last, right) = (points.last().map_or(0.0, |(_, at)| *at), plot.size.right());
                    path d=(plot.steps(points)) class="bound" {}
                    (label(&shown(name), Anchor::Before(right - 2.0), plot.y(last) - 8.0, 160.0))
                }
            }
        }
    }

    fn line(&self, line: &Line, plot: &PlotArea) -> Markup {
        let placed: Vec<Point> =
            line.points.iter().map(|(x, value)| (plot.x(*x), value.map(|value| value.map(|at| plot.y(at))))).collect();
        // Those that were measured one by one have each its own.
        let apart = if self.marks { 0.0 } else { ARROWS_APART };
        let dotted = if self.marks { Vec::new() } else { gaps(&placed) };
        let class = stroke(line.arm);
        html! {
            @for [from, to] in dotted {
                path d={ "M" (round(from.0)) " " (round(from.1)) "L" (round(to.0)) " " (round(to.1)) } class={ (class) " gap" } {}
            }
            path d=(plot.path(&placed)) class=(class) stroke-dasharray=(dash(line.arm)) {}
            @for (x, y) in arrows(&placed, apart) {
                path d={ "M" (round(x - 4.0)) " " (round(y)) "h8l-4 -8z" } class={ "arrow " (fill(line.arm)) } {}
            }
            @for place in self.marked(line.arm, &placed) {
                path d=(mark(line.arm, place)) class={ "mark " (fill(line.arm)) } {}
            }
        }
    }

    /// Places of its marks: at every point, or at some of a line over time, each arm's at places of its own.
    fn marked(&self, arm: usize, placed: &[Point]) -> Vec<(f64, f64)> {
        let known = placed.iter().filter_map(|(x, value)| Some((*x, value.filter(|value| !value.at_least)?.at)));
        if self.marks {
            return known.collect();
        }
        let mut next = (arm * 37 % 100) as f64 / 100.0 * MARKS_APART + placed.first().map_or(0.0, |(x, _)| *x);
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
    fn columns(&self, plot: &PlotArea) -> Markup {
        let mut places: Vec<f64> = self.lines.iter().flat_map(|line| line.points.iter().map(|(x, _)| *x)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let edge = |n: usize| -> f64 {
            match n {
                0 => plot.size.left,
                n if n >= places.len() => plot.size.right(),
                n => (plot.x(places[n - 1]) + plot.x(places[n])) / 2.0,
            }
        };
        html! {
            @for (number, place) in places.iter().enumerate() {
                @let (from, to) = (edge(number), edge(number + 1));
                rect class="at" x=(round(from)) y=(plot.size.top()) width=(round((to - from).max(0.1))) height=(plot.size.plot) {
                    title { (self.told(*place)) }
                }
            }
        }
    }

    fn told(&self, place: f64) -> String {
        let unit = self.across.name.rsplit(", ").next().filter(|_| self.across.ticks.is_none()).unwrap_or_default();
        let mut text = format!("{} {unit}", (self.across.label)(place)).trim_end().to_owned();
        for line in &self.lines {
            let value = line.points.iter().find(|(x, _)| *x == place).and_then(|(_, value)| *value);
            let value = value.map_or_else(|| "-".to_owned(), |value| value.shown(self.value));
            text.push_str(&format!("\n{}: {value}", shown(&line.name)));
        }
        text
    }
}

fn highest(points: &[(f64, f64)]) -> f64 {
    points.iter().map(|(_, at)| *at).fold(0.0, f64::max)
}

/// Arrows at the highest value stay inside the frame.
fn with_headroom(axis: Axis) -> Axis {
    Axis { to: axis.to + 0.08 * (axis.to - axis.from), ..axis }
}

/// Gaps of a line: from the last value before to the first one after, or straight on to the end. A line never just
/// ends.
fn gaps(points: &[(f64, Option<Value>)]) -> Vec<[(f64, f64); 2]> {
    let mut found = Vec::new();
    let mut last: Option<(usize, (f64, f64))> = None;
    for (number, (x, value)) in points.iter().enumerate() {
        let Some(value) = value else { continue };
        if let Some((before, from)) = last
            && before + 1 < number
        {
            found.push([from, (*x, value.at)]);
        }
        last = Some((number, (*x, value.at)));
    }
    if let (Some((number, from)), Some((end, _))) = (last, points.last())
        && number + 1 < points.len()
    {
        found.push([from, (*end, from.1)]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_never_just_ends() {
        let points: Vec<(f64, Option<Value>)> = [None, Some(1.0), None, Some(3.0), Some(4.0), None, None]
            .iter()
            .zip(0..)
            .map(|(at, x)| (f64::from(x), at.map(Value::known)))
            .collect();
        assert_eq!(gaps(&points), [[(1.0, 1.0), (3.0, 3.0)], [(4.0, 4.0), (6.0, 4.0)]]);
        assert_eq!(gaps(&points[..1]), [[(0.0, 0.0); 2]; 0]);
    }
}
