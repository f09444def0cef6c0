//! What an importer says: one thing that happened, with the names of its source.

use serde::{Deserialize, Serialize};

use crate::{
    spool::Sorted,
    trace::{RecordOutcome, Totals},
};

/// Something that a source has. Names are those of the source; pseudonyms come later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Microseconds since 1970.
    #[serde(rename = "t")]
    pub at: i64,
    /// The source's name of the session. Empty: sessions are made from a user's pauses.
    #[serde(rename = "s")]
    pub session: String,
    /// Empty: the source does not say.
    #[serde(rename = "u", default, skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// What happened.
    #[serde(rename = "w")]
    pub what: What,
}

impl Sorted for LogEntry {
    fn key(&self) -> i64 {
        self.at
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// A session began.
    Login {
        /// The source's time is a whole second.
        coarse: bool,
    },
    /// A command of IMAP.
    Command(Command),
    /// A whole action: a page of a web server.
    Page(Page),
    /// A session ended.
    End(Totals),
}

/// A command of IMAP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Its name, for the tally: `UID FETCH`.
    #[serde(rename = "c")]
    pub name: String,
    /// What it means.
    #[serde(rename = "m")]
    pub meaning: Meaning,
    /// The selected folder, where the source says it.
    #[serde(rename = "f", default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// The source's times are whole seconds.
    #[serde(rename = "w", default, skip_serializing_if = "std::ops::Not::not")]
    pub coarse: bool,
    /// The client's mark of it; empty if the source does not say. With many connections in a session, that of the
    /// connection too.
    #[serde(rename = "g", default, skip_serializing_if = "String::is_empty")]
    pub tag: String,
    /// Its session is named after a file (rawlogs): other sources know it by another name.
    #[serde(rename = "b", default, skip_serializing_if = "std::ops::Not::not")]
    pub by_file: bool,
    /// How it went.
    #[serde(flatten)]
    pub cost: Cost,
}

/// An action that needs no merging.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// Which.
    pub action: String,
    /// What it was about.
    pub object: String,
    /// The line of a log that it stands in, which may have a copy in another file.
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
    pub line: Option<LogLine>,
    /// How it went.
    #[serde(flatten)]
    pub cost: Cost,
}

/// A line of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// Number of its file in the import.
    #[serde(rename = "f")]
    pub file: u32,
    /// The same for equal lines.
    #[serde(rename = "i")]
    pub id: u64,
}

/// How a request went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cost {
    /// Microseconds until the answer was complete.
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    pub lasted: Option<u64>,
    /// Bytes to the service.
    #[serde(rename = "in", default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
    /// Bytes from the service.
    #[serde(rename = "out", default, skip_serializing_if = "Option::is_none")]
    pub received: Option<u64>,
    /// What became of it.
    #[serde(rename = "r", default)]
    pub outcome: RecordOutcome,
}

/// What a command means for the page that a web mail would show. It holds no search words and no flags' names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Meaning {
    /// LOGIN, AUTHENTICATE.
    Login,
    /// LIST and its kind; the number tells one such question from another.
    Folders(u64),
    /// SELECT, EXAMINE.
    Select(String),
    /// FETCH of headers, flags or sizes.
    Headers {
        /// Of these messages.
        set: Set,
        /// It asks for flags or numbers alone, as clients do to keep up to date.
        only_flags: bool,
    },
    /// FETCH of a body, or a part of one.
    Body {
        /// Of these messages.
        set: Set,
        /// Tells one such question from another.
        item: u64,
    },
    /// STORE that marks messages as deleted.
    MarkDeleted(Set),
    /// STORE of anything else.
    Mark(Set),
    /// EXPUNGE.
    Expunge,
    /// COPY, MOVE.
    Copy {
        /// Of these messages.
        set: Set,
        /// To the trash.
        trash: bool,
        /// MOVE: the messages are gone from here.
        moved: bool,
    },
    /// SEARCH, SORT or THREAD with words or dates to look for.
    Search,
    /// SEARCH, SORT or THREAD of everything, or by flags: a list in some order.
    Order,
    /// CREATE.
    CreateFolder(String),
    /// DELETE.
    DeleteFolder(String),
    /// APPEND.
    Append,
    /// CLOSE: expunges, silently.
    Close,
    /// LOGOUT.
    Logout,
    /// NOOP and its kind: nothing that a page shows.
    Aside,
    /// No command that we know.
    Unknown,
}

/// Messages that a command is about.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Set {
    /// As written: `12`, `1:10`, `3,5,9`. At most 64 bytes.
    #[serde(rename = "m")]
    pub messages: String,
    /// By unique id, not by number.
    #[serde(rename = "u", default)]
    pub uid: bool,
}

impl Set {
    /// It names one message.
    #[must_use]
    pub fn one(&self) -> bool {
        !self.messages.is_empty() && self.messages.bytes().all(|c| c.is_ascii_digit())
    }
}
