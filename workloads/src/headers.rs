//! Headers of requests: the names that requests of the lab carry, the single source of each, and further lines of users.

/// The host of the service.
pub const HOST: &str = "Host";
/// What becomes of the connection.
pub const CONNECTION: &str = "Connection";
/// The type of the body.
pub const CONTENT_TYPE: &str = "Content-Type";
/// The length of the body, bytes.
pub const CONTENT_LENGTH: &str = "Content-Length";
pub(crate) const COOKIE: &str = "Cookie";
/// Number of the retry.
pub const ATTEMPT: &str = "X-Attempt";
/// Number of the request in its run.
pub const REQUEST_NUMBER: &str = "X-Request-Number";
/// Key of the draws that belong to the request.
pub const DRAW: &str = "X-Draw";
/// The criticality of the request.
pub const CRITICALITY: &str = "X-Criticality";
/// The number of the user.
pub const USER: &str = "X-User";
/// The paying customer of the request.
pub const CUSTOMER: &str = "X-Customer";
/// The name of the calling service.
pub const CALLER: &str = "X-Caller";
/// Time that is left for a call, milliseconds.
pub const TIMEOUT_MS: &str = "X-Timeout-Ms";

/// A [`Note`](controllers::Note) on a request or a reply: a whole number with a meaning for the policies of both sides alone.
pub const NOTE: &str = "x-note";

/// Names with a meaning of their own in a request: none of them can carry a class.
pub const RESERVED: &[&str] = &[
    HOST,
    CONNECTION,
    CONTENT_TYPE,
    CONTENT_LENGTH,
    COOKIE,
    ATTEMPT,
    REQUEST_NUMBER,
    DRAW,
    CRITICALITY,
    USER,
    CUSTOMER,
    CALLER,
    TIMEOUT_MS,
    NOTE,
    "Accept",
    "Origin",
    "Transfer-Encoding",
    "User-Agent",
];

/// True if the name is one of [`RESERVED`], in any case.
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(name))
}

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
