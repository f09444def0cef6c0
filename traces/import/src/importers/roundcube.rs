//! Roundcube's imap log: `[21-Nov-2026 01:39:32 +0000]: <session> [1A2B] C: A0003 SELECT INBOX`.
//!
//! A literal appears verbatim, on lines of its own without a stamp; one over 4 kB is cut, and the log states the length
//! of the rest (`... [truncated 1234 bytes]`). So bytes of literals are never counted off: a line with a stamp begins a
//! line, and lines without one continue it. Names and passwords are omitted (`LOGIN ****** [13]`): then each session is
//! a user of its own. Source: `debug`, `putLine` and `readLine` of `rcube_imap_generic.php`.
//!
//! Each page of a web mail makes a connection of its own, which logs in and out: a session's first login counts, and
//! only silence ends it. Times are whole seconds.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
};

use crate::{
    conversation::{Conversation, Logins},
    importer::{Certainty, Importer, Mark, Reads},
    sink::{LineResult, Sink, Stop},
    timestamps::with_month_name,
};

/// The largest number of connections followed at a time, and of sessions known to have logged in.
const CONNECTIONS: usize = 10_000;
const SESSIONS: usize = 200_000;

/// Roundcube's imap logs.
pub const IMPORTER: Importer = Importer {
    name: "Roundcube imap log",
    files: "Roundcube's imap log",
    mark: Mark::Line(|line| {
        let is_said = line.starts_with('[') && (line.contains(" C: ") || line.contains(" S: "));
        is_said.then_some(Certainty::Form)
    }),
    reads: Reads::Log(|_, from, sink| read(from, sink)),
};

/// Reads to the end.
fn read(from: impl Read, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let mut open: BTreeMap<(String, String), (i64, Conversation)> = BTreeMap::new();
    let mut known: BTreeSet<String> = BTreeSet::new();
    // The last speaker: a line without a stamp continues its line.
    let mut speaker: Option<((String, String), bool)> = None;
    let read = sink.lines(from, |line, sink| {
        let Some(rest) = stamped(line) else {
            let Some((key, client)) = &speaker else {
                return Ok(LineResult::Not("this is no line of Roundcube's imap log"));
            };
            if let Some((_, conversation)) = open.get_mut(key) {
                conversation.more(*client, bytes(line));
            }
            return Ok(LineResult::Understood);
        };
        // A line of Roundcube about itself: that it connects, that a connection was closed.
        let Some(said) = Said::of(rest) else {
            speaker = None;
            return Ok(LineResult::Beside);
        };
        let key = (said.session.to_owned(), said.connection.to_owned());
        speaker = Some((key.clone(), said.client));
        if open.len() >= CONNECTIONS
            && !open.contains_key(&key)
            && let Some(silent) = open.iter().min_by_key(|(_, (last, _))| *last).map(|(key, _)| key.clone())
            && let Some((last, conversation)) = open.remove(&silent)
        {
            conversation.finish(last, false, sink)?;
        }
        let (last, conversation) = open.entry(key).or_insert_with(|| {
            let logins = if known.contains(said.session) { Logins::Again } else { Logins::First };
            if known.len() < SESSIONS {
                known.insert(said.session.to_owned());
            }
            let session = said.session.to_owned();
            let one = Conversation::new(session, String::new(), false).in_whole_seconds();
            (said.at, one.one_of_many(said.connection, logins))
        });
        *last = said.at;
        if said.client && !said.text.split(' ').next().is_some_and(numbered) {
            conversation.more(true, bytes(said.text));
        } else if said.client {
            conversation.client_line(said.at, said.text, bytes(said.text), sink)?;
        } else {
            conversation.server_line(said.at, said.text, bytes(said.text), sink)?;
        }
        Ok(LineResult::Understood)
    });
    // Where the log is cut, the earlier commands are kept.
    for (last, conversation) in open.into_values() {
        conversation.finish(last, false, sink)?;
    }
    read
}

/// The content of a line.
struct Said<'a> {
    at: i64,
    session: &'a str,
    connection: &'a str,
    client: bool,
    text: &'a str,
}

/// The time of a line, and the text after its stamp; `None`: it has no stamp.
fn stamped(line: &str) -> Option<(i64, &str)> {
    let (stamp, rest) = line.strip_prefix('[')?.split_once("]: ")?;
    let at = with_month_name(stamp.split('.').next()?).or_else(|| with_month_name(stamp))?;
    Some((at, rest))
}

/// True for the tag of a command, such as `A0003`. A line without it continues a command after a literal.
fn numbered(tag: &str) -> bool {
    tag.strip_prefix('A').is_some_and(|number| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()))
}

/// The number of bytes of a line as sent: with its end, and with the part that the log has cut.
fn bytes(text: &str) -> u64 {
    let cut = text.rsplit_once("... [truncated ").and_then(|(kept, rest)| {
        let cut: u64 = rest.strip_suffix(" bytes]")?.parse().ok()?;
        Some((kept.len() as u64).saturating_add(cut))
    });
    cut.unwrap_or(text.len() as u64 + 2)
}

impl<'a> Said<'a> {
    fn of((at, rest): (i64, &'a str)) -> Option<Self> {
        // Before 1.2 there are no sessions: a connection is one.
        let (session, rest) = match rest.strip_prefix('<') {
            Some(rest) => rest.split_once("> ")?,
            None => ("", rest),
        };
        let (connection, rest) = rest.strip_prefix('[')?.split_once("] ")?;
        let (client, text) = match rest.strip_prefix("C:") {
            Some(text) => (true, text),
            None => (false, rest.strip_prefix("S:")?),
        };
        let session = if session.is_empty() { connection } else { session };
        Some(Self { at, session, connection, client, text: text.strip_prefix(' ').unwrap_or(text) })
    }
}
