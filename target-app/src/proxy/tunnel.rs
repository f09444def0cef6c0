//! Connections that have changed their protocol (WebSocket): bytes go to and fro until both sides, or nobody, has any.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, copy_bidirectional};

use super::client::Client;
use crate::edge::Phase;

/// Both sides of a switch, before the answer that completes it is written.
#[derive(Debug)]
pub(super) struct Switch {
    pub(super) client: OnUpgrade,
    pub(super) backend: OnUpgrade,
}

/// Joins both sides, in a task of its own that keeps the client's connection and these places. `idle`: the longest silence.
pub(super) fn open(switch: Switch, client: Arc<Client>, places: impl Send + 'static, idle: Duration) {
    client.conn.switches();
    tokio::spawn(async move {
        let _places = places;
        let (Ok(near), Ok(far)) = (switch.client.await, switch.backend.await) else { return };
        client.enter(Phase::Working); // neither side is waited for
        let moved = Arc::new(AtomicU64::new(0));
        let mut near = Counted { inner: TokioIo::new(near), moved: Arc::clone(&moved) };
        let mut far = Counted { inner: TokioIo::new(far), moved: Arc::clone(&moved) };
        tokio::select! {
            _ = copy_bidirectional(&mut near, &mut far) => {}
            () = silence(&moved, idle) => {}
        }
    });
}

/// Waits until nothing has moved for a while, to a quarter of it.
async fn silence(moved: &AtomicU64, idle: Duration) {
    let (mut last, mut quiet) = (moved.load(Ordering::Relaxed), 0);
    while quiet < 4 {
        tokio::time::sleep(idle / 4).await;
        let now = moved.load(Ordering::Relaxed);
        quiet = if now == last { quiet + 1 } else { 0 };
        last = now;
    }
}

/// Counts the bytes that are read.
struct Counted<S> {
    inner: S,
    moved: Arc<AtomicU64>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, into))?;
        self.moved.fetch_add((into.filled().len() - before) as u64, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
