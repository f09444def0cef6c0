//! Keys as data: what they do, and what the help says of them.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Stop,
    Pause,
    Help,
    Back,
}

/// Keys with their names and a line of help.
pub(super) const KEYS: [(&[KeyCode], &str, &str, Action); 4] = [
    (&[KeyCode::Char('q')], "q", "stop and save; a second time ends at once (Ctrl-C too)", Action::Stop),
    (&[KeyCode::Char('p'), KeyCode::Char(' ')], "p", "pause drawing; the run goes on", Action::Pause),
    (&[KeyCode::Char('?'), KeyCode::Char('h'), KeyCode::F(1)], "?", "this help", Action::Help),
    (&[KeyCode::Esc], "Esc", "close the help", Action::Back),
];

/// What this key asks for.
pub(super) fn action(key: KeyEvent) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return matches!(key.code, KeyCode::Char('c' | 'C')).then_some(Action::Stop);
    }
    KEYS.iter().find(|(codes, ..)| codes.contains(&key.code)).map(|(.., action)| *action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctrl_c_and_q_stop_and_nothing_else_with_ctrl_does_anything() {
        let key = |code, modifiers| action(KeyEvent::new(code, modifiers));
        assert_eq!(key(KeyCode::Char('q'), KeyModifiers::NONE), Some(Action::Stop));
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Action::Stop));
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::NONE), None);
        assert_eq!(key(KeyCode::Char('p'), KeyModifiers::CONTROL), None);
        assert_eq!(key(KeyCode::Char('?'), KeyModifiers::SHIFT), Some(Action::Help));
    }
}
