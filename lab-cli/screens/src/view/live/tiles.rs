//! Tiles of a run: the four figures of a second that decide, each with its judgement, and what arms that are over had.

use analysis::{
    live::TimelineSecond,
    summary::{Measured, busiest},
    text::{self, scrubbed},
};
use ratatui::{prelude::*, widgets::*};

use super::super::widgets::{bar, both_ends, fitted};
use crate::{
    Palette,
    state::{Running, State},
};

/// Rows of a tile with a frame, and of one with a title alone.
pub(super) const FRAMED: u16 = 5;
pub(super) const BARE: u16 = 3;

/// Shares of what could be answered in time: from the first on it is good, below the second bad.
const GOOD: f64 = 0.9;
const BAD: f64 = 0.5;
/// Part of what is asked for by which refusals may miss what they should be.
const NEAR: f64 = 0.1;

/// A figure of a second.
struct Tile {
    title: &'static str,
    value: String,
    /// The measure of the value.
    against: String,
    judgement: String,
    style: Style,
    /// Filled part of the bar.
    share: f64,
    below: String,
}

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let Some(running) = &state.running else { return };
    let Some(now) = running.latest() else { return };
    let tiles = [
        in_time(state, now, palette),
        response_time(state, now, palette),
        turned_away(state, now, palette),
        inside(state, now, palette),
    ];
    let places = Layout::horizontal([Constraint::Fill(1); 4]).spacing(1).split(area);
    for (tile, place) in tiles.iter().zip(places.iter()) {
        tile.draw(frame, *place, palette);
    }
}

impl Tile {
    fn draw(&self, frame: &mut Frame<'_>, area: Rect, palette: Palette) {
        let framed = area.height >= FRAMED;
        let block = Block::new().borders(if framed { Borders::ALL } else { Borders::TOP });
        let block = block.border_type(BorderType::Rounded).border_style(palette.faint());
        let inner = block.inner(area);
        frame.render_widget(block.title(Span::styled(format!(" {} ", self.title), Style::reset())), area);
        let row = |n: u16| Rect { y: inner.y + n, height: 1, ..inner }.intersection(inner);
        let room = usize::from(inner.width);
        let judged = Line::styled(self.judgement.clone(), self.style);
        let mut value = vec![Span::styled(format!(" {}", self.value), self.style.patch(palette.strong()))];
        let against = format!(" {}", self.against);
        if value[0].width() + against.chars().count() + judged.width() < room {
            value.push(Span::styled(against, palette.faint()));
        }
        both_ends(frame, row(0), Line::from(value), judged);
        let below = Span::styled(format!(" {}", self.below), palette.faint());
        if framed {
            let bar = bar(self.share, room.saturating_sub(2));
            frame.render_widget(Line::styled(format!(" {bar}"), self.style), row(1));
            frame.render_widget(fitted(Line::from(below), inner.width), row(2));
        } else {
            let bar = Span::styled(format!(" {}", bar(self.share, room / 3)), self.style);
            frame.render_widget(fitted(Line::from(vec![bar, below]), inner.width), row(1));
        }
    }
}

/// Answers in time, against what is asked for and can be served.
fn in_time(state: &State, now: &TimelineSecond, palette: Palette) -> Tile {
    let (served, asked) = (now.served as f64, now.planned as f64);
    let most = state.capacity_at(now.second).map_or(asked, |most| most.min(asked));
    let share = served / most.max(1e-9);
    let (judgement, style) = match share {
        _ if asked == 0.0 => ("", palette.faint()),
        GOOD.. => ("good", palette.good()),
        BAD.. => ("low", palette.warn()),
        _ => ("BAD", palette.bad()),
    };
    Tile {
        title: "in time",
        value: format!("{}/s", text::rate(served)),
        against: format!("of {}/s", text::rate(most)),
        judgement: judgement.to_owned(),
        style,
        share,
        below: others(state, |measured| text::rate(measured.goodput_per_s)),
    }
}

/// The percentile that is shown, against the target.
fn response_time(state: &State, now: &TimelineSecond, palette: Palette) -> Tile {
    let percentile = state.percentile();
    let target = state.objective_ms().unwrap_or(1000.0);
    let found = percentile.at(now);
    let (judgement, style) = match found {
        None => ("too few answers".to_owned(), palette.faint()),
        Some(value) if value.at > target => (format!("{:.1}x OVER", value.at / target), palette.bad()),
        // The value may be on either side.
        Some(value) if value.at_least => (String::new(), palette.warn()),
        Some(_) => ("good".to_owned(), palette.good()),
    };
    Tile {
        title: percentile.name(),
        value: found.map_or_else(|| "-".to_owned(), |value| value.shown(text::time)),
        against: format!("target {}", text::time(target)),
        judgement,
        style,
        share: found.map_or(0.0, |value| value.at / target),
        below: others(state, |measured| percentile.shown(percentile.of_phase(measured))),
    }
}

/// Requests that were refused, against those beyond the capacity.
fn turned_away(state: &State, now: &TimelineSecond, palette: Palette) -> Tile {
    let (refused, asked) = ((now.rejected + now.refused_locally) as f64, now.planned as f64);
    let too_many = state.capacity_at(now.second).map(|most| (asked - most).max(0.0));
    let (judgement, style) = match too_many {
        None => ("", palette.faint()),
        Some(needed) if (refused - needed).abs() <= NEAR * asked => ("as needed", palette.good()),
        Some(needed) if refused < needed => ("too few", palette.warn()),
        Some(_) => ("too many", palette.warn()),
    };
    let share = if asked > 0.0 { (refused / asked).min(1.0) } else { 0.0 };
    Tile {
        title: "turned away",
        value: text::percent(share),
        against: format!("{} of {}/s", text::rate(refused), text::rate(asked)),
        judgement: judgement.to_owned(),
        style,
        share,
        below: others(state, |measured| text::percent(measured.reject_fraction)),
    }
}

/// Requests inside, as the time that the service needs for them, against the target.
fn inside(state: &State, now: &TimelineSecond, palette: Palette) -> Tile {
    let inside = now.in_flight as f64;
    let work = state.capacity_at(now.second).filter(|most| *most > 0.0).map(|most| inside / most * 1000.0);
    let target = state.objective_ms().unwrap_or(1000.0);
    let style = match work {
        None => palette.faint(),
        Some(ms) if ms > target => palette.bad(),
        Some(_) => palette.good(),
    };
    let busy = |(state, count): (&String, &u32)| format!(", {count} {}", scrubbed(state));
    let most = now.users_by_state.iter().filter(|(state, _)| *state != "in request").max_by_key(|(_, count)| **count);
    Tile {
        title: "inside",
        value: now.in_flight.to_string(),
        against: String::new(),
        judgement: work.map_or_else(String::new, |ms| format!("{} work", text::time(ms))),
        style,
        share: work.map_or(0.0, |ms| ms / target),
        below: format!("{} users{}", now.users, most.filter(|(_, count)| **count > 0).map_or_else(String::new, busy)),
    }
}

/// The same of each arm that is over, in its busiest phase, newest first.
fn others(state: &State, show: impl Fn(&Measured) -> String) -> String {
    let mut names: Vec<&str> = state.running.iter().map(|running: &Running| running.name.as_str()).collect();
    let mut shown = Vec::new();
    for arm in state.finished.iter().rev() {
        let Some(phase) = busiest(&arm.phases).filter(|_| !names.contains(&arm.shown_name())) else { continue };
        names.push(arm.shown_name());
        shown.push(format!("{} {}", show(&phase.measured), scrubbed(arm.shown_name())));
    }
    shown.join(", ")
}
