//! The body of a request on its way to a backend: read from the client as fast as the backend takes it.

use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use controllers::Timestamp;
use http::StatusCode;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use live_service::{clock::ServiceClock, edge::ConnPhase};
use spec::EdgeSpec;

use super::{
    client::Client,
    endable::EndableTask,
    patience::Patience,
    takers::{BackendId, Hold, WaitingRequest},
};

/// A request's body.
#[derive(Debug)]
pub(super) struct Upload(Option<Box<Streamed>>);

#[derive(Debug)]
struct Streamed {
    body: Incoming,
    client: Arc<Client>,
    progress: Arc<Progress>,
    clock: ServiceClock,
    account: Account,
    /// The task of the request, which ends with it.
    task: EndableTask,
    /// The backend that it goes to.
    to: Option<BackendId>,
    waits: Option<Wait>,
}

/// A wait for the client.
#[derive(Debug)]
struct Wait {
    since: Timestamp,
    /// For how long.
    patience: Patience,
    /// Its number among those that wait.
    number: u64,
}

impl Drop for Streamed {
    fn drop(&mut self) {
        self.waits.iter().for_each(|wait| self.client.takers.leave(wait.number));
    }
}

/// Limits of a client's body, and its state against them.
#[derive(Debug)]
struct Account {
    limit: u64,
    /// The longest pause.
    pause: Duration,
    grace: Duration,
    rate: f64,
    come: u64,
    waited: Duration,
}

/// How far a body has got, as the request's own task sees it.
#[derive(Debug, Default)]
pub(super) struct Progress(AtomicU8);

const ALL: u8 = 1;
const LARGE: u8 = 2;
const SLOW: u8 = 3;
const MALFORMED: u8 = 4;
const BROKEN: u8 = 5;

impl Progress {
    /// True once the backend has been given all of it.
    pub(super) fn is_all(&self) -> bool {
        self.0.load(Ordering::Acquire) == ALL
    }

    /// The answer to a client whose body is at fault.
    pub(super) fn fault(&self) -> Option<StatusCode> {
        match self.0.load(Ordering::Acquire) {
            LARGE => Some(StatusCode::PAYLOAD_TOO_LARGE),
            SLOW => Some(StatusCode::REQUEST_TIMEOUT),
            MALFORMED | BROKEN => Some(StatusCode::BAD_REQUEST),
            _ => None,
        }
    }

    fn set(&self, to: u8) {
        self.0.store(to, Ordering::Release);
    }
}

/// The reason that a body broke off.
#[derive(Debug)]
pub(super) struct BrokenOff;

impl fmt::Display for BrokenOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body of the request broke off")
    }
}

impl std::error::Error for BrokenOff {}

impl Upload {
    /// No body.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// How far it has got; `None`: there is no body.
    pub(super) fn progress(&self) -> Option<Arc<Progress>> {
        Some(Arc::clone(&self.0.as_ref()?.progress))
    }

    /// The body of a request; `None` beside it: there is none.
    pub(super) fn new(
        body: Incoming,
        client: &Arc<Client>,
        clock: ServiceClock,
        limits: &EdgeSpec,
    ) -> (Self, Option<Arc<Progress>>) {
        if body.is_end_stream() {
            return (Self::none(), None);
        }
        let progress = Arc::new(Progress::default());
        let limit = if limits.body_bytes == 0 { u64::MAX } else { limits.body_bytes.into() };
        let (pause, grace, rate) = (limits.body_timeout, limits.body_grace, limits.body_rate.into());
        let account = Account { limit, pause, grace, rate, come: 0, waited: Duration::ZERO };
        let (client, told) = (Arc::clone(client), Arc::clone(&progress));
        let task = EndableTask::current();
        let streamed = Streamed { body, client, progress, clock, account, task, to: None, waits: None };
        (Self(Some(Box::new(streamed))), Some(told))
    }

    /// Notes where it goes.
    pub(super) fn goes_to(&mut self, backend: BackendId) {
        self.0.iter_mut().for_each(|streamed| streamed.to = Some(backend));
    }
}

impl Account {
    /// Takes bytes in that were waited for; the fault if there is one.
    fn take(&mut self, bytes: usize, waited: Duration) -> Option<u8> {
        self.come += bytes as u64;
        self.waited += waited;
        if self.come > self.limit {
            return Some(LARGE);
        }
        (self.waited > self.paid_for()).then_some(SLOW)
    }

    /// The time that the client may be waited for in all, by the bytes that have come.
    fn paid_for(&self) -> Duration {
        if self.rate > 0.0 { self.grace + Duration::from_secs_f64(self.come as f64 / self.rate) } else { Duration::MAX }
    }

    /// The time for which the client may be waited for now.
    fn left(&self) -> Duration {
        self.pause.min(self.paid_for().saturating_sub(self.waited))
    }
}

impl Streamed {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) else {
            let wait = self.waits.get_or_insert_with(|| {
                self.client.enter(ConnPhase::Body);
                let (since, patience) = (self.clock.now(), self.client.timer.limit(self.account.left()));
                let waits = WaitingRequest::new(&self.client.conn, self.task.clone(), self.to.map(Hold::until_taken));
                Wait { since, patience, number: self.client.takers.wait(waits) }
            });
            ready!(wait.patience.poll_over(cx));
            return self.broken_off(SLOW);
        };
        let waited = self.waits.take().map(|Wait { since, patience, number }| {
            self.client.takers.leave(number);
            self.client.timer.take_back(patience);
            self.client.enter(ConnPhase::Working);
            self.clock.now().since(since)
        });
        let fault = match &frame {
            // hyper accepts chunks that the grammar does not allow.
            _ if !self.client.is_multiplexed() && self.client.conn.is_at_fault() => Some(MALFORMED),
            Some(Ok(frame)) => {
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                self.account.take(bytes, waited.unwrap_or_default())
            }
            Some(Err(_)) => Some(BROKEN),
            None => None,
        };
        if let Some(fault) = fault {
            return self.broken_off(fault);
        }
        if frame.is_none() || self.body.is_end_stream() {
            self.progress.set(ALL);
        }
        Poll::Ready(frame.and_then(Result::ok).map(Ok))
    }

    fn broken_off(&self, fault: u8) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        self.progress.set(fault);
        Poll::Ready(Some(Err(BrokenOff)))
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        match &mut self.0 {
            None => Poll::Ready(None),
            Some(streamed) => streamed.poll(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(|streamed| streamed.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or_else(|| SizeHint::with_exact(0), |streamed| streamed.body.size_hint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_drips_is_too_slow_and_one_that_a_backend_takes_slowly_is_not() {
        let secs = Duration::from_secs;
        let mut account =
            Account { limit: 1000, pause: secs(3), grace: secs(5), rate: 100.0, come: 0, waited: Duration::ZERO };
        assert_eq!(account.left(), secs(3), "a pause");
        assert_eq!(account.take(10, secs(4)), None);
        assert_eq!(account.left(), Duration::from_millis(1100), "what is paid for");
        assert_eq!(account.take(10, secs(2)), Some(SLOW));
        assert_eq!(account.left(), Duration::ZERO);
        account.waited = Duration::ZERO;
        assert_eq!(account.take(900, Duration::ZERO), None);
        assert_eq!(account.take(900, Duration::ZERO), Some(LARGE));
    }
}
