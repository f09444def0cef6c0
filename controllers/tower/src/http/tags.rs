//! Tags in the headers of the lab's services and senders.

use std::time::Duration;

use controllers::{Criticality, Note};
use http::{HeaderMap, Request};

use super::number;
use crate::RequestTags;

/// The tags that the lab's senders put on requests: `X-User`, `X-Customer`, `X-Attempt` (numbers), `X-Criticality`
/// (`SHEDDABLE` to `CRITICAL_PLUS`), `X-Timeout-Ms`
/// (milliseconds that the sender still waits), `X-Note`. What is missing or malformed is not told.
///
/// For services whose callers are trusted: to anybody else a header is a way to be more important than others.
///
/// ```
/// use tower_admission::{AdmissionLayer, trusted_headers};
///
/// let layer = AdmissionLayer::new("dagor").classify(trusted_headers::<String>);
/// ```
#[must_use]
pub fn trusted_headers<B>(request: &Request<B>) -> RequestTags {
    let headers = request.headers();
    let mut of = RequestTags::new();
    of.tags.user = value(headers, "x-user").unwrap_or_default();
    of.tags.customer = value(headers, "x-customer").unwrap_or_default();
    of.tags.attempt = value(headers, "x-attempt").unwrap_or_default();
    let criticality = headers.get("x-criticality").and_then(|name| Criticality::named(name.to_str().ok()?.trim()));
    of.tags.criticality = criticality.unwrap_or_default();
    of.time_left = value(headers, "x-timeout-ms").map(Duration::from_millis);
    of.note = value(headers, "x-note").map(Note);
    of
}

fn value<N: std::str::FromStr>(headers: &HeaderMap, name: &str) -> Option<N> {
    number(headers.get(name)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_tags() {
        let request = Request::builder()
            .header("X-User", "7")
            .header("X-Attempt", "2")
            .header("X-Criticality", " SHEDDABLE")
            .header("X-Timeout-Ms", "250")
            .header("X-Customer", "gold")
            .body(())
            .unwrap();
        let wanted = RequestTags::new()
            .user(7)
            .attempt(2)
            .criticality(Criticality::Sheddable)
            .time_left(Duration::from_millis(250));
        assert_eq!(trusted_headers(&request), wanted);
        assert_eq!(trusted_headers(&Request::new(())), RequestTags::new());
    }
}
