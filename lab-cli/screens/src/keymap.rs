//! Keys as data: their effects on each screen, and their texts in the help.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::{
    form::Change,
    panel::{Panel, Part, Screen},
};

/// The effect of a key.
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
    /// Another percentile of response times.
    Percentile,
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
    PreviousPane,
    Choose,
    Tick,
    /// All that can be ticked, or none.
    TickAll,
    Find,
    /// The folder is read again.
    ReadAgain,
    /// The description, a page on or back.
    Describe(i8),
    /// A file in the person's editor.
    Edit,
    /// A new experiment file.
    New,
    /// The setup as a file.
    Write,
    /// The same arm again.
    Duplicate,
    /// All as the file has it.
    Reset,
    World,
    More,
    Fewer,
    /// The experiment is run live.
    RunLive,
    /// The experiment is set up.
    SetUp,
    /// The costs of a service are measured.
    Calibrate,
    Past,
    NextPhase,
    PreviousPhase,
    Enlarge,
    /// This line alone, or all.
    Solo,
    /// Rows by the figure under the cursor, or in their order.
    Sort,
    /// The arm that the others are held against.
    Baseline,
    /// Each arm of one run against its like in another, or back.
    Across,
    /// Another picture of the same run.
    View,
    /// The cursor on the time axis, so many seconds on or back.
    Moment(i8),
    /// The phase has the axis for itself, or the whole run.
    Zoom,
    /// An arm as it ran, on the live screen.
    Replay,
    /// Report, picture, table, path.
    Export,
    /// The command of the recommendation, into the clipboard.
    Copy,
    /// A saved run goes on by itself, or stands still.
    Play,
    Faster,
    Slower,
    /// The next or the previous arm of a saved run.
    Arm(i8),
}

/// A key with its name, a line of help, and where it works.
#[derive(Debug)]
pub(super) struct Key {
    codes: &'static [KeyCode],
    pub name: &'static str,
    pub about: &'static str,
    action: Action,
    pub on: &'static [Screen],
}

use KeyCode::{Char, Enter, Esc, F, Left, PageDown, Right};
use Screen::{Compare, Home, Live, Load, Past, Replay, Setup, Trace};

const ALL: &[Screen] = &[Home, Setup, Live, Load, Replay, Past, Compare, Trace];
const LIVE: &[Screen] = &[Live];
/// Screens of what is stopped with `q`.
const STOPPED: &[Screen] = &[Live, Load];
const REPLAY: &[Screen] = &[Replay];
/// Screens with the panels of a run.
const RUNS: &[Screen] = &[Live, Replay];
const LISTS: &[Screen] = &[Home, Setup, Past, Compare, Trace];
/// Screens that are left with `q`.
const LEFT: &[Screen] = &[Home, Setup, Replay, Past, Compare, Trace];
/// Screens that may be longer than the terminal.
const LONG: &[Screen] = &[Home, Setup, Past, Compare];

