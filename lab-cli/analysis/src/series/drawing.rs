//! Parts that pictures have in common: size, axes, legend, colours.
//!
//! Written by hand: panels with axes are less than what a library for charts brings along. Pictures have no background, and
//! their colours are of middle lightness, so that they can be read on white and on black. Beside its colour each arm has a
//! dash.

use std::fmt::Write as _;

use super::{
    axis::{Axis, shown},
    value::Value,
};
use crate::{summary::LatencyObjective, text::scrubbed};

pub(super) const WIDTH: f64 = 860.0;
pub(crate) const LEFT: f64 = 70.0;
pub(crate) const RIGHT: f64 = 20.0;
pub(crate) const PANEL: f64 = 170.0;
pub(super) const GAP: f64 = 46.0;
const LEGEND_ROW: f64 = 18.0;
/// Arms in a row of the legend.
const LEGEND_COLUMNS: usize = 4;

/// Line colours (over 3 to 1 against white and against black, WCAG 1.4.11) and dashes, used again from the front.
const COLOURS: [&str; 6] = ["#1f82d2", "#cf6a12", "#2c9a5b", "#a960c4", "#d0494f", "#808a14"];
const DASHES: [&str; 4] = ["", "7 3", "2 3", "9 3 2 3"];

/// A panel: what is drawn of each point, and how its axis goes. A bound is drawn with an arrow: it is at least that.
pub(super) struct Panel<T> {
    pub title: &'static str,
    pub value: fn(&T) -> Option<Value>,
    pub axis: fn(f64, f64) -> Axis,
    /// Limit that its values are held against.
    pub limit: fn(&LatencyObjective) -> Option<f64>,
}

impl<T> Panel<T> {
    /// Draws the title and the axes from this height on. `label`: what ticks across say.
    pub fn frame<'t, 'a>(
        &self,
        out: &mut String,
        points: impl Iterator<Item = &'t T>,
        objective: &LatencyObjective,
        (across, label): (&'a Axis, fn(f64) -> String),
        top: f64,
    ) -> Frame<'a>
    where
        T: 't,
    {
        let limit = (self.limit)(objective);
        let values: Vec<f64> = points.filter_map(self.value).map(|value| value.at).chain(limit).collect();
        let (least, most) =
            values.iter().fold((f64::INFINITY, 0.0), |(least, most), &at| (f64::min(least, at), f64::max(most, at)));
        let frame = Frame { width: WIDTH, across, up: (self.axis)(least, most), top, limit };
        frame.axes(out, self.title, label);
        frame
    }
}

/// Frame of a panel: places of its values in the picture.
pub(crate) struct Frame<'a> {
    /// Width of the whole picture.
    pub width: f64,
    pub across: &'a Axis,
    pub up: Axis,
    pub top: f64,
    /// Limit that values are held against.
    pub limit: Option<f64>,
}

impl Frame<'_> {
    /// The title and both axes. `label`: what ticks across say.
    pub fn axes(&self, out: &mut String, title: &str, label: impl Fn(f64) -> String) {
        let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"{}\">{title}</text>", self.top - 8.0);
        self.up_axis(out);
        for &tick in &self.across.ticks {
            let (at, below, label) = (self.x(tick), self.top + PANEL + 15.0, label(tick));
            let _ = writeln!(out, "<text x=\"{at:.1}\" y=\"{below:.1}\" text-anchor=\"middle\">{label}</text>");
        }
    }

    /// The grid and the numbers of the upright axis.
    fn up_axis(&self, out: &mut String) {
        let right = self.right();
        for &tick in &self.up.ticks {
            let at = self.y(tick);
            let _ = writeln!(out, "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"#7a7a7a\" stroke-opacity=\"0.3\"/>");
            let label = shown(tick);
            let _ =
                writeln!(out, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>", LEFT - 6.0, at + 4.0);
        }
    }

    pub fn right(&self) -> f64 {
        self.width - RIGHT
    }

    pub fn x(&self, value: f64) -> f64 {
        LEFT + self.across.at(value) * (self.right() - LEFT)
    }

    pub fn y(&self, value: f64) -> f64 {
        self.top + PANEL - self.up.at(value) * PANEL
    }

    /// Draws what the panel's values are held against.
    pub fn limit(&self, out: &mut String) {
        let Some(limit) = self.limit else { return };
        let (at, right) = (self.y(limit), self.right());
        let _ = writeln!(out, "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"#7a7a7a\" stroke-dasharray=\"6 4\"/>");
    }
}

/// A path through places, broken where nothing is known. Each of its pieces begins with this.
pub(crate) fn path(places: &[(f64, Option<Value>)], beginning: &str) -> String {
    let mut path = String::new();
    let mut drawing = false;
    for (x, value) in places {
        let _ = match value {
            Some(Value { at: y, .. }) if drawing => write!(path, "L{x:.1} {y:.1}"),
            Some(Value { at: y, .. }) => write!(path, "M{x:.1} {y:.1}{beginning}"),
            None => Ok(()),
        };
        drawing = value.is_some();
    }
    path
}

/// The beginning of a picture of this height.
pub(super) fn opened(height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#7a7a7a\">\n"
    )
}

/// Appends the title, for readers and for those who look.
pub(super) fn titled(out: &mut String, title: &str) {
    let title = escaped(title);
    let _ = writeln!(out, "<title>{title}</title>");
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{title}</text>");
}

/// Upper edge of the first panel under a legend of so many arms.
pub(super) fn below_legend(arms: usize) -> f64 {
    54.0 + arms.div_ceil(LEGEND_COLUMNS) as f64 * LEGEND_ROW
}

/// Each arm with its line.
pub(super) fn legend(out: &mut String, names: &[&str]) {
    let wide = (WIDTH - LEFT - RIGHT) / LEGEND_COLUMNS as f64;
    for (number, name) in names.iter().enumerate() {
        let x = LEFT + (number % LEGEND_COLUMNS) as f64 * wide;
        let y = 40.0 + (number / LEGEND_COLUMNS) as f64 * LEGEND_ROW;
        let _ = writeln!(out, "<path d=\"M{x} {y}h28\" {}/>", stroke(number));
        let _ = writeln!(out, "<text x=\"{}\" y=\"{}\">{}</text>", x + 34.0, y + 4.0, escaped(name));
    }
}

/// The line of an arm.
pub(super) fn stroke(arm: usize) -> String {
    let (colour, dash) = (colour(arm), DASHES[arm % DASHES.len()]);
    format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\" stroke-dasharray=\"{dash}\"")
}

/// An arrow upwards: the value is at least that.
pub(crate) fn arrow((x, y): (f64, f64)) -> String {
    format!("M{:.1} {y:.1}h8l-4 -8z", x - 4.0)
}

/// Colour of an arm.
pub(crate) fn colour(arm: usize) -> &'static str {
    COLOURS[arm % COLOURS.len()]
}

pub(crate) fn escaped(text: &str) -> String {
    scrubbed(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
