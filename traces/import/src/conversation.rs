//! An IMAP session as bytes in both directions, with times (rawlogs, telemetry, packet captures), and the commands in
//! it.

use std::{collections::VecDeque, io};

use traces::trace::{RecordOutcome, Totals};

use super::{
    chunker::{Chunker, Piece},
    entry::{Command, Cost, EventKind, Meaning},
    imap_commands::{first_word, meaning},
    sink::Sink,
    timestamps::within_second,
};

/// The largest number of commands without an answer; a correct client waits long before.
const WAITING: usize = 1000;

/// A session. A command becomes an entry when it is answered, or when the session is over.
#[derive(Debug)]
pub struct Conversation {
    session: String,
    user: String,
    client: Chunker,
    server: Chunker,
    /// The time at which the client began the current, incomplete line.
    asked: i64,
    waiting: VecDeque<Waiting>,
    /// The approximate size of these in bytes.
    waiting_bytes: usize,
    source: ConversationSource,
    /// The selected folder.
    folder: String,
    /// Bytes from the server that are not yet attributed to a command.
    received: u64,
    /// True once the session goes on encrypted or compressed, so that nothing can be read any more.
    closed_to_us: bool,
    /// True once a user has logged in, or if the source begins after the login.
    logged_in: bool,
}

/// The properties of a conversation's source.
#[derive(Debug, Default)]
struct ConversationSource {
    /// True if its times are whole seconds.
    coarse: bool,
    /// True if the session is named after a file.
    by_file: bool,
    /// The prefix of tags, which each connection of a session numbers from the start.
    connection: String,
    /// The source is one of many connections of a web mail's session: only the first login counts, and no logout.
    one_of_many: Option<Logins>,
}

/// The logins of a session with many connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logins {
    /// The first connection: its login is the session's login.
    First,
    /// A later connection.
    Again,
}

/// A command without an answer yet.
#[derive(Debug)]
struct Waiting {
    at: i64,
    tag: String,
    name: String,
    meaning: Meaning,
    sent: u64,
    /// The user that logs in with it.
    user: String,
    /// Its approximate size in bytes.
    size: usize,
}

impl Conversation {
    /// A session with this name. `logged_in`: the source begins after the login; `user` is empty if the source does not
    /// name the user.
    pub fn new(session: String, user: String, logged_in: bool) -> Self {
        let (client, server) = (Chunker::default(), Chunker::default());
        Self {
            session,
            user,
            client,
            server,
            asked: 0,
            source: ConversationSource::default(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            folder: String::new(),
            received: 0,
            closed_to_us: false,
            logged_in,
        }
    }

    /// Marks the session as named after its file: the server knows it by another name.
    pub fn named_by_file(mut self) -> Self {
        self.source.by_file = true;
        self
    }

    /// Marks the conversation as one of the many connections of a session.
    pub fn one_of_many(mut self, connection: &str, logins: Logins) -> Self {
        self.source.one_of_many = Some(logins);
        self.source.connection = format!("{connection} ");
        self
    }

    /// Marks the times as whole seconds.
    pub fn in_whole_seconds(mut self) -> Self {
        self.source.coarse = true;
        self
    }

    /// Takes bytes from the client.
    pub fn client(&mut self, at: i64, bytes: &[u8], sink: &mut Sink<'_>) -> io::Result<()> {
        self.written(at, sink);
        if self.closed_to_us {
            return Ok(());
        }
        if self.client.is_empty() {
            self.asked = at;
        }
        let mut pieces = Vec::new();
        self.client.take(bytes, &mut |piece| pieces.push(piece));
        for piece in pieces {
            // A command with literals began before they came.
            let begun = std::mem::replace(&mut self.asked, at);
            self.command(begun, &piece, sink)?;
        }
        Ok(())
    }

    /// Takes bytes from the server.
    pub fn server(&mut self, at: i64, bytes: &[u8], sink: &mut Sink<'_>) -> io::Result<()> {
        self.written(at, sink);
        self.received += bytes.len() as u64;
        if self.closed_to_us {
            return Ok(());
        }
        let mut pieces = Vec::new();
        self.server.take(bytes, &mut |piece| pieces.push(piece));
        pieces.into_iter().try_for_each(|piece| self.answer(at, &piece.text, sink))
    }

    /// Takes a client's line from a log that splits lines itself. `bytes`: its length with its literals, which the log
    /// may have cut.
    pub fn client_line(&mut self, at: i64, text: &str, bytes: u64, sink: &mut Sink<'_>) -> io::Result<()> {
        self.written(at, sink);
        self.command(at, &Piece { text: text.to_owned(), bytes }, sink)
    }

    /// Takes a server's line from such a log.
    pub fn server_line(&mut self, at: i64, text: &str, bytes: u64, sink: &mut Sink<'_>) -> io::Result<()> {
        self.written(at, sink);
        self.received += bytes;
        self.answer(at, text, sink)
    }

    /// Counts further bytes of the last line.
    pub fn more(&mut self, client: bool, bytes: u64) {
        match self.waiting.back_mut() {
            Some(command) if client => command.sent += bytes,
            _ if client => {}
            _ => self.received += bytes,
        }
    }

    /// Bytes held in memory: incomplete lines, commands without answers, names.
    pub fn held(&self) -> usize {
        self.client.held() + self.server.held() + self.waiting_bytes + self.folder.len() + self.user.len()
    }

    /// Ends the session. `ended`: it really ended then; else the source does not tell.
    pub fn finish(mut self, at: i64, ended: bool, sink: &mut Sink<'_>) -> io::Result<()> {
        while let Some(command) = self.waiting.pop_front() {
            self.tell(command, None, RecordOutcome::Unanswered, sink)?;
        }
        if !self.logged_in {
            sink.nobody();
        } else if ended {
            sink.entry(at, &self.session, &self.user, EventKind::End(Totals::default()))?;
        }
        Ok(())
    }

    fn written(&self, at: i64, sink: &mut Sink<'_>) {
        sink.written(if self.source.coarse { within_second(at) } else { at..=at });
    }

    /// Takes a client's line: a command, or the continuation of one (DONE, the words of AUTHENTICATE).
    fn command(&mut self, at: i64, piece: &Piece, sink: &mut Sink<'_>) -> io::Result<()> {
        let mut words = piece.text.splitn(3, ' ');
        let (Some(tag), Some(name)) = (words.next(), words.next()) else { return Ok(()) };
        let sound = |word: &str, longest: usize| {
            (1..=longest).contains(&word.len()) && word.bytes().all(|c| c.is_ascii_graphic())
        };
        if !sound(tag, 64) || !sound(name, 32) || !name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-') {
            return Ok(());
        }
        let mut args = words.next().unwrap_or_default();
        let mut name = name.to_ascii_uppercase();
        if name == "UID" {
            let (of, rest) = args.split_once(' ').unwrap_or((args, ""));
            name = format!("UID {}", of.chars().take(32).collect::<String>().to_ascii_uppercase());
            args = rest;
        }
        // Some logs omit names: `LOGIN ****** [13]`.
        let user = if name == "LOGIN" { first_word(args) } else { String::new() };
        let user = if user.bytes().all(|c| c == b'*') { String::new() } else { user };
        let meaning = match (meaning(&name, args), self.source.one_of_many) {
            (Meaning::Logout, Some(_)) | (Meaning::Login, Some(Logins::Again)) => Meaning::Aside,
            (meaning, _) => meaning,
        };
        // Its words are stored once, and those of its meaning at most once more.
        let size = size_of::<Waiting>() + 2 * piece.text.len();
        self.waiting_bytes += size;
        self.waiting.push_back(Waiting { at, tag: tag.to_owned(), name, meaning, sent: piece.bytes, user, size });
        if self.waiting.len() > WAITING
            && let Some(first) = self.waiting.pop_front()
        {
            self.waiting_bytes -= first.size;
            self.tell(first, None, RecordOutcome::Unanswered, sink)?;
        }
        Ok(())
    }

