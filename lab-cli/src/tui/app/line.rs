//! A line that a person writes.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

/// Longest line.
const MOST: usize = 200;

/// What has been written so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::tui) struct Line {
    pub text: String,
    /// The text is as it was put there: the first character that is typed replaces it, as in other programs.
    proposed: bool,
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
    /// With what stands there so far.
    pub fn proposing(text: impl Into<String>) -> Self {
        Self { text: text.into(), proposed: true }
    }

    pub fn key(&mut self, key: KeyEvent) -> Option<Ended> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        let proposed = std::mem::take(&mut self.proposed);
        match key.code {
            KeyCode::Char(c) if proposed && !c.is_control() => self.text = c.to_string(),
            KeyCode::Enter => return Some(Ended::Taken(std::mem::take(&mut self.text))),
            KeyCode::Esc => return Some(Ended::GivenUp),
            KeyCode::Backspace => _ = self.text.pop(),
            KeyCode::Char(c) if !c.is_control() && self.text.chars().count() < MOST => self.text.push(c),
            _ => {}
        }
        None
    }

    /// Text from elsewhere comes in as one line: what would end it or act on a terminal becomes a space.
    pub fn pasted(&mut self, text: &str) {
        let spaced = text.replace(char::is_control, " ");
        let text = spaced.trim();
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.proposed) {
            self.text.clear();
        }
        let room = MOST.saturating_sub(self.text.chars().count());
        self.text.extend(text.chars().take(room));
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;

    use super::*;

    #[test]
    fn what_is_typed_takes_the_place_of_what_was_proposed_and_any_other_key_keeps_it() {
        let typed = |keys: &[KeyCode]| {
            let mut line = Line::proposing("128");
            for code in keys {
                assert_eq!(line.key(KeyEvent::new(*code, KeyModifiers::NONE)), None);
            }
            line.text
        };
        assert_eq!(typed(&[KeyCode::Char('5'), KeyCode::Char('0')]), "50");
        assert_eq!(typed(&[KeyCode::Backspace, KeyCode::Char('0')]), "120");
        assert_eq!(typed(&[KeyCode::Right, KeyCode::Char('0')]), "1280");
        let taken = Line::proposing("128").key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE));
        assert_eq!(taken, Some(Ended::Taken("128".to_owned())));
    }

    #[test]
    fn what_is_pasted_is_text_of_one_line_and_never_ends_it() {
        let mut line = Line::proposing("128");
        line.pasted(" \n");
        assert_eq!(line.text, "128", "nothing was pasted");
        line.pasted("seda\r\ncodel\u{1b}\n");
        assert_eq!(line.text, "seda  codel");
        line.pasted("+");
        line.pasted(&"x".repeat(3 * MOST));
        assert!(line.text.starts_with("seda  codel+xxx") && line.text.len() == MOST, "{}", line.text);
    }
}
