//! A figure as SVG, narrow enough to be read on a phone: panels under each other. Ours are whole lines with marks, the paper's
//! are dashed with hollow ones, in the colour of the line that they are to be held against.

use std::fmt::Write as _;

use super::drawn::{DrawnFigure, DrawnLine, DrawnPanel, Scale};
use crate::{
    series::{
        axis::{Axis, shown},
        drawing::{Frame, LEFT, PANEL, RIGHT, arrow, colour, escaped, path},
        value::{Value, arrows},
    },
    text::wrapped,
};

const WIDTH: f64 = 480.0;
const TITLE_ROW: f64 = 18.0;
const ROW: f64 = 17.0;
/// Between two panels: the ticks of one and the title of the next.
const GAP: f64 = 44.0;
/// Between two marks of a line over time.
const MARKS_APART: f64 = 56.0;
/// Colour of what belongs to no line.
const GREY: &str = "#7a7a7a";
/// Characters in a line of a title, and of a note.
const TITLE: usize = 62;
const NOTE: usize = 80;
/// Height of a row of names of groups.
const NAME_ROW: f64 = 11.0;
/// Share of a group's width that its bars take.
const BARS: f64 = 0.82;

impl DrawnFigure {
    /// The figure as a file of its own.
    pub fn to_svg(&self) -> String {
        let head = "<svg xmlns=\"http://www.w3.org/2000/svg\"";
        let titled = self.drawn(&wrapped(&self.title, TITLE));
        titled.replacen("<svg", head, 1).replacen('\n', "\n<style>:root{max-width:46rem}</style>\n", 1)
    }

    /// The figure as a part of a page that has its title above.
    pub fn to_inline_svg(&self) -> String {
        self.drawn(&[])
    }

