//! Runs that are over.

use analysis::text::scrubbed;
use ratatui::{prelude::*, widgets::*};

use super::widgets::{hints, pane, part_shown, prompt, table};
use crate::{Palette, app::Past, messages::ListedRun};

/// Lines for the run under the cursor, with their border.
const ABOUT: u16 = 6;

/// The place of the list.
pub(super) fn list_place(area: Rect) -> Rect {
    let [_, body, _] =
        Layout::vertical([Constraint::Length(1), Constraint::Fill(1), Constraint::Length(ABOUT)]).areas(area);
    body
}

/// Returns the line below it.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, past: &Past, palette: Palette) -> Line<'static> {
    let [title, body, about] =
        Layout::vertical([Constraint::Length(1), Constraint::Fill(1), Constraint::Length(ABOUT)]).areas(area);
    frame.render_widget(Line::from(vec![Span::styled(" past runs ", palette.title())]), title);
    let shown = past.shown();
    let found = if past.filter.is_empty() && past.finding.is_none() { "" } else { " found (Esc: all)" };
    let block = pane(&format!("{} in runs/{found}, newest first", shown.len()), true, palette);
    if past.is_empty() {
        let text = " none in this folder yet: Esc, choose an experiment, run it";
        frame.render_widget(Paragraph::new(text).style(palette.faint()).block(block), body);
        return hints("q: leave; Esc: back; ?: help", area.width, palette);
    }
    let room = usize::from(body.height.saturating_sub(3));
    let first = past.window.first(past.at, shown.len(), room);
    let rows = shown.iter().enumerate().skip(first).take(room).map(|(n, run)| {
        let style = if n == past.at { palette.selected() } else { Style::new() };
        row(run, past.ticked.contains(&run.folder), palette).style(style)
    });
    let block = block.title_bottom(part_shown(first, room, shown.len(), palette));
    let heads = ["", "began (UTC)", "experiment", "world", "verdict", "deploy", "arms"];
    let longest = shown.iter().map(|run| name(run).chars().count()).max().unwrap_or(0).clamp(10, 36);
    let widths = [3, 16, longest as u16, 7, if body.width >= 100 { 16 } else { 11 }, 12, 0];
    frame.render_widget(table(heads, widths, rows, palette).block(block), body);
    frame.render_widget(made(shown.get(past.at).copied(), palette), about);
    if let Some(line) = &past.finding {
        return prompt("find", line, "Enter: keep   Esc: all", area.width, palette);
    }
    let compare = match past.ticked.len() {
        0 => "compare its arms".to_owned(),
        1 => "open the one that is ticked".to_owned(),
        ticked => format!("compare the {ticked} that are ticked"),
    };
    let keys = format!("Enter: {compare}; space: tick; /: find; R: read again; Esc: back; ?: help");
    hints(&keys, area.width, palette)
}

/// The experiment, where the folder's name has no more than that and the time.
fn name(run: &ListedRun) -> String {
    let folder = run.folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let experiment = run.summary.as_ref().map(|summary| &summary.experiment);
    let is_plain = experiment.is_some_and(|experiment| folder.strip_prefix(&**experiment).is_some_and(is_stamp));
    scrubbed(experiment.filter(|_| is_plain).unwrap_or(&folder))
}

/// `-20261127T225948Z`, which stands in a column of its own.
fn is_stamp(text: &str) -> bool {
    text.len() == 17 && text.starts_with('-') && text.ends_with('Z')
}

/// Seed, repetitions and settings of the run under the cursor.
fn made(run: Option<&ListedRun>, palette: Palette) -> Paragraph<'static> {
    let made = run.and_then(|run| run.summary.as_ref()).map_or(&[][..], |summary| &summary.made);
    let lines: Vec<Line<'_>> = made.iter().map(|line| Line::raw(format!(" {}", scrubbed(line)))).collect();
    let block = pane("how it was made", false, palette);
    Paragraph::new(lines).wrap(Wrap { trim: true }).block(block)
}

fn row(run: &ListedRun, ticked: bool, palette: Palette) -> Row<'static> {
    let tick = if ticked { "[x]" } else { "[ ]" };
    let name = name(run);
    match &run.summary {
        Some(summary) => Row::new([
            tick.to_owned(),
            summary.began.clone(),
            name,
            if summary.virtual_time { "virtual" } else { "live" }.to_owned(),
            scrubbed(&summary.verdict),
            scrubbed(&summary.winner),
            scrubbed(&summary.arms.join(", ")),
        ]),
        None => {
            let [killed, none] = ["killed, or still running", ""].map(|text| Span::styled(text, palette.faint()));
            let (name, no_summary) = (Span::raw(name), Span::styled("no summary", palette.warn()));
            Row::new([none.clone(), none.clone(), name, none.clone(), no_summary, none, killed])
        }
    }
}
