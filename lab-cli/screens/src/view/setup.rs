//! Arms to tick, their parameters with the catalogue's descriptions, the keys of the experiment, and how it will be run.

use analysis::text::{counted, scrubbed};
use ratatui::{prelude::*, widgets::*};

use super::{
    form,
    widgets::{fitted, hints, pane, part_shown, prompt, rounded},
};
use crate::{
    Palette,
    app::{Pane, Parameter, Setup, Writing},
};

/// Returns the line below it.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, setup: &Setup, palette: Palette) -> Line<'static> {
    let places = places(area, setup);
    let words = Line::from(vec![
        Span::styled(format!(" {} ", scrubbed(&setup.name)), palette.title()),
        Span::raw(format!(" {}", scrubbed(&setup.experiment.about))),
    ]);
    let command = Line::styled(format!(" $ {}", scrubbed(&setup.command())), palette.faint());
    for (line, place) in [(words, places.title), (how(setup, palette), places.how), (command, places.command)] {
        frame.render_widget(fitted(line, place.width), place);
    }
    arms(frame, places.arms, setup, palette);
    policy(frame, places.about, setup, palette);
    let name = setup.candidate().map_or_else(String::new, |arm| scrubbed(&arm.label));
    let of = if places.about.is_empty() { format!(" of {name}") } else { String::new() };
    table(frame, places.parameters, setup, (Pane::Parameters, &format!("parameters{of}")), palette);
    table(frame, places.keys, setup, (Pane::Keys, "experiment: users, service, faults"), palette);
    let of = if setup.pane == Pane::Keys { Pane::Keys } else { Pane::Parameters };
    help(frame, places.help, setup.refused.as_deref(), setup.listed(of).get(setup.row(of)), palette);
    if let Some(wanted) = &setup.form {
        form::draw(frame, area, wanted, palette);
    }
    line(setup, area.width, palette)
}

/// Places of the screen's parts; on a small one only the pane that the keys are in has room beside the arms.
pub(super) struct Places {
    title: Rect,
    how: Rect,
    command: Rect,
    pub arms: Rect,
    about: Rect,
    pub parameters: Rect,
    pub keys: Rect,
    help: Rect,
}

/// The width from which parameters and keys stand beside each other.
const WIDE: u16 = 132;
/// The height from which they stand below each other.
const TALL: u16 = 34;

pub(super) fn places(area: Rect, setup: &Setup) -> Places {
    let [title, how, command, body] =
        Layout::vertical([Constraint::Length(1), Constraint::Length(1), Constraint::Length(1), Constraint::Fill(1)])
            .areas(area);
    let width = if area.width >= 120 { 30 } else { 25 };
    let [arms, right] = Layout::horizontal([Constraint::Length(width), Constraint::Fill(1)]).areas(body);
    let [lists, help] = Layout::vertical([Constraint::Fill(1), Constraint::Length(5)]).areas(right);
    let about_rows = if area.height >= TALL || area.width >= WIDE { 5 } else { 0 };
    let with_about =
        |area: Rect| Layout::vertical([Constraint::Length(about_rows), Constraint::Fill(1)]).areas::<2>(area);
    let halves = [Constraint::Fill(1), Constraint::Fill(1)];
    let [about, parameters, keys] = if area.width >= WIDE {
        let [left, keys] = Layout::horizontal(halves).areas(lists);
        let [about, parameters] = with_about(left);
        [about, parameters, keys]
    } else if area.height >= TALL {
        let [about, rest] = with_about(lists);
        let [parameters, keys] = Layout::vertical(halves).areas(rest);
        [about, parameters, keys]
    } else if setup.pane == Pane::Keys {
        [Rect::ZERO, Rect::ZERO, lists]
    } else {
        [Rect::ZERO, lists, Rect::ZERO]
    };
    Places { title, how, command, arms, about, parameters, keys, help }
}

