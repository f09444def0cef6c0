//! Takes commands that come from two sources once: the same log twice, a copy of it, or rawlogs in addition to events.
//!
//! A command with the same session, name, tag and time is the same command. A rawlog does not contain its session's
//! name: there the user, tag and name must be the same and the times nearly equal, and from then on the two sessions
//! are one. Entries are held for as long as the times of two sources may differ, so that, whichever source comes first,
//! no entry of a session is emitted under another name.

use std::{
    collections::{HashMap, VecDeque},
    io,
};

use super::entry::{Command, EventKind, LogEntry};

/// The largest difference between the times of one command in two sources, microseconds. A rawlog has the time at which
/// the line was read, an event the time at which the command began.
const APART: i64 = 50_000;

/// The largest number of held entries. Beyond it the earliest are emitted; duplicates across so many are not detected.
const HELD: usize = 100_000;

/// Holds entries, which come in the order of time, and emits each command once.
#[derive(Debug, Default)]
pub struct Duplicates {
    held: VecDeque<Held>,
    /// The number of entries emitted before the first of those that are held.
    gone: u64,
    /// The commands among the held entries, by their key of comparison: numbers of entries.
    commands: HashMap<Same, Vec<u64>>,
    /// The server's names of sessions, by their name in a rawlog. Each is dropped at the end of the rawlog.
    names: HashMap<String, String>,
    /// The number of duplicates dropped.
    pub found: u64,
}

#[derive(Debug)]
struct Held {
    entry: LogEntry,
    /// A rawlog's command and the server's own report of it were found to be one.
    paired: bool,
    /// The entry is dropped, as the other one stays.
    out: bool,
}

/// The key by which a command and its duplicate are compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Same {
    user: String,
    tag: String,
    name: String,
}

impl Same {
    fn of(entry: &LogEntry) -> Option<Self> {
        let EventKind::Command(command) = &entry.what else { return None };
        // Within a second there is time for many equal commands, unless they are numbered.
        if command.coarse && command.tag.is_empty() {
            return None;
        }
        Some(Self { user: entry.user.clone(), tag: command.tag.clone(), name: command.name.clone() })
    }
}

impl Duplicates {
    /// Takes the next entry; emits the entries of which no later one can be a duplicate.
    ///
    /// # Errors
    /// Errors of `give`.
    pub fn take(&mut self, entry: LogEntry, mut give: impl FnMut(LogEntry) -> io::Result<()>) -> io::Result<()> {
        let now = entry.at;
        while self.held.len() >= HELD || self.held.front().is_some_and(|first| now - first.entry.at > APART) {
            self.release(&mut give)?;
        }
        if let Some(same) = Same::of(&entry) {
            if self.is_double(&same, &entry) {
                self.found += 1;
                return Ok(());
            }
            self.commands.entry(same).or_default().push(self.gone + self.held.len() as u64);
        }
        self.held.push_back(Held { entry, paired: false, out: false });
        Ok(())
    }

    /// True if the entry has a duplicate that stays. A duplicate from a rawlog is dropped in favour of the entry.
    fn is_double(&mut self, same: &Same, entry: &LogEntry) -> bool {
        let Some(like) = self.commands.get(same) else { return false };
        let place = |number: &u64| usize::try_from(*number - self.gone).unwrap_or(usize::MAX);
        let exactly =
            like.iter().map(place).find(|at| self.held.get(*at).is_some_and(|held| equal(&held.entry, entry)));
        if let Some(other) = exactly.and_then(|at| self.held.get(at)) {
            if other.entry.session != entry.session {
                self.names.insert(entry.session.clone(), other.entry.session.clone());
            }
            return true;
        }
        let nearly = like
            .iter()
            .map(place)
            .find(|at| self.held.get(*at).is_some_and(|held| !held.paired && told_otherwise(&held.entry, entry)));
        let Some(other) = nearly.and_then(|at| self.held.get_mut(at)) else { return false };
        other.paired = true;
        if by_file(entry) {
            self.names.insert(entry.session.clone(), other.entry.session.clone());
            return true;
        }
        // The server's own name of the session stays.
        other.out = true;
        self.found += 1;
        self.names.insert(other.entry.session.clone(), entry.session.clone());
        false
    }

    /// Ends the input.
    ///
    /// # Errors
    /// Errors of `give`.
    pub fn finish(&mut self, mut give: impl FnMut(LogEntry) -> io::Result<()>) -> io::Result<()> {
        while !self.held.is_empty() {
            self.release(&mut give)?;
        }
        Ok(())
    }

    /// Emits the earliest entry.
    fn release(&mut self, give: &mut impl FnMut(LogEntry) -> io::Result<()>) -> io::Result<()> {
        let Some(Held { mut entry, out, .. }) = self.held.pop_front() else { return Ok(()) };
        if let Some(same) = Same::of(&entry)
            && let Some(like) = self.commands.get_mut(&same)
        {
            like.retain(|number| *number != self.gone);
            if like.is_empty() {
                self.commands.remove(&same);
            }
        }
        self.gone += 1;
        if out {
            return Ok(());
        }
        let mut session = &entry.session;
        for _ in 0..MOST_NAMES {
            let Some(name) = self.names.get(session) else { break };
            session = name;
        }
        let session = session.clone();
        if matches!(entry.what, EventKind::End(_)) {
            self.names.remove(&entry.session);
        }
        entry.session = session;
        give(entry)
    }
}

