//! Experiments to choose from, and what the one under the cursor shows.

use analysis::text::{counted, scrubbed};
use experiment::{Experiment, resolve::load_in_words};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::Style,
    text::{Line, Span},
    widgets::{Block, Borders, Cell, Paragraph, Row, Table, Wrap},
};
use traces::trace::{Header, Names};

use super::{first_shown, part_shown};
use crate::tui::{
    Palette,
    app::{Content, Home, Kind},
};

/// Returns the line below it.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, home: &Home, palette: Palette) -> Line<'static> {
    let [title, body] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    let words = Line::from(vec![
        Span::styled(" lab ", palette.title()),
        Span::raw(" what keeps a service alive under overload: choose an experiment"),
    ]);
    frame.render_widget(words, title);
    let list_width = if area.width >= 120 { 46 } else { area.width * 2 / 5 };
    let [left, right] = Layout::horizontal([Constraint::Length(list_width), Constraint::Fill(1)]).areas(body);
    list(frame, left, home, palette);
    details(frame, right, home, palette);
    match &home.finding {
        Some(line) => Line::styled(format!("find: {}_   Enter: keep   Esc: all", line.text), palette.strong()),
        None if home.chosen().is_some_and(|choice| choice.kind == Kind::Trace) => {
            Line::styled("Enter look into it   / find   r past runs   ? help   q leave", palette.faint())
        }
        None => Line::styled("Enter set up   / find   r past runs   ? help   q leave", palette.faint()),
    }
}

fn list(frame: &mut Frame<'_>, area: Rect, home: &Home, palette: Palette) {
    let shown: Vec<_> = home.shown().collect();
    let room = usize::from(area.height.saturating_sub(1));
    let first = first_shown(home.at, shown.len(), room);
    let rows = shown.iter().enumerate().skip(first).take(room).map(|(n, choice)| {
        let kind = match choice.kind {
            Kind::Own => "file",
            Kind::Short => "",
            Kind::Atlas => "paper",
            Kind::Trace => "trace",
        };
        let style = if n == home.at { palette.title() } else { Style::new() };
        let mark = if choice.read.is_err() { "!" } else { " " };
        Row::new([Cell::new(mark), Cell::new(scrubbed(&choice.id)), Cell::new(Span::styled(kind, palette.faint()))])
            .style(style)
    });
    let widths = [Constraint::Length(1), Constraint::Fill(1), Constraint::Length(5)];
    let title = if home.filter.is_empty() && home.finding.is_none() {
        match shown.iter().filter(|choice| choice.kind == Kind::Trace).count() {
            0 => format!(" {} ", counted(shown.len(), "experiment")),
            traces => {
                format!(" {}, {} ", counted(shown.len() - traces, "experiment"), counted(traces, "trace"))
            }
        }
    } else {
        format!(" {} found (/ Esc: all) ", shown.len())
    };
    let part = part_shown(first, room, shown.len(), palette);
    let block = Block::new().borders(Borders::TOP).title(title).title(part);
    frame.render_widget(Table::new(rows, widths).column_spacing(1).block(block), area);
}

fn details(frame: &mut Frame<'_>, area: Rect, home: &Home, palette: Palette) {
    let block = Block::new().borders(Borders::TOP | Borders::LEFT).title(" what it shows ");
    let lines = match home.chosen() {
        None => vec![Line::styled(" nothing has that in its name, arms or phases", palette.faint())],
        Some(choice) => match &choice.read {
            Err(problem) => vec![Line::styled(scrubbed(problem), palette.bad())],
            Ok(Content::Experiment(found)) => about(&found.experiment, &found.text, palette),
            Ok(Content::Trace { header, .. }) => about_trace(&choice.id, header, palette),
        },
    };
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), area);
}

fn about(experiment: &Experiment, text: &str, palette: Palette) -> Vec<Line<'static>> {
    let faint = |word: &str| Span::styled(format!("{word:<9}"), palette.faint());
    let mut lines = vec![Line::styled(scrubbed(&experiment.about), palette.strong())];
    if let Some(source) = &experiment.source {
        lines.push(Line::styled(scrubbed(source), palette.faint()));
    }
    lines.push(Line::default());
    let arms: Vec<&str> = experiment.arms.iter().map(|arm| arm.label.as_str()).collect();
    lines.push(Line::from(vec![faint("arms"), Span::raw(arms.join(", "))]));
    for (n, phase) in experiment.users.phases.iter().enumerate() {
        let word = if n == 0 { "load" } else { "" };
        let load = load_in_words(phase, experiment.nominal_capacity());
        let text = format!("{} {} s: {load}", phase.name, phase.duration.as_secs());
        lines.push(Line::from(vec![faint(word), Span::raw(scrubbed(&text))]));
    }
    let claims = experiment.thresholds.len();
    lines.push(Line::from(vec![faint("claims"), Span::raw(format!("{claims}, checked at the end"))]));
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
    let live = crate::tui::app::live_time(experiment, experiment.arms.len(), experiment.repeat);
    format!("seconds in virtual time, about {} live", rounded(live))
}

/// `45 s`, `4 min`, `2.5 h`.
pub(super) fn rounded(time: std::time::Duration) -> String {
    match time.as_secs() {
        seconds @ 0..90 => format!("{seconds} s"),
        seconds @ 90..5400 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}