/// The line at the foot.
fn line(setup: &Setup, width: u16, palette: Palette) -> Line<'static> {
    match (&setup.writing, setup.pane) {
        (Some(Writing::Find(line)), _) => prompt("find", line, "Enter: keep   Esc: all", width, palette),
        (Some(Writing::Value(line)), _) if setup.refused.is_some() => {
            prompt("NOT TAKEN, see above", line, "Enter: take it   Esc: keep", width, palette).style(palette.bad())
        }
        (Some(Writing::Value(line)), _) => {
            let keys = "Enter: take it (nothing: as in the file; a, b: an arm each)   Esc: keep";
            prompt("new value", line, if width < 120 { "Enter: take it   Esc: keep" } else { keys }, width, palette)
        }
        (None, Pane::Arms) => {
            let keys = "Enter: RUN; space: tick; Tab: next pane; v: virtual or live; d: duplicate; w: write; u: undo all; +-: repeat; \
                        e: edit; a: all; Esc: back; ?: help";
            hints(keys, width, palette)
        }
        (None, _) => {
            hints("Enter: change; Tab: next pane; /: find; u: undo all; w: write; Esc: arms; ?: help", width, palette)
        }
    }
}

fn how(setup: &Setup, palette: Palette) -> Line<'static> {
    let virtual_time = setup.how.virtual_time;
    let [live, simulated] = if virtual_time { ["  live  ", "[virtual]"] } else { [" [live] ", " virtual "] };
    let (repeat, at_most) = match setup.until_decided() {
        true => (format!("until it is decided ({} at most)", counted(setup.repeat() as usize, "block")), " at most"),
        false => (setup.repeat().to_string(), ""),
    };
    let time =
        if virtual_time { "seconds".to_owned() } else { format!("about {}{at_most}", rounded(setup.live_time())) };
    let live = if setup.how.only_virtual { Span::raw("") } else { Span::raw(live) };
    let changed = if setup.is_changed() { "   changed (u: as in the file)" } else { "" };
    Line::from(vec![
        Span::styled(simulated, palette.accent()),
        live,
        Span::raw(format!("   {} x {repeat} = {time}", counted(setup.ticked(), "arm"))),
        Span::styled(changed, palette.warn()),
    ])
}

fn arms(frame: &mut Frame<'_>, area: Rect, setup: &Setup, palette: Palette) {
    let room = usize::from(area.height.saturating_sub(2));
    let first = setup.first(Pane::Arms, setup.candidates.len(), room);
    let rows = setup.candidates.iter().enumerate().skip(first).take(room).map(|(n, candidate)| {
        let tick = if candidate.on { "[x]" } else { "[ ]" };
        let edited = if candidate.edits.is_empty() { "" } else { "*" };
        let style = match (n == setup.at(), setup.pane) {
            (true, Pane::Arms) => palette.selected(),
            (true, _) => palette.strong(),
            (false, _) if candidate.on => Style::new(),
            (false, _) => palette.faint(),
        };
        Row::new([tick.to_owned(), format!("{}{edited}", scrubbed(&candidate.label))]).style(style)
    });
    let part = part_shown(first, room, setup.candidates.len(), palette);
    let block = pane("arms", setup.pane == Pane::Arms, palette).title_bottom(part);
    let widths = [Constraint::Length(3), Constraint::Fill(1)];
    frame.render_widget(Table::new(rows, widths).column_spacing(1).block(block), area);
}

fn policy(frame: &mut Frame<'_>, area: Rect, setup: &Setup, palette: Palette) {
    let Some(candidate) = setup.candidate() else { return };
    let lines = match candidate.entry {
        Some(entry) => vec![
            Line::raw(entry.about),
            Line::styled(entry.caution, palette.faint()),
            Line::styled(format!("{}, {}", entry.source.title, entry.source.place), palette.faint()),
        ],
        None => vec![Line::raw("Decided by what the experiment file says of it.")],
    };
    let block = pane(&scrubbed(&candidate.label), false, palette);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }).block(block), area);
}

