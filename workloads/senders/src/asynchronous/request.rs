use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Method, Request, Uri, Version, header,
    uri::{PathAndQuery, Scheme},
};
use workloads::{headers::ATTEMPT, persona::Call};

use crate::http1::{FORM, Given, write_path};

/// Lines about a connection, which HTTP/2 has none of (RFC 9113, section 8.2.2).
const OF_CONNECTIONS: [&str; 7] =
    ["connection", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"];

/// A request in the form of HTTP/2: its head, and its body.
pub(super) fn http2(call: &Call, target: &Uri) -> (Request<()>, Option<Bytes>) {
    let mut request = Request::new(());
    *request.version_mut() = Version::HTTP_2;
    *request.method_mut() = Method::from_bytes(call.method.name().as_bytes()).unwrap_or_default();
    let mut uri = http::uri::Parts::default();
    uri.scheme = Some(target.scheme().cloned().unwrap_or(Scheme::HTTP));
    uri.authority = target.authority().cloned();
    uri.path_and_query = Some(path_of(&call.path));
    *request.uri_mut() = Uri::from_parts(uri).unwrap_or_default();
    let headers = request.headers_mut();
    for (name, value) in call.headers.lines().filter_map(|line| line.split_once(':')) {
        let name = HeaderName::from_bytes(name.trim().as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value.trim().as_bytes()))
            && !OF_CONNECTIONS.contains(&name.as_str())
        {
            headers.append(name, value);
        }
    }
    if call.attempt > 0
        && let Ok(name) = HeaderName::from_bytes(ATTEMPT.as_bytes())
    {
        headers.append(name, u16::from(call.attempt).into());
    }
    let body = call.body.as_ref().map(|body| Bytes::copy_from_slice(body.as_bytes()));
    if let Some(body) = &body {
        if !Given::among(&call.headers).content_type {
            headers.append(header::CONTENT_TYPE, HeaderValue::from_static(FORM));
        }
        headers.append(header::CONTENT_LENGTH, body.len().into());
    }
    (request, body)
}

fn path_of(path: &str) -> PathAndQuery {
    let mut bytes = Vec::with_capacity(path.len());
    write_path(path, &mut bytes);
    // The few graphic characters that no URI has.
    let is_odd = |byte: &u8| b"<>`\"".contains(byte);
    if bytes.iter().any(is_odd) {
        let plain = |byte: u8| if is_odd(&byte) { format!("%{byte:02X}") } else { char::from(byte).to_string() };
        bytes = bytes.into_iter().map(plain).collect::<String>().into_bytes();
    }
    PathAndQuery::from_maybe_shared(Bytes::from(bytes)).unwrap_or_else(|_| PathAndQuery::from_static("/"))
}
