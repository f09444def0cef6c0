//! What is wrong with a head that the parser let through.

use http::{Method, StatusCode, Version, header, request::Parts};

use crate::{authority::Host, spec::EdgeSpec};

/// Longest path and query. hyper's own limit is 64 KiB.
const URI_BYTES: usize = 8 * 1024;

/// How such a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) status: StatusCode,
    /// The answer is to say which methods there are.
    pub(super) allow: bool,
}

impl From<StatusCode> for Fault {
    fn from(status: StatusCode) -> Self {
        Self { status, allow: false }
    }
}

/// The first thing that is wrong, if anything is. `ambiguous`: the framing leaves a doubt.
pub(super) fn fault(head: &Parts, ambiguous: bool, limits: &EdgeSpec) -> Option<Fault> {
    if ambiguous || !is_target(head) {
        return Some(StatusCode::BAD_REQUEST.into());
    }
    // Gateways take an underscore for a hyphen: a header could mean one thing to them and another here.
    if head.headers.keys().any(|name| name.as_str().contains('_')) {
        return Some(StatusCode::BAD_REQUEST.into());
    }
    let host = match host(head) {
        Ok(host) => host,
        Err(status) => return Some(status.into()),
    };
    // This is no proxy: whose tunnel it would be does not matter.
    if head.method == Method::CONNECT {
        return Some(Fault { status: StatusCode::METHOD_NOT_ALLOWED, allow: true });
    }
    let authority = match head.uri.authority().map(|authority| Host::of(authority.as_str())) {
        Some(None) => return Some(StatusCode::BAD_REQUEST.into()),
        Some(authority) => authority,
        None => None,
    };
    if !host.into_iter().chain(authority).all(|host| is_ours(host, limits)) {
        return Some(StatusCode::MISDIRECTED_REQUEST.into());
    }
    if head.headers.len() > usize::try_from(limits.headers).unwrap_or(usize::MAX) {
        return Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE.into());
    }
    let path = head.uri.path_and_query().map_or(0, |path| path.as_str().len());
    (path > URI_BYTES).then_some(StatusCode::URI_TOO_LONG.into())
}

/// The target has a form that its method may have, and no byte that must be percent-encoded.
fn is_target(head: &Parts) -> bool {
    let path = head.uri.path_and_query().map_or("", http::uri::PathAndQuery::as_str);
    path.is_ascii() && (path != "*" || head.method == Method::OPTIONS)
}

/// The one host that is named; nobody has to name one before HTTP/1.1.
fn host(head: &Parts) -> Result<Option<Host<'_>>, StatusCode> {
    let mut hosts = head.headers.get_all(header::HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => Some(host),
        (None, _) if head.version < Version::HTTP_11 => None,
        _ => return Err(StatusCode::BAD_REQUEST),
    };
    let Some(host) = host else { return Ok(None) };
    let read = std::str::from_utf8(host.as_bytes()).ok().and_then(Host::of);
    read.map(Some).ok_or(StatusCode::BAD_REQUEST)
}

/// Whether a host is this service: by an address, which nobody can lead elsewhere, as `localhost`, or by a name that it was
/// given.
fn is_ours(host: Host<'_>, limits: &EdgeSpec) -> bool {
    match host {
        Host::Address(_) => true,
        Host::Name(name) => host.is_loopback() || limits.hosts.iter().any(|known| known.eq_ignore_ascii_case(name)),
    }
}
