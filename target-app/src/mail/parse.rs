//! One message's bytes read into what the store keeps and the pages show.
//!
//! The MIME structure is read by `mail-parser`; what is done here is to keep it inside of bounds, to mend what mail of
//! twenty-five years does wrong, and to make names, headers and HTML harmless once, before anything is stored.
//! Parts are found first and decoded after: a decoded part is never searched for further parts, so that the depth of
//! what is parsed is known from the bytes of the message (see `limits`).

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

/// The longest text of a message that is kept, in bytes; the rest is cut and the cut is said.
pub const MAX_TEXT_BYTES: usize = 2 << 20;

/// The most header text that is kept, in bytes: a few times the longest headers that a chain of servers writes.
pub const MAX_HEADER_TEXT: usize = 32 << 10;

/// A message, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedMail {
    /// Who sent it, as `Name <address>`; empty if it does not say. One line, at most 300 characters.
    pub from: String,
    /// Who sent it in a list: the name alone, or the address of who has none. At most 100 characters.
    pub author: String,
    /// Who it was sent to, separated by commas; empty if it does not say. One line, at most 1000 characters.
    pub to: String,
    /// Who got a copy; as `to`.
    pub cc: String,
    /// What it is about; empty if it does not say. One line, at most 500 characters.
    pub subject: String,
    /// When it was sent, in seconds since 1970.
    pub date: i64,
    /// Where that date is from.
    pub date_source: DateSource,
    /// Its identity as its sender gave it, without angle brackets. At most 500 characters.
    pub message_id: Option<String>,
    /// All headers of the message, decoded, a line each as `Name: value`: what a search looks through. At most
    /// [`MAX_HEADER_TEXT`] bytes.
    pub headers: String,
    /// What it says, with line ends as `\n` and without other control characters than tabs.
    pub text: String,
    /// The same as HTML, if it came so, made harmless.
    pub html: Option<CleanHtml>,
    /// Why its HTML is shown as text instead.
    pub html_problem: Option<HtmlError>,
    /// What is attached, in its order.
    pub attachments: Vec<ParsedAttachment>,
    /// Its length as it came, in bytes.
    pub size: u64,
    /// The same for the same bytes: importing twice does not double it.
    pub content_hash: ContentHash,
}

/// SHA-256 of a message's bytes.
pub type ContentHash = [u8; 32];

/// What a date is taken from, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateSource {
    /// The `Date` header.
    Header,
    /// The newest `Received` header: `Date` is missing or cannot be.
    Received,
    /// The mail folder: envelope line or file time.
    Folder,
    /// Nothing says when. The date is 0.
    Nothing,
}

/// Something attached to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedAttachment {
    /// A file name without folders, control characters or marks that turn the writing round. At most 120 characters.
    pub name: String,
    /// `type/subtype` in lower case, as the sender states it: not to be believed.
    pub content_type: String,
    /// Its bytes, decoded.
    pub bytes: Vec<u8>,
}

/// Why bytes are not a message that can be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// There is nothing.
    #[error("empty")]
    Empty,
    /// None of the headers that mail has.
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
    /// The parser gave up on it.
    #[error("the parser cannot read it")]
    Unreadable,
}

impl ParseError {
    /// The reason in a word or three, the same for all messages: for counting.
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

/// Reads a message. `received` is when its folder says that it came, in seconds since 1970; it is used if the message
/// itself has no usable date.
pub fn parse(raw: &[u8], received: Option<i64>) -> Result<ParsedMail, ParseError> {
    limits::check(raw)?;
    // The parser has had panics on broken mail before, and one message must not end an import.
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
        // Read as a type so that the parser does not see an encoding: parts are decoded after, once, by `part`.
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

/// The parts to be read, in order, as text.
fn text_of(message: &Message<'_>, raw: &[u8]) -> String {
    let parts = message.text_body.iter().filter_map(|id| message.part(*id));
    let texts = parts.filter_map(|found| match found.body {
        PartType::Text(_) => Some(part::text(found, raw)),
        PartType::Html(_) => Some(html::to_text(&part::text(found, raw))),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The same as HTML, if any of them is: a list's footer often follows as plain text.
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
