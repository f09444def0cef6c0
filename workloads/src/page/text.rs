//! Decodes attribute values, and encodes form values.

use memchr::memmem;

/// The value of the first attribute that begins with these bytes (up to and including its opening quote), undecoded.
#[must_use]
pub fn attribute<'a>(body: &'a [u8], begins: &[u8]) -> Option<&'a [u8]> {
    let from = memmem::find(body, begins)? + begins.len();
    let end = memchr::memchr(b'"', &body[from..])?;
    Some(&body[from..from + end])
}

/// The text of an attribute value: character references by number, and the five that escapers write by name. `None` if
/// it is not UTF-8.
#[must_use]
pub fn unescape(value: &[u8]) -> Option<String> {
    let value = std::str::from_utf8(value).ok()?;
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find('&') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let reference = rest.find(';').and_then(|end| Some((character(&rest[1..end])?, end + 1)));
        let (c, length) = reference.unwrap_or(('&', 1));
        text.push(c);
        rest = &rest[length..];
    }
    text.push_str(rest);
    Some(text)
}

fn character(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "lt" => Some('<'),
        "gt" => Some('>'),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

/// Appends `name=value` to a form body or query, percent-encoded as forms are (WHATWG URL, section 5.2).
pub(crate) fn push_encoded(into: &mut String, name: &str, value: &str) {
    if !into.is_empty() && !into.ends_with('?') {
        into.push('&');
    }
    encode(into, name);
    into.push('=');
    encode(into, value);
}

fn encode(into: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => into.push(char::from(byte)),
            b' ' => into.push('+'),
            _ => {
                into.push('%');
                into.push(char::from(HEX[usize::from(byte >> 4)]));
                into.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
    }
}

/// The path that an attribute value, which begins here, names, if it is a path on this host.
pub(super) fn place(value: &[u8]) -> Option<String> {
    let end = memchr::memchr(b'"', value)?;
    let place = unescape(&value[..end])?;
    let goes = place.starts_with('/') && !place.starts_with("//") && place.bytes().all(|b| b > b' ' && b != 0x7F);
    goes.then_some(place)
}
