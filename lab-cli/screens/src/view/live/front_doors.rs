//! Front doors of the service: waiting rooms, sentries, and the platform that adds and takes away servers and sentries. The
//! panel is there where their gauges are.

use analysis::{
    live::StageSecond,
    text::{self, scrubbed},
};
use ratatui::{prelude::*, widgets::*};

use super::super::widgets::{nothing, titled};
use crate::{
    Palette, front_doors,
    front_doors::count,
    state::{Running, State},
};

/// Lines that the whole panel takes, its title included; 0: there is no front door.
pub(super) fn lines(state: &State) -> u16 {
    let lines = match Shown::of(state) {
        Some(shown) => shown.lines(usize::MAX, usize::MAX, state, Palette::Plain).len() + 1,
        None => 0,
    };
    u16::try_from(lines).unwrap_or(u16::MAX)
}

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let block = |title: &str| titled(&format!(" [9] {title} "), palette);
    let Some(shown) = Shown::of(state) else {
        let text = "no waiting room and no sentry is before this service";
        return nothing(frame, area, block("front doors"), text, palette);
    };
    let lines = shown.lines(area.height.saturating_sub(1).into(), area.width.into(), state, palette);
    frame.render_widget(Paragraph::new(lines).block(block(&shown.title(state))), area);
}

/// The front doors of the last second that is shown.
struct Shown<'a> {
    rooms: Vec<&'a StageSecond>,
    sentries: Vec<&'a StageSecond>,
    /// The platform's own row, and those of its applications.
    platform: Option<&'a StageSecond>,
    applications: Vec<&'a StageSecond>,
}

impl<'a> Shown<'a> {
    fn of(state: &'a State) -> Option<Self> {
        // A second in which the service did not answer has no gauges.
        let second = state.running.as_ref()?.shown().rev().find(|second| second.target.is_some())?;
        let (platform, applications) = front_doors::platform(second);
        let (rooms, sentries) = (front_doors::rooms(second), front_doors::sentries(second));
        let shown = Self { rooms, sentries, platform, applications };
        (!shown.rooms.is_empty() || !shown.sentries.is_empty()).then_some(shown)
    }

    fn title(&self, state: &State) -> String {
        if let Some(platform) = self.platform {
            let free = text::counted(platform.shows("free").unwrap_or(0.0) as usize, "free node");
            return format!("platform, {free}");
        }
        match (&self.rooms[..], &self.sentries[..]) {
            ([room, others @ ..], _) => {
                let several = if others.is_empty() { "" } else { "s" };
                format!("waiting room{several}, {}", front_doors::capacity_in_words(room, state.capacity_per_s()))
            }
            ([], [sentry]) => format!("sentry: {}", policing(sentry)),
            ([], _) => "sentries".to_owned(),
        }
    }

    /// Lines of the door, `room` at most; what is left out first is what stands last.
    fn lines(&self, room: usize, width: usize, state: &State, palette: Palette) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        if !self.rooms.is_empty() {
            // The tokens are worth more than the last of many rooms.
            self.of_rooms(room.saturating_sub(2), width, palette, &mut lines);
            let totals = state.running.as_ref().and_then(Running::tokens_so_far).cloned().unwrap_or_default();
            let style = if totals.refused.is_empty() { palette.faint() } else { palette.warn() };
            lines.push(Line::raw(format!(" tokens: {}", totals.in_words())));
            lines.push(Line::styled(format!(" {}", totals.refusals_in_words()), style));
        }
        lines.extend(self.platform.into_iter().flat_map(|platform| of_platform(platform, &self.applications, palette)));
        match &self.sentries[..] {
            [] => {}
            [sentry] if self.rooms.is_empty() && self.platform.is_none() => of_sentry(sentry, palette, &mut lines),
            sentries => lines.extend(sentries.iter().map(|sentry| in_a_line(sentry))),
        }
        lines.truncate(room);
        lines
    }

    fn of_rooms(&self, room: usize, width: usize, palette: Palette, lines: &mut Vec<Line<'static>>) {
        let columns = || ROOM_COLUMNS.iter().filter(|(_, _, is_extra, _)| !is_extra || width >= WIDE);
        let heading: String = columns().map(|(name, wide, ..)| format!("{name:<wide$}")).collect();
        lines.push(Line::styled(format!(" {:<NAME$}{heading}", ""), palette.faint()));
        let rows = room.saturating_sub(1).max(1);
        let left_out = self.rooms.len().saturating_sub(rows);
        let row = |stage: &&StageSecond| {
            let cells: String = columns().map(|(_, wide, _, value)| format!("{:<wide$}", value(stage))).collect();
            let name = scrubbed(stage.name.strip_prefix("waiting ").unwrap_or(&stage.name));
            let style = if count(stage, "full") > 0 { palette.bad() } else { palette.strong() };
            Line::from(vec![Span::styled(format!(" {name:<NAME$.NAME$}"), style), Span::raw(cells)])
        };
        lines.extend(self.rooms.iter().take(rows).map(row));
        if left_out > 0 && rows > 1 {
            let text = format!(" and {} more", left_out + 1);
            lines.pop();
            lines.push(Line::styled(text, palette.faint()));
        }
    }
}

