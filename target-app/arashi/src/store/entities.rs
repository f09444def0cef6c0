//! The entities of the store, as values.

use serde::{Deserialize, Serialize};

/// The number of rows on one page of a list or of search results (the thesis: "the first 10 messages").
pub const PAGE_ROWS: u32 = 10;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
    /// A folder. Its number is never reused after deletion.
    FolderId
}
id! {
    /// A message's entry in a folder. It stays the same when the message is refiled, and is never reused.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Its id.
    pub id: FolderId,
    /// Its name, unique for the user regardless of (ASCII) case.
    pub name: String,
    /// True for the inbox, which cannot be deleted.
    pub inbox: bool,
    /// The number of messages in it.
    pub messages: i64,
}

/// A row of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The message's entry.
    pub entry: EntryId,
    /// The message's folder.
    pub folder: FolderId,
    /// Seconds since 1970.
    pub date: i64,
    /// Name or address.
    pub author: String,
    /// Subject; may be empty.
    pub subject: String,
    /// The size of the message as received, bytes.
    pub size: i64,
    /// Number of attachments.
    pub attachments: i64,
}

/// A complete message.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// Its text.
    pub text: String,
    /// Cleaned HTML, if the message has any.
    pub html: Option<String>,
    /// The version of the rules that cleaned it.
    pub html_version: i64,
    /// Why there is no HTML, where the message had some.
    pub html_problem: Option<String>,
    /// The size of the message as received, bytes.
    pub size: i64,
    /// Its attachments.
    pub attachments: Vec<AttachmentName>,
}

/// An attachment without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachmentName {
    /// Its number within the message.
    pub part: i64,
    /// File name, as the sender gave it.
    pub name: String,
    /// Media type, as the sender gave it: shown, never trusted.
    pub kind: String,
    /// Its size, bytes.
    pub size: i64,
}

/// The sort key of a list.
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

/// The direction of a sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Ascending, oldest first.
    Ascending,
    /// Descending, newest first.
    Descending,
}

/// Order of a list. Equal keys are ordered by date, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListOrder {
    /// The sort key.
    pub by: Sort,
    /// The direction.
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
    /// The identity of this message: a hash of its bytes.
    pub digest: [u8; 32],
    /// Seconds since 1970.
    pub date: i64,
    /// Name or address, for lists.
    pub author: String,
    /// Subject.
    pub subject: String,
    /// The `From` line.
    pub sender: String,
    /// The `To` and `Cc` lines.
    pub recipients: String,
    /// All header lines, decoded: shown and searched.
    pub headers: String,
    /// Its text.
    pub text: String,
    /// HTML that is already clean.
    pub html: Option<String>,
    /// Why there is none, where the message had some.
    pub html_problem: Option<String>,
    /// Its attachments.
    pub attachments: Vec<NewAttachment>,
    /// The size of the message as received, bytes.
    pub size: i64,
}

/// An attachment to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAttachment {
    /// File name.
    pub name: String,
    /// Media type.
    pub kind: String,
    /// The content.
    pub content: Vec<u8>,
}
