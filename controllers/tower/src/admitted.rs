//! Requests inside the layer: one that was admitted, and one that the policy holds.

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
    machine::{AdmissionGrant, Ended},
};

/// The decision about a held request, for the response future that waits.
pub(crate) type HoldDecision = Result<AdmittedRequest, Refused>;

/// What requests inside tell the gate that admitted or holds them.
pub(crate) trait Host: fmt::Debug + Send + Sync {
    /// Work on a request that was held begins.
    fn started(self: Arc<Self>, grant: &mut AdmissionGrant);

    /// An admitted request has ended. It does not wait for the lock of the gate.
    fn end(self: Arc<Self>, ended: Ended);

    /// An admitted request has ended. Returns the policy's note for its response, for which it waits for the lock.
    fn end_noted(self: Arc<Self>, ended: Ended) -> Option<Note>;

    /// The caller of a held request has dropped its response future.
    fn leave(self: Arc<Self>, id: JobId);

    /// Shadow mode: counts a request that ran although the policy refused it.
    fn pass(&self);
}

/// An admitted request. The policy is told its end exactly once: by [`AdmittedRequest::end`], or when it is dropped: as
/// abandoned (the caller dropped the response future), or as failed if its thread panics.
#[derive(Debug)]
pub(crate) struct AdmittedRequest(Inside);

#[derive(Debug)]
enum Inside {
    /// The policy is not told the end: it has none to be told of, or refused the request (shadow mode).
    Unwatched,
    Admitted(Arc<dyn Host>, AdmissionGrant),
    /// Shadow mode: admitted, and the policy's notes are not sent.
    Unnoted(Arc<dyn Host>, AdmissionGrant),
    /// Shadow mode: it runs, while the policy still holds it.
    Shadow(Held),
}

impl AdmittedRequest {
    pub(crate) fn new(gate: Arc<dyn Host>, grant: AdmissionGrant) -> Self {
        Self(Inside::Admitted(gate, grant))
    }

    /// A request whose end the policy is not told: the gate has no policy (`none`), or the policy refused the request, which
    /// runs in shadow mode all the same.
    pub(crate) fn unwatched() -> Self {
        Self(Inside::Unwatched)
    }

    /// Shadow mode: a request that runs while the policy holds it.
    pub(crate) fn shadow(held: Held) -> Self {
        Self(Inside::Shadow(held))
    }

    /// The same request in shadow mode: the policy's notes for it are not sent.
    pub(crate) fn unnoted(mut self) -> Self {
        self.0 = match std::mem::replace(&mut self.0, Inside::Unwatched) {
            Inside::Admitted(gate, grant) => Inside::Unnoted(gate, grant),
            inside => inside,
        };
        self
    }

    /// The inner service begins on a request that was held: service time counts from here.
    pub(crate) fn started(&mut self) {
        if let Inside::Admitted(gate, grant) = &mut self.0 {
            Arc::clone(gate).started(grant);
        }
    }

    /// The note that a client's request is to carry: that of the client's policy, or else `brought`, the note of the request
    /// on whose behalf it is sent. `None` at a server, whose policy puts its note on the response.
    pub(crate) fn note(&self, brought: Option<Note>) -> Option<Note> {
        match &self.0 {
            Inside::Admitted(_, grant) if grant.is_at_client() => grant.note().or(brought),
            Inside::Unnoted(_, grant) if grant.is_at_client() => brought,
            _ => None,
        }
    }

    /// The request has ended; `told`: the note that its response carries.
    pub(crate) fn end(mut self, outcome: Outcome, told: Option<Note>) {
        self.finish(outcome, told);
    }

    /// The same, and returns the policy's note for the response. It waits for the gate's lock.
    pub(crate) fn end_noted(mut self, outcome: Outcome, told: Option<Note>) -> Option<Note> {
        match std::mem::replace(&mut self.0, Inside::Unwatched) {
            Inside::Admitted(gate, grant) => gate.end_noted(Ended { grant, outcome, told }),
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
            Inside::Admitted(gate, grant) | Inside::Unnoted(gate, grant) => gate.end(Ended { grant, outcome, told }),
            Inside::Shadow(held) => held.end(outcome, told),
        }
    }
}

impl Drop for AdmittedRequest {
    fn drop(&mut self) {
        self.finish(if std::thread::panicking() { Outcome::Failed } else { Outcome::Abandoned }, None);
    }
}

/// A request that the policy holds: a future that ends with the decision. Dropped before that, the request leaves the gate.
#[derive(Debug)]
pub(crate) struct Held {
    gate: Arc<dyn Host>,
    id: JobId,
    decided: oneshot::Receiver<HoldDecision>,
    /// No decision has been received: the gate still has the request.
    waits: bool,
}

impl Held {
    pub(crate) fn new(gate: Arc<dyn Host>, id: JobId, decided: oneshot::Receiver<HoldDecision>) -> Self {
        Self { gate, id, decided, waits: true }
    }

    /// Shadow mode: the request has ended. If the policy has admitted it meanwhile, the policy is told the end; if it has
    /// refused it, that is counted; if it still holds it, the request leaves.
    fn end(mut self, outcome: Outcome, told: Option<Note>) {
        match self.decided.try_recv() {
            Ok(decision) => {
                self.waits = false;
                match decision {
                    Ok(admitted) => admitted.end(outcome, told),
                    Err(_) => self.gate.pass(),
                }
            }
            Err(_) => drop(self),
        }
    }
}

impl Future for Held {
    type Output = HoldDecision;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<HoldDecision> {
        let decision = ready!(Pin::new(&mut self.decided).poll(cx));
        self.waits = false;
        // The sender is dropped without a decision only if the gate is: each waiter has an `Arc` of it.
        Poll::Ready(decision.unwrap_or(Err(Refused {
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
