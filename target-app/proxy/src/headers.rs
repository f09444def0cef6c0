//! Changes of a proxy to heads: it takes out what belongs to one connection (RFC 9110, section 7.6.1), and says for whom it
//! asks (RFC 7239, RFC 9110, section 7.6.3).

use std::sync::LazyLock;

use http::{HeaderMap, HeaderName, HeaderValue, Version, header, request, response};
use memchr::memmem;
use service_core::request::CRITICALITY;
use spec::proxy::{HeaderSpec, HostHeader};

use super::{address::Address, client::Client};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// The lines of `Via` of this process, by the version that a request came in. Another proxy in a chain has another mark, so that a
/// request that comes back is known.
static VIA: LazyLock<[HeaderValue; 3]> = LazyLock::new(|| {
    let mut mark = [0; 4];
    getrandom::fill(&mut mark).expect("the system gives random numbers");
    let line = |version| format!("{version}lab-{:08x}", u32::from_ne_bytes(mark));
    ["1.1 ", "1.0 ", "2 "].map(|version| HeaderValue::try_from(line(version)).expect("letters and digits"))
});

/// The most lines that a request gets here: three of `X-Forwarded`, `Forwarded`, `Via`, `Host`.
const ADDED: usize = 6;

/// True for headers of one connection, whatever `Connection` names.
fn is_hop_by_hop(name: &str) -> bool {
    matches!(name, "connection" | "keep-alive" | "proxy-connection" | "te" | "transfer-encoding" | "upgrade")
}

/// True for what is not passed on of a request. The expectation is met here: the body is asked for once the backend takes it.
fn ends_with_request(name: &str) -> bool {
    is_hop_by_hop(name) || matches!(name, "expect" | "http2-settings")
}

/// Takes out these headers, and those that `Connection` names.
fn strip(headers: &mut HeaderMap, ends_here: fn(&str) -> bool) {
    // Most heads have one of them or none: a look at each name costs less than a search for each of these.
    while let Some(name) = headers.keys().find(|name| ends_here(name.as_str())).cloned() {
        if name == header::CONNECTION {
            for name in named_by_connection(headers) {
                headers.remove(name);
            }
        }
        headers.remove(name);
    }
}

/// The other headers that `Connection` names.
fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .map(str::trim)
        // These two are options and no headers' names, or among the known ones.
        .filter(|name| !name.eq_ignore_ascii_case("keep-alive") && !name.eq_ignore_ascii_case("close"))
        .filter_map(|name| HeaderName::try_from(name).ok())
        // Framing and routing are not a client's to take out.
        .filter(|name| ![header::HOST, header::CONTENT_LENGTH].contains(name))
        .collect()
}

/// Header lines of proxies about a request, beside all that begins with `X-Forwarded` or `X-Original-`: who asks, and for which URL.
const OF_PROXIES: [&str; 7] =
    ["forwarded", "x-real-ip", "x-rewrite-url", "x-client-ip", "x-cluster-client-ip", "client-ip", "true-client-ip"];

/// True if a name is this one to gateways that take underscores for hyphens, too.
fn is(name: &str, known: &str) -> bool {
    name.len() == known.len()
        && name.bytes().zip(known.bytes()).all(|(byte, of)| byte == of || byte == b'_' && of == b'-')
}

/// Takes out what counts only if the sender is trusted: neither policies nor backends see it of strangers.
pub(super) fn keep_trusted(headers: &mut HeaderMap, spec: &HeaderSpec) {
    let begins = |name: &str, known: &str| name.get(..known.len()).is_some_and(|begin| is(begin, known));
    let of_proxies = |name: &str| {
        begins(name, "x-forwarded") || begins(name, "x-original-") || OF_PROXIES.iter().any(|known| is(name, known))
    };
    let is_untrusted = |name: &HeaderName| {
        (!spec.trust_forwarded && of_proxies(name.as_str()))
            || (!spec.trust_criticality && is(name.as_str(), CRITICALITY.as_str()))
    };
    while let Some(name) = headers.keys().find(|name| is_untrusted(name)).cloned() {
        headers.remove(name);
    }
}

