//! The body of an answer on its way to a client, and the end of the request with it.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use controllers::{Note, Outcome};
use http::StatusCode;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use live_service::edge::ConnPhase;
use service_core::{ledger::LedgerEntry, request::LedgerEnding};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    admission::Admitted,
    ahead::Ahead,
    backend::Lease,
    client::{Client, Stream},
    observe::Observation,
    patience::Patience,
    shares::Share,
    takers::Hold,
    upload::{BrokenOff, Progress},
    waiting_room::Turn,
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
    pub(super) ending: LedgerEnding,
    /// The CPU time that the backend says.
    pub(super) cost: Option<Duration>,
    /// The note of the backend's answer.
    pub(super) told: Option<Note>,
    pub(super) observation: Option<Observation>,
    /// Of the waiting room.
    pub(super) turn: Option<Turn>,
    /// Of a health check.
    pub(super) check: Option<OwnedSemaphorePermit>,
    /// Of its source's.
    pub(super) share: Option<Share>,
}

/// A request that no policy and no backend has a part in, and that nobody notes.
impl Default for Job {
    fn default() -> Self {
        let (outcome, ending) = (Outcome::Ignored, LedgerEnding::Served);
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
            check: None,
            share: None,
        }
    }
}

impl Job {
    /// Ends the request as it was to end.
    pub(super) fn end(&mut self) {
        let admitted = self.admitted.take();
        let would_refuse = admitted.and_then(|admitted| admitted.end(self.outcome, self.cost, self.told));
        if let Some(turn) = self.turn.take() {
            turn.ended(self.ending == LedgerEnding::Served);
        }
        if let Some(entry) = self.entry.take() {
            entry.close(self.ending);
        }
        if let Some(observation) = self.observation.take() {
            observation.ended(self.ending, would_refuse);
        }
        self.leave_backend();
        drop((self.check.take(), self.share.take()));
    }

    /// Gives the backend's connection back: its answer was read to the end.
    fn leave_backend(&mut self) {
        if let Some(lease) = self.lease.take()
            && self.progress.as_ref().is_none_or(|progress| progress.is_all())
        {
            lease.keep();
        }
    }

    /// An answer of a backend's, or the proxy's own.
    pub(super) fn answered(&mut self, status: StatusCode, by: Option<&Lease>) {
        if let Some(observation) = &mut self.observation {
            observation.answered(status.as_u16(), by.map(Lease::index));
        }
    }

    fn passed(&mut self, bytes: usize) {
        if let Some(observation) = &mut self.observation {
            observation.passed(bytes);
        }
    }

    /// No backend has answered, for this reason.
    pub(super) fn unanswered(&mut self, reason: &'static str) {
        if let Some(observation) = &mut self.observation {
            observation.unanswered(reason);
        }
    }

    /// Ends the request: its answer broke off.
    fn end_broken(&mut self) {
        self.unanswered("broken_off");
        if let Some(lease) = self.lease.take() {
            lease.failed(lease.backend());
        }
        (self.outcome, self.ending) = (Outcome::Failed, LedgerEnding::Failed);
        self.end();
    }
}

/// The body of an answer.
#[derive(Debug)]
pub(super) struct Relayed {
    source: BodySource,
    /// The rest of the last frame: a stream of HTTP/2 is given an answer in [`PIECE`]s.
    rest: Bytes,
    /// Boxed: an answer is moved a dozen times on its way to the connection.
    job: Box<Job>,
    stream: Stream,
    stall: Duration,
    /// The wait for the backend, while there is one.
    stalled: Option<Patience>,
    /// Once the backend has broken off: so many turns later this does too, since what came before may still have to be written.
    breaks_in: Option<u8>,
}

type Polled<E> = Poll<Option<Result<Frame<Bytes>, E>>>;

/// The largest part of an answer that a stream of HTTP/2 takes at once, bytes: less than the slowest client that is let through
/// takes within the time-out of writing, so that whoever does not come back for more in that time is slower.
const PIECE: usize = 14 * 1024;
/// Less than this is copied, bytes: it would keep the buffer that it was read into, of 8 KiB or more, until the client takes it.
const SMALL: usize = 2 * 1024;

#[derive(Debug)]
enum BodySource {
    Page(Bytes),
    Backend(Incoming),
    Ahead(Ahead),
}

