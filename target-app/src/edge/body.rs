//! Bodies: a request's, read whole within limits; an answer's, which closes its entry in the books when it is taken.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::{Method, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, timeout_at};

use super::conn::{Conn, Phase};
use crate::{
    ledger::{Ending, Entry},
    service::Bytes,
    spec::EdgeSpec,
};

/// Reads a body whole.
///
/// # Errors
/// The status to answer with: 413 if it is too large, 408 if it takes too long, 400 if it is malformed or cut short.
pub(crate) async fn read(body: Incoming, limits: &EdgeSpec, conn: &Conn) -> Result<Bytes, StatusCode> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let limit = usize::try_from(limits.body_bytes).unwrap_or(usize::MAX);
    if body.size_hint().lower() > u64::try_from(limit).unwrap_or(u64::MAX) {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    conn.enter(Phase::Body);
    let read = in_time(Limited::new(body, limit), limits).await;
    conn.enter(Phase::Working);
    read
}

/// Reads frames until the last, or until too few bytes have come: after the grace each second costs as many as the least
/// rate says. (A limit on each frame alone would let a byte now and then hold a connection for ever.)
async fn in_time(mut body: Limited<Incoming>, limits: &EdgeSpec) -> Result<Bytes, StatusCode> {
    let began = Instant::now();
    let mut frames: Vec<Bytes> = Vec::new();
    let mut come = 0_usize;
    loop {
        let paid_for = match limits.body_rate {
            0 => Duration::MAX,
            rate => limits.body_grace.saturating_add(Duration::from_secs_f64(come as f64 / f64::from(rate))),
        };
        let deadline = began + limits.body_timeout.min(paid_for);
        match timeout_at(deadline, body.frame()).await {
            Err(_) => return Err(StatusCode::REQUEST_TIMEOUT),
            Ok(Some(Ok(frame))) => {
                // Trailers say nothing that is wanted here.
                let Ok(data) = frame.into_data() else { continue };
                come += data.len();
                frames.push(data);
            }
            Ok(Some(Err(error))) if error.is::<LengthLimitError>() => return Err(StatusCode::PAYLOAD_TOO_LARGE),
            Ok(Some(Err(_))) => return Err(StatusCode::BAD_REQUEST),
            Ok(None) => break,
        }
    }
    Ok(if frames.len() == 1 { frames.remove(0) } else { frames.concat().into() })
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