/// The largest number of names of a session: two rawlogs of it, and the server's own.
const MOST_NAMES: usize = 3;

/// True for the same command from a copy of its source.
fn equal(one: &LogEntry, other: &LogEntry) -> bool {
    let copies_of_a_file = by_file(one) && by_file(other) && !coarse(other);
    one.at == other.at && (one.session == other.session || copies_of_a_file)
}

/// True for a rawlog's command and the server's own report of it.
fn told_otherwise(one: &LogEntry, other: &LogEntry) -> bool {
    by_file(one) != by_file(other) && !coarse(one) && !coarse(other) && (other.at - one.at).abs() <= APART
}

fn by_file(entry: &LogEntry) -> bool {
    matches!(&entry.what, EventKind::Command(Command { by_file: true, .. }))
}

fn coarse(entry: &LogEntry) -> bool {
    matches!(&entry.what, EventKind::Command(Command { coarse: true, .. }))
}

#[cfg(test)]
mod tests {
    use traces::trace::Totals;

    use super::*;
    use crate::entry::{Cost, Meaning};

    fn command(at: i64, session: &str, tag: &str) -> LogEntry {
        let by_file = session.starts_with('/');
        let what = Command {
            name: "NOOP".into(),
            meaning: Meaning::Aside,
            folder: String::new(),
            coarse: false,
            tag: tag.into(),
            by_file,
            cost: Cost::default(),
        };
        LogEntry { at, session: session.into(), user: "joe".into(), what: EventKind::Command(what) }
    }

    fn end(at: i64, session: &str) -> LogEntry {
        LogEntry { at, session: session.into(), user: "joe".into(), what: EventKind::End(Totals::default()) }
    }

    /// The emitted entries, as times and sessions, and the number of dropped ones.
    fn once(mut entries: Vec<LogEntry>) -> (Vec<(i64, String)>, u64) {
        entries.sort_by_key(|entry| entry.at);
        let mut doubles = Duplicates::default();
        let mut out = Vec::new();
        let mut give = |entry: LogEntry| {
            out.push((entry.at, entry.session));
            Ok(())
        };
        for entry in entries {
            doubles.take(entry, &mut give).expect("memory");
        }
        doubles.finish(&mut give).expect("memory");
        assert!(doubles.names.is_empty() && doubles.commands.is_empty(), "nothing is kept: {doubles:?}");
        (out, doubles.found)
    }

    fn gone_out(expected: &[(i64, &str)]) -> Vec<(i64, String)> {
        expected.iter().map(|(at, session)| (*at, (*session).to_owned())).collect()
    }

    #[test]
    fn the_same_log_twice_or_thrice_counts_once() {
        let log =
            || vec![command(0, "S1", "1"), command(0, "S2", "1"), command(9, "S1", "2"), command(70_000, "S1", "1")];
        let thrice = [log(), log(), log()].concat();
        assert_eq!(once(thrice), (gone_out(&[(0, "S1"), (0, "S2"), (9, "S1"), (70_000, "S1")]), 8));
        assert_eq!(once(log()).1, 0);
        // The same tag at another time is another command.
        assert_eq!(once(vec![command(0, "S1", "a"), command(1, "S1", "a")]).1, 0);
    }

    #[test]
    fn a_rawlog_beside_events_is_their_session_whichever_comes_first() {
        let at = |offset: i64| {
            once(vec![
                command(1000 + offset, "/raw/joe/1", "1"),
                command(1000, "S1", "1"),
                // Only one of the two sources has these.
                command(900_000 + offset, "/raw/joe/1", "2"),
                command(1_000_000, "S1", "3"),
                end(2_000_000, "/raw/joe/1"),
            ])
        };
        for offset in [-700, 700] {
            let session = gone_out(&[(1000, "S1"), (900_000 + offset, "S1"), (1_000_000, "S1"), (2_000_000, "S1")]);
            assert_eq!(at(offset), (session, 1));
        }
        assert_eq!(at(60_000).1, 0, "too far apart");
    }

    #[test]
    fn two_sessions_of_a_user_at_a_time_stay_two() {
        let both = vec![command(0, "S1", "1"), command(0, "S2", "1"), command(5, "/a", "1"), command(5_000, "/b", "1")];
        let both = [both, vec![end(9_000, "/a"), end(9_000, "/b")]].concat();
        let (out, found) = once(both);
        assert_eq!((out.len(), found), (4, 2), "{out:?}");
        let sessions: std::collections::BTreeSet<_> = out.into_iter().map(|(_, session)| session).collect();
        assert_eq!(sessions, ["S1".to_owned(), "S2".to_owned()].into());
    }

    #[test]
    fn memory_is_bounded_in_a_burst() {
        let mut doubles = Duplicates::default();
        let mut out = 0;
        for number in 0..HELD as i64 + 1000 {
            let give = |_: LogEntry| {
                out += 1;
                Ok(())
            };
            doubles.take(command(0, "S1", &number.to_string()), give).expect("memory");
        }
        assert_eq!((doubles.held.len(), out), (HELD, 1000));
        assert!(doubles.commands.len() <= HELD);
    }
}
