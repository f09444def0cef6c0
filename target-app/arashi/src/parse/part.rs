//! The content of one MIME part.

use std::borrow::Cow;

use mail_parser::{
    ContentType, GetHeader, HeaderName, MessageParser, MessagePart, MimeHeaders, PartType,
    decoders::charsets::map::charset_decoder, parsers::MessageStream,
};

use super::{
    bounds::MAX_TEXT_BYTES,
    header::{from_unknown, in_utf8, line},
    limits::header_end,
    name,
};
use crate::store::NewAttachment;

pub(super) fn attachment(part: &MessagePart<'_>, raw: &[u8], number: usize) -> NewAttachment {
    let content = decoded(part, raw).into_owned();
    let stated = part.content_type();
    let mut kind = stated
        .map_or_else(|| name::content_type("", None), |stated| name::content_type(stated.ctype(), stated.subtype()));
    let mut name = part.attachment_name().and_then(name::file_name);
    if matches!(part.body, PartType::Message(_)) {
        // Parts of a digest are messages without a type of their own.
        kind = "message/rfc822".to_owned();
        name = name.or_else(|| name::file_name(&format!("{}.eml", subject_of(&content)?)));
    }
    NewAttachment { name: name.unwrap_or_else(|| name::unnamed(number, &kind)), kind, content }
}

fn subject_of(message: &[u8]) -> Option<String> {
    let headers = in_utf8(&message[..header_end(message).min(64 << 10)]).into_owned();
    let parser = MessageParser::new().default_header_ignore().header_text(HeaderName::Subject);
    let subject = line(parser.parse_headers(&headers)?.subject()?, 80);
    (!subject.is_empty()).then_some(subject)
}

/// The text of a text part.
pub(super) fn text(part: &MessagePart<'_>, raw: &[u8]) -> String {
    let bytes = decoded(part, raw);
    let charset = part.content_type().and_then(|stated| stated.attribute("charset")).unwrap_or("us-ascii");
    // Text declared as ASCII that is not ASCII is in the encoding of its writer's machine.
    let decode =
        Some(charset).filter(|c| !c.eq_ignore_ascii_case("us-ascii")).and_then(|c| charset_decoder(c.as_bytes()));
    match decode {
        Some(decode) => decode(&bytes),
        None => from_unknown(&bytes).into_owned(),
    }
}

/// The bytes of a part without their transfer encoding.
fn decoded<'a>(part: &MessagePart<'_>, raw: &'a [u8]) -> Cow<'a, [u8]> {
    let (start, end) = (part.raw_body_offset() as usize, part.raw_end_offset() as usize);
    let body = raw.get(start..end.min(raw.len())).unwrap_or_default();
    let encoding = part.headers.header_value(&HeaderName::ContentTransferEncoding);
    let encoding = encoding.and_then(|stated| stated.as_content_type()).map_or("", ContentType::ctype);
    if encoding.eq_ignore_ascii_case("base64") {
        return base64(body, part.is_text());
    }
    if encoding.eq_ignore_ascii_case("quoted-printable") {
        return MessageStream::new(body).decode_quoted_printable_mime(b"").1;
    }
    body.into()
}

/// Decodes the base64 lines. Mailing lists append plain footers to encoded text: in text they are kept.
fn base64(body: &[u8], is_text: bool) -> Cow<'_, [u8]> {
    let is_encoded = |line: &[u8]| line.iter().all(|b| b.is_ascii_alphanumeric() || b"+/= \t\r\n".contains(b));
    let encoded = body.split_inclusive(|b| *b == b'\n').take_while(|line| is_encoded(line)).map(<[u8]>::len).sum();
    let (encoded, rest) = body.split_at(encoded);
    let Some(mut bytes) = mail_parser::decoders::base64::base64_decode(encoded) else {
        return body.into();
    };
    if is_text {
        bytes.extend_from_slice(rest);
    }
    bytes.into()
}

/// Text with line ends as `\n`, without control characters but tabs, and of at most [`MAX_TEXT_BYTES`].
pub(super) fn bounded_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(MAX_TEXT_BYTES));
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let c = match c {
            '\r' if chars.peek() == Some(&'\n') => continue,
            '\r' => '\n',
            c => c,
        };
        if c.is_control() && c != '\n' && c != '\t' {
            continue;
        }
        if out.len() + c.len_utf8() > MAX_TEXT_BYTES {
            out.push_str("\n[The rest of this message is not shown: it is too long.]");
            break;
        }
        out.push(c);
    }
    out
}
