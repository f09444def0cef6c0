//! Roundcube's imap log: `[21-Nov-2026 01:39:32 +0000]: <session> [1A2B] C: A0003 SELECT INBOX`.
//!
//! Each page of a web mail makes a connection of its own, which logs in and out: a session's first login counts, and only
//! silence ends it. Times are whole seconds.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
};

use super::{
    conversation::{Conversation, Logins},
    sink::{Heard, Sink, Stop},
    when::with_month_name,
};

/// Most connections that are followed at a time, and most sessions that are known to have logged in.
const CONNECTIONS: usize = 10_000;
const SESSIONS: usize = 200_000;

/// Reads to the end.
pub fn read(from: impl Read, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let mut open: BTreeMap<(String, String), (i64, Conversation)> = BTreeMap::new();
    let mut known: BTreeSet<String> = BTreeSet::new();
    sink.lines(from, |line, sink| {
        let Some(said) = Said::of(line) else { return Ok(Heard::Not("this is no line of Roundcube's imap log")) };
        let key = (said.session.to_owned(), said.connection.to_owned());
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
            (said.at, Conversation::new(session, String::new(), false).one_of_many(logins).in_whole_seconds())
        });
        *last = said.at;
        let ended = [said.text.as_bytes(), b"\r\n"].concat();
        if said.client {
            conversation.client(said.at, &ended, sink)?;
        } else {
            conversation.server(said.at, &ended, sink)?;
        }
        Ok(Heard::Understood)
    })?;
    for (last, conversation) in open.into_values() {
        conversation.finish(last, false, sink)?;
    }
    Ok(())
}

/// What a line says.
struct Said<'a> {
    at: i64,
    session: &'a str,
    connection: &'a str,
    client: bool,
    text: &'a str,
}

impl<'a> Said<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (stamp, rest) = line.strip_prefix('[')?.split_once("]: ")?;
        // Before 1.2 there is no session: a connection is one.
        let (session, rest) = match rest.strip_prefix('<') {
            Some(rest) => rest.split_once("> ")?,
            None => ("", rest),
        };
        let (connection, rest) = rest.strip_prefix('[')?.split_once("] ")?;
        let (client, text) = match rest.strip_prefix("C: ") {
            Some(text) => (true, text),
            None => (false, rest.strip_prefix("S: ")?),
        };
        let at = with_month_name(stamp.split('.').next()?).or_else(|| with_month_name(stamp))?;
        let session = if session.is_empty() { connection } else { session };
        Some(Self { at, session, connection, client, text })
    }
}
