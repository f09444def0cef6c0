//! Checks of a head that the parser accepted.

use http::{HeaderMap, Method, StatusCode, Version, header, request::Parts, uri::Scheme};
use spec::EdgeSpec;

use crate::authority::Host;

/// The longest path and query, bytes. hyper's own limit is 64 KiB.
const URI_BYTES: usize = 8 * 1024;

/// The answer to an unacceptable request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadFault {
    /// The status of the answer.
    pub status: StatusCode,
    /// True if the answer must list the methods.
    pub(crate) allow: bool,
}

impl From<StatusCode> for HeadFault {
    fn from(status: StatusCode) -> Self {
        Self { status, allow: false }
    }
}

/// The first fault, if there is one. `ambiguous`: the framing is ambiguous.
pub(super) fn fault(head: &Parts, ambiguous: bool, limits: &EdgeSpec) -> Option<HeadFault> {
    let (host, authority) = match well_formed(head, ambiguous, false) {
        Ok(hosts) => hosts,
        Err(fault) => return Some(fault),
    };
    if !host.into_iter().chain(authority).all(|host| is_ours(host, limits)) {
        return Some(StatusCode::MISDIRECTED_REQUEST.into());
    }
    over(head, limits)
}

/// The first fault of a request that is passed on, whose host is the service's own affair.
pub fn fault_of_proxied(head: &Parts, ambiguous: bool, limits: &EdgeSpec, underscores: bool) -> Option<HeadFault> {
    let fault = well_formed(head, ambiguous, underscores).err();
    // What TRACE would show of a request includes what this proxy adds to it.
    let trace =
        (head.method == Method::TRACE).then_some(HeadFault { status: StatusCode::METHOD_NOT_ALLOWED, allow: true });
    fault.or(trace).or_else(|| over(head, limits))
}

/// The host, and that of the target where it has one.
type Hosts<'a> = (Option<Host<'a>>, Option<Host<'a>>);

/// Checks framing, target, names and hosts; `underscores`: names may have them.
fn well_formed(head: &Parts, ambiguous: bool, underscores: bool) -> Result<Hosts<'_>, HeadFault> {
    if ambiguous || !is_target(head) || !has_one_length(&head.headers) {
        return Err(StatusCode::BAD_REQUEST.into());
    }
    // Gateways replace underscores by hyphens: a header could mean one thing to them and another here.
    if !underscores && head.headers.keys().any(|name| name.as_str().contains('_')) {
        return Err(StatusCode::BAD_REQUEST.into());
    }
    let host = host(head)?;
    // No tunnels to anywhere, whatever the target.
    if head.method == Method::CONNECT {
        return Err(HeadFault { status: StatusCode::METHOD_NOT_ALLOWED, allow: true });
    }
    match head.uri.authority().map(|authority| Host::of(authority.as_str())) {
        Some(None) => Err(StatusCode::BAD_REQUEST.into()),
        // HTTP/1.1 lets the target count (RFC 9112, section 3.2.2), HTTP/2 neither (RFC 9113, section 8.3.1).
        Some(Some(authority)) if head.version == Version::HTTP_2 && host.is_some_and(|host| !host.is(authority)) => {
            Err(StatusCode::BAD_REQUEST.into())
        }
        Some(authority) => Ok((host, authority)),
        None => Ok((host, None)),
    }
}

/// The fault of a request over a limit.
fn over(head: &Parts, limits: &EdgeSpec) -> Option<HeadFault> {
    if head.headers.len() > usize::try_from(limits.headers).unwrap_or(usize::MAX) {
        return Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE.into());
    }
    let path = head.uri.path_and_query().map_or(0, |path| path.as_str().len());
    (path > URI_BYTES).then_some(StatusCode::URI_TOO_LONG.into())
}

/// True if the target has a form that its method allows (RFC 9112, section 3.2), a scheme of HTTP if it has one, and no byte that must
/// be percent-encoded.
fn is_target(head: &Parts) -> bool {
    let path = head.uri.path_and_query().map_or("", http::uri::PathAndQuery::as_str);
    let is_authority = head.uri.scheme().is_none() && head.uri.authority().is_some();
    path.is_ascii()
        && (path != "*" || head.method == Method::OPTIONS)
        && (!is_authority || head.method == Method::CONNECT)
        && head.uri.scheme().is_none_or(|scheme| [Scheme::HTTP, Scheme::HTTPS].contains(scheme))
}

/// True if the length of the body is said once and in digits (RFC 9110, section 8.6), or not at all. HTTP/2 lets lines pass that
/// say the same number twice.
fn has_one_length(headers: &HeaderMap) -> bool {
    let mut lengths = headers.get_all(header::CONTENT_LENGTH).iter();
    match (lengths.next(), lengths.next()) {
        (None, _) => true,
        (Some(length), None) => !length.is_empty() && length.as_bytes().iter().all(u8::is_ascii_digit),
        (Some(_), Some(_)) => false,
    }
}

/// The only host; `None` before HTTP/1.1 if there is none.
fn host(head: &Parts) -> Result<Option<Host<'_>>, StatusCode> {
    let mut hosts = head.headers.get_all(header::HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => Some(host),
        (None, _) if head.version < Version::HTTP_11 => None,
        // HTTP/2 has it in the target.
        (None, _) if head.version == Version::HTTP_2 && head.uri.authority().is_some() => None,
        _ => return Err(StatusCode::BAD_REQUEST),
    };
    let Some(host) = host else { return Ok(None) };
    let read = std::str::from_utf8(host.as_bytes()).ok().and_then(Host::of);
    read.map(Some).ok_or(StatusCode::BAD_REQUEST)
}

/// True if the host is this service: an address, which nobody can redirect, `localhost`, or a name in the settings.
fn is_ours(host: Host<'_>, limits: &EdgeSpec) -> bool {
    match host {
        Host::Address(_) => true,
        Host::Name(_) => host.is_loopback() || limits.hosts.iter().any(|known| host.is(Host::Name(known))),
    }
}
