//! Redirects, `Refresh` headers and meta refresh: where an answer sends the user.

use std::time::Duration;

use controllers::RetryHint;
use memchr::memmem;

use super::{
    advice::{forbids_retry, retry_hint},
    home::{Home, LinkPlace},
};
use crate::{
    persona::{Answer, Call, Connection, Method},
    plan::{Behaviour, MOST_BODY, Users},
};

/// The part of a page, in bytes from its beginning, that is searched for a meta refresh.
const LOOKED_AT: usize = 2048;

/// The destination that an answer sends the user to.
#[derive(Debug, Clone, PartialEq)]
pub enum Onward {
    /// No redirect: this is the answer.
    Here,
    /// To this request, after this time.
    To(Box<Call>, Duration),
    /// To another host, port or scheme, where users do not go.
    Elsewhere,
    /// Nowhere that the user could go: too many hops, or a redirect without a location.
    Astray,
}

impl Users {
    /// The number of bytes of an answer's body that users read. Users of the web mail read pages, and follow links on
    /// them; users of a test plan or a URL read [`MOST_BODY`] where they look for something; all others read at most the
    /// beginning, for a refresh.
    #[must_use]
    pub fn bytes_read(&self) -> usize {
        match self {
            Self::Mail(_) => usize::MAX,
            Self::Script(users) if users.plan.reads_bodies() => MOST_BODY,
            Self::Url(users) if users.check.reads_bodies() => MOST_BODY,
            Self::Url(_) | Self::Script(_) if self.behaviour().refresh => LOOKED_AT,
            Self::Url(_) | Self::Script(_) => 0,
        }
    }
}

/// The destination of this answer to `call`.
///
/// Redirects by RFC 9110, section 15.4: 303 turns every method but HEAD into GET; 301 and 302 turn POST into GET, as every
/// browser does; 307 and 308 keep method and body. A location may have the service's own scheme, host and port; users
/// follow no other, since a load generator must not be led to third parties. `Refresh` (the header, or the meta element
/// in the first 2 KiB) is followed on 2xx answers only: a 503 counts as a reject.
#[must_use]
pub fn onward(answer: &Answer<'_>, call: &Call, home: &Home, behaviour: &Behaviour) -> Onward {
    let reads = if call.method == Method::Head { Method::Head } else { Method::Get };
    let (place, wait, method) = match answer.status {
        301..=303 => (answer.header("location"), Duration::ZERO, reads),
        307 | 308 => (answer.header("location"), Duration::ZERO, call.method),
        200..=299 if behaviour.refresh => match refresh(answer) {
            Some((wait, place)) => (Some(place.unwrap_or(&call.path)), wait, Method::Get),
            None => return Onward::Here,
        },
        _ => return Onward::Here,
    };
    go(place, wait, method, call, home, behaviour)
}

/// As [`onward`], for users who take a place in a queue (WebQ, section II-B): a 503 with a `Refresh`, and a 202 or 503
/// with a `Retry-After` in seconds, are waits too; after a `Retry-After` the same request follows. A refusal of a policy
/// (`X-Refused`) gives no place in a queue, nor does `X-Retry: never`.
#[must_use]
pub(crate) fn onward_in_queue(answer: &Answer<'_>, call: &Call, home: &Home, behaviour: &Behaviour) -> Onward {
    let queues = behaviour.refresh
        && matches!(answer.status, 202 | 503)
        && answer.header("x-refused").is_none()
        && !forbids_retry(answer);
    if queues && let Some((wait, place)) = refresh(answer) {
        return go(Some(place.unwrap_or(&call.path)), wait, Method::Get, call, home, behaviour);
    }
    if queues && let RetryHint::After(wait) = retry_hint(answer, behaviour) {
        let wait = wait.min(behaviour.retry_after_at_most.unwrap_or(wait));
        return go(Some(&call.path), wait, call.method, call, home, behaviour);
    }
    onward(answer, call, home, behaviour)
}

fn go(place: Option<&str>, wait: Duration, method: Method, call: &Call, home: &Home, behaviour: &Behaviour) -> Onward {
    let path = match place.map(|place| home.find(place, &call.path)) {
        Some(LinkPlace::Here(path)) => path,
        Some(LinkPlace::Elsewhere) => return Onward::Elsewhere,
        Some(LinkPlace::Nowhere) | None => return Onward::Astray,
    };
    if u32::from(call.hop) >= behaviour.redirects || call.hop == u8::MAX {
        return Onward::Astray;
    }
    let connection = if call.connection == Connection::Fresh { Connection::Keep } else { call.connection };
    let body = if matches!(method, Method::Get | Method::Head) { None } else { call.body.clone() };
    Onward::To(Box::new(Call { method, path, body, connection, ..call.clone() }), wait)
}

/// The wait and the location of a `Refresh` header or a meta element; a `Refresh` without a location reloads.
fn refresh<'a>(answer: &Answer<'a>) -> Option<(Duration, Option<&'a str>)> {
    if let Some(value) = answer.header("refresh") {
        return parse_refresh(value);
    }
    let head = &answer.body[..answer.body.len().min(LOOKED_AT)];
    let at = memmem::find(head, b"<meta http-equiv=\"refresh\" content=\"")?;
    let value = &head[at + 36..];
    let end = memchr::memchr(b'"', value)?;
    parse_refresh(std::str::from_utf8(&value[..end]).ok()?)
}

/// `5`, `5; url=/x`, `0;URL='/x'` (HTML, "shared declarative refresh steps", without its odder leniencies).
fn parse_refresh(value: &str) -> Option<(Duration, Option<&str>)> {
    let (seconds, rest) = match value.split_once([';', ',']) {
        Some((seconds, rest)) => (seconds, Some(rest)),
        None => (value, None),
    };
    let wait = Duration::try_from_secs_f64(seconds.trim().parse().ok()?).ok()?;
    let place = rest.map(str::trim).and_then(|rest| {
        let after = rest.get(..4).filter(|word| word.eq_ignore_ascii_case("url=")).map(|_| &rest[4..])?;
        Some(after.trim_matches(['\'', '"']))
    });
    Some((wait, place.filter(|place| !place.is_empty())))
}
