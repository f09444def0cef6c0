//! Parses the bytes of one message to the values that the store keeps and the pages show.
//!
//! `mail-parser` reads the MIME structure; this module keeps it within bounds, repairs the errors in mail of
//! twenty-five years, and makes names, headers and HTML harmless once, before anything is stored. Parts are found first
//! and decoded after: a decoded part is never searched for further parts, so that the depth of parsing is known from
//! the bytes of the message (see `limits`).

use std::{panic::catch_unwind, sync::LazyLock};

use mail_parser::{HeaderName, Message, MessageParser, PartType};
use sha2::{Digest, Sha256};

use super::html::{self, CleanHtml, HtmlError};

mod date;
mod header;
mod limits;
mod name;
mod part;

pub use date::envelope_date;
pub(super) use header::line as one_line;
pub use limits::{MAX_BYTES, MAX_HEADER_BYTES, MAX_LINES_WITH_COLON, MAX_MIME_HEADERS};

/// The longest text of a message that is kept, in bytes; the rest is cut, and a note says so.
pub const MAX_TEXT_BYTES: usize = 2 << 20;

/// The longest header text that is kept, in bytes: a few times the longest headers that a chain of servers writes.
pub const MAX_HEADER_TEXT: usize = 32 << 10;

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
    /// [`MAX_HEADER_TEXT`] bytes.
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

/// Why bytes are not a message that can be stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// There are no bytes.
    #[error("empty")]
    Empty,
    /// There is none of the headers that mail has.
    #[error("not mail: no From, To, Subject, Date, Message-ID or Received header")]
    NotMail,
    /// Longer than [`MAX_BYTES`].
    #[error("{bytes} bytes long (at most {MAX_BYTES})")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// Its headers are longer than [`MAX_HEADER_BYTES`].
    #[error("headers longer than {MAX_HEADER_BYTES} bytes")]
    HeadersTooLong,
    /// More than [`MAX_MIME_HEADERS`] parts inside of parts.
    #[error("more than {MAX_MIME_HEADERS} MIME parts")]
    TooManyParts,
    /// More than [`MAX_LINES_WITH_COLON`] lines that could be headers.
    #[error("more than {MAX_LINES_WITH_COLON} lines that could be headers")]
    TooManyHeaders,
    /// The parser failed.
    #[error("the parser cannot read it")]
    Unreadable,
}

impl ParseError {
    /// The reason in one to three words, the same for all messages: for counting.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::NotMail => "not mail",
            Self::TooLong { .. } => "too long",
            Self::HeadersTooLong => "headers too long",
            Self::TooManyParts => "too many parts",
            Self::TooManyHeaders => "too many headers",
            Self::Unreadable => "unreadable",
        }
    }
}

/// Parses a message. `received`: the time of receipt according to its folder, in seconds since 1970; it is used if the
/// message itself has no usable date.
pub fn parse(raw: &[u8], received: Option<i64>) -> Result<ParsedMail, ParseError> {
    limits::check(raw)?;
    // The parser has panicked on broken mail before, and one message must not end an import.
    catch_unwind(|| read(raw, received)).unwrap_or(Err(ParseError::Unreadable))
}

/// For the headers of the message itself.
static HEADERS: LazyLock<MessageParser> = LazyLock::new(|| {
    MessageParser::new()
        .default_header_ignore()
        .header_address(HeaderName::From)
        .header_address(HeaderName::To)
        .header_address(HeaderName::Cc)
        .header_text(HeaderName::Subject)
        .header_raw(HeaderName::Date)
        .header_raw(HeaderName::Received)
        .header_id(HeaderName::MessageId)
});

/// For the structure only.
static STRUCTURE: LazyLock<MessageParser> = LazyLock::new(|| {
    MessageParser::new()
        .default_header_ignore()
        .with_mime_headers()
        // Parsed as a type so that the parser does not see an encoding: parts are decoded later, once, by `part`.
        .header_content_type(HeaderName::ContentTransferEncoding)
});

fn read(raw: &[u8], received: Option<i64>) -> Result<ParsedMail, ParseError> {
    let mended = header::in_utf8(raw);
    let headers = HEADERS.parse_headers(&*mended).ok_or(ParseError::NotMail)?;
    if !header::is_mail(&headers) {
        return Err(ParseError::NotMail);
    }
    let (date, date_source) = date::of(&headers, received);
    let mut mail = ParsedMail {
        from: header::addresses(headers.from(), 300),
        author: header::author(headers.from()),
        to: header::addresses(headers.to(), 1000),
        cc: header::addresses(headers.cc(), 1000),
        subject: header::line(headers.subject().unwrap_or_default(), 500),
        date,
        date_source,
        message_id: headers.message_id().map(|id| header::line(id, 500)).filter(|id| !id.is_empty()),
        headers: header::all(&headers, &mended),
        text: String::new(),
        html: None,
        html_problem: None,
        attachments: Vec::new(),
        size: raw.len() as u64,
        content_hash: Sha256::digest(raw).into(),
    };
    if let Some(message) = STRUCTURE.parse(&*mended) {
        read_bodies(&message, &mended, &mut mail);
    }
    Ok(mail)
}

fn read_bodies(message: &Message<'_>, raw: &[u8], mail: &mut ParsedMail) {
    mail.text = part::bounded_text(&text_of(message, raw));
    if let Some(dirty) = html_of(message, raw) {
        match html::clean(&dirty) {
            Ok(clean) => mail.html = Some(clean),
            Err(problem) => mail.html_problem = Some(problem),
        }
    }
    let attached = message.attachments.iter().filter_map(|id| message.part(*id));
    mail.attachments = attached.enumerate().map(|(i, found)| part::attachment(found, raw, i + 1)).collect();
}

/// The readable parts, in order, as text.
fn text_of(message: &Message<'_>, raw: &[u8]) -> String {
    let parts = message.text_body.iter().filter_map(|id| message.part(*id));
    let texts = parts.filter_map(|found| match found.body {
        PartType::Text(_) => Some(part::text(found, raw)),
        PartType::Html(_) => Some(html::to_text(&part::text(found, raw))),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The readable parts as HTML, if any of them is HTML: a list's footer often follows as plain text.
fn html_of(message: &Message<'_>, raw: &[u8]) -> Option<String> {
    let mut has_html = false;
    let mut all = String::new();
    for found in message.html_body.iter().filter_map(|id| message.part(*id)) {
        match found.body {
            PartType::Html(_) => {
                has_html = true;
                all.push_str(&part::text(found, raw));
            }
            PartType::Text(_) => {
                all.push_str("<div>");
                all.push_str(&html::from_text(&part::text(found, raw)).replace('\n', "<br>"));
                all.push_str("</div>");
            }
            _ => {}
        }
    }
    has_html.then_some(all)
}

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;
