//! Keys as data: their effects on each screen, and their texts in the help.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::{
    form::Change,
    panel::{Panel, Part, Screen},
};

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Leave: stop the run, or the program.
    Stop,
    /// The view stands still, or goes on.
    Freeze,
    /// So many seconds back, or forth.
    Scroll(i8),
    /// One panel alone, or all.
    Panel(Panel),
    /// One panel of a trace alone, or all.
    Part(Part),
    /// Something of the run that goes on.
    Change(Change),
    /// No user begins a request, or users begin again.
    Arrivals,
    Help,
    Back,
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Left,
    Right,
    NextPane,
    Choose,
    Tick,
    Find,
    World,
    More,
    Fewer,
    Past,
    NextPhase,
    Enlarge,
}

/// A key with its name, a line of help, and where it works.
#[derive(Debug)]
pub(super) struct Key {
    codes: &'static [KeyCode],
    pub name: &'static str,
    pub about: &'static str,
    action: Action,
    on: &'static [Screen],
}

use KeyCode::{Char, Enter, Esc, F, Left, Right};
use Screen::{Compare, Home, Live, Past, Setup, Trace};

const ALL: &[Screen] = &[Home, Setup, Live, Past, Compare, Trace];
const LIVE: &[Screen] = &[Live];
const LISTS: &[Screen] = &[Home, Setup, Past, Compare, Trace];
/// Those that may be longer than the screen.
const LONG: &[Screen] = &[Home, Setup, Past, Compare];

/// In the order of the help.
pub(super) const KEYS: &[Key] = &[
    key(&[Char('q')], "q", "stop and save; a second time ends at once (Ctrl-C too)", Action::Stop, LIVE),
    key(&[Char('p'), Char(' ')], "p", "freeze the view, and back; the run goes on", Action::Freeze, LIVE),
    key(&[Left], "left right", "look a second back or forth (PgUp, PgDn: ten)", Action::Scroll(-1), LIVE),
    key(&[Right], "", "", Action::Scroll(1), LIVE),
    key(&[KeyCode::PageUp], "", "", Action::Scroll(-10), LIVE),
    key(&[KeyCode::PageDown], "", "", Action::Scroll(10), LIVE),
    key(&[Char('1')], "1 to 9", "one panel alone, and back", Action::Panel(Panel::Rates), LIVE),
    key(&[Char('2')], "", "", Action::Panel(Panel::Times), LIVE),
    key(&[Char('3')], "", "", Action::Panel(Panel::Outcomes), LIVE),
    key(&[Char('4')], "", "", Action::Panel(Panel::Groups), LIVE),
    key(&[Char('5')], "", "", Action::Panel(Panel::Stages), LIVE),
    key(&[Char('6')], "", "", Action::Panel(Panel::Users), LIVE),
    key(&[Char('7')], "", "", Action::Panel(Panel::Arms), LIVE),
    key(&[Char('8')], "", "", Action::Panel(Panel::Log), LIVE),
    key(&[Char('9')], "", "", Action::Panel(Panel::Doors), LIVE),
    key(&[Char('s')], "s", "spike: more users for a while", Action::Change(Change::Spike), LIVE),
    key(&[Char('c')], "c", "capacity cut: slow or stalled workers for a while", Action::Change(Change::Capacity), LIVE),
    key(&[Char('l')], "l", "latency: a delay before the service for a while", Action::Change(Change::Latency), LIVE),
    key(&[Char('i')], "i", "impatient users: shorter time-outs and patience", Action::Change(Change::Impatience), LIVE),
    key(&[Char('a')], "a", "arrivals: pause, and go on", Action::Arrivals, LIVE),
    key(&[Char('o')], "o", "other policy, from now on", Action::Change(Change::Policy), LIVE),
    key(&[Char('e')], "e", "edit a parameter of the policy in force", Action::Change(Change::Parameter), LIVE),
    key(&[KeyCode::Up, Char('k')], "up down", "move (k, j)", Action::Up, LISTS),
    key(&[KeyCode::Down, Char('j')], "", "", Action::Down, LISTS),
    key(&[KeyCode::PageDown], "PgUp PgDn", "ten rows at once; Home, End: the first, the last", Action::PageDown, LONG),
    key(&[KeyCode::PageUp], "", "", Action::PageUp, LONG),
    key(&[KeyCode::Home], "", "", Action::First, LONG),
    key(&[KeyCode::End], "", "", Action::Last, LONG),
    key(&[Enter], "Enter", "set it up; look into a trace", Action::Choose, &[Home]),
    key(&[Enter], "Enter", "run; on a parameter: change it", Action::Choose, &[Setup]),
    key(&[Enter], "Enter", "compare those that are ticked, or this one", Action::Choose, &[Past]),
    key(&[Char('/')], "/", "find by a part of its name, its arms, its phases, its description", Action::Find, &[Home]),
    key(&[Char('r')], "r", "past runs", Action::Past, &[Home]),
    key(&[Char(' ')], "space", "tick an arm: only ticked ones run", Action::Tick, &[Setup]),
    key(&[Char(' ')], "space", "tick a run", Action::Tick, &[Past]),
    key(&[KeyCode::Tab], "Tab", "arms, parameters", Action::NextPane, &[Setup]),
    key(&[Char('v')], "v", "virtual time (seconds), or live", Action::World, &[Setup]),
    key(&[Char('+')], "+ -", "more or fewer repetitions", Action::More, &[Setup]),
    key(&[Char('-')], "", "", Action::Fewer, &[Setup]),
    key(&[Left, Char('h')], "left right", "another figure: the plot shows it (h, l)", Action::Left, &[Compare]),
    key(&[Right, Char('l')], "", "", Action::Right, &[Compare]),
    key(&[Enter], "Enter", "behind the verdict: its reasons, claims, settings", Action::Choose, &[Compare]),
    key(&[KeyCode::Tab], "Tab", "the next phase", Action::NextPhase, &[Compare]),
    key(&[Char(' ')], "space", "hide or show a line", Action::Tick, &[Compare]),
    key(&[Char('z')], "z", "plot alone, and back", Action::Enlarge, &[Compare]),
    key(
        &[Left, Char('h')],
        "left right",
        "another way from page to page: its pauses are drawn (h, l)",
        Action::Left,
        &[Trace],
    ),
    key(&[Right, Char('l')], "", "", Action::Right, &[Trace]),
    key(&[Char('1')], "1 to 6", "one panel alone, and back", Action::Part(Part::Time), &[Trace]),
    key(&[Char('2')], "", "", Action::Part(Part::Mix), &[Trace]),
    key(&[Char('3')], "", "", Action::Part(Part::Matrix), &[Trace]),
    key(&[Char('4')], "", "", Action::Part(Part::Think), &[Trace]),
    key(&[Char('5')], "", "", Action::Part(Part::Sessions), &[Trace]),
    key(&[Char('6')], "", "", Action::Part(Part::Account), &[Trace]),
    key(&[Esc], "Esc", "back", Action::Back, ALL),
    key(&[Char('?'), F(1)], "?", "this help", Action::Help, ALL),
    key(&[Char('q')], "q", "leave (Ctrl-C too)", Action::Stop, LISTS),
];

