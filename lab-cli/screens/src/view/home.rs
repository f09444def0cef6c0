//! Experiments to choose from, and what the one under the cursor shows.

use analysis::text::{counted, scrubbed};
use experiment::{Experiment, resolve::load_in_words};
use ratatui::{prelude::*, widgets::*};
use traces::trace::{Header, Names};

use super::widgets::{fitted, hints, pane, part_shown, prompt, rounded, spark};
use crate::{
    Palette,
    app::{App, Content, Found, Group, Home},
};

mod preview;

/// Returns the line below it.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, palette: Palette) -> Line<'static> {
    let home = &app.home;
    let words = Line::from(vec![
        Span::styled(" lab ", palette.title()),
        Span::raw(" which setting keeps a service alive? "),
        Span::styled("Enter", palette.accent()),
        Span::raw(" computes an experiment"),
    ]);
    let Places { title, list: left, right } = places(area);
    frame.render_widget(words, title);
    list(frame, left, home, palette);
    let preview =
        home.chosen().filter(|choice| choice.found().is_some()).and_then(|choice| home.previews.get(&choice.id));
    let lines = description(app, palette);
    let wide = usize::from(right.width.saturating_sub(2)).max(1);
    let rows: usize = lines.iter().map(|line| line.width().div_ceil(wide).max(1)).sum();
    let text_rows = u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(2);
    let drawn = if preview.is_some() && right.height >= LEAST_FOR_PICTURE {
        (right.height / 2).max(right.height.saturating_sub(text_rows)).min(MOST_PICTURE)
    } else {
        0
    };
    let [above, below] = Layout::vertical([Constraint::Fill(1), Constraint::Length(drawn)]).areas(right);
    details(frame, above, home, lines, rows, palette);
    if let (Some(preview), Some(choice)) = (preview.filter(|_| drawn > 0), home.chosen()) {
        preview::draw(frame, below, preview, choice, palette);
    }
    match &home.finding {
        Some(line) => prompt("find", line, "Enter: keep   Esc: all", area.width, palette),
        None => keys(home, area.width, palette),
    }
}

/// Keys for what is under the cursor.
fn keys(home: &Home, width: u16, palette: Palette) -> Line<'static> {
    let found = home.chosen().and_then(|choice| choice.found());
    let live = found.filter(|found| !found.experiment.simulation.only);
    let live = live.map_or_else(String::new, |found| format!("L: live, {}; ", live_time(&found.experiment)));
    let first = match found {
        None => "Enter: look into it".to_owned(),
        Some(found) if found.experiment.has_no_plant() => format!("{live}m: measure its costs; Tab: change"),
        Some(_) => format!("Enter: run it; {live}Tab: change"),
    };
    let more = "n: your service; /: find; r: past runs; e: edit; [ ]: the text; R: read again";
    hints(&format!("{first}; {more}; q: leave; ?: help"), width, palette)
}

/// Rows of the right side from which on there is room for a picture, and most rows of one.
const LEAST_FOR_PICTURE: u16 = 18;
const MOST_PICTURE: u16 = 24;

/// Columns of the screen from which on experiments have their questions beside them.
const WIDE: u16 = 110;
/// Columns of the course of a load, and of names.
const PROFILE: usize = 8;
const NAMES: u16 = 19;

/// Places of the screen's parts.
pub(super) struct Places {
    title: Rect,
    pub list: Rect,
    right: Rect,
}

pub(super) fn places(area: Rect) -> Places {
    let [title, body] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    let list_width = if area.width >= WIDE { (area.width * 12 / 25).min(84) } else { area.width * 2 / 5 };
    let [list, right] = Layout::horizontal([Constraint::Length(list_width), Constraint::Fill(1)]).areas(body);
    Places { title, list, right }
}

/// A row of the list: the name of a group, or one of those shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListRow {
    Title(Group),
    Choice(usize),
}

/// The rows of the list, with the first that is shown of so many that have room.
pub(super) fn list_rows(home: &Home, room: usize) -> (Vec<ListRow>, usize) {
    let mut rows = Vec::new();
    let mut last = None;
    for (n, choice) in home.shown().enumerate() {
        if last != Some(choice.group) {
            rows.push(ListRow::Title(choice.group));
            last = Some(choice.group);
        }
        rows.push(ListRow::Choice(n));
    }
    let at = rows.iter().position(|row| *row == ListRow::Choice(home.at)).unwrap_or(0);
    // The name of the first group is seen with its first row.
    let first = if at <= 1 { 0 } else { home.window.first(at, rows.len(), room) };
    (rows, first)
}

