//! A figure as text, for who reads the result of `lab reproduce` on a terminal or in a log: no colour, 80 columns.

use std::fmt::Write as _;

use analysis::{
    figure::{DrawnFigure, DrawnLine, DrawnPanel, Scale},
    series::{
        axis::{Axis, shown},
        value::Value,
    },
    text::scrubbed,
};
use ratatui::{Terminal, backend::TestBackend, buffer::Buffer, style::Style};

use super::plot::{Plot, Series};
use crate::tui::Palette;

/// Columns of a figure.
const WIDTH: u16 = 80;
/// Rows of a panel with its axis.
const HEIGHT: u16 = 16;
/// Columns of the longest bar.
const BAR: usize = 34;
const OURS: [char; 6] = ['o', 'x', '+', '*', '#', '%'];
const PAPERS: [char; 4] = ['.', ',', '\'', '`'];
const LIMIT: char = '=';

/// The figure in lines of text.
pub fn printed(figure: &DrawnFigure) -> String {
    let mut text = String::new();
    match &figure.across.scale {
        Scale::Groups(groups) => figure.panels.iter().for_each(|panel| bars(&mut text, panel, groups)),
        scale => {
            for panel in &figure.panels {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "  {}", scrubbed(&panel.title));
                text.push_str(&plotted(figure, panel, scale));
            }
            let _ = writeln!(text, "  {:>1$}", scrubbed(&figure.across.title), usize::from(WIDTH) - 2);
            legend(&mut text, figure);
        }
    }
    for note in &figure.notes {
        wrapped(&mut text, scrubbed(note).split_whitespace());
    }
    text
}

fn legend(text: &mut String, figure: &DrawnFigure) {
    let lines = figure.legend();
    let mark = |line: &DrawnLine| mark(&lines, line);
    let mut entries: Vec<String> =
        lines.iter().map(|line| format!("{} {}", mark(line), scrubbed(&line.name)).replace(' ', "\u{a0}")).collect();
    let mut limits: Vec<&str> =
        figure.panels.iter().filter_map(|panel| Some(panel.limit.as_ref()?.name.as_str())).collect();
    limits.dedup();
    entries.extend((!limits.is_empty()).then(|| format!("{LIMIT} {}", limits.join(", ")).replace(' ', "\u{a0}")));
    // More room between two of them than within one.
    entries.iter_mut().skip(1).for_each(|entry| entry.insert(0, '\u{a0}'));
    let mut rows = String::new();
    wrapped(&mut rows, entries.iter().map(String::as_str));
    text.push_str(&rows.replace('\u{a0}', " "));
}

/// Lines of words, as wide as the figure.
fn wrapped<'a>(text: &mut String, words: impl Iterator<Item = &'a str>) {
    let mut room = 0;
    for word in words {
        let wide = word.chars().count() + 1;
        if wide > room {
            text.push_str(if text.is_empty() || text.ends_with('\n') { " " } else { "\n " });
            room = usize::from(WIDTH) - 2;
        }
        text.push(' ');
        text.push_str(word);
        room = room.saturating_sub(wide);
    }
    text.push('\n');
}

/// Ours by their colour's number, the paper's by their own.
fn mark(legend: &[&DrawnLine], line: &DrawnLine) -> char {
    if line.paper {
        let number = legend.iter().filter(|line| line.paper).position(|known| known.name == line.name).unwrap_or(0);
        PAPERS[number % PAPERS.len()]
    } else {
        OURS[line.colour.unwrap_or(0) % OURS.len()]
    }
}

/// A panel with its axes.
fn plotted(figure: &DrawnFigure, panel: &DrawnPanel, scale: &Scale) -> String {
    let (least, most) = panel.extent();
    let up = if panel.log { Axis::decades(least, most) } else { Axis::linear(least, most) };
    let y = |value: Value| value.map(|at| if up.log { libm::log10(at.max(1e-6)) } else { at });
    let (span, places) = to_the_right(scale);
    let x = |at: f64| if matches!(scale, Scale::Log(_)) { libm::log10(at.max(1e-6)) } else { at };
    let lines = figure.legend();
    let limit = panel.limit.iter().map(|limit| Series {
        name: String::new(),
        style: Style::new(),
        mark: LIMIT,
        points: span.map(|x| (x, Some(y(Value::known(limit.at))))).to_vec(),
        ..Series::default()
    });
    // What is drawn last is above all else: ours.
    let paper_first =
        panel.lines.iter().filter(|line| line.paper).chain(panel.lines.iter().rev().filter(|line| !line.paper));
    let series = paper_first.map(|line| Series {
        name: String::new(),
        style: Style::new(),
        mark: mark(&lines, line),
        points: line
            .points
            .iter()
            .flat_map(|(at, value)| {
                // A gap after each keeps points apart.
                let gap = (!figure.across.joined && !line.paper && !line.fitted).then_some((x(*at), None));
                [Some((x(*at), value.map(y))), gap].into_iter().flatten()
            })
            .collect(),
        ..Series::default()
    });
    let (top, labels) = if up.log { (up.to, up.ticks.clone()) } else { round_top(&up, most) };
    let plot = Plot {
        span,
        y: [up.from, top],
        labels: labels.into_iter().map(shown).collect(),
        places,
        phases: figure.across.walls.iter().skip(1).map(|(at, _)| (*at, String::new())).collect(),
        series: limit.chain(series).collect(),
        ..Plot::default()
    };
    let Ok(mut terminal) = Terminal::new(TestBackend::new(WIDTH, HEIGHT));
    let Ok(_) = terminal.draw(|frame| plot.draw(frame, frame.area(), Palette::Plain));
    rows(terminal.backend().buffer())
}