/// True if a request has passed through this process before.
pub(super) fn has_been_here(headers: &HeaderMap) -> bool {
    let mark = VIA[0].as_bytes().split(|byte| *byte == b' ').nth(1).unwrap_or_default();
    headers.get_all(header::VIA).iter().any(|line| memmem::find(line.as_bytes(), mark).is_some())
}

/// Says the length of a body in one line, as digits without zeros before them: what lines that repeat it mean, others could read in
/// another way. Lines that contradict each other say nothing; there is no body then, or frames say where it ends.
fn say_one_length(headers: &mut HeaderMap) {
    let number = |text: &[u8]| {
        let digits = std::str::from_utf8(text.trim_ascii()).ok()?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u64>().ok()).flatten()
    };
    let mut lines = headers.get_all(header::CONTENT_LENGTH).iter();
    let Some(first) = lines.next() else { return };
    if lines.next().is_none()
        && matches!(first.as_bytes(), [b'0'] | [b'1'..=b'9', ..])
        && number(first.as_bytes()).is_some()
    {
        return;
    }
    let lines = headers.get_all(header::CONTENT_LENGTH).iter();
    let mut numbers = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b',')).map(number);
    let first = numbers.next().flatten();
    match first.filter(|first| numbers.all(|other| other == Some(*first))) {
        Some(length) => drop(headers.insert(header::CONTENT_LENGTH, length.into())),
        None => drop(headers.remove(header::CONTENT_LENGTH)),
    }
}

/// The protocol that a request asks to switch to, if that one is passed on.
pub(super) fn upgrade(head: &request::Parts, spec: &HeaderSpec) -> Option<HeaderValue> {
    let value = head.headers.get(header::UPGRADE)?;
    let asked = head.headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let asked = asked.flat_map(|value| value.split(',')).any(|name| name.trim().eq_ignore_ascii_case("upgrade"));
    let protocol = value.to_str().ok()?.trim();
    let passes = spec.upgrades.iter().any(|known| known.eq_ignore_ascii_case(protocol));
    (asked && passes && head.version == Version::HTTP_11 && head.method == http::Method::GET).then(|| value.clone())
}

/// Makes the head of a client's request that of a request to a backend.
pub(super) fn to_backend(
    head: &mut request::Parts,
    client: &Client,
    to: &Address,
    spec: &HeaderSpec,
    upgrade: Option<HeaderValue>,
) {
    let [http11, http10, http2] = &*VIA;
    let via = match head.version {
        Version::HTTP_2 => http2,
        Version::HTTP_10 => http10,
        _ => http11,
    };
    join_cookies(head);
    let trailers = head.headers.get(header::TE).is_some_and(|te| te == "trailers");
    strip(&mut head.headers, ends_with_request);
    say_one_length(&mut head.headers);
    let host = named_host(head).unwrap_or_else(|| to.host_header.clone());
    head.headers.reserve(ADDED); // once, and not twice on the way
    forwarded(&mut head.headers, client, &host, spec.trust_forwarded);
    append(&mut head.headers, header::VIA, via.clone());
    if let Some(protocol) = upgrade {
        head.headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        head.headers.insert(header::UPGRADE, protocol);
    }
    let host = match spec.host {
        HostHeader::Client => host,
        HostHeader::Backend => to.host_header.clone(),
    };
    if trailers {
        head.extensions.insert(TakesTrailers);
    }
    address(head, host);
}

