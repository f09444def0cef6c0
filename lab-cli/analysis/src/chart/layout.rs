//! Layout of a picture: its size, its axes, its labels.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::{ChartAxis, Point};
use crate::{
    series::axis::{Axis, shown as tick},
    text::{scrubbed, wrapped},
};

/// Height of a label.
const LABEL: f64 = 16.0;
/// Height of the band with the names of phases.
const BAND: f64 = 18.0;
/// Height above the frame without the band: the unit of the upright axis.
const UNIT: f64 = 18.0;
const BOTTOM: f64 = 36.0;
/// Height of a second row of names of groups.
const NAME_ROW: f64 = 13.0;
/// Width of a letter, on average.
pub const LETTER: f64 = 6.3;

/// The size of a picture, and where it is to be seen.
#[derive(Debug)]
pub struct Size {
    pub(crate) class: &'static str,
    pub(crate) narrow: bool,
    pub(crate) width: f64,
    pub(crate) left: f64,
    /// Height of the frame.
    pub(crate) plot: f64,
    /// About so many ticks across.
    pub(crate) ticks: f64,
    /// Labels are texts. In a page the style sheet makes them from an attribute: so a browser without style sheets, which would
    /// run them together, shows the table alone.
    pub(crate) texts: bool,
}

impl Size {
    pub(crate) const WIDE: Self =
        Self { class: "wide-only", narrow: false, width: 900.0, left: 58.0, plot: 230.0, ticks: 10.0, texts: false };
    pub(crate) const NARROW: Self =
        Self { class: "narrow-only", narrow: true, width: 380.0, left: 46.0, plot: 200.0, ticks: 5.0, texts: false };
    /// A file that is as wide as a page.
    pub const FILE: Self = Self { class: "file", texts: true, plot: 180.0, ..Self::WIDE };
    /// A file, or a part of a page, that can be read on a phone.
    pub const FIGURE: Self = Self { class: "figure", width: 480.0, plot: 170.0, ticks: 6.0, ..Self::FILE };

    pub(crate) fn right(&self) -> f64 {
        self.width - if self.texts { 20.0 } else { 12.0 }
    }

    /// Upper edge of the frame.
    pub(crate) fn top(&self) -> f64 {
        UNIT + BAND
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.top() + self.plot
    }

    /// A picture of this height in a page; those who hear the page are told of one alone.
    pub(crate) fn svg(&self, height: f64, label: &str, body: &Markup) -> Markup {
        html! {
            svg class=(self.class) viewBox={ "0 0 " (self.width) " " (height) } role="img" aria-hidden=[self.narrow.then_some("true")]
                aria-label=[(!self.narrow).then(|| scrubbed(label))] { (body) }
        }
    }

    /// Height of a panel.
    pub(crate) fn height(&self, across: &ChartAxis) -> f64 {
        self.bottom() + BOTTOM + self.second_row(across)
    }

    /// Height of a second row of names, where one of them needs it.
    fn second_row(&self, across: &ChartAxis) -> f64 {
        let second = across.scale.groups().iter().any(|name| self.in_rows(name, across).len() > 1);
        if second { NAME_ROW } else { 0.0 }
    }

    /// Width of a group.
    pub(crate) fn group(&self, across: &ChartAxis) -> f64 {
        (self.right() - self.left) / across.scale.groups().len().max(1) as f64
    }

    /// The name of a group, in two rows at most.
    fn in_rows(&self, name: &str, across: &ChartAxis) -> Vec<String> {
        wrapped(name, (self.group(across) / LETTER) as usize).into_iter().take(2).collect()
    }

    /// A label whose middle is at this height; what has no room is cut off.
    pub(crate) fn label(&self, text: &str, anchor: Anchor, y: f64, room: f64) -> Markup {
        let text = scrubbed(text);
        let (from, at, class, side) = match anchor {
            Anchor::Before(x) => (x - room, x, "label end", "end"),
            Anchor::Around(x) => (x - room / 2.0, x, "label middle", "middle"),
            Anchor::After(x) => (x, x, "label", "start"),
        };
        let letters = (room / LETTER) as usize;
        html! {
            @if self.texts && text.chars().count() <= letters {
                text.label x=(round(at)) y=(round(y + 4.0)) text-anchor=(side) { (text) }
            } @else if self.texts {
                @if letters > 2 {
                    text.label x=(round(at)) y=(round(y + 4.0)) text-anchor=(side) {
                        (text.chars().take(letters - 1).collect::<String>()) "\u{2026}"
                    }
                }
            } @else {
                foreignObject x=(round(from)) y=(round(y - LABEL / 2.0)) width=(round(room)) height=(LABEL) {
                    span class=(class) data-label=(text) {}
                }
            }
        }
    }
}

/// Plot area of a panel: maps values to places.
pub struct PlotArea<'a> {
    pub size: &'static Size,
    pub up: Axis,
    pub across: Axis,
    pub axis: &'a ChartAxis,
}

