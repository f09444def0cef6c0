//! The decision about a request: admitted, refused, or held until the policy decides. In a dry run the policy decides and
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
use live_service::stage::{AdmissionGate, GateAnswer, GatePermit, HeldDecision, lock};

/// The gate of a proxy.
#[derive(Debug)]
pub(super) struct Admission {
    pub(super) gate: Arc<AdmissionGate>,
    /// Requests that are held now.
    held: AtomicU32,
    pub(super) dry: DryCounts,
}

/// Decisions of the policy in a dry run.
#[derive(Debug, Default)]
pub(super) struct DryCounts {
    refused: Mutex<BTreeMap<Reason, u64>>,
    held: AtomicU64,
}

/// An admitted request. It ends once: by [`Admitted::end`], or as abandoned when dropped.
#[derive(Debug)]
pub(super) enum Admitted {
    /// The policy let it in.
    ByPolicy(GatePermit),
    /// Dry run: it goes on although the policy refused it for this reason.
    DespiteRefusal(Reason),
    /// Dry run: it goes on although the policy holds it.
    DespiteHold(DryHeld),
}

/// A request of a dry run that the policy holds while it is served.
#[derive(Debug)]
pub(super) struct DryHeld {
    admission: Arc<Admission>,
    id: JobId,
    decision: HeldDecision,
}

impl Admission {
    pub(super) fn new(gate: Arc<AdmissionGate>) -> Arc<Self> {
        Arc::new(Self { gate, held: AtomicU32::new(0), dry: DryCounts::default() })
    }

    /// Asks the policy, and waits while it holds the request. Dropping the future tells it that the client has left.
    ///
    /// # Errors
    /// The refusal; also of a request that would be held beside as many as may be.
    pub(super) async fn ask(&self, offer: Offer, most_held: u32) -> Result<Admitted, TurnedAway> {
        let decision = match self.gate.ask(offer) {
            GateAnswer::Decided(decided) => return decided.map(Admitted::ByPolicy),
            GateAnswer::Held(decision) => decision,
        };
        let _held = Held::new(self, offer.id);
        if self.held.load(Ordering::Relaxed) > most_held {
            return Err(Refusal::new(Reason::QueueFull).into());
        }
        let decided = decision.await;
        decided.unwrap_or_else(|_| Err(Refusal::new(Reason::Draining).into())).map(Admitted::ByPolicy)
    }

    /// Asks the policy, and lets the request pass whatever it says.
    pub(super) fn ask_dry(self: &Arc<Self>, offer: Offer) -> Admitted {
        match self.gate.ask(offer) {
            GateAnswer::Decided(Ok(permit)) => Admitted::ByPolicy(permit),
            GateAnswer::Decided(Err(away)) => {
                self.dry.refused(away.refusal.reason);
                Admitted::DespiteRefusal(away.refusal.reason)
            }
            GateAnswer::Held(decision) => {
                self.dry.held.fetch_add(1, Ordering::Relaxed);
                Admitted::DespiteHold(DryHeld { admission: Arc::clone(self), id: offer.id, decision })
            }
        }
    }

    /// Requests that are held now.
    pub(super) fn held(&self) -> u32 {
        self.held.load(Ordering::Relaxed)
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
        Self::ByPolicy(GatePermit::none())
    }

    /// Work on the request begins. Returns the note that the policy has put on its answer so far.
    pub(super) fn started(&mut self) -> Option<Note> {
        match self {
            Self::ByPolicy(permit) => permit.started_before_reply(),
            Self::DespiteRefusal(_) | Self::DespiteHold(_) => None,
        }
    }

    /// Ends the request. The head of its answer has gone: a note of the policy is for the answers after it. Returns the reason for
    /// which the policy of a dry run refused it.
    pub(super) fn end(self, outcome: Outcome, cost: Option<Duration>, told: Option<Note>) -> Option<Reason> {
        match self {
            Self::ByPolicy(permit) => {
                permit.end_served(outcome, cost, told);
                None
            }
            Self::DespiteRefusal(reason) => Some(reason),
            Self::DespiteHold(mut held) => match held.decision.try_recv() {
                Ok(Ok(mut permit)) => {
                    permit.started();
                    permit.end_served(outcome, cost, told);
                    None
                }
                Ok(Err(away)) => {
                    held.admission.dry.refused(away.refusal.reason);
                    Some(away.refusal.reason)
                }
                Err(_) => None, // it is held still: it leaves
            },
        }
    }
}

impl Drop for DryHeld {
    fn drop(&mut self) {
        self.admission.gate.leave(self.id);
    }
}

/// A held request. Whichever way the wait ends, the gate holds it no longer.
struct Held<'a> {
    admission: &'a Admission,
    id: JobId,
}

impl<'a> Held<'a> {
    fn new(admission: &'a Admission, id: JobId) -> Self {
        admission.held.fetch_add(1, Ordering::Relaxed);
        Self { admission, id }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.admission.held.fetch_sub(1, Ordering::Relaxed);
        self.admission.gate.leave(self.id);
    }
}