    fn drawn(&self, titles: &[String]) -> String {
        let notes: Vec<String> = self.notes.iter().flat_map(|note| wrapped(note, NOTE)).collect();
        let mut body = String::new();
        let mut y = TITLE_ROW;
        for line in titles {
            let _ =
                writeln!(body, "<text x=\"8\" y=\"{y}\" font-size=\"13\" font-weight=\"600\">{}</text>", escaped(line));
            y += TITLE_ROW;
        }
        y = self.legend_rows(&mut body, y + 2.0);
        let across = self.across_axis();
        for (number, panel) in self.panels.iter().enumerate() {
            y += GAP / 2.0;
            self.panel(&mut body, panel, &across, y, number == 0);
            y += PANEL + GAP / 2.0 + self.second_row();
        }
        y += 8.0;
        let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
        let title = escaped(&self.across.title);
        let _ = writeln!(body, "<text x=\"{middle}\" y=\"{y}\" text-anchor=\"middle\">{title}</text>");
        for note in &notes {
            y += 15.0;
            let _ = writeln!(body, "<text x=\"8\" y=\"{y}\" font-size=\"11\">{}</text>", escaped(note));
        }
        let height = y + 10.0;
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\" fill=\"{GREY}\">\n\
             <title>{}</title>\n{body}</svg>\n",
            escaped(&self.title)
        )
    }

    /// Each line with its name, as many in a row as there is room for. Gives where the next row would be.
    fn legend_rows(&self, out: &mut String, mut y: f64) -> f64 {
        let mut x = 8.0;
        for line in self.legend() {
            let wide = 34.0 + 6.3 * line.name.chars().count() as f64;
            if x > 8.0 && x + wide > WIDTH {
                (x, y) = (8.0, y + ROW);
            }
            match self.across.scale {
                Scale::Groups(_) => bar(out, line, [x, y - 5.0, 26.0, 10.0], ""),
                _ => {
                    let _ = writeln!(out, "<path d=\"M{x} {y}h26\" {}/>", stroke(line));
                    if !line.fitted {
                        mark(out, line, (x + 13.0, Value::known(y)), "");
                    }
                }
            }
            let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", x + 31.0, y + 4.0, escaped(&line.name));
            x += wide + 14.0;
        }
        y + ROW
    }

    fn across_axis(&self) -> Axis {
        match &self.across.scale {
            Scale::Linear([from, to]) => {
                let to = to.max(from + 1e-9);
                // Ticks are counted from zero, also where the axis begins later.
                let mut axis = Axis { from: 0.0, to, ticks: Vec::new(), log: false }.with_round_ticks(6.0);
                axis.ticks.retain(|tick| tick >= from);
                Axis { from: *from, ..axis }
            }
            Scale::Log(values) => {
                let ends = values.first().zip(values.last()).map_or((1.0, 10.0), |(least, most)| (*least, *most));
                let (from, to) = (libm::log10(ends.0), libm::log10(ends.1));
                let step = values.len().div_ceil(12).max(1);
                let ticks = values.iter().copied().step_by(step).collect();
                Axis { from, to: to.max(from + 1e-9), ticks, log: true }
            }
            Scale::Groups(groups) => Axis { from: 0.0, to: groups.len().max(1) as f64, ticks: Vec::new(), log: false },
        }
    }

    /// Height of a second row of names, where one of them needs it.
    fn second_row(&self) -> f64 {
        let Scale::Groups(groups) = &self.across.scale else { return 0.0 };
        let group = (WIDTH - RIGHT - LEFT) / groups.len().max(1) as f64;
        if groups.iter().any(|name| in_rows(name, group).len() > 1) { NAME_ROW } else { 0.0 }
    }

    /// `named`: phases have their names in it.
    fn panel(&self, out: &mut String, panel: &DrawnPanel, across: &Axis, top: f64, named: bool) {
        let (least, most) = panel.extent();
        let up = if panel.log { Axis::decades(least, most) } else { Axis::linear(least, most) };
        let frame = Frame { width: WIDTH, across, up, top, limit: panel.limit.as_ref().map(|limit| limit.at) };
        frame.axes(out, &escaped(&panel.title), shown);
        self.walls(out, &frame, named);
        if let Some(limit) = &panel.limit {
            let (at, right) = (frame.y(limit.at), frame.right());
            let _ = writeln!(out, "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"{GREY}\" stroke-dasharray=\"1 3\"/>");
            let (name, above) = (escaped(&limit.name), at - 3.0);
            let _ = writeln!(
                out,
                "<text x=\"{right}\" y=\"{above:.1}\" text-anchor=\"end\" font-size=\"10\">{name}</text>"
            );
        }
        match &self.across.scale {
            Scale::Groups(groups) => bars(out, panel, groups, &frame),
            _ => {
                // Loads were measured one by one.
                let apart = if self.across.walls.is_empty() { 0.0 } else { MARKS_APART };
                let joined = |line: &DrawnLine| self.across.joined || line.paper || line.fitted;
                panel.lines.iter().for_each(|line| curve(out, line, &frame, apart, joined(line)));
            }
        }
    }

    /// Borders of phases. A name that has no room is left out.
    fn walls(&self, out: &mut String, frame: &Frame<'_>, named: bool) {
        let top = frame.top;
        let ends = self.across.walls.iter().skip(1).map(|(at, _)| frame.x(*at)).chain([frame.right()]);
        for ((at, name), end) in self.across.walls.iter().zip(ends) {
            let (x, bottom) = (frame.x(*at), top + PANEL);
            let _ = writeln!(
                out,
                "<path d=\"M{x:.1} {top}V{bottom}\" stroke=\"{GREY}\" stroke-opacity=\"0.6\" stroke-dasharray=\"1 3\"/>"
            );
            if named && end - x > 5.2 * name.chars().count() as f64 + 4.0 {
                let (name, below) = (escaped(name), top + 10.0);
                let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{below:.1}\" font-size=\"9\">{name}</text>", x + 3.0);
            }
        }
    }
}

/// A line with its marks, at least this far apart.
fn curve(out: &mut String, line: &DrawnLine, frame: &Frame<'_>, apart: f64, joined: bool) {
    let place = |(x, value): &(f64, Option<Value>)| (frame.x(*x), value.map(|value| value.map(|at| frame.y(at))));
    let places: Vec<(f64, Option<Value>)> = line.points.iter().map(place).collect();
    if joined {
        // A point without others beside it is a dot.
        let _ = writeln!(out, "<path d=\"{}\" {}/>", path(&places, "h0.8"), stroke(line));
    }
    let shapes: String = arrows(&places, apart.max(12.0)).into_iter().map(arrow).collect();
    if !shapes.is_empty() {
        let _ = writeln!(out, "<path d=\"{shapes}\" fill=\"{}\"/>", colour_of(line));
    }
    let mut last = f64::NEG_INFINITY;
    let marked = places.iter().zip(&line.points).filter(|_| !line.fitted);
    for ((x, value), (at, known)) in marked {
        let (Some(value), Some(known)) = (value, known) else { continue };
        // Points of a load come in any order.
        if (x - last).abs() >= apart && !value.at_least {
            let told = format!("{}: {} at {}", line.name, known.shown(rounded), shown(*at));
            mark(out, line, (*x, *value), &told);
            last = *x;
        }
    }
}

