//! An answer that is taken from its backend ahead of a client that is slower: as much of it as is allowed. Once all of it is there, the
//! backend's connection is free for another request.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Bytes, Frame, Incoming, SizeHint};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinHandle,
};

use super::{
    backend::Lease,
    takers::{BackendId, Hold},
    upload::Progress,
};

/// An answer as far as a backend has sent it, and the rest.
#[derive(Debug)]
pub(super) struct Ahead {
    frames: mpsc::UnboundedReceiver<(Result<Frame<Bytes>, hyper::Error>, OwnedSemaphorePermit)>,
    reading: JoinHandle<()>,
    room: Arc<Semaphore>,
    from: BackendId,
    /// The rest for the client.
    size: SizeHint,
}

impl Ahead {
    /// Begins to read; `most`: bytes that may wait for the client, and one frame more. The connection is kept if all of the request's body, whose
    /// `progress` this is, has gone as well.
    pub(super) fn read(mut body: Incoming, mut lease: Lease, progress: Option<Arc<Progress>>, most: u32) -> Self {
        lease.detach();
        let (size, from) = (body.size_hint(), lease.backend().id());
        let (sender, frames) = mpsc::unbounded_channel();
        let room = Arc::new(Semaphore::new(most.max(1) as usize));
        let room_of_task = Arc::clone(&room);
        let reading = tokio::spawn(async move {
            while let Some(frame) = body.frame().await {
                let bytes = frame.as_ref().ok().and_then(Frame::data_ref).map_or(0, Bytes::len);
                let wanted = u32::try_from(bytes).unwrap_or(u32::MAX).min(most.max(1));
                let Ok(place) = Arc::clone(&room_of_task).acquire_many_owned(wanted).await else { return };
                let is_broken = frame.is_err();
                if is_broken {
                    lease.failed(lease.backend());
                }
                if sender.send((frame, place)).is_err() || is_broken {
                    return;
                }
                if body.is_end_stream() {
                    break;
                }
            }
            if progress.is_none_or(|progress| progress.is_all()) {
                lease.keep();
            }
        });
        Self { frames, reading, room, from, size }
    }

    /// The next frame that has come.
    pub(super) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.frames.poll_recv(cx).map(|next| {
            let (frame, _) = next?;
            let taken = frame.as_ref().ok().and_then(Frame::data_ref).map_or(0, Bytes::len) as u64;
            if let Some(left) = self.size.exact() {
                self.size = SizeHint::with_exact(left.saturating_sub(taken));
            }
            Some(frame)
        })
    }

    /// The backend's connection, which waits for the client while there is no more room for what it sends.
    pub(super) fn hold(&self) -> Hold {
        Hold::while_full(self.from, self.reading.abort_handle(), Arc::clone(&self.room))
    }

    /// True if all has been given to the client, as far as its length says.
    pub(super) fn is_all(&self) -> bool {
        self.size.exact() == Some(0)
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        self.size
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.reading.abort();
    }
}
