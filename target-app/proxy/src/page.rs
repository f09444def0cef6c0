//! Answers of the proxy itself: refusals, redirects, and what no backend answered.

use std::io;

use controllers::{Note, Refusal, RetryHint};
use http::{HeaderValue, Method, Response, StatusCode, header, request::Parts};
use hyper::body::Bytes;
use live_service::security_headers::{self, OF_A_FILE};
use service_core::request::{RequestEnd, put_headers, whole_seconds};
use spec::proxy::RefusalSpec;

use super::error::ProxyError;

/// Answers to refused requests.
#[derive(Debug, Clone)]
pub(super) struct Pages {
    spec: RefusalSpec,
    refused: Bytes,
    kind: HeaderValue,
    /// What it may load, if that is not what the proxy's own pages may: the value of `Content-Security-Policy`.
    loads: Option<HeaderValue>,
}

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// The page where there is none of the service's own.
const REFUSED: &str =
    "<!doctype html><title>Busy</title><h1>The service is busy</h1><p>Please try again in a moment.</p>\n";
/// The largest page, bytes.
const LARGEST: u64 = 1 << 20;

impl Pages {
    /// Reads the page.
    ///
    /// # Errors
    /// A page that cannot be read, and nodes that are no URLs.
    pub(super) fn new(spec: &RefusalSpec) -> Result<Self, ProxyError> {
        let mut found = Vec::new();
        for (key, node) in [("refusal.redirect", &spec.redirect), ("refusal.come_back", &spec.come_back)] {
            let is_node = |node: &String| {
                node.parse::<http::Uri>().is_ok_and(|uri| uri.scheme().is_some() && uri.authority().is_some())
            };
            if let Some(node) = node.as_ref().filter(|node| !is_node(node)) {
                found.push(format!("{key}: {node:?} is no URL; https://busy.example is one"));
            }
        }
        match Self::read(spec) {
            Ok(pages) if found.is_empty() => Ok(pages),
            read => {
                found.extend(read.err().map(|problem| problem.to_string()));
                Err(ProxyError::Settings(found))
            }
        }
    }

    fn read(spec: &RefusalSpec) -> Result<Self, ProxyError> {
        let Some(path) = &spec.page else {
            let refused = Bytes::from_static(REFUSED.as_bytes());
            return Ok(Self { spec: spec.clone(), refused, kind: HTML, loads: None });
        };
        let wrong = |error: io::Error| ProxyError::setting("refusal.page", format!("{}: {error}", path.display()));
        let size = std::fs::metadata(path).map_err(wrong)?.len();
        if size > LARGEST {
            return Err(wrong(io::Error::other(format!("{size} bytes, and a page may have {LARGEST}"))));
        }
        let kind = match path.extension().and_then(|end| end.to_str()) {
            Some("json") => JSON,
            Some("txt") => TEXT,
            _ => HTML,
        };
        let (refused, loads) = (std::fs::read(path).map_err(wrong)?.into(), Some(OF_A_FILE));
        Ok(Self { spec: spec.clone(), refused, kind, loads })
    }

    /// The end of a refused request.
    pub(super) fn end(&self, mut refusal: Refusal, head: &Parts) -> RequestEnd {
        let is_plain = [Method::GET, Method::HEAD].contains(&head.method);
        let sent_back = matches!(refusal.retry, RetryHint::After(_));
        let node = if sent_back { self.spec.come_back.as_ref() } else { None };
        if let Some(node) = node.or(self.spec.redirect.as_ref()).filter(|_| is_plain) {
            let path = head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
            let location = format!("{}{path}", node.trim_end_matches('/'));
            return RequestEnd::Redirected { location, reason: refusal.reason };
        }
        if let (RetryHint::Unsaid, Some(wait)) = (refusal.retry, self.spec.retry_after) {
            refusal.retry = RetryHint::After(wait);
        }
        RequestEnd::Refused(refusal)
    }

