//! Palette of lines: colour, dash and mark, so that twelve stay apart in colour and in grey.

use maud::{Markup, html};

use super::ChartLine;

/// Colours of the style sheet, `c0` to `c11`.
const COLOURS: usize = 12;
/// Dashes; with six marks they make twelve pairs, all different.
const DASHES: [&str; 4] = ["none", "8 3", "2 3", "10 3 2 3"];
/// Shapes about a centre: circle, square, triangle, diamond, plus, triangle downwards.
const MARKS: [&str; 6] = [
    "m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0z",
    "m-2.9 -2.9h5.8v5.8h-5.8z",
    "m-3.6 2.8h7.2l-3.6 -6.4z",
    "m0 -4l4 4l-4 4l-4 -4z",
    "m-1.2 -4h2.4v2.8h2.8v2.4h-2.8v2.8h-2.4v-2.8h-2.8v-2.4h2.8z",
    "m-3.6 -2.8h7.2l-3.6 6.4z",
];

impl ChartLine {
    /// Class of a part of it: the paper's is hollow or dashed, in the colour of the line that it is to be held against.
    pub(super) fn class(&self, part: &str) -> String {
        let paper = if self.paper { " paper" } else { "" };
        let colour = self.colour.map_or_else(String::new, |colour| format!(" c{}", colour % COLOURS));
        format!("{part}{paper}{colour}")
    }

    /// Mark at a place.
    pub(super) fn mark(&self, (x, y): (f64, f64)) -> Markup {
        let shape = self.colour.filter(|_| !self.paper).unwrap_or(0) % MARKS.len();
        html! { path d={ (format!("M{x:.1} {y:.1}")) (MARKS[shape]) } class=(self.class("mark")) {} }
    }

    /// A piece of it with its mark, from this place on.
    pub(super) fn key(&self, (x, y): (f64, f64), dash: &str) -> Markup {
        html! {
            path d={ "M" (x) " " (y) "h34" } class=(self.class("line")) stroke-dasharray=(dash) {}
            @if !self.fitted { (self.mark((x + 17.0, y))) }
        }
    }
}

/// Dash of a line of this colour.
pub(super) fn dash(colour: usize) -> &'static str {
    DASHES[colour % DASHES.len()]
}

/// Key of an arm.
pub fn swatch(arm: usize) -> Markup {
    let line = ChartLine { colour: Some(arm), ..ChartLine::default() };
    html! { svg.swatch viewBox="0 0 36 12" aria-hidden="true" { (line.key((1.0, 6.0), dash(arm))) } }
}