    /// Takes a server's line: an answer if it begins with the tag of a waiting command.
    fn answer(&mut self, at: i64, line: &str, sink: &mut Sink<'_>) -> io::Result<()> {
        let Some((tag, rest)) = line.split_once(' ') else { return Ok(()) };
        if tag == "*" {
            self.logged_in |= rest.starts_with("PREAUTH");
            return Ok(());
        }
        let Some(place) = self.waiting.iter().position(|command| command.tag == tag) else { return Ok(()) };
        let Some(command) = self.waiting.remove(place) else { return Ok(()) };
        self.waiting_bytes -= command.size;
        let outcome = match rest.split(' ').next() {
            Some("OK") => RecordOutcome::Ok,
            _ => RecordOutcome::Error,
        };
        if outcome.is_ok() {
            match (&command.meaning, command.name.as_str()) {
                (_, "LOGIN" | "AUTHENTICATE") => {
                    self.logged_in = true;
                    if !command.user.is_empty() {
                        self.user.clone_from(&command.user);
                    }
                }
                (Meaning::Select(folder), _) => self.folder.clone_from(folder),
                (Meaning::Close, _) | (_, "UNSELECT") => self.folder.clear(),
                (_, "STARTTLS" | "COMPRESS") => self.closed_to_us = true,
                _ => {}
            }
        }
        self.tell(command, Some(at), outcome, sink)
    }

    fn tell(
        &mut self,
        command: Waiting,
        done: Option<i64>,
        outcome: RecordOutcome,
        sink: &mut Sink<'_>,
    ) -> io::Result<()> {
        // Commands before the login (CAPABILITY, a wrong password) belong to no session yet.
        if !self.logged_in {
            sink.dropped(&command.name);
            return Ok(());
        }
        let cost = Cost {
            lasted: done.map(|done| done.abs_diff(command.at)),
            sent: Some(command.sent),
            received: Some(std::mem::take(&mut self.received)),
            outcome,
        };
        let Waiting { name, meaning, .. } = command;
        let (folder, tag) = (self.folder.clone(), format!("{}{}", self.source.connection, command.tag));
        let (coarse, by_file) = (self.source.coarse, self.source.by_file);
        let what = EventKind::Command(Command { name, meaning, folder, coarse, tag, by_file, cost });
        sink.entry(command.at, &self.session, &self.user, what)
    }
}
