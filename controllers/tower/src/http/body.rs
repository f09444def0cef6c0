//! Bodies whose end is the end of their request.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use controllers::Outcome;
use http::{Method, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::outcomes::of_trailers;
use crate::{
    CarryNotes,
    end::{ResponseEnd, ResponseEnding, sealed::Sealed},
};

/// A request ends with the body of its response: see [`crate::AdmissionLayer::end_at_body`].
#[derive(Debug, Clone, Copy, Default)]
pub struct AtBody;

impl Sealed for AtBody {}

impl<In, Out: Body> ResponseEnd<Request<In>, Response<Out>> for AtBody {
    type Response = Response<AdmissionBody<Out>>;

    fn bodyless(&self, request: &Request<In>) -> bool {
        request.method() == Method::HEAD
    }

    fn end<N>(&self, response: Response<Out>, ending: ResponseEnding, _: &N) -> Self::Response
    where
        N: CarryNotes<Request<In>, Response<Out>>,
    {
        let bodyless = ending.bodyless
            || matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
            || response.body().is_end_stream();
        let end = if bodyless {
            ending.now();
            BodyEnd::default()
        } else {
            BodyEnd { ending: Some(ending), bytes_left: response.body().size_hint().exact() }
        };
        response.map(|inner| AdmissionBody { inner, end })
    }
}

pin_project! {
    /// The body of a response whose request ends with it: at its last frame, as failed at an error, and as abandoned if
    /// it is dropped before. A gRPC status in its
    /// trailers says the outcome.
    pub struct AdmissionBody<B> {
        #[pin]
        inner: B,
        end: BodyEnd,
    }
}

impl<B> fmt::Debug for AdmissionBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdmissionBody").field("end", &self.end).finish_non_exhaustive()
    }
}

/// The end of a request whose response has a body: at the first of the body's last frame, its trailers, and its error. If
/// none of them comes, the request ends as abandoned when this is dropped.
#[derive(Debug, Default)]
struct BodyEnd {
    /// `None`: the request has ended, or the response has no body.
    ending: Option<ResponseEnding>,
    /// Bytes of the body that have not passed yet; `None`: the body does not know its length. A server that sends a response
    /// of known length stops polling after the last byte, so that the end of the body (`None`) would never be seen.
    bytes_left: Option<u64>,
}

impl BodyEnd {
    /// Ends the request, once. `outcome`: what the body says of it; `None`: the outcome of the head holds.
    fn end(&mut self, outcome: Option<Outcome>) {
        if let Some(ending) = self.ending.take() {
            ResponseEnding { outcome: outcome.unwrap_or(ending.outcome), ..ending }.now();
        }
    }

    /// Counts a frame of so many bytes. True if it was the last one of a body of known length.
    fn passed(&mut self, bytes: usize) -> bool {
        if let Some(left) = &mut self.bytes_left {
            *left = left.saturating_sub(bytes as u64);
        }
        self.bytes_left == Some(0)
    }
}

impl<B: Body> Body for AdmissionBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let frame = ready!(this.inner.as_mut().poll_frame(cx));
        match &frame {
            None => this.end.end(None),
            Some(Err(_)) => this.end.end(Some(Outcome::Failed)),
            Some(Ok(frame)) => {
                let bytes = frame.data_ref().map_or(0, bytes::Buf::remaining);
                if let Some(trailers) = frame.trailers_ref() {
                    this.end.end(of_trailers(trailers));
                } else if this.end.passed(bytes) || this.inner.is_end_stream() {
                    this.end.end(None);
                }
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
