//! Header lines that a user's requests have besides the host's own.

/// The header lines of these names and values, each whole.
///
/// # Errors
/// The line that cannot be sent, and the problem with it.
pub(crate) fn header_lines(given: &[&(String, String)]) -> Result<String, (String, &'static str)> {
    let mut lines = String::new();
    for (name, value) in given {
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if name.is_empty() || !name.bytes().all(token) {
            return Err((format!("the header {name:?}"), "its name has a character that names do not have"));
        }
        if value.bytes().any(|b| (b < b' ' && b != b'\t') || b == 0x7F) {
            return Err((format!("the header {name}"), "its value has a control character"));
        }
        if ["content-length", "transfer-encoding"].iter().any(|framing| name.eq_ignore_ascii_case(framing)) {
            return Err((
                format!("the header {name}"),
                "it follows from the body, and is written for you: leave it out",
            ));
        }
        let once = ["host", "content-type", "connection"].iter().any(|once| name.eq_ignore_ascii_case(once));
        if once && given.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name)).count() > 1 {
            return Err((format!("the header {name}"), "a request has it once: give it once"));
        }
        lines.extend([name, ": ", value, "\r\n"]);
    }
    Ok(lines)
}
