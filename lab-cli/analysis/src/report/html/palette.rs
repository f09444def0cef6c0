//! Palette of the arms: colour, dash and mark, so that twelve stay apart in colour and in grey.

use maud::{Markup, html};

use super::markup::shown;

/// Colours of the style sheet, `s0` to `s11`.
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

/// The colour of a line.
pub fn stroke(arm: usize) -> String {
    format!("line s{}", arm % COLOURS)
}

/// The colour of what is filled.
pub fn fill(arm: usize) -> String {
    format!("f{}", arm % COLOURS)
}

/// Dash of a line.
pub fn dash(arm: usize) -> &'static str {
    DASHES[arm % DASHES.len()]
}

/// Mark of an arm at a place.
pub fn mark(arm: usize, (x, y): (f64, f64)) -> String {
    format!("M{x:.1} {y:.1}{}", MARKS[arm % MARKS.len()])
}

/// A piece of its line with its mark.
pub fn swatch(arm: usize) -> Markup {
    html! {
        svg.swatch viewBox="0 0 36 12" aria-hidden="true" {
            path d="M1 6h34" class=(stroke(arm)) stroke-dasharray=(dash(arm)) {}
            path d=(mark(arm, (18.0, 6.0))) class={ "mark " (fill(arm)) } {}
        }
    }
}

/// Every arm with its line: the one legend of all pictures.
pub fn legend(arms: &[String]) -> Markup {
    html! {
        ul.legend aria-label="Arms" { @for (number, arm) in arms.iter().enumerate() {
            li { (swatch(number)) span { (shown(arm)) } }
        } }
    }
}
