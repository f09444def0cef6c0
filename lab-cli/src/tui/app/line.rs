//! A line that a person writes.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

/// Longest line.
const MOST: usize = 200;

/// What has been written so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::tui) struct Line {
    pub text: String,
}

/// How writing ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tui) enum Ended {
    /// With Enter.
    Taken(String),
    /// With Esc.
    GivenUp,
}

impl Line {
    pub fn key(&mut self, key: KeyEvent) -> Option<Ended> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        match key.code {
            KeyCode::Enter => return Some(Ended::Taken(std::mem::take(&mut self.text))),
            KeyCode::Esc => return Some(Ended::GivenUp),
            KeyCode::Backspace => _ = self.text.pop(),
            KeyCode::Char(c) if !c.is_control() && self.text.chars().count() < MOST => self.text.push(c),
            _ => {}
        }
        None
    }
}
