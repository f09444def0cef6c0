//! The response times of the arm under the cursor as a heat map: time from left to right, response time by factors of ten upwards, and
//! as shades the shares of the requests that ended in a moment. What was given up counts with the time that it had waited.

use analysis::{
    report::{ArmTimes, LogRead, TimeCounts},
    summary::Mode,
    text::scrubbed,
};
use ratatui::{
    Frame,
    layout::Rect,
    style::Style,
    text::{Line, Span},
    widgets::{Block, Borders, Paragraph, Wrap},
};

use super::{
    super::{plot::decades, shades},
    heat::{columns, ends},
    over_time,
};
use crate::{
    Palette,
    app::{ArmSeries, Compare},
};

/// Columns of a label on the left.
const LABEL: usize = 6;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, compare: &Compare, palette: Palette) {
    let Some(arm_series) = compare.chosen() else { return };
    let name = scrubbed(&compare.name(arm_series));
    let about = |words: &str| format!(" {name}: response times{}{words} ", over_time::block(compare).trim_end());
    let block = |title: String| {
        let block = Block::new().borders(Borders::TOP).border_style(palette.faint());
        block.title(Line::styled(title, palette.strong()))
    };
    let Some(times) = compare.times(arm_series) else {
        let words = Paragraph::new(" being read ...").style(palette.faint());
        frame.render_widget(words.block(block(about(""))), area);
        return;
    };
    let (stretches, source) = stretches(compare, arm_series, times);
    let room = usize::from(area.width).saturating_sub(LABEL + 2);
    let rows = usize::from(area.height.saturating_sub(2));
    if stretches.is_empty() || rows == 0 {
        let words = Paragraph::new(format!(" no picture: {source}")).style(palette.warn()).wrap(Wrap { trim: false });
        frame.render_widget(words.block(block(about(""))), area);
        return;
    }
    let grid = Grid::of(&stretches, compare, arm_series, (room, rows));
    let mut lines: Vec<Line<'_>> = (0..rows).rev().map(|row| grid.line(row, palette)).collect();
    lines.push(Line::styled(format!("{:LABEL$}  {}", "", ends(over_time::span(compare), room)), palette.faint()));
    let source = if source.is_empty() { source } else { format!(", {source}") };
    let title = about(&source);
    // Two texts that touch are read as one: the help has the shades too.
    let legend = shades::legend(palette);
    let has_room = title.chars().count() + legend.width() < usize::from(area.width);
    let block = block(title).title(if has_room { legend } else { Line::default() });
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// A time with the requests that ended in it: its two ends in seconds of the arm.
type Stretch<'a> = ([f64; 2], &'a TimeCounts);

/// The seconds of the arm, or, where they are not known, its phases; with what there is to be said of that.
fn stretches<'a>(compare: &Compare, arm_series: ArmSeries, times: &'a ArmTimes) -> (Vec<Stretch<'a>>, String) {
    if !times.seconds.is_empty() {
        let second = |(second, counts): &'a (u32, TimeCounts)| {
            let at = f64::from(*second);
            ([at, at + 1.0], counts)
        };
        let cut_off = if times.seconds_log == LogRead::Torn { "as far as their log goes: it is cut off" } else { "" };
        return (times.seconds.iter().map(second).collect(), cut_off.to_owned());
    }
    let run = &compare.runs[arm_series.run];
    let why = match &times.seconds_log {
        _ if compare.turns(arm_series).any(|arm| arm.bound) => {
            "it is a bound, which was computed and not run".to_owned()
        }
        LogRead::Missing if run.summary.mode == Mode::Virtual => "no seconds are logged in virtual time".to_owned(),
        LogRead::Missing => "there is no log of its seconds in the run's folder".to_owned(),
        LogRead::Unreadable(why) => format!("the log of its seconds cannot be read ({})", scrubbed(why)),
        LogRead::Torn | LogRead::Whole => "the log of its seconds is cut off before the first of them".to_owned(),
    };
    let shape = run.shape.iter().flat_map(|shape| shape.phases.iter().zip(shape.ends()));
    let phase = |(phase, end): (&analysis::live::PhaseShape, f64)| {
        let (_, counts) = times.phases.iter().find(|(name, _)| *name == phase.name)?;
        Some(([end - phase.seconds, end], counts))
    };
    let phases: Vec<Stretch<'_>> = shape.filter_map(phase).collect();
    if phases.is_empty() { (phases, why) } else { (phases, format!("by phase: {why}")) }
}