    /// The answer to a refused request. A redirect also says when to come back, where the policy does.
    pub(super) fn refused(&self, end: &RequestEnd, wait: RetryHint, note: Option<Note>) -> Response<Bytes> {
        let page = if matches!(end, RequestEnd::Refused(_)) { self.refused.clone() } else { Bytes::new() };
        let mut response = answer(StatusCode::from_u16(end.status()).unwrap_or(StatusCode::SERVICE_UNAVAILABLE), page);
        response.headers_mut().insert(header::CONTENT_TYPE, self.kind.clone());
        if let Some(loads) = &self.loads {
            response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, loads.clone());
        }
        put_headers(end, note, response.headers_mut());
        if let (RetryHint::After(wait), RequestEnd::Redirected { .. }) = (wait, end) {
            response.headers_mut().insert(header::RETRY_AFTER, whole_seconds(wait).into());
        }
        response
    }
}

/// An answer of the proxy to a request that is at fault, or that no backend answered.
pub(super) fn failed(status: StatusCode) -> Response<Bytes> {
    let text = status.canonical_reason().unwrap_or("error");
    let mut response = answer(status, Bytes::from(format!("{} {text}\n", status.as_u16())));
    response.headers_mut().insert(header::CONTENT_TYPE, TEXT);
    response
}

fn answer(status: StatusCode, page: Bytes) -> Response<Bytes> {
    let mut response = Response::new(page);
    *response.status_mut() = status;
    security_headers::add_to(response.headers_mut());
    response
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use controllers::Reason;

    use super::*;

    /// Status, `Location` and `Retry-After` of the answer to a request that a policy sends back for 1.2 s.
    fn sent_back(spec: &RefusalSpec, method: Method) -> (u16, Option<String>, Option<String>) {
        let pages = Pages::new(spec).unwrap();
        let head = http::Request::builder().method(method).uri("/a?b=1").body(()).unwrap().into_parts().0;
        let refusal = Refusal { reason: Reason::Rate, retry: RetryHint::After(Duration::from_millis(1200)) };
        let end = pages.end(refusal, &head);
        let response = pages.refused(&end, refusal.retry, None);
        let header = |name| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        (response.status().as_u16(), header(header::LOCATION), header(header::RETRY_AFTER))
    }

    #[test]
    fn a_request_that_is_sent_back_is_told_where_to_and_when() {
        let spec = RefusalSpec { come_back: Some("http://queue.example/".to_owned()), ..RefusalSpec::default() };
        let wait = || Some("2".to_owned());
        let there = Some("http://queue.example/a?b=1".to_owned());
        assert_eq!(sent_back(&spec, Method::GET), (307, there, wait()));
        assert_eq!(sent_back(&spec, Method::POST), (503, None, wait()), "its body would go out twice");
        assert_eq!(sent_back(&RefusalSpec::default(), Method::GET), (503, None, wait()));
    }

    #[test]
    fn a_refusal_without_advice_says_a_second_unless_the_settings_say_otherwise() {
        let head = http::Request::builder().uri("/").body(()).unwrap().into_parts().0;
        let advised = |text: &str, retry: RetryHint| {
            let pages = Pages::new(&serde_json::from_str(text).unwrap()).unwrap();
            let end = pages.end(Refusal { reason: Reason::Rate, retry }, &head);
            let response = pages.refused(&end, retry, None);
            response.headers().get(header::RETRY_AFTER).map(|value| value.to_str().unwrap().to_owned())
        };
        assert_eq!(advised("{}", RetryHint::Unsaid).as_deref(), Some("1"));
        assert_eq!(advised(r#"{"retry_after": "3s"}"#, RetryHint::Unsaid).as_deref(), Some("3"));
        assert_eq!(advised(r#"{"retry_after": null}"#, RetryHint::Unsaid), None);
        assert_eq!(advised("{}", RetryHint::Never), None);
        // Settings go to the proxy's process as JSON.
        let silent = RefusalSpec { retry_after: None, ..RefusalSpec::default() };
        let sent: RefusalSpec = serde_json::from_str(&serde_json::to_string(&silent).unwrap()).unwrap();
        assert_eq!(sent, silent);
    }

    #[test]
    fn a_request_that_is_refused_without_a_wait_does_not_come_back() {
        let spec = RefusalSpec { come_back: Some("http://queue.example".to_owned()), ..RefusalSpec::default() };
        let head = http::Request::builder().uri("/").body(()).unwrap().into_parts().0;
        let end = Pages::new(&spec).unwrap().end(Refusal::new(Reason::Rate), &head);
        assert!(matches!(end, RequestEnd::Refused(_)), "{end:?}");
    }
}
