//! Refusals as responses.

use std::time::Duration;

use controllers::RetryHint;
use http::{
    HeaderValue, Request, Response, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER},
};

use super::{GRPC_PUSHBACK, GRPC_STATUS, RETRY, is_grpc};
use crate::{OnRefusal, Refused};

/// Refuses as HTTP does: 503 without a body, with `Retry-After` in whole seconds, rounded up. The default at servers.
///
/// Where the policy gives no advice on retrying, `Retry-After` says 1 second, or what [`HttpRefusal::retry_after`]
/// sets; where it advises against a retry,
/// `X-Retry: never` stands in its place. To a request of gRPC the answer is the status `RESOURCE_EXHAUSTED` (8), with
/// the same advice as
/// `grpc-retry-pushback-ms` (gRPC proposal A6).
#[derive(Debug, Clone, Copy)]
pub struct HttpRefusal {
    status: StatusCode,
    unsaid: Option<Duration>,
}

impl Default for HttpRefusal {
    fn default() -> Self {
        Self { status: StatusCode::SERVICE_UNAVAILABLE, unsaid: Some(Duration::from_secs(1)) }
    }
}

/// `RESOURCE_EXHAUSTED`: what the sender may have is used up, for now.
const EXHAUSTED: HeaderValue = HeaderValue::from_static("8");

impl HttpRefusal {
    /// 503 with `Retry-After`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the status of HTTP refusals.
    #[must_use]
    pub fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Sets `Retry-After` for refusals whose policy gives no advice; `None`: no header.
    #[must_use]
    pub fn retry_after(mut self, wait: Option<Duration>) -> Self {
        self.unsaid = wait;
        self
    }

    fn response<B: Default>(self, of_grpc: bool, refused: &Refused) -> Response<B> {
        let wait = refused.retry_after().or(self.unsaid);
        let never = refused.retry == RetryHint::Never;
        let mut response = Response::new(B::default());
        if of_grpc {
            let pushback = if never { Some((-1).into()) } else { wait.map(milliseconds) };
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
            headers.insert(GRPC_STATUS, EXHAUSTED);
            headers.extend(pushback.map(|pushback| (GRPC_PUSHBACK.parse().ok(), pushback)));
            return response;
        }
        *response.status_mut() = self.status;
        if never {
            response.headers_mut().insert(RETRY, HeaderValue::from_static("never"));
        } else if let Some(wait) = wait {
            let seconds = wait.as_secs_f64().ceil().max(1.0) as u64;
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}

fn milliseconds(wait: Duration) -> HeaderValue {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).into()
}

impl<In, Out: Default, Err> OnRefusal<Request<In>, Response<Out>, Err> for HttpRefusal {
    type Error = Err;

    fn refuse(&self, request: Request<In>, refused: Refused) -> Result<Response<Out>, Err> {
        Ok(self.response(is_grpc(request.headers()), &refused))
    }

    fn error(&self, error: Err) -> Err {
        error
    }
}

#[cfg(test)]
mod tests {
    use controllers::Reason;

    use super::*;

    fn refused(retry: RetryHint) -> Refused {
        Refused { reason: Some(Reason::Concurrency), retry, note: None }
    }

    fn headers(refusal: HttpRefusal, kind: Option<&str>, retry: RetryHint) -> (u16, Vec<String>) {
        let mut request = Request::new(());
        request.headers_mut().extend(kind.map(|kind| (Some(CONTENT_TYPE), kind.parse().unwrap())));
        let response: Result<Response<String>, ()> = refusal.refuse(request, refused(retry));
        let response = response.unwrap();
        let line = |(name, value): (&http::HeaderName, &HeaderValue)| format!("{name}: {}", value.to_str().unwrap());
        (response.status().as_u16(), response.headers().iter().map(line).collect())
    }

    #[test]
    fn a_refusal_is_503_with_the_time_of_a_retry() {
        let said = |retry| headers(HttpRefusal::new(), None, retry);
        assert_eq!(said(RetryHint::After(Duration::from_millis(1500))), (503, vec!["retry-after: 2".to_owned()]));
        assert_eq!(said(RetryHint::After(Duration::ZERO)).1, ["retry-after: 1"]);
        assert_eq!(said(RetryHint::Unsaid).1, ["retry-after: 1"]);
        assert_eq!(said(RetryHint::Never).1, ["x-retry: never"]);
        let other = HttpRefusal::new().status(StatusCode::TOO_MANY_REQUESTS).retry_after(None);
        assert_eq!(headers(other, Some("application/json"), RetryHint::Unsaid), (429, Vec::new()));
    }

    #[test]
    fn a_call_of_grpc_gets_a_status_of_grpc() {
        let said = |retry| headers(HttpRefusal::new(), Some("application/grpc+proto"), retry);
        let head = ["content-type: application/grpc", "grpc-status: 8"];
        let with = |last: &str| (200, head.iter().chain([&last]).map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(said(RetryHint::After(Duration::from_millis(1500))), with("grpc-retry-pushback-ms: 1500"));
        assert_eq!(said(RetryHint::Never), with("grpc-retry-pushback-ms: -1"));
    }
}
