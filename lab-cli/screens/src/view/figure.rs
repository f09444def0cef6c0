//! A figure as text, for who reads the result of `lab reproduce` on a terminal or in a log: no colour, 80 columns.

use std::fmt::Write as _;

use analysis::{
    chart::{Chart, ChartLine, ChartPanel, Scale},
    series::axis::shown,
    text::{scrubbed, wrapped},
};
use ratatui::{Terminal, backend::TestBackend, buffer::Buffer};

use super::plot::{Plot, Series, Upright, round_top};
use crate::Palette;

/// Columns of a figure.
const WIDTH: u16 = 80;
/// Rows of a panel with its axis.
const HEIGHT: u16 = 16;
/// Columns of the longest bar.
const BAR: usize = 34;
const OURS: [char; 6] = ['o', 'x', '+', '*', '#', '%'];
const PAPERS: [char; 4] = ['.', ',', '\'', '`'];
const LIMIT: char = '=';
/// A space at which no line ends.
const GLUE: &str = "\u{0}";

/// The figure in lines of text.
pub fn printed(figure: &Chart) -> String {
    let mut text = String::new();
    match &figure.across.scale {
        Scale::Groups(groups) => figure.panels.iter().for_each(|panel| bars(&mut text, panel, groups)),
        scale => {
            for panel in &figure.panels {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "  {}", scrubbed(&panel.with_unit()));
                text.push_str(&plotted(figure, panel, scale));
            }
            let _ = writeln!(text, "  {:>1$}", scrubbed(&figure.across.title), usize::from(WIDTH) - 2);
            legend(&mut text, figure);
        }
    }
    for note in &figure.notes {
        text.push_str(&in_lines(&scrubbed(note)));
    }
    text
}

fn legend(text: &mut String, figure: &Chart) {
    let lines = figure.legend();
    let mark = |line: &ChartLine| mark(&lines, line);
    let mut entries: Vec<String> =
        lines.iter().map(|line| format!("{} {}", mark(line), scrubbed(&line.name))).collect();
    let mut limits: Vec<&str> =
        figure.panels.iter().flat_map(|panel| &panel.against).map(|limit| limit.name.as_str()).collect();
    limits.dedup();
    entries.extend((!limits.is_empty()).then(|| format!("{LIMIT} {}", limits.join(", "))));
    // An entry is kept together, and there is more room between two of them than within one.
    let entries: Vec<String> = entries.iter().map(|entry| entry.replace(' ', GLUE)).collect();
    text.push_str(&in_lines(&entries.join(&format!(" {GLUE}"))).replace(GLUE, " "));
}

/// The text in lines as wide as the figure.
fn in_lines(text: &str) -> String {
    wrapped(text, usize::from(WIDTH) - 3).iter().map(|line| format!("  {line}\n")).collect()
}

/// Ours by their colour's number, the paper's by their own.
fn mark(legend: &[&ChartLine], line: &ChartLine) -> char {
    if line.paper {
        let number = legend.iter().filter(|line| line.paper).position(|known| known.name == line.name).unwrap_or(0);
        PAPERS[number % PAPERS.len()]
    } else {
        OURS[line.colour.unwrap_or(0) % OURS.len()]
    }
}

/// A panel with its axes.
fn plotted(figure: &Chart, panel: &ChartPanel, scale: &Scale) -> String {
    let up = panel.up();
    let (span, places) = to_the_right(scale);
    let x = |at: f64| if matches!(scale, Scale::Log(_)) { libm::log10(at.max(1e-6)) } else { at };
    let lines = figure.legend();
    let limits = panel.against.iter().flat_map(|limit| &limit.points);
    let limits = limits.map(|(_, at)| Series::level("", *at, span, Palette::Plain));
    // What is drawn last is above all else: ours.
    let paper_first =
        panel.lines.iter().filter(|line| line.paper).chain(panel.lines.iter().rev().filter(|line| !line.paper));
    let series = paper_first.map(|line| Series {
        mark: mark(&lines, line),
        points: line
            .points
            .iter()
            .flat_map(|(at, value)| {
                // A gap after each keeps points apart.
                let gap = (figure.across.scattered && !line.paper && !line.fitted).then_some((x(*at), None));
                [Some((x(*at), *value)), gap].into_iter().flatten()
            })
            .collect(),
        ..Series::default()
    });
    let (top, labels) = if up.log { (up.to, up.ticks.clone()) } else { round_top(&up, panel.extent().1) };
    let plot = Plot {
        span,
        up: Upright { ends: [up.from, top], labels: labels.into_iter().map(shown).collect(), log: up.log },
        places,
        phases: figure.across.bands.iter().skip(1).map(|band| (band.from, String::new())).collect(),
        series: limits.chain(series).collect(),
        ..Plot::default()
    };
    let Ok(mut terminal) = Terminal::new(TestBackend::new(WIDTH, HEIGHT));
    let Ok(_) = terminal.draw(|frame| plot.draw(frame, frame.area(), Palette::Plain));
    rows(terminal.backend().buffer())
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
        Scale::Shares(_) | Scale::Groups(_) => ([0.0, 1.0], Vec::new()),
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
fn bars(text: &mut String, panel: &ChartPanel, groups: &[String]) {
    let (lines, up) = (panel.bars(), panel.up());
    let scale =
        if panel.log { format!(" (bars by factors of ten, from {})", shown(up.ticks[0])) } else { String::new() };
    let _ = writeln!(text, "  {}{scale}", scrubbed(&panel.with_unit()));
    for limit in &panel.against {
        for (_, at) in &limit.points {
            let _ = writeln!(text, "  {}: {}", scrubbed(&limit.name), shown(*at));
        }
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
    use analysis::{
        chart::{Against, ChartAxis},
        series::{axis::Axis, value::Value},
    };

    use super::*;

    fn line(name: &str, colour: Option<usize>, paper: bool, points: &[(f64, f64)]) -> ChartLine {
        let points = points.iter().map(|(x, y)| (*x, Some(Value::known(*y)))).collect();
        ChartLine { name: name.to_owned(), colour, paper, points, ..ChartLine::default() }
    }

    fn figure(scale: Scale) -> Chart {
        let lines = vec![
            line("none", Some(0), false, &[(0.0, 1.0), (1.0, 10.0), (2.0, 100.0)]),
            line("seda", Some(1), false, &[(0.0, 1.0), (1.0, 3.0), (2.0, 6.0)]),
            line("paper, control (digitised)", Some(1), true, &[(0.0, 0.5), (2.0, 5.0)]),
        ];
        let against = vec![Against::level("target", 10.0)];
        let panel =
            ChartPanel { title: "90th percentile, s".to_owned(), log: true, against, lines, ..ChartPanel::default() };
        let across = ChartAxis { title: "time, s".to_owned(), scale, ..ChartAxis::default() };
        let notes =
            vec!["Made up: a sentence that is so long that it does not fit on a line of 80 columns.".to_owned()];
        Chart { title: "made up".to_owned(), across, panels: vec![panel], notes }
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