/// HTTP/2 may split a cookie line (RFC 9113, section 8.2.3), and other versions have one.
fn join_cookies(head: &mut request::Parts) {
    if head.version != Version::HTTP_2 || head.headers.get_all(header::COOKIE).iter().nth(1).is_none() {
        return;
    }
    let all: Vec<&[u8]> = head.headers.get_all(header::COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if let Ok(line) = HeaderValue::from_bytes(&all.join(&b"; "[..])) {
        head.headers.insert(header::COOKIE, line);
    }
}

/// The target in origin form, the host beside it: what [`to_http2`] changes where a connection speaks that.
fn address(head: &mut request::Parts, host: HeaderValue) {
    head.version = Version::HTTP_11;
    head.headers.insert(header::HOST, host);
    if head.uri.authority().is_some() {
        let path = head.uri.path_and_query().cloned();
        head.uri = path.map_or_else(|| http::Uri::from_static("/"), http::Uri::from);
    }
}

/// The mark of a request whose client takes trailers.
#[derive(Debug, Clone, Copy)]
struct TakesTrailers;

/// Makes a request to a backend one of HTTP/2.
pub(super) fn to_http2<B>(mut request: http::Request<B>, secure: bool) -> http::Request<B> {
    let Some(host) = request.headers_mut().remove(header::HOST) else { return request };
    let mut uri = http::uri::Parts::default();
    uri.scheme = Some(if secure { http::uri::Scheme::HTTPS } else { http::uri::Scheme::HTTP });
    uri.authority = host.to_str().ok().and_then(|host| host.parse().ok());
    uri.path_and_query = request.uri().path_and_query().cloned();
    if let Ok(uri) = http::Uri::from_parts(uri) {
        *request.uri_mut() = uri;
    }
    *request.version_mut() = Version::HTTP_2;
    if request.extensions_mut().remove::<TakesTrailers>().is_some() {
        request.headers_mut().insert(header::TE, HeaderValue::from_static("trailers"));
    }
    request
}

/// The host that a request is for: that of its target, where it has one, and not another one beside it (RFC 9112, section
/// 3.2.2).
fn named_host(head: &request::Parts) -> Option<HeaderValue> {
    match head.uri.authority() {
        Some(authority) => HeaderValue::from_str(authority.as_str()).ok(),
        None => head.headers.get(header::HOST).cloned(),
    }
}

fn forwarded(headers: &mut HeaderMap, client: &Client, host: &HeaderValue, trusted: bool) {
    let element = client.forwarded(host);
    if trusted {
        append(headers, FORWARDED_FOR, client.address.clone());
        append(headers, header::FORWARDED, element);
        // What the first proxy saw is what counts.
        headers.entry(FORWARDED_PROTO).or_insert_with(|| client.scheme());
        headers.entry(FORWARDED_HOST).or_insert_with(|| host.clone());
    } else {
        headers.insert(FORWARDED_FOR, client.address.clone());
        headers.insert(header::FORWARDED, element);
        headers.insert(FORWARDED_PROTO, client.scheme());
        headers.insert(FORWARDED_HOST, host.clone());
    }
}

/// Adds to a list in one line.
fn append(headers: &mut HeaderMap, name: HeaderName, value: HeaderValue) {
    let before: Vec<&[u8]> = headers.get_all(&name).iter().map(HeaderValue::as_bytes).collect();
    if before.is_empty() {
        headers.insert(name, value);
        return;
    }
    let all = [before.as_slice(), &[value.as_bytes()]].concat().join(&b", "[..]);
    headers.insert(name, HeaderValue::from_bytes(&all).unwrap_or(value));
}

/// True if the end of the answer's body is the end of the connection: nobody can tell whether it is complete.
fn is_close_delimited(head: &response::Parts, is_empty: bool) -> bool {
    let framed =
        head.headers.contains_key(header::CONTENT_LENGTH) || head.headers.contains_key(header::TRANSFER_ENCODING);
    !is_empty && !framed && head.version < Version::HTTP_2
}

/// Makes the head of a backend's answer that of an answer to a client; `is_empty`: it has no body.
pub(super) fn to_client(head: &mut response::Parts, client: &Client, is_empty: bool) {
    let until_close = is_close_delimited(head, is_empty);
    // A coding and a length beside each other: the coding counts, and the length would lie.
    if head.headers.contains_key(header::TRANSFER_ENCODING) {
        head.headers.remove(header::CONTENT_LENGTH);
    }
    say_one_length(&mut head.headers);
    strip(&mut head.headers, is_hop_by_hop);
    head.version = match (client.is_multiplexed(), until_close) {
        (true, _) => Version::HTTP_2,
        // Passed on as it came: with chunks it would claim to be complete.
        (false, true) => {
            head.headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            Version::HTTP_10
        }
        (false, false) => Version::HTTP_11,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn what_belongs_to_one_connection_is_taken_out() {
        let mut headers = map(&[
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("proxy-connection", "close"),
            ("x-stays", "1"),
            ("trailer", "X-Sum"),
        ]);
        strip(&mut headers, is_hop_by_hop);
        assert_eq!(headers, map(&[("x-stays", "1"), ("trailer", "X-Sum")]));
    }

    #[test]
    fn what_is_met_here_is_not_passed_on_with_a_request() {
        let lines = [("expect", "100-continue"), ("http2-settings", "AAMAAABkAAQAoAAAAAIAAAAA"), ("x-stays", "1")];
        let mut headers = map(&lines);
        strip(&mut headers, ends_with_request);
        assert_eq!(headers, map(&[("x-stays", "1")]));
    }

    #[test]
    fn a_client_cannot_have_its_host_or_its_length_taken_out() {
        let mut headers =
            map(&[("connection", "host, content-length, x-user"), ("host", "a"), ("content-length", "5")]);
        strip(&mut headers, is_hop_by_hop);
        assert_eq!(headers, map(&[("host", "a"), ("content-length", "5")]));
    }

    #[test]
    fn lists_go_on_in_one_line() {
        let mut headers = map(&[("via", "1.0 a"), ("via", "1.1 b")]);
        append(&mut headers, header::VIA, HeaderValue::from_static("1.1 lab"));
        assert_eq!(headers, map(&[("via", "1.0 a, 1.1 b, 1.1 lab")]));
    }

    #[test]
    fn a_length_is_said_once_and_plainly_or_not_at_all() {
        let said = |lines: &[&'static str]| {
            let mut headers: HeaderMap =
                lines.iter().map(|line| (header::CONTENT_LENGTH, HeaderValue::from_static(line))).collect();
            say_one_length(&mut headers);
            let said = headers.get_all(header::CONTENT_LENGTH).iter();
            said.map(|line| line.to_str().expect("digits").to_owned()).collect::<Vec<_>>()
        };
        for (lines, length) in [
            (&["5"][..], "5"),
            (&["0"], "0"),
            (&["005"], "5"),
            (&["00"], "0"),
            (&["5", "5"], "5"),
            (&["05", "5"], "5"),
            (&["5, 5"], "5"),
            (&["5,5", " 05"], "5"),
        ] {
            assert_eq!(said(lines), [length], "{lines:?}");
        }
        for lines in [&["5", "6"][..], &["5, 6"], &["5, "], &["+5"], &["0x5"], &[""], &["99999999999999999999"]] {
            assert!(said(lines).is_empty(), "{lines:?}");
        }
    }

    #[test]
    fn what_strangers_say_for_proxies_and_users_of_the_lab_is_taken_out() {
        let names = [
            "forwarded",
            "x-forwarded",
            "x-forwarded-for",
            "x-forwarded-port",
            "x-forwarded-whatever",
            "x_forwarded_proto",
            "x-real-ip",
            "x-original-url",
            "x-original-host",
            "x-rewrite-url",
            "client-ip",
        ];
        let all = || names.into_iter().chain(["x-criticality", "x-forwarder", "x-user", "via", "x-real-ipv6"]);
        let left = |trust_forwarded, trust_criticality| {
            let mut headers = map(&all().map(|name| (name, "1")).collect::<Vec<_>>());
            keep_trusted(&mut headers, &HeaderSpec { trust_forwarded, trust_criticality, ..HeaderSpec::default() });
            all().filter(|name| headers.contains_key(*name)).collect::<Vec<_>>()
        };
        assert_eq!(left(false, false), ["x-forwarder", "x-user", "via", "x-real-ipv6"]);
        assert_eq!(left(false, true), ["x-criticality", "x-forwarder", "x-user", "via", "x-real-ipv6"]);
        assert_eq!(left(true, true), all().collect::<Vec<_>>());
    }

    #[test]
    fn a_request_that_comes_back_is_known_and_one_of_another_proxy_is_not() {
        let mut headers = map(&[("via", "1.1 lab, 2 lab-00000000"), ("via", "1.0 fred")]);
        let mark = VIA[1].to_str().unwrap().trim_start_matches("1.0 ");
        assert!(mark.starts_with("lab-") && mark.len() == 12, "{mark}");
        assert!(!has_been_here(&headers), "{mark}");
        append(&mut headers, header::VIA, VIA[2].clone());
        assert!(has_been_here(&headers));
    }
}
