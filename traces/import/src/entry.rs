//! The output of an importer: one event, with the names of its source.

use serde::{Deserialize, Serialize};
use traces::{
    spool::Sorted,
    trace::{RecordOutcome, Totals},
};

/// An event in a source. Names are those of the source; pseudonyms come later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// The time, microseconds since 1970.
    #[serde(rename = "t")]
    pub at: i64,
    /// The source's name of the session. Empty: sessions are derived from a user's pauses.
    #[serde(rename = "s")]
    pub session: String,
    /// The user. Empty: the source does not name it.
    #[serde(rename = "u", default, skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// The kind of event.
    #[serde(rename = "w")]
    pub what: EventKind,
}

impl Sorted for LogEntry {
    fn key(&self) -> i64 {
        self.at
    }
}

/// The kind of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    /// A session began.
    Login {
        /// True if the source's time is a whole second.
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
    /// The command's meaning.
    #[serde(rename = "m")]
    pub meaning: Meaning,
    /// The selected folder, where the source names it.
    #[serde(rename = "f", default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// True if the source's times are whole seconds.
    #[serde(rename = "w", default, skip_serializing_if = "std::ops::Not::not")]
    pub coarse: bool,
    /// The client's tag of the command; empty if the source does not have it. With many connections in a session, the
    /// connection's tag too.
    #[serde(rename = "g", default, skip_serializing_if = "String::is_empty")]
    pub tag: String,
    /// True if its session is named after a file (rawlogs): other sources know the session by another name.
    #[serde(rename = "b", default, skip_serializing_if = "std::ops::Not::not")]
    pub by_file: bool,
    /// Its duration, size and outcome.
    #[serde(flatten)]
    pub cost: Cost,
}

/// An action that needs no merging.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The action.
    pub action: String,
    /// The object of the action.
    pub object: String,
    /// The log line that contains the action, and which may have a copy in another file.
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
    pub line: Option<LogLine>,
    /// Its duration, size and outcome.
    #[serde(flatten)]
    pub cost: Cost,
}

/// A line of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// The number of its file in the import.
    #[serde(rename = "f")]
    pub file: u32,
    /// A hash that equal lines share.
    #[serde(rename = "i")]
    pub id: u64,
}

/// The duration, the size and the outcome of a request.
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
    /// The outcome.
    #[serde(rename = "r", default)]
    pub outcome: RecordOutcome,
}

/// The meaning of a command for the page that a web mail would show. It contains no search words and no flags' names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Meaning {
    /// LOGIN, AUTHENTICATE.
    Login,
    /// LIST and the like; the number identifies the question.
    Folders(u64),
    /// SELECT, EXAMINE.
    Select(String),
    /// FETCH of headers, flags or sizes.
    Headers {
        /// The messages.
        set: Set,
        /// True if only flags or numbers are requested, as clients do to keep up to date.
        only_flags: bool,
    },
    /// FETCH of a body, or a part of one.
    Body {
        /// The messages.
        set: Set,
        /// Identifies the question.
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
        /// The messages.
        set: Set,
        /// True if the destination is the trash.
        trash: bool,
        /// True for MOVE: the messages are gone from the folder.
        moved: bool,
    },
    /// SEARCH, SORT or THREAD with words or dates.
    Search,
    /// SEARCH, SORT or THREAD of everything, or by flags: a list in some order.
    Order,
    /// CREATE.
    CreateFolder(String),
    /// DELETE.
    DeleteFolder(String),
    /// APPEND.
    Append,
    /// CLOSE: expunges without a report.
    Close,
    /// LOGOUT.
    Logout,
    /// NOOP and the like: no page shows them.
    Aside,
    /// An unknown command.
    Unknown,
}

/// The messages that a command is about.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Set {
    /// As written: `12`, `1:10`, `3,5,9`. At most 64 bytes.
    #[serde(rename = "m")]
    pub messages: String,
    /// True if messages are named by unique id, not by number.
    #[serde(rename = "u", default)]
    pub uid: bool,
}

impl Set {
    /// True if the set names one message.
    #[must_use]
    pub fn one(&self) -> bool {
        !self.messages.is_empty() && self.messages.bytes().all(|c| c.is_ascii_digit())
    }
}
