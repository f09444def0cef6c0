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
        let last = if bodyless {
            ending.now();
            LastWord::default()
        } else {
            LastWord { ending: Some(ending), left: response.body().size_hint().exact() }
        };
        response.map(|inner| AdmissionBody { inner, last })
    }
}

pin_project! {
    /// The body of a response whose request ends with it: at its last frame, as failed at an error, and as abandoned if
    /// it is dropped before. A gRPC status in its
    /// trailers says the outcome.
    pub struct AdmissionBody<B> {
        #[pin]
        inner: B,
        last: LastWord,
    }
}

impl<B> fmt::Debug for AdmissionBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdmissionBody").field("last", &self.last).finish_non_exhaustive()
    }
}

/// The request, until it has ended. A ticket that is dropped ends as abandoned.
#[derive(Debug, Default)]
struct LastWord {
    ending: Option<ResponseEnding>,
    /// Bytes that are left, if the body has said how many there are: who reads them does not ask again.
    left: Option<u64>,
}

impl LastWord {
    fn end(&mut self, outcome: Option<Outcome>) {
        if let Some(ending) = self.ending.take() {
            ResponseEnding { outcome: outcome.unwrap_or(ending.outcome), ..ending }.now();
        }
    }

    fn frame(&mut self, bytes: usize) -> bool {
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(bytes as u64);
        }
        self.left == Some(0)
    }
}

impl<B: Body> Body for AdmissionBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let frame = ready!(this.inner.as_mut().poll_frame(cx));
        match &frame {
            None => this.last.end(None),
            Some(Err(_)) => this.last.end(Some(Outcome::Failed)),
            Some(Ok(frame)) => {
                let bytes = frame.data_ref().map_or(0, bytes::Buf::remaining);
                if let Some(trailers) = frame.trailers_ref() {
                    this.last.end(of_trailers(trailers));
                } else if this.last.frame(bytes) || this.inner.is_end_stream() {
                    this.last.end(None);
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
