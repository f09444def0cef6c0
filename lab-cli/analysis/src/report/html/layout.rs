//! Layout of a figure: its size, its axes, its labels.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::markup::shown;
use crate::series::{
    axis::{Axis, shown as tick},
    value::Value,
};

/// Height of a label.
const LABEL: f64 = 16.0;
/// Height of the band with the names of phases.
const BAND: f64 = 18.0;
/// Height above the frame without the band: the unit of the upright axis.
const UNIT: f64 = 18.0;
const BOTTOM: f64 = 36.0;

/// A place across, and up, where there is a value.
pub(super) type Point = (f64, Option<Value>);

/// A part of what goes to the right: a phase.
#[derive(Debug, Clone)]
pub(super) struct Band {
    /// Name of the phase.
    pub name: String,
    /// Begin on the axis.
    pub from: f64,
    /// Begin of the next one.
    pub to: f64,
}

/// Axis to the right.
#[derive(Debug, Clone)]
pub(super) struct XAxis {
    /// Title with the unit.
    pub name: String,
    /// A place in words.
    pub label: fn(f64) -> String,
    /// Values of the ticks; `None`: round numbers.
    pub ticks: Option<Vec<f64>>,
}

impl XAxis {
    /// Axis with ticks at round numbers.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), label: tick, ticks: None }
    }
}

/// The size of a figure.
#[derive(Debug)]
pub(super) struct Size {
    pub class: &'static str,
    pub narrow: bool,
    pub width: f64,
    pub left: f64,
    /// Height of the frame.
    pub plot: f64,
    /// About so many ticks across.
    pub ticks: f64,
}

impl Size {
    pub const WIDE: Self =
        Self { class: "wide-only", narrow: false, width: 900.0, left: 58.0, plot: 230.0, ticks: 10.0 };
    pub const NARROW: Self =
        Self { class: "narrow-only", narrow: true, width: 380.0, left: 46.0, plot: 200.0, ticks: 5.0 };

    pub fn right(&self) -> f64 {
        self.width - 12.0
    }

    /// Upper edge of the frame.
    pub fn top(&self) -> f64 {
        UNIT + BAND
    }

    pub fn bottom(&self) -> f64 {
        self.top() + self.plot
    }

    /// Height of the whole picture.
    pub fn height(&self) -> f64 {
        self.bottom() + BOTTOM
    }
}

/// Plot area of a figure: maps values to places.
pub(super) struct PlotArea {
    pub size: &'static Size,
    pub up: Axis,
    pub across: Axis,
}

impl PlotArea {
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
    pub fn phases(&self, bands: &[Band]) -> Markup {
        let (top, bottom) = (self.size.top(), self.size.bottom());
        html! {
            @for (number, band) in bands.iter().enumerate() {
                @let (from, to) = (self.x(band.from), self.x(band.to));
                rect class={ "phase p" (number % 2) } x=(round(from)) y=(round(top - BAND)) width=(round((to - from).max(0.0))) height=(bottom - top + BAND) {}
                path d={ "M" (round(from)) " " (round(top - BAND)) "V" (round(bottom)) } class="border" {}
                (label(&shown(&band.name), Anchor::After(from + 4.0), top - BAND / 2.0, (to - from - 5.0).max(0.0)))
            }
        }
    }

    /// Grid and numbers.
    pub fn frame(&self, unit: &str, across: &XAxis) -> Markup {
        let (left, right, bottom) = (self.size.left, self.size.right(), self.size.bottom());
        html! {
            (label(unit, Anchor::After(2.0), LABEL / 2.0, self.size.width - 4.0))
            @for value in &self.up.ticks {
                @let y = self.y(*value);
                path d={ "M" (left) " " (round(y)) "H" (right) } class="rule" {}
                (label(&tick(*value), Anchor::Before(left - 6.0), y, left - 6.0))
            }
            @for value in &self.across.ticks {
                (label(&(across.label)(*value), Anchor::Around(self.x(*value)), bottom + 10.0, 70.0))
            }
            (label(&across.name, Anchor::Before(right), bottom + 26.0, 300.0))
        }
    }
}

/// Side of its place on which a label lies.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Before(f64),
    Around(f64),
    After(f64),
}

/// A label whose middle is at this height; what has no room is cut off.
pub(super) fn label(text: &str, anchor: Anchor, y: f64, room: f64) -> Markup {
    let (x, class) = match anchor {
        Anchor::Before(x) => (x - room, "label end"),
        Anchor::Around(x) => (x - room / 2.0, "label middle"),
        Anchor::After(x) => (x, "label"),
    };
    html! {
        foreignObject x=(round(x)) y=(round(y - LABEL / 2.0)) width=(round(room)) height=(LABEL) {
            span class=(class) data-label=(text) {}
        }
    }
}

/// Rounds to a tenth of a unit: no difference can be seen, and the file stays small.
pub(super) fn round(at: f64) -> f64 {
    (at * 10.0).round() / 10.0
}
