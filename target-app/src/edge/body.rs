//! Bodies: a request's, read whole within limits; an answer's, which closes its entry in the books when it is taken.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Method, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::conn::{Conn, Phase};
use crate::{
    ledger::{Ending, Entry},
    service::Bytes,
};

/// Reads a body whole.
///
/// # Errors
/// The status to answer with: 413 if it is too large, 400 if it is malformed or cut short.
pub(crate) async fn read(body: Incoming, limit: usize, conn: &Conn) -> Result<Bytes, StatusCode> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    if body.size_hint().lower() > u64::try_from(limit).unwrap_or(u64::MAX) {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    conn.enter(Phase::Body);
    let read = Limited::new(body, limit).collect().await;
    conn.enter(Phase::Working);
    match read {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(StatusCode::PAYLOAD_TOO_LARGE),
        Err(_) => Err(StatusCode::BAD_REQUEST),
    }
}

/// An answer's body.
#[derive(Debug)]
pub(crate) struct Answered {
    page: Bytes,
    open: Option<(Entry, Ending)>,
    conn: Arc<Conn>,
}

impl Answered {
    /// A body for an answer to a request with that method. Where nothing is to be written but a head, the entry is
    /// closed now; else when the writer takes the page, and dropped untaken it says that the client had gone.
    pub(crate) fn new(page: Bytes, method: &Method, entry: Option<Entry>, ending: Ending, conn: Arc<Conn>) -> Self {
        let mut body = Self { page, open: entry.map(|entry| (entry, ending)), conn };
        if body.page.is_empty() || method == Method::HEAD {
            body.taken();
        }
        body
    }

    fn taken(&mut self) {
        self.conn.taken();
        if let Some((entry, ending)) = self.open.take() {
            entry.close(ending);
        }
    }
}

impl Body for Answered {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.page.is_empty() {
            return Poll::Ready(None);
        }
        self.taken();
        Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.page)))))
    }

    fn is_end_stream(&self) -> bool {
        self.page.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(u64::try_from(self.page.len()).unwrap_or(u64::MAX))
    }
}