const fn key(
    codes: &'static [KeyCode],
    name: &'static str,
    about: &'static str,
    action: Action,
    on: &'static [Screen],
) -> Key {
    Key { codes, name, about, action, on }
}

/// Those that work on this screen.
pub(super) fn of(screen: Screen) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.on.contains(&screen))
}

/// What this key asks for.
pub(super) fn action(key: KeyEvent, screen: Screen) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return matches!(key.code, Char('c' | 'C')).then_some(Action::Stop);
    }
    of(screen).find(|known| known.codes.contains(&key.code)).map(|known| known.action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctrl_c_and_q_stop_and_nothing_else_with_ctrl_does_anything() {
        let key = |code, modifiers| action(KeyEvent::new(code, modifiers), Live);
        assert_eq!(key(Char('q'), KeyModifiers::NONE), Some(Action::Stop));
        assert_eq!(key(Char('c'), KeyModifiers::CONTROL), Some(Action::Stop));
        assert_eq!(key(Char('c'), KeyModifiers::NONE), Some(Action::Change(Change::Capacity)));
        assert_eq!(key(Char('x'), KeyModifiers::NONE), None);
        assert_eq!(key(Char('p'), KeyModifiers::CONTROL), None);
        assert_eq!(key(Char('?'), KeyModifiers::SHIFT), Some(Action::Help));
    }

    #[test]
    fn no_key_means_two_things_on_one_screen() {
        for &screen in ALL {
            let codes: Vec<KeyCode> = of(screen).flat_map(|key| key.codes).copied().collect();
            for (n, code) in codes.iter().enumerate() {
                assert!(!codes[..n].contains(code), "{code:?} on {screen:?}");
            }
        }
    }
}