impl BodySource {
    /// True if nothing comes any more.
    fn is_all(&self) -> bool {
        match self {
            Self::Page(page) => page.is_empty(),
            Self::Backend(body) => body.is_end_stream(),
            Self::Ahead(ahead) => ahead.is_all(),
        }
    }
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
        let mut relayed = Self::new(BodySource::Backend(body), stall, is_all, job, client);
        if !is_all {
            relayed.read_first();
        }
        relayed
    }

    /// Reads what has come of a body with its head: a short answer would hold its backend's connection for as long as the client takes
    /// nothing.
    fn read_first(&mut self) {
        let BodySource::Backend(body) = &mut self.source else { return };
        if body.size_hint().exact().is_none_or(|bytes| bytes == 0) {
            return; // trailers, or the end alone, may come in its place
        }
        match poll_backend(body, self.job.lease.as_mut(), &mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(Ok(frame))) => {
                let data = frame.into_data().unwrap_or_default();
                self.rest = if data.len() < SMALL { Bytes::copy_from_slice(&data) } else { data };
                self.job.passed(self.rest.len());
                if self.source.is_all() {
                    self.job.leave_backend();
                }
            }
            // The head is to be written before.
            Poll::Ready(Some(Err(_))) => self.breaks_in = Some(1),
            Poll::Ready(None) | Poll::Pending => {}
        }
    }

    /// The same, read ahead of the client by so many bytes at most.
    pub(super) fn ahead(body: Incoming, stall: Duration, most: u32, mut job: Box<Job>, client: &Arc<Client>) -> Self {
        let Some(lease) = job.lease.take() else { return Self::backend(body, stall, false, job, client) };
        let ahead = Ahead::read(body, lease, job.progress.clone(), most);
        Self::new(BodySource::Ahead(ahead), stall, false, job, client)
    }

    fn new(source: BodySource, stall: Duration, is_all: bool, job: Box<Job>, client: &Arc<Client>) -> Self {
        let rest = Bytes::new();
        let mut body = Self { source, rest, job, stream: client.stream(), stall, stalled: None, breaks_in: None };
        client.enter(ConnPhase::Writing);
        if is_all {
            body.taken();
        }
        body
    }

    fn taken(&mut self) {
        self.stream.client.conn.taken();
        self.job.end();
    }

    /// A part of the answer for the client. Until it asks for more, or this is dropped, it has not taken that.
    fn given(&mut self, mut data: Bytes) -> Polled<BrokenOff> {
        let is_stream = self.stream.client.is_multiplexed();
        if is_stream {
            self.rest = data.split_off(data.len().min(PIECE));
            if data.len() < SMALL {
                data = Bytes::copy_from_slice(&data);
            }
        }
        let is_last = self.is_end_stream();
        if is_last {
            self.taken();
        }
        if is_stream || !is_last {
            let held = match &self.source {
                BodySource::Ahead(ahead) => Some(ahead.hold()),
                _ => self.job.lease.as_ref().map(|lease| Hold::until_taken(lease.backend().id())),
            };
            self.stream.waits(held);
        }
        Poll::Ready(Some(Ok(Frame::data(data))))
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
            self.stream.client.enter(ConnPhase::Working); // it is not the client who is waited for
        }
        let stalled = self.stalled.get_or_insert_with(|| self.stream.client.timer.limit(self.stall));
        stalled.poll_over(cx).is_ready()
    }
}

fn with_rest(size: &SizeHint, rest: u64) -> SizeHint {
    size.exact().map_or_else(SizeHint::new, |exact| SizeHint::with_exact(exact + rest))
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
        match relayed.breaks_in {
            None => {}
            Some(0) => return relayed.broke(),
            Some(turns) => {
                relayed.breaks_in = Some(turns - 1);
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        relayed.stream.goes_on();
        if !relayed.rest.is_empty() {
            let rest = std::mem::take(&mut relayed.rest);
            return relayed.given(rest);
        }
        let polled = match &mut relayed.source {
            BodySource::Page(page) if page.is_empty() => return Poll::Ready(None),
            BodySource::Page(page) => {
                let page = std::mem::take(page);
                relayed.job.passed(page.len());
                return relayed.given(page);
            }
            BodySource::Backend(body) => poll_backend(body, relayed.job.lease.as_mut(), cx),
            BodySource::Ahead(ahead) => ahead.poll_frame(cx),
        };
        let Poll::Ready(frame) = polled else {
            return if relayed.is_stalled(cx) { relayed.broke() } else { Poll::Pending };
        };
        if let Some(stalled) = relayed.stalled.take() {
            relayed.stream.client.timer.take_back(stalled);
            relayed.stream.client.enter(ConnPhase::Writing);
        }
        if let Some(Ok(frame)) = &frame {
            relayed.job.passed(frame.data_ref().map_or(0, Bytes::len));
        }
        match frame {
            Some(Err(_)) => {
                relayed.breaks_in = Some(0);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            None => {
                relayed.taken();
                Poll::Ready(None)
            }
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => {
                    if relayed.source.is_all() {
                        relayed.job.leave_backend(); // whatever the client takes of it from now on
                    }
                    relayed.given(data)
                }
                Err(trailers) => {
                    relayed.taken();
                    Poll::Ready(Some(Ok(trailers)))
                }
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.source.is_all()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        match &self.source {
            BodySource::Page(page) => SizeHint::with_exact(page.len() as u64 + rest),
            BodySource::Backend(body) => with_rest(&body.size_hint(), rest),
            BodySource::Ahead(ahead) => with_rest(&ahead.size_hint(), rest),
        }
    }
}