/// Counts by column of the screen and by row, from the lowest one.
struct Grid {
    /// Requests that were answered, and that were given up.
    cells: Vec<Vec<[u64; 2]>>,
    labels: Vec<String>,
    /// The row of the target.
    target: usize,
    /// Columns where a phase ends, and that of the second that is looked at.
    walls: Vec<usize>,
    cursor: Option<usize>,
}

impl Grid {
    fn of(stretches: &[Stretch<'_>], compare: &Compare, arm_series: ArmSeries, (room, rows): (usize, usize)) -> Self {
        let span = over_time::span(compare);
        let times = stretches.iter().flat_map(|(_, counts)| counts.known.iter().chain(&counts.censored));
        let target_ms = compare.objective_ms().unwrap_or(1000.0);
        let up = decades(times.map(|(micros, _)| *micros as f64 / 1e3), target_ms);
        let [low, high] = up.ends;
        let row = |ms: f64| (((up.at(ms) - low) / (high - low) * rows as f64) as i32).clamp(0, rows as i32 - 1);
        let mut cells = vec![vec![[0, 0]; rows]; room];
        for (time, counts) in stretches {
            let counts = counts.by_row(|seconds| row(seconds * 1e3));
            for column in &mut cells[columns(*time, span, room)] {
                for (row, [answered, given_up]) in &counts {
                    let cell = &mut column[*row as usize];
                    *cell = [cell[0] + answered, cell[1] + given_up];
                }
            }
        }
        let at = |second: f64| Some(columns([second, second + 1e-6], span, room)).filter(|found| !found.is_empty());
        let ends = compare.runs[arm_series.run].shape.as_ref().map_or_else(Vec::new, analysis::live::Shape::ends);
        let walls = ends.into_iter().filter_map(at).map(|found| found.start).collect();
        let cursor = compare.look.moment.and_then(at).map(|found| found.start);
        Self { cells, target: row(target_ms) as usize, labels: up.labels, walls, cursor }
    }

    /// A row of the screen, with its label where a factor of ten begins.
    fn line(&self, row: usize, palette: Palette) -> Line<'static> {
        let (rows, steps) = (self.cells.first().map_or(1, Vec::len), self.labels.len().saturating_sub(1).max(1));
        let label = (0..self.labels.len()).find(|n| (n * rows / steps).min(rows - 1) == row);
        let label = label.map_or("", |n| self.labels[n].as_str());
        let mut spans = vec![Span::styled(format!("{label:>LABEL$} │"), palette.faint())];
        spans.extend(self.cells.iter().enumerate().map(|(column, cells)| self.cell(column, cells, row, palette)));
        Line::from(spans)
    }

    fn cell(&self, column: usize, cells: &[[u64; 2]], row: usize, palette: Palette) -> Span<'static> {
        let all: u64 = cells.iter().flatten().sum();
        let [answered, given_up] = cells[row];
        let level = shades::level((answered + given_up) as f64 / all.max(1) as f64);
        let (mark, style) = match level {
            0 if self.cursor == Some(column) => ('│', palette.accent()),
            0 if self.walls.contains(&column) => (':', palette.faint()),
            0 if self.target == row => ('-', palette.target()),
            0 => (' ', Style::new()),
            // At least so long.
            level if given_up > answered => ('^', palette.heat(level)),
            level => (shades::SHADES[level], palette.heat(level)),
        };
        Span::styled(mark.to_string(), style)
    }
}
