//! Parses the bytes of one message to the values that the store keeps and the pages show.
//!
//! `mail-parser` reads the MIME structure; this module keeps it within bounds, repairs the errors in mail of
//! twenty-five years, and makes names, headers and HTML harmless once, before anything is stored. Parts are found first
//! and decoded after: a decoded part is never searched for further parts, so that the depth of parsing is known from
//! the bytes of the message (see `limits`).

use std::{panic::catch_unwind, sync::LazyLock};

use mail_parser::{HeaderName, Message, MessageParser, PartType};
use sha2::{Digest, Sha256};

use super::{html, store::NewMessage};

mod bounds;
mod date;
mod error;
mod header;
mod limits;
mod name;
mod part;

pub use bounds::{
    MAX_BYTES, MAX_HEADER_BYTES, MAX_HEADER_TEXT, MAX_LINES_WITH_COLON, MAX_MIME_HEADERS, MAX_TEXT_BYTES,
};
pub use date::envelope_date;
pub use error::ParseError;
pub(super) use header::line as one_line;

/// Parses a message. `received`: the time of receipt according to its folder, in seconds since 1970; it is used if the
/// message itself has no usable date.
pub fn parse(raw: &[u8], received: Option<i64>) -> Result<NewMessage, ParseError> {
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

fn read(raw: &[u8], received: Option<i64>) -> Result<NewMessage, ParseError> {
    let mended = header::in_utf8(raw);
    let headers = HEADERS.parse_headers(&*mended).ok_or(ParseError::NotMail)?;
    if !header::is_mail(&headers) {
        return Err(ParseError::NotMail);
    }
    let (to, cc) = (header::addresses(headers.to(), 1000), header::addresses(headers.cc(), 1000));
    let mut mail = NewMessage {
        digest: Sha256::digest(raw).into(),
        date: date::of(&headers, received),
        author: header::author(headers.from()),
        subject: header::line(headers.subject().unwrap_or_default(), 500),
        sender: header::addresses(headers.from(), 300),
        recipients: if cc.is_empty() { to } else { format!("{to}, {cc}") },
        headers: header::all(&headers, &mended),
        size: i64::try_from(raw.len()).unwrap_or(i64::MAX),
        ..NewMessage::default()
    };
    if let Some(message) = STRUCTURE.parse(&*mended) {
        read_bodies(&message, &mended, &mut mail);
    }
    Ok(mail)
}

/// The text is unused while the HTML is shown, but stays for the case that the HTML may not be shown.
fn read_bodies(message: &Message<'_>, raw: &[u8], mail: &mut NewMessage) {
    mail.text = part::bounded_text(&text_of(message, raw));
    match html_of(message, raw).map(|dirty| html::clean(&dirty)) {
        Some(Ok(clean)) => mail.html = Some(clean),
        Some(Err(problem)) => mail.html_problem = Some(problem.to_string()),
        None => {}
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
