//! Keys and words, over everything else.

use ratatui::{prelude::*, widgets::*};

use super::widgets::pane;
use crate::{Palette, keymap, panel::Screen};

const CAPACITY: (&str, &str) = ("capacity", "requests/s in the mean; chance, or a queue served later, adds");

const OF_RUNS: &[(&str, &str)] = &[
    ("in time", "answered as asked within the target: goodput"),
    CAPACITY,
    ("low, BAD", "under 90 %, under half of what could be answered in time"),
    ("as needed", "about as many are turned away as ask beyond the capacity"),
    ("work", "the time that the service needs for all that is inside"),
    ("p90", "90 of 100 answers came faster; refusals are not in it"),
    ("rate/s", "what the stage's policy lets in; a|b: by class"),
    ("value!", "over the limit: the run would be INVALID"),
    ("TOUCHED", "a person changed it: WARN at best"),
    (":  !", "where a phase ends; where a person changed something (TOUCHED)"),
];
const OF_LOADS: &[(&str, &str)] = &[
    ("served", "answered as asked"),
    ("in 1 s", "answered as asked within the deadline"),
    ("lost", "no answer: failed, timed out, no connection"),
    ("send lag", "from the intended start to the write: the generator's own delay"),
    (">= 5 s", "hidden by requests without an answer: at least this"),
];
const OF_SETUPS: &[(&str, &str)] = &[
    ("arm", "one policy with its parameters; every arm gets the same users"),
    ("phase", "a stretch of load: before, spike, after"),
    ("claims", "what must hold of the figures; judged when all arms are over"),
    ("goodput", "requests a second that were answered in time"),
    ("TOUCHED", "a person changed the run while it went on"),
    ("virtual", "the same users and policies, service and clock simulated: seconds"),
    ("live", "the real service under real load: takes its time, and the machine"),
    ("repeat", "blocks: every arm once in each, in an order drawn by lot"),
    ("*", "changed here"),
];
const OF_TRACES: &[(&str, &str)] = &[
    ("matrix", "share of those that left the row's page for the column's"),
    ("shade", "under 5 %, under 20 %, under 50 %, and from there on"),
    ("to login", "the session ended"),
    ("pauses", "from an answer to the next request; left the shortest of them"),
];
const OF_COMPARISONS: &[(&str, &str)] = &[
    ("goodput/s", "answered as asked within the target"),
    CAPACITY,
    (">= 5 s", "hidden by requests without an answer: at least this"),
    ("x1.20", "times the baseline's value; [low, high]: its 95 % interval"),
    ("differs", "by more than the margin that matters: over x1 is more"),
    ("equals", "within that margin"),
    ("~", "nothing can be said yet: too few blocks, or too much noise"),
    ("medians", "a figure is the median of its blocks; the plot shows one of them"),
    ("-", "too few samples"),
    ("░ ▒ ▓ █", "share of a moment's requests: under 5 %, 20 %, 50 %, and above"),
    (". + x o", "without colour: lines are drawn with the mark of their arm"),
];

/// Longest name of a key, or word.
const NAME: usize = 10;

/// All lines have room in it, on the narrowest terminal of those that the program is made for.
const WIDTH: u16 = 80;

/// `from`: the first line that is shown, where not all have room.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, screen: Screen, from: usize, palette: Palette) {
    let entry = |name: &'static str, about: &'static str| {
        Line::from(vec![Span::styled(format!(" {name:<NAME$} "), palette.strong()), Span::raw(about)])
    };
    let keys = keymap::keys_of(screen).filter(|key| !key.name.is_empty());
    let mut lines: Vec<Line<'_>> = keys.map(|key| entry(key.name, key.about)).collect();
    let words = match screen {
        Screen::Live | Screen::Replay => OF_RUNS,
        Screen::Home | Screen::Setup => OF_SETUPS,
        Screen::Past | Screen::Compare => OF_COMPARISONS,
        Screen::Load => OF_LOADS,
        Screen::Trace => OF_TRACES,
    };
    lines.push(Line::raw(""));
    lines.extend(words.iter().map(|(word, about)| entry(word, about)));
    let count = lines.len();
    let height = u16::try_from(count).unwrap_or(u16::MAX) + 2;
    let place = area.centered(Constraint::Length(WIDTH), Constraint::Length(height));
    let room = usize::from(place.height.saturating_sub(2));
    let from = from.min(count.saturating_sub(room));
    let shown: Vec<Line<'_>> = lines.into_iter().skip(from).take(room).collect();
    let rest = if room < count { " up down: the rest " } else { "" };
    let block = pane("help", true, palette).title(Line::styled(rest, palette.accent()).right_aligned());
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(shown).block(block), place);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_cut_off() {
        let keys = keymap::KEYS.iter().map(|key| (key.name, key.about));
        let words = [OF_RUNS, OF_LOADS, OF_SETUPS, OF_TRACES, OF_COMPARISONS].concat();
        // Two for the border, one in front, one between.
        let room = usize::from(WIDTH) - 2 - 1 - NAME - 1;
        for (name, about) in keys.chain(words) {
            assert!(name.chars().count() <= NAME && about.chars().count() <= room, "{name}: {about}");
        }
    }
}
