//! Bodies: a request's, read whole within limits; an answer's, which closes its entry in the ledger when the writer has
//! it.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::stream::{BoxStream, StreamExt as _, try_unfold};
use http::{Method, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use service_core::{ledger::LedgerEntry, request::LedgerEnding};
use spec::EdgeSpec;
use tokio::time::{Instant, timeout_at};

use super::conn::{Conn, ConnPhase};
use crate::service::{Bytes, PageBody, Pieces};

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
    conn.enter(ConnPhase::Body);
    let read = in_time(Limited::new(body, limit), limits, conn).await;
    conn.enter(ConnPhase::Working);
    read
}

/// Reads frames until the last, or until too few bytes have come: after the grace period each second requires the bytes
/// of the smallest rate. (A limit on each frame alone would let a byte now and then hold a connection for ever.)
///
/// Bytes are copied together on arrival: a frame of one byte keeps the whole buffer that it was read into.
async fn in_time(mut body: Limited<Incoming>, limits: &EdgeSpec, conn: &Conn) -> Result<Bytes, StatusCode> {
    let began = Instant::now();
    let mut come: Vec<u8> = Vec::new();
    loop {
        let paid_for = match limits.body_rate {
            0 => Duration::MAX,
            rate => limits.body_grace.saturating_add(Duration::from_secs_f64(come.len() as f64 / f64::from(rate))),
        };
        let deadline = began + limits.body_timeout.min(paid_for);
        match timeout_at(deadline, body.frame()).await {
            Err(_) => return Err(StatusCode::REQUEST_TIMEOUT),
            Ok(Some(Ok(frame))) => {
                // Trailers are ignored here.
                let Ok(data) = frame.into_data() else { continue };
                come.extend_from_slice(&data);
            }
            Ok(Some(Err(error))) if error.is::<LengthLimitError>() => return Err(StatusCode::PAYLOAD_TOO_LARGE),
            Ok(Some(Err(_))) => return Err(StatusCode::BAD_REQUEST),
            // hyper accepts chunks that the grammar does not allow.
            Ok(None) if conn.is_at_fault() => return Err(StatusCode::BAD_REQUEST),
            Ok(None) => break,
        }
    }
    Ok(come.into())
}

/// The body of an answer.
pub(crate) struct Answered {
    left: Remaining,
    open: Option<(LedgerEntry, LedgerEnding)>,
    conn: Arc<Conn>,
}

/// The part that the writer does not have yet.
enum Remaining {
    Whole(Bytes),
    Drawn { length: u64, pieces: BoxStream<'static, io::Result<Bytes>> },
}

impl Answered {
    /// A body for an answer to a request with this method. If only a head is written, the entry is closed now; else
    /// when the writer takes the last of the page. A body dropped before that records that the client was gone.
    pub(crate) fn new(
        page: PageBody,
        method: &Method,
        entry: Option<LedgerEntry>,
        ending: LedgerEnding,
        conn: Arc<Conn>,
    ) -> Self {
        let is_all = page.length() == 0 || method == Method::HEAD;
        let left = match page {
            PageBody::Whole(bytes) => Remaining::Whole(bytes),
            PageBody::Drawn { length, pieces } => {
                let next = async |mut pieces: Box<dyn Pieces>| Ok(pieces.next().await?.map(|piece| (piece, pieces)));
                Remaining::Drawn { length, pieces: try_unfold(pieces, next).boxed() }
            }
        };
        let mut body = Self { left, open: entry.map(|entry| (entry, ending)), conn };
        if is_all {
            body.taken();
        }
        body
    }

    fn length(&self) -> u64 {
        match &self.left {
            Remaining::Whole(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            Remaining::Drawn { length, .. } => *length,
        }
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
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let body = &mut *self;
        if body.length() == 0 {
            return Poll::Ready(None);
        }
        let piece = match &mut body.left {
            Remaining::Whole(bytes) => std::mem::take(bytes),
            Remaining::Drawn { length, pieces } => {
                let Poll::Ready(piece) = pieces.poll_next_unpin(cx) else {
                    body.conn.enter(ConnPhase::Working); // the service does not wait for the client
                    return Poll::Pending;
                };
                body.conn.enter(ConnPhase::Writing);
                let piece = match piece {
                    Some(Ok(piece)) if piece.len() as u64 <= *length => piece,
                    Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                    _ => return Poll::Ready(Some(Err(io::ErrorKind::InvalidData.into()))),
                };
                *length -= piece.len() as u64;
                piece
            }
        };
        if body.length() == 0 {
            body.taken();
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.length() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length())
    }
}
