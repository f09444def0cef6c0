//! Headers as bounded lines of printable text.

use std::borrow::Cow;

use mail_parser::{Address, HeaderName, Message, decoders::charsets::map::charset_decoder, parsers::MessageStream};

use super::{bounds::MAX_HEADER_TEXT, limits::header_end};

/// The message with headers in valid UTF-8. Programs without support for encoded words write their machine's encoding;
/// in the West that was Latin-1 or Windows' superset of it. The body stays unchanged.
pub(super) fn in_utf8(raw: &[u8]) -> Cow<'_, [u8]> {
    let (headers, body) = raw.split_at(header_end(raw));
    if std::str::from_utf8(headers).is_ok() {
        return raw.into();
    }
    let mut mended = Vec::with_capacity(raw.len() + 64);
    for line in headers.split_inclusive(|b| *b == b'\n') {
        mended.extend_from_slice(from_unknown(line).as_bytes());
    }
    mended.extend_from_slice(body);
    mended.into()
}

/// Text in an unknown encoding: UTF-8 if it is valid, else Windows-1252, in which every byte has a meaning.
pub(super) fn from_unknown(bytes: &[u8]) -> Cow<'_, str> {
    match (std::str::from_utf8(bytes), charset_decoder(b"windows-1252")) {
        (Ok(text), _) => text.into(),
        (Err(_), Some(decode)) => decode(bytes).into(),
        (Err(_), None) => String::from_utf8_lossy(bytes),
    }
}

/// True if there is any header that mail has.
pub(super) fn is_mail(headers: &Message<'_>) -> bool {
    use HeaderName::{Date, From, MessageId, Received, Subject, To};
    headers.headers().iter().any(|h| matches!(h.name, From | To | Subject | Date | MessageId | Received))
}

/// People and their addresses, separated by commas.
pub(super) fn addresses(list: Option<&Address<'_>>, max_chars: usize) -> String {
    let people = list.into_iter().flat_map(Address::iter).map(|who| match (&who.name, &who.address) {
        (Some(name), Some(address)) => format!("{name} <{address}>"),
        (Some(one), None) | (None, Some(one)) => one.to_string(),
        (None, None) => String::new(),
    });
    // Each takes a character at least, so that more than this cannot be shown.
    let people: Vec<String> = people.filter(|who| !who.is_empty()).take(max_chars).collect();
    line(&people.join(", "), max_chars)
}

/// The first sender's name, or the address.
pub(super) fn author(list: Option<&Address<'_>>) -> String {
    let who = list.and_then(Address::first);
    let shown =
        who.and_then(|who| who.name.as_deref().filter(|name| !name.trim().is_empty()).or(who.address.as_deref()));
    line(shown.unwrap_or_default(), 100)
}

/// Every header as a decoded line.
pub(super) fn all(headers: &Message<'_>, raw: &[u8]) -> String {
    let mut out = String::new();
    for header in headers.headers() {
        let value = raw.get(header.offset_start() as usize..header.offset_end() as usize).unwrap_or_default();
        let value = MessageStream::new(value).parse_unstructured();
        let text = format!("{}: {}\n", line(header.name(), 80), line(value.as_text().unwrap_or_default(), 4000));
        if out.len() + text.len() > MAX_HEADER_TEXT {
            break;
        }
        out.push_str(&text);
    }
    out
}

/// One line: white space and control characters become single spaces, marks that reverse the direction of writing are
/// removed (they make a name look like another), and too long a text is cut.
pub(crate) fn line(text: &str, max_chars: usize) -> String {
    let mut out = String::new();
    let mut chars = 0;
    let mut gap = false;
    for c in text.chars().filter(|c| !turns_writing(*c)) {
        if c.is_whitespace() || c.is_control() {
            gap = chars > 0;
            continue;
        }
        if chars + usize::from(gap) + 1 >= max_chars {
            out.push('…');
            break;
        }
        if std::mem::take(&mut gap) {
            out.push(' ');
            chars += 1;
        }
        out.push(c);
        chars += 1;
    }
    out
}

/// True for bidirectional embeddings, overrides, isolates and marks.
pub(super) fn turns_writing(c: char) -> bool {
    matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}