/// Width of a waiting room's name.
const NAME: usize = 8;
/// The width from which all columns have room.
const WIDE: usize = 80;

/// Name, width, whether it is left out where there is less room, and value.
type RoomColumn = (&'static str, usize, bool, fn(&StageSecond) -> String);

/// Columns of a waiting room: now, and in the last second.
const ROOM_COLUMNS: [RoomColumn; 9] = [
    ("waiting", 8, false, |room| room.queue.to_string()),
    ("longest", 8, false, |room| seconds(room, "longest_wait_s")),
    ("next", 6, false, |room| seconds(room, "next_wait_s")),
    ("given/s", 8, false, |room| count(room, "promised").to_string()),
    ("let in/s", 9, false, |room| room.admitted.to_string()),
    ("inside/s", 9, true, |room| count(room, "inside").to_string()),
    ("early/s", 8, true, |room| count(room, "early").to_string()),
    ("full/s", 7, true, |room| count(room, "full").to_string()),
    ("share/s", 7, false, |room| room.shows("share_per_s").map_or_else(|| "-".to_owned(), text::rate)),
];

/// A wait; a queue that is full has none for the next one.
fn seconds(room: &StageSecond, gauge: &str) -> String {
    room.shows(gauge).map_or_else(|| "full".to_owned(), |wait| format!("{wait:.0} s"))
}

fn policing(sentry: &StageSecond) -> String {
    let gauge = |name: &str| sentry.shows(name).unwrap_or(0.0);
    let how = if by_threshold(sentry) { "threshold policing" } else { "batch policing" };
    let servers = text::counted(gauge("servers") as usize, "server");
    format!("{how}, {servers}, {} in each", text::rate(gauge("in_service_per_server")))
}

fn by_threshold(sentry: &StageSecond) -> bool {
    sentry.shows("threshold_policing") == Some(1.0)
}

/// One sentry with its classes, the most important first.
fn of_sentry(sentry: &StageSecond, palette: Palette, lines: &mut Vec<Line<'static>>) {
    let gauge = |name: &str| sentry.shows(name).unwrap_or(0.0);
    let refused = format!("  refused {}/s", sentry.refused);
    lines.push(Line::from(vec![
        Span::raw(format!(" let in {}/s", sentry.admitted)),
        Span::styled(refused, if sentry.refused > 0 { palette.warn() } else { palette.faint() }),
        Span::raw(format!("  held {:.0}", gauge("held"))),
    ]));
    let (service, target) = (text::time(gauge("service_ms")), text::time(gauge("target_ms")));
    lines.push(Line::raw(format!(" expected service time {service}, target {target}")));
    let classes = sentry.gauges.keys().filter_map(|key| key.strip_prefix("arrivals_per_s[")?.strip_suffix(']'));
    let mut classes: Vec<&str> = classes.collect();
    classes.sort_by_key(|class| std::cmp::Reverse(class.parse::<u8>().unwrap_or(0)));
    lines.push(Line::styled(" class   asked/s   delay     let in", palette.faint()));
    lines.extend(classes.into_iter().map(|class| {
        let of_class = |name: &str| gauge(&format!("{name}[{class}]"));
        let lets_in = if by_threshold(sentry) { text::percent(of_class("p_admit")) } else { "who fits".to_owned() };
        let (asked, delay) = (text::rate(of_class("arrivals_per_s")), format!("{:.0} ms", of_class("delay_ms")));
        Line::raw(format!(" {:<8}{asked:<10}{delay:<10}{lets_in}", scrubbed(class)))
    }));
}

/// The platform: what has come and gone so far, and each application as it is now.
fn of_platform(platform: &StageSecond, applications: &[&StageSecond], palette: Palette) -> Vec<Line<'static>> {
    let so_far = |gauge: &str| platform.shows(gauge).unwrap_or(0.0);
    let (added, removed) = (so_far("added_servers"), so_far("removed_servers"));
    let (more, fewer) = (so_far("added_sentries"), so_far("removed_sentries"));
    let so_far = format!(" so far: servers +{added:.0} -{removed:.0}, sentries +{more:.0} -{fewer:.0}");
    let mut lines = vec![Line::styled(so_far, palette.faint())];
    lines.extend(applications.iter().map(|application| {
        let gauge = |name: &str| application.shows(name).unwrap_or(0.0);
        let name = scrubbed(application.name.trim_start_matches(front_doors::APPLICATION));
        let servers = text::counted(gauge("servers") as usize, "server");
        let sentries = match gauge("sentries") as usize {
            1 => "1 sentry at".to_owned(),
            sentries => format!("{sentries} sentries, the first at"),
        };
        let (target, cpu) = (text::time(gauge("target_ms")), text::percent(gauge("first_sentry_cpu")));
        Line::from(vec![
            Span::styled(format!(" {name}"), palette.strong()),
            Span::raw(format!(": {servers}, {sentries} {cpu}, target {target}")),
        ])
    }));
    lines
}

/// One of several sentries.
fn in_a_line(sentry: &StageSecond) -> Line<'static> {
    let (admitted, refused) = (sentry.admitted, sentry.refused);
    Line::raw(format!(" {}: {}, let in {admitted}/s, refused {refused}/s", scrubbed(&sentry.name), policing(sentry)))
}
