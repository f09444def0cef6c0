//! Keys and words, over everything else.

use ratatui::{
    Frame,
    layout::{Constraint, Flex, Layout, Rect},
    text::{Line, Span},
    widgets::{Block, Clear, Paragraph},
};

use crate::tui::{Palette, keymap::KEYS};

const WORDS: [(&str, &str); 8] = [
    ("offered", "requests that users meant to send, retries included"),
    ("admitted", "of these, neither refused nor left without a connection"),
    ("in time", "answered as asked within the target: goodput"),
    ("rejected", "refused because of load"),
    ("p90", "90 of 100 answers came faster; refusals are not in it"),
    ("rate/s", "what the stage's policy lets in; a|b: by class"),
    ("gap", "longest pause of the load generator"),
    ("value!", "over the limit: the run would be INVALID"),
];

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, palette: Palette) {
    let mut lines: Vec<Line<'_>> = KEYS
        .iter()
        .map(|(_, name, about, _)| {
            Line::from(vec![Span::styled(format!(" {name:<9}"), palette.strong()), Span::raw(*about)])
        })
        .collect();
    lines.push(Line::raw(""));
    lines.extend(WORDS.iter().map(|(word, about)| {
        Line::from(vec![Span::styled(format!(" {word:<9}"), palette.strong()), Span::raw(*about)])
    }));
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX) + 2;
    let [row] = Layout::vertical([Constraint::Length(height.min(area.height))]).flex(Flex::Center).areas(area);
    let [place] = Layout::horizontal([Constraint::Length(70.min(area.width))]).flex(Flex::Center).areas(row);
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(" help ")), place);
}
