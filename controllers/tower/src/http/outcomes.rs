//! Outcomes of responses.

use controllers::Outcome;
use http::{HeaderMap, Response, StatusCode};

use super::{GRPC_PUSHBACK, GRPC_STATUS, RETRY, number};
use crate::Outcomes;

/// The outcomes of a service's own responses: the default at servers.
///
/// | response | outcome |
/// |---|---|
/// | 503, 429; `RESOURCE_EXHAUSTED`, `UNAVAILABLE` | overloaded: a service behind this one refused. `X-Retry: never` or a negative `grpc-retry-pushback-ms`: do not retry |
/// | 504, 408; `DEADLINE_EXCEEDED` | timed out |
/// | other 5xx; other statuses of gRPC that are a server's fault | failed |
/// | an error | failed |
/// | all others | served |
#[derive(Debug, Clone, Copy, Default)]
pub struct HttpOutcomes;

impl<B, Err> Outcomes<Response<B>, Err> for HttpOutcomes {
    fn outcome(&self, result: Result<&Response<B>, &Err>) -> Outcome {
        result.map_or(Outcome::Failed, of_response)
    }
}

/// The outcomes of replies to a client: those of [`HttpOutcomes`], but an error is a request that was not answered
/// ([`Outcome::Unavailable`]). The default at
/// clients. Where the client's errors tell a time-out from a connection that failed, say so with
/// [`crate::AdmissionLayer::outcome`].
#[derive(Debug, Clone, Copy, Default)]
pub struct HttpReplies;

impl<B, Err> Outcomes<Response<B>, Err> for HttpReplies {
    fn outcome(&self, result: Result<&Response<B>, &Err>) -> Outcome {
        result.map_or(Outcome::Unavailable, of_response)
    }
}

fn of_response<B>(response: &Response<B>) -> Outcome {
    of_trailers(response.headers()).unwrap_or_else(|| of_status(response.status(), response.headers()))
}

fn of_status(status: StatusCode, headers: &HeaderMap) -> Outcome {
    match status {
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
            Outcome::Overloaded { retry: headers.get(RETRY).is_none_or(|advice| advice != "never") }
        }
        StatusCode::GATEWAY_TIMEOUT | StatusCode::REQUEST_TIMEOUT => Outcome::TimedOut,
        status if status.is_server_error() => Outcome::Failed,
        _ => Outcome::Served,
    }
}

/// The outcome of a gRPC status, in the head or in the trailers; `None`: there is none.
pub(super) fn of_trailers(headers: &HeaderMap) -> Option<Outcome> {
    let status: u8 = number(headers.get(GRPC_STATUS)?)?;
    Some(match status {
        // CANCELLED: the caller's wish.
        1 => Outcome::Abandoned,
        // UNKNOWN, UNIMPLEMENTED, INTERNAL, DATA_LOSS.
        2 | 12 | 13 | 15 => Outcome::Failed,
        // DEADLINE_EXCEEDED.
        4 => Outcome::TimedOut,
        // RESOURCE_EXHAUSTED, UNAVAILABLE.
        8 | 14 => {
            let pushback: Option<i64> = headers.get(GRPC_PUSHBACK).and_then(number);
            Outcome::Overloaded { retry: pushback.is_none_or(|wait| wait >= 0) }
        }
        // OK, and what the caller did wrong.
        _ => Outcome::Served,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(status: u16, headers: &[(&'static str, &'static str)]) -> Outcome {
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        response
            .headers_mut()
            .extend(headers.iter().map(|(name, value)| (Some(name.parse().unwrap()), value.parse().unwrap())));
        let result: Result<_, &()> = Ok(&response);
        HttpOutcomes.outcome(result)
    }

    #[test]
    fn statuses() {
        use Outcome::{Failed, Overloaded, Served, TimedOut};
        for (status, wanted) in
            [(200, Served), (302, Served), (404, Served), (500, Failed), (502, Failed), (504, TimedOut)]
        {
            assert_eq!(outcome(status, &[]), wanted, "{status}");
        }
        assert_eq!(outcome(503, &[]), Overloaded { retry: true });
        assert_eq!(outcome(429, &[("x-retry", "never")]), Overloaded { retry: false });
    }

    #[test]
    fn statuses_of_grpc() {
        use Outcome::{Abandoned, Failed, Overloaded, Served, TimedOut};
        let said = |status, more: Option<(&'static str, &'static str)>| {
            outcome(200, &[("grpc-status", status)].into_iter().chain(more).collect::<Vec<_>>())
        };
        for (status, wanted) in [("0", Served), ("5", Served), ("13", Failed), ("4", TimedOut), ("1", Abandoned)] {
            assert_eq!(said(status, None), wanted, "{status}");
        }
        assert_eq!(said("14", None), Overloaded { retry: true });
        assert_eq!(said("8", Some(("grpc-retry-pushback-ms", "-1"))), Overloaded { retry: false });
        assert_eq!(said("x", None), Served, "malformed");
    }

    #[test]
    fn an_error_is_a_failure_of_the_service_and_no_answer_to_a_client() {
        let error: Result<&Response<()>, _> = Err(&());
        assert_eq!((HttpOutcomes.outcome(error), HttpReplies.outcome(error)), (Outcome::Failed, Outcome::Unavailable));
    }
}