fn list(frame: &mut Frame<'_>, area: Rect, home: &Home, palette: Palette) {
    let shown: Vec<_> = home.shown().collect();
    let room = usize::from(area.height.saturating_sub(2));
    let (all, first) = list_rows(home, room);
    let wide = area.width * 2 >= WIDE - 10;
    // Beside the border, a mark, the name, the course, and what is between them.
    let beside_names = area.width.saturating_sub(NAMES + 6 + PROFILE as u16);
    let rows = all.iter().skip(first).take(room).map(|row| match row {
        // Titles are written over the columns, below.
        ListRow::Title(_) => Row::new([""]),
        ListRow::Choice(n) => {
            let choice = shown[*n];
            let style = if *n == home.at { palette.selected() } else { Style::new() };
            let mark = if choice.read.is_err() { "!" } else { " " };
            let beside = if *n == home.at { style } else { palette.faint() };
            let experiment = choice.found().map(|found| &found.experiment);
            let about = experiment.map_or_else(String::new, |experiment| scrubbed(&experiment.about));
            let load = experiment.map_or_else(String::new, profile);
            let mut cells = vec![Cell::new(mark), Cell::new(scrubbed(&choice.id))];
            cells.extend(wide.then(|| Cell::new(fitted(Line::styled(about, beside), beside_names))));
            cells.push(Cell::new(Span::styled(load, beside)));
            Row::new(cells).style(style)
        }
    });
    let mut widths = vec![Constraint::Length(1), if wide { Constraint::Length(NAMES) } else { Constraint::Fill(1) }];
    widths.extend(wide.then_some(Constraint::Fill(1)));
    widths.push(Constraint::Length(PROFILE as u16));
    let title = if home.filter.is_empty() && home.finding.is_none() {
        match shown.iter().filter(|choice| choice.group == Group::Traces).count() {
            0 => counted(shown.len(), "experiment"),
            traces => format!("{}, {}", counted(shown.len() - traces, "experiment"), counted(traces, "trace")),
        }
    } else {
        format!("{} found (Esc: all)", shown.len())
    };
    let choices = |rows: &[ListRow]| rows.iter().filter(|row| matches!(row, ListRow::Choice(_))).count();
    let (before, seen) = (choices(&all[..first]), choices(&all[first..(first + room).min(all.len())]));
    let part = part_shown(before, seen, shown.len(), palette);
    let block = pane(&title, true, palette).title_bottom(part);
    let inside = block.inner(area);
    frame.render_widget(Table::new(rows, widths).column_spacing(1).block(block), area);
    for (place, row) in inside.rows().zip(&all[first..]) {
        if let ListRow::Title(group) = row {
            frame.render_widget(Line::styled(format!("  {}", group.title()), palette.accent()), place);
        }
    }
}

/// The course of the load over the time of an arm, each column as a part of the highest.
fn profile(experiment: &Experiment) -> String {
    let (phases, capacity) = (&experiment.users.phases, experiment.nominal_capacity());
    let whole: f64 = phases.iter().map(|phase| phase.duration.as_secs_f64()).sum();
    let at = |column: usize| {
        let mut left = whole * (column as f64 + 0.5) / PROFILE as f64;
        let phase = phases.iter().find(|phase| {
            left -= phase.duration.as_secs_f64();
            left < 0.0
        })?;
        let share = 1.0 + left / phase.duration.as_secs_f64().max(1e-9);
        Some(phase.loads.iter().map(|load| load.span(capacity)).map(|[from, to]| from + (to - from) * share).sum())
    };
    spark(&(0..PROFILE).filter_map(at).collect::<Vec<f64>>(), PROFILE)
}

fn description(app: &App, palette: Palette) -> Vec<Line<'static>> {
    match app.home.chosen() {
        None => vec![Line::styled("nothing has that in its name or its file", palette.faint())],
        Some(choice) => match &choice.read {
            Err(problem) => vec![Line::styled(scrubbed(problem), palette.bad())],
            Ok(Content::Experiment(found)) => about(found, app.changed(&choice.id), palette),
            Ok(Content::Trace { header, .. }) => about_trace(&choice.id, header, palette),
        },
    }
}

