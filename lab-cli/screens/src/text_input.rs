//! A line that a person writes.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// Longest line.
const MOST: usize = 2000;

/// A line of text that is being written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TextInput {
    pub text: String,
    /// Characters to the right of the cursor: 0 at the end of the line.
    behind: usize,
    /// The text is as it was put there: the first character that is typed replaces it, as in other programs.
    proposed: bool,
}

/// The end of writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    /// Enter, with the text.
    Taken(String),
    /// Esc.
    GivenUp,
}

impl TextInput {
    /// Begins with a text that stands there, to be changed.
    pub fn proposing(text: impl Into<String>) -> Self {
        Self { text: text.into(), behind: 0, proposed: true }
    }

    /// Puts another text in its place, the cursor at its end.
    pub fn put(&mut self, text: impl Into<String>) {
        (self.text, self.behind) = (text.into(), 0);
    }

    /// The text with the cursor in it; of one that is longer than the room, the part before the cursor.
    pub fn shown(&self, room: usize) -> String {
        let (before, after) = self.text.split_at(self.cursor());
        let cursor = if after.is_empty() { "_" } else { "\u{258f}" };
        let left_out = (before.chars().count() + 1).saturating_sub(room);
        let mark = if left_out > 0 { "\u{2026}" } else { "" };
        let before = before.chars().skip(left_out + mark.chars().count());
        mark.chars().chain(before).chain(cursor.chars()).chain(after.chars()).take(room).collect()
    }

    pub fn key(&mut self, key: KeyEvent) -> Option<Ended> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        let proposed = std::mem::take(&mut self.proposed);
        let length = self.text.chars().count();
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            self.edited(key.code, length);
            return None;
        }
        match key.code {
            KeyCode::Char(c) if proposed && !c.is_control() => self.put(c),
            KeyCode::Enter => return Some(Ended::Taken(std::mem::take(&mut self.text))),
            KeyCode::Esc => return Some(Ended::GivenUp),
            KeyCode::Backspace => {
                let at = self.cursor();
                let before = self.text[..at].chars().next_back().map_or(0, char::len_utf8);
                self.text.replace_range(at - before..at, "");
            }
            KeyCode::Delete if self.behind > 0 => {
                self.text.remove(self.cursor());
                self.behind -= 1;
            }
            KeyCode::Left => self.behind = (self.behind + 1).min(length),
            KeyCode::Right => self.behind = self.behind.saturating_sub(1),
            KeyCode::Home => self.behind = length,
            KeyCode::End => self.behind = 0,
            KeyCode::Char(c) if !c.is_control() && length < MOST => self.text.insert(self.cursor(), c),
            _ => {}
        }
        None
    }

    /// Keys that shells have.
    fn edited(&mut self, code: KeyCode, length: usize) {
        let at = self.cursor();
        match code {
            KeyCode::Char('u') => self.text.replace_range(..at, ""),
            KeyCode::Char('k') => {
                self.text.truncate(at);
                self.behind = 0;
            }
            KeyCode::Char('w') => {
                let before = self.text[..at].trim_end();
                let word = before.rfind(char::is_whitespace).map_or(0, |space| space + 1);
                self.text.replace_range(word..at, "");
            }
            KeyCode::Char('a') => self.behind = length,
            KeyCode::Char('e') => self.behind = 0,
            _ => {}
        }
    }

    /// Text from elsewhere comes in as one line: what would end it or act on a terminal becomes a space.
    pub fn pasted(&mut self, text: &str) {
        let spaced = text.replace(char::is_control, " ");
        let text = spaced.trim();
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.proposed) {
            self.put("");
        }
        let room = MOST.saturating_sub(self.text.chars().count());
        let taken: String = text.chars().take(room).collect();
        self.text.insert_str(self.cursor(), &taken);
    }

    /// The position of the cursor, in bytes.
    fn cursor(&self) -> usize {
        let behind: usize = self.text.chars().rev().take(self.behind).map(char::len_utf8).sum();
        self.text.len() - behind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_takes_the_place_of_what_was_proposed_and_any_other_key_keeps_it() {
        let typed = |keys: &[KeyCode]| {
            let mut line = TextInput::proposing("128");
            for code in keys {
                assert_eq!(line.key(KeyEvent::new(*code, KeyModifiers::NONE)), None);
            }
            line.text
        };
        assert_eq!(typed(&[KeyCode::Char('5'), KeyCode::Char('0')]), "50");
        assert_eq!(typed(&[KeyCode::Backspace, KeyCode::Char('0')]), "120");
        assert_eq!(typed(&[KeyCode::Right, KeyCode::Char('0')]), "1280");
        assert_eq!(typed(&[KeyCode::Left, KeyCode::Char('0')]), "1208");
        assert_eq!(typed(&[KeyCode::Home, KeyCode::Delete, KeyCode::Char('4')]), "428");
        assert_eq!(
            typed(&[KeyCode::Home, KeyCode::Right, KeyCode::Backspace, KeyCode::End, KeyCode::Char('9')]),
            "289"
        );
        let taken = TextInput::proposing("128").key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE));
        assert_eq!(taken, Some(Ended::Taken("128".to_owned())));
    }

    #[test]
    fn what_is_pasted_is_text_of_one_line_and_never_ends_it() {
        let mut line = TextInput::proposing("128");
        line.pasted(" \n");
        assert_eq!(line.text, "128", "nothing was pasted");
        line.pasted("seda\r\ncodel\u{1b}\n");
        assert_eq!(line.text, "seda  codel");
        line.pasted("+");
        line.pasted(&"x".repeat(3 * MOST));
        assert!(line.text.starts_with("seda  codel+xxx") && line.text.len() == MOST, "{}", line.text);
    }

    #[test]
    fn the_keys_of_shells_work_in_a_line() {
        let mut line = TextInput::proposing("gr\u{fc}n und blau");
        let mut press = |c| line.key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL));
        assert_eq!(press('w'), None);
        assert_eq!(line.text, "gr\u{fc}n und ");
        for _ in 0.."nd ".len() {
            line.key(KeyEvent::from(KeyCode::Left));
        }
        assert_eq!(line.shown(80), "gr\u{fc}n u\u{258f}nd ");
        assert_eq!([line.shown(5), line.shown(8)], ["\u{2026}n u\u{258f}", "gr\u{fc}n u\u{258f}n"]);
        let mut press = |c| line.key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL));
        press('k');
        press('a');
        assert_eq!(line.shown(80), "\u{258f}gr\u{fc}n u");
        let mut press = |c| line.key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL));
        press('e');
        press('u');
        assert_eq!(line.shown(80), "_");
    }
}
