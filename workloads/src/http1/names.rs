//! Names of the headers that requests of the lab carry, the single source of each.

/// The header names of a request's text.
pub(super) const HOST: &str = "Host";
pub(super) const CONNECTION: &str = "Connection";
pub(super) const CONTENT_TYPE: &str = "Content-Type";
pub(super) const CONTENT_LENGTH: &str = "Content-Length";
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