/// `rows`: that the lines take.
fn details(frame: &mut Frame<'_>, area: Rect, home: &Home, lines: Vec<Line<'static>>, rows: usize, palette: Palette) {
    let room = usize::from(area.height.saturating_sub(2));
    // Words that do not fit in a row leave some of it empty: a row of every eight.
    let most = if rows > room { rows + rows / 8 - room } else { 0 };
    let from = home.described_from.min(most);
    let mut block = pane("what it is", false, palette);
    if rows > room {
        let more = if from < most { " ] the rest " } else { " [ back " };
        block = block.title_bottom(Line::styled(more, palette.accent()).right_aligned());
    }
    let from = u16::try_from(from).unwrap_or(u16::MAX);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).scroll((from, 0)).block(block), area);
}

/// `changed`: what was set up in place of the file's arms.
fn about(Found { experiment, text, .. }: &Found, changed: Option<String>, palette: Palette) -> Vec<Line<'static>> {
    let faint = |word: &str| Span::styled(format!("{word:<9}"), palette.faint());
    let about = Some(&experiment.about).filter(|about| !about.is_empty());
    let mut lines: Vec<Line<'_>> =
        about.map(|about| Line::styled(scrubbed(about), palette.strong())).into_iter().collect();
    if let Some(source) = &experiment.source {
        lines.push(Line::styled(scrubbed(source), palette.faint()));
    }
    lines.extend((!lines.is_empty()).then(Line::default));
    let arms: Vec<&str> = experiment.arms.iter().map(|arm| arm.label.as_str()).collect();
    lines.push(Line::from(vec![faint("arms"), Span::raw(arms.join(", "))]));
    let changed = changed.map(|changed| Line::from(vec![faint("changed"), Span::styled(changed, palette.accent())]));
    lines.extend(changed);
    for (n, phase) in experiment.users.phases.iter().enumerate() {
        let word = if n == 0 { "load" } else { "" };
        let load = load_in_words(phase, experiment.nominal_capacity());
        let text = format!("{} {} s: {load}", phase.name, phase.duration.as_secs());
        lines.push(Line::from(vec![faint(word), Span::raw(scrubbed(&text))]));
    }
    let claims = experiment.thresholds.len();
    if claims > 0 {
        lines.push(Line::from(vec![faint("claims"), Span::raw(format!("{claims}, checked at the end"))]));
    }
    lines.push(Line::from(vec![faint("takes"), Span::raw(time_of(experiment))]));
    lines.push(Line::default());
    // The comment at the head of the file says the rest; its lines are as long as the file's.
    let comment = text.lines().take_while(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let comment: Vec<&str> = comment.filter(|line| !line.starts_with("yaml-language-server")).collect();
    for paragraph in comment.split(|line| line.is_empty()) {
        lines.push(Line::raw(scrubbed(&paragraph.join(" "))));
    }
    lines
}

/// The description of a trace, and what can be done with it.
fn about_trace(file: &str, header: &Header, palette: Palette) -> Vec<Line<'static>> {
    let names = match header.names {
        Names::Pseudonyms => "pseudonyms",
        Names::Source => "as the source had them: not to be handed on",
        Names::Generated => "made up",
    };
    let mut lines = vec![
        Line::styled(scrubbed(&header.name), palette.strong()),
        Line::styled(scrubbed(&header.source), palette.faint()),
        Line::default(),
    ];
    let facts = [("began", header.began.as_deref()), ("names", Some(names))];
    for (word, fact) in facts.into_iter().filter_map(|(word, fact)| Some((word, fact?))) {
        lines.push(Line::from(vec![Span::styled(format!("{word:<9}"), palette.faint()), Span::raw(scrubbed(fact))]));
    }
    let file = scrubbed(file);
    lines.push(Line::default());
    lines.push(Line::raw("A user model from it:"));
    lines.push(Line::styled(format!("  lab trace fit {file} -o users.yaml"), palette.strong()));
    lines.push(Line::raw("A replay against a service of your own:"));
    lines.push(Line::styled(format!("  lab replay {file} --target http://127.0.0.1:8080"), palette.strong()));
    lines.push(Line::raw("An experiment whose users do what it says:"));
    lines.push(Line::styled(format!("  lab run four-policies --set users.trace={file}"), palette.strong()));
    lines
}

fn time_of(experiment: &Experiment) -> String {
    if experiment.simulation.only {
        return "seconds, in virtual time".to_owned();
    }
    match experiment.has_no_plant() {
        true => format!("{} live; in virtual time once its costs are measured (m)", live_time(experiment)),
        false => format!("seconds in virtual time, about {} live", live_time(experiment)),
    }
}

fn live_time(experiment: &Experiment) -> String {
    rounded(crate::app::live_time(experiment, experiment.arms.len(), experiment.repeat))
}
