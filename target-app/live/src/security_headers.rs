//! The security headers of every answer, of pages, refusals and the edge itself.

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// No script runs, nothing is loaded from elsewhere, no page frames it. `same-origin` and not `no-referrer`: with the
/// latter a browser would send forms with an `Origin` of "null", which identifies nothing; and keys in links must not
/// leave the site in a `Referer`.
pub(crate) const HEADERS: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
];

/// The rule for a page whose style is in it: that, and nothing else.
pub const STYLED: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);
/// The rule for a page of whoever runs a proxy: it loads what it likes, and no page frames it.
pub const OF_A_FILE: HeaderValue = HeaderValue::from_static("frame-ancestors 'none'");

/// Adds the security headers.
pub fn add_to(headers: &mut HeaderMap) {
    headers.extend(HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
}

/// The security headers as lines of a head that is written by hand.
pub(crate) fn lines() -> String {
    HEADERS.map(|(name, value)| format!("{name}: {value}\r\n")).concat()
}