/// An axis from zero that ends at a tick, since labels on a terminal are evenly spaced from end to end.
fn round_top(up: &Axis, most: f64) -> (f64, Vec<f64>) {
    let step = up.ticks.get(1).copied().unwrap_or(up.to);
    let steps = libm::ceil(most / step - 1e-9).max(1.0);
    (steps * step, (0..=steps as u32).map(|n| f64::from(n) * step).collect())
}

/// The span of an axis, and its labels.
fn to_the_right(scale: &Scale) -> ([f64; 2], Vec<String>) {
    match scale {
        Scale::Linear([from, to]) => ([*from, to.max(from + 1e-9)], vec![shown(*from), shown(*to)]),
        Scale::Log(values) => {
            let ends = values.first().zip(values.last()).map_or([1.0, 10.0], |(least, most)| [*least, *most]);
            let logs: Vec<f64> = values.iter().map(|value| libm::log10(*value)).collect();
            let steps: Vec<f64> = logs.windows(2).map(|pair| pair[1] - pair[0]).collect();
            // Labels are evenly spaced.
            let even = steps.iter().all(|step| (step - steps[0]).abs() < 1e-6);
            let labelled = if even { values.clone() } else { ends.to_vec() };
            (ends.map(libm::log10), labelled.into_iter().map(shown).collect())
        }
        Scale::Groups(_) => ([0.0, 1.0], Vec::new()),
    }
}

/// Without the line at the top, where a screen has its title, and without blanks at the ends.
fn rows(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in 1..buffer.area.height {
        let row: String = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect();
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}

/// A bar for each line in each group, with its value.
fn bars(text: &mut String, panel: &DrawnPanel, groups: &[String]) {
    let mut lines: Vec<&DrawnLine> = panel.lines.iter().collect();
    lines.sort_by_key(|line| (line.colour.unwrap_or(usize::MAX), line.paper));
    let (least, most) = panel.extent();
    let up = if panel.log { Axis::decades(least, most) } else { Axis::linear(least, most) };
    let scale =
        if panel.log { format!(" (bars by factors of ten, from {})", shown(up.ticks[0])) } else { String::new() };
    let _ = writeln!(text, "  {}{scale}", scrubbed(&panel.title));
    if let Some(limit) = &panel.limit {
        let _ = writeln!(text, "  {}: {}", scrubbed(&limit.name), shown(limit.at));
    }
    let wide = lines.iter().map(|line| line.name.chars().count()).max().unwrap_or(0).min(34);
    for (number, group) in groups.iter().enumerate() {
        let _ = writeln!(text, "  {}", scrubbed(group));
        for line in &lines {
            let found = line.points.iter().find(|(at, _)| *at == number as f64).and_then(|(_, value)| *value);
            let Some(value) = found else { continue };
            let cell = if line.paper { '░' } else { '█' };
            let bar: String = std::iter::repeat_n(cell, (up.at(value.at) * BAR as f64).round() as usize).collect();
            let _ = writeln!(text, "    {:wide$} {bar} {}", scrubbed(&line.name), value.shown(digits));
        }
    }
}

/// Three digits are enough for a reader.
fn digits(value: f64) -> String {
    let factor = if value.abs() >= 100.0 {
        1.0
    } else if value.abs() >= 10.0 {
        10.0
    } else {
        1000.0
    };
    shown((value * factor).round() / factor)
}

#[cfg(test)]
mod tests {
    use analysis::figure::{FigureAxis, Limit};

    use super::*;

    fn line(name: &str, colour: Option<usize>, paper: bool, points: &[(f64, f64)]) -> DrawnLine {
        let points = points.iter().map(|(x, y)| (*x, Some(Value::known(*y)))).collect();
        DrawnLine { name: name.to_owned(), colour, paper, points, ..DrawnLine::default() }
    }

    fn figure(scale: Scale) -> DrawnFigure {
        let lines = vec![
            line("none", Some(0), false, &[(0.0, 1.0), (1.0, 10.0), (2.0, 100.0)]),
            line("seda", Some(1), false, &[(0.0, 1.0), (1.0, 3.0), (2.0, 6.0)]),
            line("paper, control (digitised)", Some(1), true, &[(0.0, 0.5), (2.0, 5.0)]),
        ];
        let limit = Some(Limit { name: "target".to_owned(), at: 10.0 });
        let panel =
            DrawnPanel { title: "90th percentile, s".to_owned(), log: true, limit, lines, ..DrawnPanel::default() };
        let across = FigureAxis { title: "time, s".to_owned(), scale, joined: true, walls: Vec::new() };
        let notes =
            vec!["Made up: a sentence that is so long that it does not fit on a line of 80 columns.".to_owned()];
        DrawnFigure { title: "made up".to_owned(), across, panels: vec![panel], notes }
    }

    #[test]
    fn lines_differ_by_their_marks_and_nothing_is_wider_than_80_columns() {
        let text = printed(&figure(Scale::Linear([0.0, 2.0])));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!("figure_of_lines", text);
    }

    #[test]
    fn bars_have_their_values_and_the_papers_look_different() {
        let groups = ["login", "list folders", "search"].map(str::to_owned).into();
        insta::assert_snapshot!("figure_of_bars", printed(&figure(Scale::Groups(groups))));
    }

    #[test]
    fn an_axis_ends_at_a_tick() {
        let ends = |most: f64| round_top(&Axis::linear(0.0, most), most);
        assert_eq!(ends(1.0), (1.0, vec![0.0, 0.5, 1.0]));
        assert_eq!(ends(1622.0), (2000.0, vec![0.0, 500.0, 1000.0, 1500.0, 2000.0]));
    }
}
