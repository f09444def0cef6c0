//! What the store keeps, as values.

use serde::{Deserialize, Serialize};

/// Rows on one page of a list or of search results (the thesis: "the first 10 messages").
pub const PAGE_ROWS: u32 = 10;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, sqlx::Type)]
        #[sqlx(transparent)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// An account.
    UserId
}
id! {
    /// A folder. Never given to another folder once deleted.
    FolderId
}
id! {
    /// A message's place in a folder. It stays the same when the message is refiled, and is never given to another.
    EntryId
}

/// Some or all of a user's folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One folder.
    Folder(FolderId),
    /// All folders of the user.
    All,
}

/// A folder of one user.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Folder {
    /// Its id.
    pub id: FolderId,
    /// Its name, unique for the user regardless of (ASCII) case.
    pub name: String,
    /// The one folder that cannot be deleted.
    pub inbox: bool,
    /// How many messages it holds.
    pub messages: i64,
}

/// A row of a list.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Listed {
    /// Its place.
    pub entry: EntryId,
    /// The folder it lies in.
    pub folder: FolderId,
    /// Seconds since 1970.
    pub date: i64,
    /// Name or address.
    pub author: String,
    /// Subject; may be empty.
    pub subject: String,
    /// Bytes of the message as it came.
    pub size: i64,
    /// Number of attachments.
    pub attachments: i64,
}

/// A message to read.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Message {
    /// Seconds since 1970.
    pub date: i64,
    /// Subject; may be empty.
    pub subject: String,
    /// The `From` line.
    pub sender: String,
    /// The `To` and `Cc` lines.
    pub recipients: String,
    /// All header lines, decoded.
    pub headers: String,
    /// The text.
    pub text: String,
    /// Cleaned HTML, if the message has any.
    pub html: Option<String>,
    /// Version of the cleaner that cleaned it.
    pub html_version: i64,
    /// Why there is no HTML, where the message came with some.
    pub html_problem: Option<String>,
    /// Bytes of the message as it came.
    pub size: i64,
    /// What is attached.
    #[sqlx(skip)]
    pub attachments: Vec<AttachmentName>,
}

/// An attachment without its content.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct AttachmentName {
    /// Number within the message.
    pub part: i64,
    /// File name, as the sender gave it.
    pub name: String,
    /// Media type, as the sender gave it: shown, never trusted.
    pub kind: String,
    /// Bytes.
    pub size: i64,
}

/// What a list is sorted by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Sort {
    /// Date.
    #[default]
    Date,
    /// Author.
    Author,
    /// Subject, without `Re:` and the like.
    Subject,
}

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Smallest, oldest first.
    Ascending,
    /// Greatest, newest first.
    Descending,
}

/// Order of a list. Equal keys are ordered by date, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListOrder {
    /// By what.
    pub by: Sort,
    /// Which way.
    pub direction: Direction,
}

impl Default for ListOrder {
    fn default() -> Self {
        Self { by: Sort::Date, direction: Direction::Descending }
    }
}

/// A message to be stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewMessage {
    /// What tells this message from all others: a hash of its bytes.
    pub digest: [u8; 32],
    /// Seconds since 1970.
    pub date: i64,
    /// Name or address for lists.
    pub author: String,
    /// Subject.
    pub subject: String,
    /// The `From` line.
    pub sender: String,
    /// The `To` and `Cc` lines.
    pub recipients: String,
    /// All header lines, decoded: shown, and searched.
    pub headers: String,
    /// The text.
    pub text: String,
    /// HTML that is already clean.
    pub html: Option<String>,
    /// Why there is none, where the message came with some.
    pub html_problem: Option<String>,
    /// What is attached.
    pub attachments: Vec<NewAttachment>,
    /// Bytes of the message as it came.
    pub size: i64,
}

/// An attachment to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAttachment {
    /// File name.
    pub name: String,
    /// Media type.
    pub kind: String,
    /// The bytes.
    pub content: Vec<u8>,
}
