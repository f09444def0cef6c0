//! The body of an answer on its way to a client, and the end of the request with it.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use controllers::{Note, Outcome};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

use super::{
    admission::Admitted,
    backend::Lease,
    client::{Client, Stream},
    observe::Observation,
    patience::Patience,
    upload::{BrokenOff, Progress},
    waiting_room::Turn,
};
use crate::{
    edge::Phase,
    ledger::{LedgerEntry, RequestEnding},
};

/// A request that is being answered. Dropped before its end, it ends as abandoned: the client has left.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) entry: Option<LedgerEntry>,
    pub(super) admitted: Option<Admitted>,
    pub(super) lease: Option<Lease>,
    /// How far its own body has got; `None`: it has none.
    pub(super) progress: Option<Arc<Progress>>,
    pub(super) outcome: Outcome,
    pub(super) ending: RequestEnding,
    /// The CPU time that the backend says.
    pub(super) cost: Option<Duration>,
    /// The note of the backend's answer.
    pub(super) told: Option<Note>,
    pub(super) observation: Option<Observation>,
    /// Of the waiting room.
    pub(super) turn: Option<Turn>,
}

/// A request that no policy and no backend has a part in, and that nobody notes.
impl Default for Job {
    fn default() -> Self {
        let (outcome, ending) = (Outcome::Ignored, RequestEnding::Served);
        Self {
            entry: None,
            admitted: None,
            lease: None,
            progress: None,
            outcome,
            ending,
            cost: None,
            told: None,
            observation: None,
            turn: None,
        }
    }
}

impl Job {
    /// Ends the request as it was to end.
    pub(super) fn end(&mut self) {
        if let Some(admitted) = self.admitted.take() {
            admitted.end(self.outcome, self.cost, self.told);
        }
        if let Some(turn) = self.turn.take() {
            turn.ended(self.ending == RequestEnding::Served);
        }
        if let Some(entry) = self.entry.take() {
            entry.close(self.ending);
        }
        if let Some(observation) = self.observation.take() {
            observation.ended(self.ending);
        }
        if let Some(lease) = self.lease.take()
            && self.progress.as_ref().is_none_or(|progress| progress.is_all())
        {
            lease.keep();
        }
    }

    /// Ends the request: its answer broke off.
    fn end_broken(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.failed(lease.backend());
        }
        (self.outcome, self.ending) = (Outcome::Failed, RequestEnding::Failed);
        self.end();
    }
}

/// The body of an answer.
#[derive(Debug)]
pub(super) struct Relayed {
    source: BodySource,
    /// Boxed: an answer is moved a dozen times on its way to the connection.
    job: Box<Job>,
    stream: Stream,
    stall: Duration,
    /// The wait for the backend, while there is one.
    stalled: Option<Patience>,
    /// True once the backend has broken off.
    breaks: bool,
}

type Polled<E> = Poll<Option<Result<Frame<Bytes>, E>>>;

#[derive(Debug)]
enum BodySource {
    Page(Bytes),
    Backend(Incoming),
}

impl Relayed {
    /// A page of the proxy's own; `is_head`: only the head is sent.
    pub(super) fn page(page: Bytes, is_head: bool, job: Box<Job>, client: &Arc<Client>) -> Self {
        let is_all = is_head || page.is_empty();
        Self::new(BodySource::Page(page), Duration::ZERO, is_all, job, client)
    }

    /// The body of a backend's answer; `stall`: the longest pause within it.
    pub(super) fn backend(body: Incoming, stall: Duration, is_head: bool, job: Box<Job>, client: &Arc<Client>) -> Self {
        let is_all = is_head || body.is_end_stream();
        Self::new(BodySource::Backend(body), stall, is_all, job, client)
    }

    fn new(source: BodySource, stall: Duration, is_all: bool, job: Box<Job>, client: &Arc<Client>) -> Self {
        let mut body = Self { source, job, stream: client.stream(), stall, stalled: None, breaks: false };
        client.enter(Phase::Writing);
        if is_all {
            body.taken();
        }
        body
    }

    fn taken(&mut self) {
        self.stream.client.conn.taken();
        self.job.end();
    }

    fn broke(&mut self) -> Polled<BrokenOff> {
        self.job.end_broken();
        if !self.stream.client.is_multiplexed() {
            self.stream.client.reset();
        }
        Poll::Ready(Some(Err(BrokenOff)))
    }

    /// True once the backend has been silent for too long.
    fn is_stalled(&mut self, cx: &mut Context<'_>) -> bool {
        if self.stalled.is_none() {
            self.stream.client.enter(Phase::Working); // it is not the client who is waited for
        }
        let stalled = self.stalled.get_or_insert_with(|| self.stream.client.timer.limit(self.stall));
        stalled.poll_over(cx).is_ready()
    }
}

/// The next frame of a backend's answer.
fn poll_backend(body: &mut Incoming, lease: Option<&mut Lease>, cx: &mut Context<'_>) -> Polled<hyper::Error> {
    let mut body = Pin::new(body);
    let Some(driven) = lease.and_then(Lease::driven) else { return body.poll_frame(cx) };
    match body.as_mut().poll_frame(&mut Context::from_waker(Waker::noop())) {
        Poll::Pending => driven.drive(cx, |unwoken| body.poll_frame(unwoken)),
        frame @ Poll::Ready(_) => frame, // brought by an earlier turn of the connection
    }
}

impl Body for Relayed {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled<BrokenOff> {
        let relayed = &mut *self;
        if relayed.breaks {
            return relayed.broke();
        }
        relayed.stream.set_blocked(false);
        let polled = match &mut relayed.source {
            BodySource::Page(page) if page.is_empty() => return Poll::Ready(None),
            BodySource::Page(page) => {
                let page = std::mem::take(page);
                if let Some(observation) = &mut relayed.job.observation {
                    observation.passed(page.len());
                }
                relayed.taken();
                return Poll::Ready(Some(Ok(Frame::data(page))));
            }
            BodySource::Backend(body) => poll_backend(body, relayed.job.lease.as_mut(), cx),
        };
        let Poll::Ready(frame) = polled else {
            return if relayed.is_stalled(cx) { relayed.broke() } else { Poll::Pending };
        };
        if let Some(stalled) = relayed.stalled.take() {
            relayed.stream.client.timer.take_back(stalled);
            relayed.stream.client.enter(Phase::Writing);
        }
        if let (Some(Ok(frame)), Some(observation)) = (&frame, &mut relayed.job.observation) {
            observation.passed(frame.data_ref().map_or(0, Bytes::len));
        }
        match frame {
            Some(Err(_)) => {
                // At the next turn: what came before it may still have to be written.
                relayed.breaks = true;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            frame => {
                if frame.is_none() || relayed.is_end_stream() {
                    relayed.taken();
                } else {
                    relayed.stream.set_blocked(true); // until it asks for more
                }
                Poll::Ready(frame.and_then(Result::ok).map(Ok))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            BodySource::Page(page) => page.is_empty(),
            BodySource::Backend(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            BodySource::Page(page) => SizeHint::with_exact(page.len() as u64),
            BodySource::Backend(body) => body.size_hint(),
        }
    }
}
