//! A message as the store keeps it.

use crate::mail::html::{CleanHtml, HtmlError};

/// A parsed message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedMail {
    /// The sender, as `Name <address>`; empty if there is none. One line, at most 300 characters.
    pub from: String,
    /// The sender in a list: the name alone, or the address of a sender without a name. At most 100 characters.
    pub author: String,
    /// The recipients, separated by commas; empty if there are none. One line, at most 1000 characters.
    pub to: String,
    /// The recipients of copies, in the form of `to`.
    pub cc: String,
    /// The subject; empty if there is none. One line, at most 500 characters.
    pub subject: String,
    /// The date of sending, in seconds since 1970.
    pub date: i64,
    /// The source of that date.
    pub date_source: DateSource,
    /// Its identity as given by its sender, without angle brackets. At most 500 characters.
    pub message_id: Option<String>,
    /// All headers of the message, decoded, a line each as `Name: value`: the text of searches. At most
    /// [`MAX_HEADER_TEXT`](super::MAX_HEADER_TEXT) bytes.
    pub headers: String,
    /// The text, with line ends as `\n` and without control characters other than tabs.
    pub text: String,
    /// The HTML of the message, if it has any, made harmless.
    pub html: Option<CleanHtml>,
    /// Why its HTML is shown as text instead.
    pub html_problem: Option<HtmlError>,
    /// The attachments, in order.
    pub attachments: Vec<ParsedAttachment>,
    /// Its length as received, in bytes.
    pub size: u64,
    /// A hash of its bytes: importing twice does not double it.
    pub content_hash: ContentHash,
}

/// SHA-256 of a message's bytes.
pub type ContentHash = [u8; 32];

/// The source of a date, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateSource {
    /// The `Date` header.
    Header,
    /// The newest `Received` header: `Date` is missing or impossible.
    Received,
    /// The mail folder: envelope line or file time.
    Folder,
    /// There is no source. The date is 0.
    Nothing,
}

/// An attachment of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedAttachment {
    /// A file name without folders, control characters or marks that reverse the direction of writing. At most 120
    /// characters.
    pub name: String,
    /// `type/subtype` in lower case, as stated by the sender: not to be trusted.
    pub content_type: String,
    /// Its bytes, decoded.
    pub bytes: Vec<u8>,
}
