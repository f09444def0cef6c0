//! Requests inside: the ticket of one that was let in, and the place of one that waits.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use controllers::{JobId, Outcome, Reason, RetryHint};
use tokio::sync::oneshot;

use crate::{
    Refused,
    machine::Grasp,
    site::{Fate, LiveGate},
};

/// A request that was let in. It ends once: by [`Ticket::end`], or when it is dropped: as abandoned, or as failed if its thread panics.
#[derive(Debug)]
pub(crate) struct Ticket(Inside);

#[derive(Debug)]
enum Inside {
    /// Nobody wants to know how it ends.
    Unwatched,
    Admitted(Arc<LiveGate>, Grasp),
    /// In shadow mode: it runs, while the policy holds it.
    Shadow(Held),
}

impl Ticket {
    pub(crate) fn new(gate: &Arc<LiveGate>, grasp: Option<Grasp>) -> Self {
        Self(grasp.map_or(Inside::Unwatched, |grasp| Inside::Admitted(Arc::clone(gate), grasp)))
    }

    /// The ticket of a request that the policy refused, and that passed.
    pub(crate) fn unwatched() -> Self {
        Self(Inside::Unwatched)
    }

    /// The ticket of a request that passed, and that the policy holds.
    pub(crate) fn shadow(held: Held) -> Self {
        Self(Inside::Shadow(held))
    }

    /// The work begins, after a wait.
    pub(crate) fn started(&mut self) {
        if let Inside::Admitted(gate, grasp) = &mut self.0 {
            gate.started(grasp);
        }
    }

    /// The request has ended.
    pub(crate) fn end(mut self, outcome: Outcome) {
        self.finish(outcome);
    }

    fn finish(&mut self, outcome: Outcome) {
        match std::mem::replace(&mut self.0, Inside::Unwatched) {
            Inside::Unwatched => {}
            Inside::Admitted(gate, grasp) => gate.end(grasp, outcome),
            Inside::Shadow(held) => held.end(outcome),
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.finish(if std::thread::panicking() { Outcome::Failed } else { Outcome::Abandoned });
    }
}

/// A request that the policy holds. It leaves when it is dropped before a decision.
#[derive(Debug)]
pub(crate) struct Held {
    gate: Arc<LiveGate>,
    id: JobId,
    decided: oneshot::Receiver<Fate>,
    waits: bool,
}

impl Held {
    pub(crate) fn new(gate: Arc<LiveGate>, id: JobId, decided: oneshot::Receiver<Fate>) -> Self {
        Self { gate, id, decided, waits: true }
    }

    /// A request in shadow mode has ended: if the policy has let it in by now, it is told so, else the request leaves.
    fn end(mut self, outcome: Outcome) {
        match self.decided.try_recv() {
            Ok(fate) => {
                self.waits = false;
                match fate {
                    Ok(ticket) => ticket.end(outcome),
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
            self.gate.leave(self.id);
        }
    }
}
