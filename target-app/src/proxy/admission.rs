//! The decision about a request: admitted, refused, or parked until the policy decides. In a dry run the policy decides and
//! is told everything, and every request goes on.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use controllers::{JobId, Note, Offer, Outcome, Reason, Refusal, site::TurnedAway};
use tokio::sync::oneshot;

use crate::stage::{AdmissionGate, AdmissionResult, GatePermit, lock};

/// The gate of a proxy.
#[derive(Debug)]
pub(super) struct Admission {
    pub(super) gate: Arc<AdmissionGate>,
    /// Requests that are parked now.
    parked: AtomicU32,
    pub(super) dry: DryCounts,
}

/// What the policy would have done in a dry run.
#[derive(Debug, Default)]
pub(super) struct DryCounts {
    refused: Mutex<BTreeMap<Reason, u64>>,
    held: AtomicU64,
}

/// An admitted request. It ends once: by [`Admitted::end`], or as abandoned when dropped.
#[derive(Debug)]
pub(super) enum Admitted {
    /// The policy let it in.
    In(GatePermit),
    /// It goes on although the policy refused it.
    Anyway,
    /// It goes on although the policy holds it.
    Meanwhile(Meanwhile),
}

/// A request of a dry run that the policy holds while it is served.
#[derive(Debug)]
pub(super) struct Meanwhile {
    admission: Arc<Admission>,
    id: JobId,
    decision: oneshot::Receiver<AdmissionResult>,
}

impl Admission {
    pub(super) fn new(gate: Arc<AdmissionGate>) -> Arc<Self> {
        Arc::new(Self { gate, parked: AtomicU32::new(0), dry: DryCounts::default() })
    }

    /// Asks the policy, and waits while it holds the request. Dropping the future tells it that the client has left.
    ///
    /// # Errors
    /// The refusal; also of a request that would be parked beside as many as may be.
    pub(super) async fn ask(&self, offer: Offer, most_parked: u32) -> Result<Admitted, TurnedAway> {
        let (decided, decision) = self.offer(offer);
        if let Some(decided) = decided {
            return decided.map(Admitted::In);
        }
        let _parked = Parked::new(self, offer.id);
        if self.parked.load(Ordering::Relaxed) > most_parked {
            return Err(Refusal::new(Reason::QueueFull).into());
        }
        let decided = decision.await;
        decided.unwrap_or_else(|_| Err(Refusal::new(Reason::Draining).into())).map(Admitted::In)
    }

    /// Asks the policy, and lets the request pass whatever it says.
    pub(super) fn ask_dry(self: &Arc<Self>, offer: Offer) -> Admitted {
        match self.offer(offer) {
            (Some(Ok(permit)), _) => Admitted::In(permit),
            (Some(Err(away)), _) => {
                self.dry.refused(away.refusal.reason);
                Admitted::Anyway
            }
            (None, decision) => {
                self.dry.held.fetch_add(1, Ordering::Relaxed);
                Admitted::Meanwhile(Meanwhile { admission: Arc::clone(self), id: offer.id, decision })
            }
        }
    }

    /// Requests that are parked now.
    pub(super) fn parked(&self) -> u32 {
        self.parked.load(Ordering::Relaxed)
    }

    fn offer(&self, offer: Offer) -> (Option<AdmissionResult>, oneshot::Receiver<AdmissionResult>) {
        let mut waiting = None;
        let decided = self.gate.offer(offer, || {
            let (sender, receiver) = oneshot::channel();
            waiting = Some(receiver);
            Box::new(|decided| drop(sender.send(decided))) // a permit without a receiver ends when it is dropped
        });
        // A closed channel, where nothing is waited for.
        (decided, waiting.unwrap_or_else(|| oneshot::channel().1))
    }
}

impl DryCounts {
    fn refused(&self, reason: Reason) {
        *lock(&self.refused).entry(reason).or_default() += 1;
    }

    /// The counts as rows of a gauge: requests that would have been refused, by reason, and held.
    pub(super) fn rows(&self) -> BTreeMap<String, u64> {
        let refused = lock(&self.refused);
        let rows = refused.iter().map(|(reason, &count)| (format!("would_refuse_{}", reason.name()), count));
        rows.chain([("would_hold".to_owned(), self.held.load(Ordering::Relaxed))]).collect()
    }
}

impl Admitted {
    /// A request that no policy is asked about.
    pub(super) fn unasked() -> Self {
        Self::In(GatePermit::none())
    }

    /// Work on the request begins.
    pub(super) fn started(&mut self) {
        if let Self::In(permit) = self {
            permit.started();
        }
    }

    /// Ends the request. Returns the note for the sender's policy.
    pub(super) fn end(self, outcome: Outcome, cost: Option<Duration>, told: Option<Note>) -> Option<Note> {
        match self {
            Self::In(permit) => permit.end_served(outcome, cost, told),
            Self::Anyway => None,
            Self::Meanwhile(mut meanwhile) => match meanwhile.decision.try_recv() {
                Ok(Ok(mut permit)) => {
                    permit.started();
                    permit.end_served(outcome, cost, told)
                }
                Ok(Err(away)) => {
                    meanwhile.admission.dry.refused(away.refusal.reason);
                    None
                }
                Err(_) => None, // it is held still: it leaves
            },
        }
    }
}

impl Drop for Meanwhile {
    fn drop(&mut self) {
        self.admission.gate.leave(self.id);
    }
}

/// A parked request. Whichever way the wait ends, the gate holds it no longer.
struct Parked<'a> {
    admission: &'a Admission,
    id: JobId,
}

impl<'a> Parked<'a> {
    fn new(admission: &'a Admission, id: JobId) -> Self {
        admission.parked.fetch_add(1, Ordering::Relaxed);
        Self { admission, id }
    }
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        self.admission.parked.fetch_sub(1, Ordering::Relaxed);
        self.admission.gate.leave(self.id);
    }
}