/// Each group's bars side by side, the paper's beside the one that it is to be held against.
fn bars(out: &mut String, panel: &DrawnPanel, groups: &[String], frame: &Frame<'_>) {
    let mut lines: Vec<&DrawnLine> = panel.lines.iter().collect();
    lines.sort_by_key(|line| (line.colour.unwrap_or(usize::MAX), line.paper));
    let group = (frame.right() - LEFT) / groups.len().max(1) as f64;
    let wide = group * BARS / lines.len().max(1) as f64;
    let bottom = frame.top + PANEL;
    for (number, line) in lines.iter().enumerate() {
        for (at, value) in &line.points {
            let Some(value) = value else { continue };
            let x = LEFT + (at + (1.0 - BARS) / 2.0) * group + number as f64 * wide;
            let y = frame.y(value.at);
            let name = groups.get(*at as usize).map_or("", String::as_str);
            let told = format!("{}, {name}: {}", line.name, value.shown(rounded));
            bar(out, line, [x, y, (wide - 1.0).max(0.8), (bottom - y).max(0.6)], &told);
            if value.at_least {
                let shape = arrow((x + wide / 2.0, y));
                let _ = writeln!(out, "<path d=\"{shape}\" fill=\"{}\"/>", colour_of(line));
            }
        }
    }
    for (number, name) in groups.iter().enumerate() {
        let x = LEFT + (number as f64 + 0.5) * group;
        for (row, part) in in_rows(name, group).iter().enumerate() {
            let y = bottom + 14.0 + row as f64 * NAME_ROW;
            let part = escaped(part);
            let _ =
                writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" font-size=\"10\">{part}</text>");
        }
    }
}

/// The name of a group, in two rows at most.
fn in_rows(name: &str, group: f64) -> Vec<String> {
    wrapped(name, (group / 6.2) as usize).into_iter().take(2).collect()
}

fn bar(out: &mut String, line: &DrawnLine, [x, y, wide, high]: [f64; 4], told: &str) {
    let colour = colour_of(line);
    let look = if line.paper {
        format!("fill=\"{colour}\" fill-opacity=\"0.12\" stroke=\"{colour}\" stroke-dasharray=\"3 2\"")
    } else {
        format!("fill=\"{colour}\"")
    };
    let _ = writeln!(
        out,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\" {look}>{}</rect>",
        told_by(told)
    );
}

/// A mark at a place: each colour has its own shape, and the paper's is a hollow ring.
fn mark(out: &mut String, line: &DrawnLine, (x, y): (f64, Value), told: &str) {
    let y = y.at;
    let colour = colour_of(line);
    if line.paper {
        let _ = writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\" fill=\"none\" stroke=\"{colour}\">{}</circle>",
            told_by(told)
        );
        return;
    }
    let shape = match line.colour.unwrap_or(0) % 6 {
        0 => format!("M{:.1} {y:.1}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z", x - 3.0),
        1 => format!("M{:.1} {:.1}h6v6h-6z", x - 3.0, y - 3.0),
        2 => format!("M{:.1} {:.1}l-3.6 6h7.2z", x, y - 3.6),
        3 => format!("M{:.1} {:.1}l4 4l-4 4l-4 -4z", x, y - 4.0),
        4 => format!("M{:.1} {:.1}l3.6 -6h-7.2z", x, y + 3.6),
        _ => format!("M{:.1} {:.1}h2v-2h2v2h2v2h-2v2h-2v-2h-2z", x - 3.0, y - 1.0),
    };
    let _ = writeln!(out, "<path d=\"{shape}\" fill=\"{colour}\">{}</path>", told_by(told));
}

fn told_by(told: &str) -> String {
    if told.is_empty() { String::new() } else { format!("<title>{}</title>", escaped(told)) }
}

fn stroke(line: &DrawnLine) -> String {
    let (colour, dash) = (colour_of(line), if line.paper { " stroke-dasharray=\"5 4\"" } else { "" });
    let wide = if line.paper { 1.4 } else { 1.8 };
    format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"{wide}\"{dash}")
}

fn colour_of(line: &DrawnLine) -> &'static str {
    line.colour.map_or(GREY, colour)
}

/// Three digits are enough for a reader.
fn rounded(value: f64) -> String {
    match value.abs() {
        at if at >= 100.0 => format!("{value:.0}"),
        at if at >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