impl<'a> PlotArea<'a> {
    pub fn new(size: &'static Size, up: Axis, axis: &'a ChartAxis) -> Self {
        Self { size, up, across: axis.scale.axis(size.ticks), axis }
    }

    pub fn x(&self, value: f64) -> f64 {
        self.size.left + self.across.at(value) * (self.size.right() - self.size.left)
    }

    pub fn y(&self, value: f64) -> f64 {
        self.size.bottom() - self.up.at(value) * self.size.plot
    }

    /// A path through places, broken where nothing is known; a place alone is a dot.
    pub fn path(&self, places: &[Point]) -> String {
        let mut path = String::new();
        let mut drawing = false;
        for (x, value) in places {
            let Some(value) = value else {
                drawing = false;
                continue;
            };
            let (x, y) = (round(*x), round(value.at));
            let _ = if drawing { write!(path, "L{x} {y}") } else { write!(path, "M{x} {y}h0.8") };
            drawing = true;
        }
        path
    }

    /// Path from the bottom to these values; each lasts until the next one.
    pub fn area(&self, points: &[(f64, f64)]) -> String {
        let bottom = round(self.size.bottom());
        let Some((first, _)) = points.first() else { return String::new() };
        let mut path = format!("M{} {bottom}", round(self.x(*first)));
        for (x, at) in points {
            let _ = write!(path, "L{} {}", round(self.x(*x)), round(self.y(*at)));
        }
        let last = points.last().map_or(0.0, |(x, _)| *x);
        let _ = write!(path, "L{} {bottom}z", round(self.x(last)));
        path
    }

    /// Values that hold from their place on, to the next one's or to the edge.
    pub fn steps(&self, points: &[(f64, f64)]) -> String {
        let mut path = String::new();
        for (number, (x, at)) in points.iter().enumerate() {
            let to = points.get(number + 1).map_or(self.size.right(), |(next, _)| self.x(*next));
            let begins = if number == 0 { "M" } else { "L" };
            let _ = write!(path, "{begins}{} {y}H{}", round(self.x(*x)), round(to), y = round(self.y(*at)));
        }
        path
    }

    /// Phases: every other one tinted, its name above the frame.
    pub fn phases(&self) -> Markup {
        let (top, bottom) = (self.size.top(), self.size.bottom());
        html! {
            @for (number, band) in self.axis.bands.iter().enumerate() {
                @let (from, to) = (self.x(band.from), self.x(band.to));
                rect class={ "phase p" (number % 2) } x=(round(from)) y=(round(top - BAND)) width=(round((to - from).max(0.0))) height=(bottom - top + BAND) {}
                path d={ "M" (round(from)) " " (round(top - BAND)) "V" (round(bottom)) } class="border" {}
                (self.size.label(&band.name, Anchor::After(from + 4.0), top - BAND / 2.0, (to - from - 5.0).max(0.0)))
            }
        }
    }

    /// Shades of faults, each with its name.
    pub fn faults(&self) -> Markup {
        let (top, bottom) = (self.size.top(), self.size.bottom());
        html! {
            @for fault in &self.axis.faults {
                @let (from, to) = (self.x(fault.from), self.x(fault.to));
                rect class="fault" x=(round(from)) y=(round(top - BAND)) width=(round((to - from).max(2.0))) height=(round(bottom - top + BAND)) {}
                (self.size.label(&fault.name, Anchor::After(from + 4.0), top - BAND / 2.0, self.size.right() - from - 4.0))
            }
        }
    }

    /// Grid, numbers, and this title above.
    pub fn frame(&self, title: &str) -> Markup {
        let (size, axis) = (self.size, self.axis);
        let (left, right, bottom) = (size.left, size.right(), size.bottom());
        let below = bottom + 26.0 + size.second_row(axis);
        html! {
            (size.label(title, Anchor::After(2.0), LABEL / 2.0, size.width - 4.0))
            @for value in &self.up.ticks {
                @let y = self.y(*value);
                path d={ "M" (left) " " (round(y)) "H" (right) } class="rule" {}
                (size.label(&tick(*value), Anchor::Before(left - 6.0), y, left - 6.0))
            }
            @for value in &self.across.ticks {
                (size.label(&axis.scale.label(*value), Anchor::Around(self.x(*value)), bottom + 10.0, 70.0))
            }
            g.names {
                @for (number, name) in axis.scale.groups().iter().enumerate() {
                    @for (row, part) in size.in_rows(name, axis).iter().enumerate() {
                        @let (x, y) = (self.x(number as f64 + 0.5), bottom + 10.0 + row as f64 * NAME_ROW);
                        (size.label(part, Anchor::Around(x), y, size.group(axis)))
                    }
                }
            }
            (size.label(&axis.title, Anchor::Before(right), below, 300.0))
        }
    }
}

/// Side of its place on which a label lies.
#[derive(Clone, Copy)]
pub enum Anchor {
    Before(f64),
    Around(f64),
    After(f64),
}

/// Rounds to a tenth of a unit: no difference can be seen, and the file stays small.
pub fn round(at: f64) -> f64 {
    (at * 10.0).round() / 10.0
}
