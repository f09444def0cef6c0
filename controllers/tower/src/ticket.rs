//! Requests inside: the ticket of one that was let in, and the place of one that waits.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use controllers::{JobId, Note, Outcome, Reason, RetryHint};
use tokio::sync::oneshot;

use crate::{
    Refused,
    machine::{Ended, Grasp},
};

/// What was decided about a held request.
pub(crate) type Fate = Result<Ticket, Refused>;

/// What the requests inside tell their gate.
pub(crate) trait Host: fmt::Debug + Send + Sync {
    /// Work on a request that was held begins.
    fn started(self: Arc<Self>, grasp: &mut Grasp);

    /// A request has ended.
    fn end(self: Arc<Self>, ended: Ended);

    /// A request has ended: returns the policy's note for its response.
    fn end_noted(self: Arc<Self>, ended: Ended) -> Option<Note>;

    /// A held request is not wanted any more.
    fn leave(self: Arc<Self>, id: JobId);

    /// Counts a request that passed although it was refused.
    fn pass(&self);
}

/// A request that was let in. It ends once: by [`Ticket::end`], or when it is dropped: as abandoned, or as failed if
/// its thread panics.
#[derive(Debug)]
pub(crate) struct Ticket(Inside);

#[derive(Debug)]
enum Inside {
    /// Nobody wants to know how it ends.
    Unwatched,
    Admitted(Arc<dyn Host>, Grasp),
    /// In shadow mode: the policy has let it in, and sends no notes.
    Unnoted(Arc<dyn Host>, Grasp),
    /// In shadow mode: it runs, while the policy holds it.
    Shadow(Held),
}

impl Ticket {
    pub(crate) fn new(gate: Arc<dyn Host>, grasp: Grasp) -> Self {
        Self(Inside::Admitted(gate, grasp))
    }

    /// The ticket of a request whose end nobody wants to know: there is no policy, or it refused the request, which
    /// passed in shadow mode.
    pub(crate) fn unwatched() -> Self {
        Self(Inside::Unwatched)
    }

    /// The ticket of a request that passed, and that the policy holds.
    pub(crate) fn shadow(held: Held) -> Self {
        Self(Inside::Shadow(held))
    }

    /// The ticket in shadow mode: what the policy notes is not sent.
    pub(crate) fn unnoted(mut self) -> Self {
        self.0 = match std::mem::replace(&mut self.0, Inside::Unwatched) {
            Inside::Admitted(gate, grasp) => Inside::Unnoted(gate, grasp),
            inside => inside,
        };
        self
    }

    /// The work begins, after a wait.
    pub(crate) fn started(&mut self) {
        if let Inside::Admitted(gate, grasp) = &mut self.0 {
            Arc::clone(gate).started(grasp);
        }
    }

    /// The note that a client's request is to carry; `brought`: the note of the request on whose behalf it is sent.
    pub(crate) fn note(&self, brought: Option<Note>) -> Option<Note> {
        match &self.0 {
            Inside::Admitted(_, grasp) if grasp.is_at_client() => grasp.note().or(brought),
            Inside::Unnoted(_, grasp) if grasp.is_at_client() => brought,
            _ => None,
        }
    }

    /// The request has ended; `told`: the note of its response.
    pub(crate) fn end(mut self, outcome: Outcome, told: Option<Note>) {
        self.finish(outcome, told);
    }

    /// The request has ended: returns the policy's note for its response. It waits for the lock.
    pub(crate) fn end_noted(mut self, outcome: Outcome, told: Option<Note>) -> Option<Note> {
        match std::mem::replace(&mut self.0, Inside::Unwatched) {
            Inside::Admitted(gate, grasp) => gate.end_noted(Ended { grasp, outcome, told }),
            inside => {
                self.0 = inside;
                self.finish(outcome, told);
                None
            }
        }
    }

    fn finish(&mut self, outcome: Outcome, told: Option<Note>) {
        match std::mem::replace(&mut self.0, Inside::Unwatched) {
            Inside::Unwatched => {}
            Inside::Admitted(gate, grasp) | Inside::Unnoted(gate, grasp) => gate.end(Ended { grasp, outcome, told }),
            Inside::Shadow(held) => held.end(outcome, told),
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.finish(if std::thread::panicking() { Outcome::Failed } else { Outcome::Abandoned }, None);
    }
}

/// A request that the policy holds. It leaves when it is dropped before a decision.
#[derive(Debug)]
pub(crate) struct Held {
    gate: Arc<dyn Host>,
    id: JobId,
    decided: oneshot::Receiver<Fate>,
    waits: bool,
}

impl Held {
    pub(crate) fn new(gate: Arc<dyn Host>, id: JobId, decided: oneshot::Receiver<Fate>) -> Self {
        Self { gate, id, decided, waits: true }
    }

    /// A request in shadow mode has ended: if the policy has let it in by now, it is told so, else the request leaves.
    fn end(mut self, outcome: Outcome, told: Option<Note>) {
        match self.decided.try_recv() {
            Ok(fate) => {
                self.waits = false;
                match fate {
                    Ok(ticket) => ticket.end(outcome, told),
                    Err(_) => self.gate.pass(),
                }
            }
            Err(_) => drop(self),
        }
    }
}

impl Future for Held {
    type Output = Fate;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Fate> {
        let fate = ready!(Pin::new(&mut self.decided).poll(cx));
        self.waits = false;
        // The gate lives as long as its waiters, and answers each.
        Poll::Ready(fate.unwrap_or(Err(Refused {
            reason: Some(Reason::Draining),
            retry: RetryHint::Unsaid,
            note: None,
        })))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.waits {
            Arc::clone(&self.gate).leave(self.id);
        }
    }
}