/// Keys in the order of the help.
pub(super) const KEYS: &[Key] = &[
    key(&[Char('q')], "q", "stop and save; a second time ends at once (Ctrl-C too)", Action::Stop, STOPPED),
    key(&[Char('p'), Char(' ')], "p", "freeze the view, and back; the run goes on", Action::Freeze, LIVE),
    key(&[Char(' '), Char('p')], "space", "play, or stand still (p)", Action::Play, REPLAY),
    key(&[Left], "left right", "look a second back or forth (PgUp, PgDn: ten)", Action::Scroll(-1), RUNS),
    key(&[Right], "", "", Action::Scroll(1), RUNS),
    key(&[KeyCode::PageUp], "", "", Action::Scroll(-10), RUNS),
    key(&[PageDown], "", "", Action::Scroll(10), RUNS),
    key(&[KeyCode::Home], "Home End", "the first second, the last", Action::First, REPLAY),
    key(&[KeyCode::End], "", "", Action::Last, REPLAY),
    key(&[Char('+')], "+ -", "play faster or slower", Action::Faster, REPLAY),
    key(&[Char('-')], "", "", Action::Slower, REPLAY),
    key(&[KeyCode::Tab], "Tab", "the next arm, at the same second (Shift-Tab: the one before)", Action::Arm(1), REPLAY),
    key(&[KeyCode::BackTab], "", "", Action::Arm(-1), REPLAY),
    key(&[Char('1')], "1 to 9", "one panel alone, and back", Action::Panel(Panel::Rates), RUNS),
    key(&[Char('2')], "", "", Action::Panel(Panel::Times), RUNS),
    key(&[Char('3')], "", "", Action::Panel(Panel::Outcomes), RUNS),
    key(&[Char('4')], "", "", Action::Panel(Panel::Groups), RUNS),
    key(&[Char('5')], "", "", Action::Panel(Panel::Stages), RUNS),
    key(&[Char('6')], "", "", Action::Panel(Panel::Users), RUNS),
    key(&[Char('7')], "", "", Action::Panel(Panel::Arms), RUNS),
    key(&[Char('8')], "", "", Action::Panel(Panel::Log), RUNS),
    key(&[Char('9')], "", "", Action::Panel(Panel::Doors), RUNS),
    key(&[Char('0')], "0", "the agents that send, and back", Action::Panel(Panel::Agents), RUNS),
    key(&[Char('t')], "t", "response times as p50, p90 or p99 (first: the objective's)", Action::Percentile, RUNS),
    key(&[KeyCode::Up, Char('k')], "up down", "in the panel of the stages: another stage", Action::Up, RUNS),
    key(&[KeyCode::Down, Char('j')], "", "", Action::Down, RUNS),
    key(&[Char('s')], "s", "spike: more users for a while", Action::Change(Change::Spike), LIVE),
    key(&[Char('c')], "c", "capacity cut: slow or stalled workers for a while", Action::Change(Change::Capacity), LIVE),
    key(&[Char('l')], "l", "latency: a delay before the service for a while", Action::Change(Change::Latency), LIVE),
    key(&[Char('i')], "i", "impatient users: shorter time-outs and patience", Action::Change(Change::Impatience), LIVE),
    key(&[Char('a')], "a", "arrivals: pause, and go on", Action::Arrivals, LIVE),
    key(&[Char('o')], "o", "other policy, from now on, anywhere", Action::Change(Change::Policy), LIVE),
    key(&[Char('m')], "m", "machines: pool sizing, batching, monitors", Action::Change(Change::Machines), LIVE),
    key(&[Char('e')], "e", "edit a parameter of the policy in force", Action::Change(Change::Parameter), LIVE),
    key(&[KeyCode::Up, Char('k')], "up down", "move (k, j)", Action::Up, LISTS),
    key(&[KeyCode::Down, Char('j')], "", "", Action::Down, LISTS),
    key(&[PageDown], "PgUp PgDn", "ten rows (Ctrl-D, Ctrl-U); Home, End: first, last (g, G)", Action::PageDown, LONG),
    key(&[KeyCode::PageUp], "", "", Action::PageUp, LONG),
    key(&[KeyCode::Home, Char('g')], "", "", Action::First, LONG),
    key(&[KeyCode::End, Char('G')], "", "", Action::Last, LONG),
    key(&[Enter], "Enter", "run it in virtual time; look into a trace", Action::Choose, &[Home]),
    key(&[Char('L')], "L", "run it live", Action::RunLive, &[Home]),
    key(&[KeyCode::Tab], "Tab", "set it up: other arms, parameters, keys", Action::SetUp, &[Home]),
    key(&[Enter], "Enter", "run; on a parameter or key: change it (virtual.faults: add one)", Action::Choose, &[Setup]),
    key(&[Enter], "Enter", "compare those that are ticked, or this one", Action::Choose, &[Past]),
    key(&[Char('/')], "/", "find by words of its name and its file: descriptions, arms, keys", Action::Find, &[Home]),
    key(&[Char('/')], "/", "find a run by a part of its name, its arms, its verdict", Action::Find, &[Past]),
    key(&[Char('/')], "/", "find a parameter or a key by a part of its name or of what it is", Action::Find, &[Setup]),
    key(&[Char('r')], "r", "past runs", Action::Past, &[Home]),
    key(&[Char('m')], "m", "measure what requests cost your service (lab calibrate)", Action::Calibrate, &[Home]),
    key(&[Char('n')], "n", "new: from a URL or a command (lab init), or a copy to edit", Action::New, &[Home]),
    key(&[Char('e')], "e", "edit its file in your $EDITOR; it is read and checked again", Action::Edit, &[Home, Setup]),
    key(&[Char('R'), F(5)], "R", "read this folder again (F5)", Action::ReadAgain, &[Home, Past]),
    key(&[Char(']')], "[ ]", "the rest of a long description", Action::Describe(1), &[Home, Setup]),
    key(&[Char('[')], "", "", Action::Describe(-1), &[Home, Setup]),
    key(&[Char(' ')], "space", "tick an arm: only ticked ones run", Action::Tick, &[Setup]),
    key(&[Char('a')], "a", "tick all arms of the file, or none", Action::TickAll, &[Setup]),
    key(&[Char(' ')], "space", "tick a run", Action::Tick, &[Past]),
    key(&[KeyCode::Tab], "Tab", "arms, parameters, keys (Shift-Tab: back)", Action::NextPane, &[Setup]),
    key(&[KeyCode::BackTab], "", "", Action::PreviousPane, &[Setup]),
    key(&[Char('v')], "v", "virtual time (seconds), or live", Action::World, &[Setup]),
    key(&[Char('+')], "+ -", "more or fewer repetitions", Action::More, &[Setup]),
    key(&[Char('-')], "", "", Action::Fewer, &[Setup]),
    key(&[Char('d')], "d", "duplicate the arm, to change a parameter of the copy", Action::Duplicate, &[Setup]),
    key(&[Char('u')], "u", "undo all changes: as in the file", Action::Reset, &[Setup]),
    key(&[Char('w')], "w", "write what is set up as an experiment file", Action::Write, &[Setup]),
    key(&[Left, Char('h')], "left right", "another figure: the plot shows it (h, l)", Action::Left, &[Compare]),
    key(&[Right, Char('l')], "", "", Action::Right, &[Compare]),
    key(&[Enter], "Enter", "behind the verdict: its reasons, claims, settings", Action::Choose, &[Compare]),
    key(&[KeyCode::Tab], "Tab", "the next phase (Shift-Tab: the one before)", Action::NextPhase, &[Compare]),
    key(&[KeyCode::BackTab], "", "", Action::PreviousPhase, &[Compare]),
    key(&[Char('v')], "v", "another picture, as its tabs name them", Action::View, &[Compare]),
    key(&[Char('.')], ", .", "a cursor on the time axis, with all values (< >: ten s)", Action::Moment(1), &[Compare]),
    key(&[Char(',')], "", "", Action::Moment(-1), &[Compare]),
    key(&[Char('>')], "", "", Action::Moment(10), &[Compare]),
    key(&[Char('<')], "", "", Action::Moment(-10), &[Compare]),
    key(&[Char('p')], "p", "the phase has the axis for itself, and back", Action::Zoom, &[Compare]),
    key(&[Char('s')], "s", "sort by the figure, best first, and back to goodput", Action::Sort, &[Compare]),
    key(&[Char('b')], "b", "baseline: hold the others against this arm, and back", Action::Baseline, &[Compare]),
    key(&[Char('a')], "a", "run B against run A, arm by arm, and back (two past runs)", Action::Across, &[Compare]),
    key(&[Char('o')], "o", "open the arm as it ran: all panels, second by second", Action::Replay, &[Compare]),
    key(&[Char(' ')], "space", "hide or show a line", Action::Tick, &[Compare]),
    key(&[Char('x')], "x", "this line alone, and all again", Action::Solo, &[Compare]),
    key(&[Char('z')], "z", "plot alone, and back", Action::Enlarge, &[Compare]),
    key(&[Char('y')], "y", "copy the command that deploys what is recommended", Action::Copy, &[Compare]),
    key(&[Char('w')], "w", "write a report, a picture, a table; show the folder", Action::Export, &[Compare]),
    key(&[Left, Char('h')], "left right", "another way from page to page, with its pauses", Action::Left, &[Trace]),
    key(&[Right, Char('l')], "", "", Action::Right, &[Trace]),
    key(&[Char('1')], "1 to 6", "one panel alone, and back", Action::Part(Part::Time), &[Trace]),
    key(&[Char('2')], "", "", Action::Part(Part::Mix), &[Trace]),
    key(&[Char('3')], "", "", Action::Part(Part::Matrix), &[Trace]),
    key(&[Char('4')], "", "", Action::Part(Part::Think), &[Trace]),
    key(&[Char('5')], "", "", Action::Part(Part::Sessions), &[Trace]),
    key(&[Char('6')], "", "", Action::Part(Part::Account), &[Trace]),
    key(&[Esc], "Esc", "back", Action::Back, ALL),
    key(&[Char('?'), F(1)], "?", "this help", Action::Help, ALL),
    key(&[Char('q')], "q", "leave (Ctrl-C too)", Action::Stop, LEFT),
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

/// Keys that work on this screen.
pub(super) fn keys_of(screen: Screen) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.on.contains(&screen))
}