/// Parameters, or keys: name, value, that of the file where it is another, and what it is as far as there is room.
fn table(frame: &mut Frame<'_>, area: Rect, setup: &Setup, (of, title): (Pane, &str), palette: Palette) {
    if area.is_empty() {
        return;
    }
    let found = setup.listed(of);
    let room = usize::from(area.height.saturating_sub(3));
    let first = setup.first(of, found.len(), room);
    let here = setup.pane == of;
    let longest = |text: fn(&Parameter) -> &str, most: usize| {
        found.iter().map(|parameter| text(parameter).chars().count()).max().unwrap_or(0).clamp(5, most)
    };
    let names = longest(|parameter| &parameter.name, if of == Pane::Keys { 36 } else { 24 });
    let rows = found.iter().enumerate().skip(first).take(room).map(|(n, parameter)| {
        let style = if here && n == setup.row(of) { palette.selected() } else { Style::new() };
        let (value, style_of_value) = if parameter.edited {
            (format!("{}*", scrubbed(&parameter.value)), palette.strong())
        } else {
            (scrubbed(&parameter.value), Style::new())
        };
        let of_file = if parameter.edited { scrubbed(&parameter.in_file) } else { String::new() };
        let about = format!(
            "{}{}",
            if parameter.unit.is_empty() { String::new() } else { format!("[{}] ", parameter.unit) },
            parameter.about
        );
        Row::new([
            Cell::new(short(&parameter.name, names)),
            Cell::new(Span::styled(value, style_of_value)),
            Cell::new(Span::styled(of_file, palette.faint())),
            Cell::new(Span::styled(about, palette.faint())),
        ])
        .style(style)
    });
    let part = part_shown(first, room, found.len(), palette);
    let title = if here && !setup.filter.is_empty() {
        format!("{title}: {} found (Esc: all)", found.len())
    } else {
        title.to_owned()
    };
    let block = pane(&title, here, palette).title_bottom(part);
    let header = Row::new(["name", "value", "in the file", "what it is"]).style(palette.faint());
    let any_edited = found.iter().any(|parameter| parameter.edited);
    let values = u16::try_from(longest(|parameter| &parameter.value, 30) + 1).unwrap_or(30);
    let widths = [
        Constraint::Length(u16::try_from(names).unwrap_or(36)),
        Constraint::Length(values),
        Constraint::Length(if any_edited { 12 } else { 0 }),
        Constraint::Fill(1),
    ];
    frame.render_widget(Table::new(rows, widths).header(header).column_spacing(1).block(block), area);
}

/// The end of a long name tells it apart.
fn short(name: &str, room: usize) -> String {
    let length = name.chars().count();
    if length <= room {
        name.to_owned()
    } else {
        format!("…{}", name.chars().skip(length + 1 - room).collect::<String>())
    }
}

/// `refused`: what is wrong with the value that was written.
fn help(frame: &mut Frame<'_>, area: Rect, refused: Option<&str>, parameter: Option<&Parameter>, palette: Palette) {
    let lines = match parameter {
        _ if refused.is_some() => vec![Line::styled(scrubbed(refused.unwrap_or_default()), palette.bad())],
        Some(parameter) => {
            let Parameter { name, value, range, default, about, source, .. } = parameter;
            let known = |before: &str, text: &str, after: &str| {
                if text.is_empty() { String::new() } else { format!("{before}{text}{after}") }
            };
            let (allowed, default) = (known("; allowed ", range, ""), known("; default ", default, ""));
            let now = format!("{name}: now {}{allowed}{default}", scrubbed(value));
            let about = format!("{}{}", about.replace('`', ""), known("  (from: ", source, ")"));
            vec![Line::styled(now, palette.strong()), Line::raw(about)]
        }
        None => vec![Line::styled("it has no parameters", palette.faint())],
    };
    let block = pane("what it is", false, palette);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }).block(block), area);
}
