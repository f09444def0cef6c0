//! Where an answer sends the user on: redirects, `Refresh` headers, meta refresh.

use std::time::Duration;

use memchr::memmem;

use super::home::{Home, Lies};
use crate::{
    persona::{Answer, Call, Connection, Method},
    plan::{Behaviour, Users},
};

/// Bytes at the beginning of a page in which a meta refresh is looked for.
const LOOKED_AT: usize = 2048;

/// Where an answer sends the user.
#[derive(Debug, Clone, PartialEq)]
pub enum Onward {
    /// Nowhere: this is the answer.
    Here,
    /// There, after this long.
    To(Box<Call>, Duration),
    /// To another host, port or scheme, where users do not go.
    Elsewhere,
    /// Nowhere that the user could go: too many hops, or a redirect without a place.
    Astray,
}

impl Users {
    /// How many bytes of an answer's body they look at. Users of the web mail read pages, and follow links on them; those of a
    /// URL look for a refresh at its beginning, if at anything.
    pub(crate) fn bytes_read(&self) -> usize {
        match self {
            Self::Mail(_) => usize::MAX,
            Self::Url(users) if users.behaviour.refresh => LOOKED_AT,
            Self::Url(_) => 0,
        }
    }
}

/// Where this answer to `call` sends the user.
///
/// Redirects by RFC 9110, section 15.4: 303 turns every method into GET; 301 and 302 turn POST into GET, as every browser
/// does; 307 and 308 keep method and body. A place may be written with the service's own scheme, host and port; users go
/// to no other, since a load generator must not be led to third parties. `Refresh` (the header, or the meta element in the
/// first 2 KiB) is followed on 2xx answers only: on a 503 the reject counts.
#[must_use]
pub fn onward(answer: &Answer<'_>, call: &Call, home: &Home, behaviour: &Behaviour) -> Onward {
    let (place, wait, method) = match answer.status {
        301 | 302 => (answer.header("location"), Duration::ZERO, Method::Get),
        303 => (answer.header("location"), Duration::ZERO, Method::Get),
        307 | 308 => (answer.header("location"), Duration::ZERO, call.method),
        200..=299 if behaviour.refresh => match refresh(answer) {
            Some((wait, place)) => (Some(place.unwrap_or(&call.path)), wait, Method::Get),
            None => return Onward::Here,
        },
        _ => return Onward::Here,
    };
    let path = match place.map(|place| home.find(place, &call.path)) {
        Some(Lies::Here(path)) => path,
        Some(Lies::Elsewhere) => return Onward::Elsewhere,
        Some(Lies::Nowhere) | None => return Onward::Astray,
    };
    if u32::from(call.hop) >= behaviour.redirects || call.hop == u8::MAX {
        return Onward::Astray;
    }
    let connection = if call.connection == Connection::Fresh { Connection::Keep } else { call.connection };
    let body = if method == Method::Post { call.body.clone() } else { None };
    Onward::To(Box::new(Call { method, path, body, connection, ..call.clone() }), wait)
}

/// The wait and the place that a `Refresh` header or a meta element names; a `Refresh` without a place reloads.
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