/// Ctrl-C.
pub(super) fn is_interrupt(key: KeyEvent) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL) && matches!(key.code, Char('c' | 'C'))
}

/// The action of this key.
pub(super) fn action(key: KeyEvent, screen: Screen) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let code = match (key.modifiers.contains(KeyModifiers::CONTROL), key.code) {
        (false, code) => code,
        (true, _) if is_interrupt(key) => return Some(Action::Stop),
        (true, Char('d')) => KeyCode::PageDown,
        (true, Char('u')) => KeyCode::PageUp,
        (true, _) => return None,
    };
    keys_of(screen).find(|known| known.codes.contains(&code)).map(|known| known.action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctrl_c_and_q_stop_and_ctrl_d_and_u_are_pages() {
        let key = |code, modifiers| action(KeyEvent::new(code, modifiers), Live);
        assert_eq!(key(Char('q'), KeyModifiers::NONE), Some(Action::Stop));
        assert_eq!(key(Char('c'), KeyModifiers::CONTROL), Some(Action::Stop));
        assert_eq!(key(Char('c'), KeyModifiers::NONE), Some(Action::Change(Change::Capacity)));
        assert_eq!(key(Char('x'), KeyModifiers::NONE), None);
        assert_eq!(key(Char('p'), KeyModifiers::CONTROL), None);
        assert_eq!(key(Char('u'), KeyModifiers::CONTROL), Some(Action::Scroll(-10)));
        assert_eq!(key(Char('?'), KeyModifiers::SHIFT), Some(Action::Help));
    }

    #[test]
    fn no_key_means_two_things_on_one_screen() {
        for &screen in ALL {
            let codes: Vec<KeyCode> = keys_of(screen).flat_map(|key| key.codes).copied().collect();
            for (n, code) in codes.iter().enumerate() {
                assert!(!codes[..n].contains(code), "{code:?} on {screen:?}");
            }
        }
    }
}
