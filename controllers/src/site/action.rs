//! The actions that sites request from their hosts.

use crate::{Grant, Note, Offer, PeerReport, Refusal, RetryHint, SiteId, Timestamp, policy::Reason};

/// The next action of a site's host.
#[derive(Debug, PartialEq)]
#[must_use]
pub enum Action<J> {
    /// The gate admits this held job.
    Admit(J, Permit),
    /// The site refuses this held job.
    Refuse(J, TurnedAway),
    /// This number of idle workers can take jobs.
    Start(u32),
    /// The pool grew by this number of idle workers.
    Hire(u32),
    /// The pool shrank by this number of idle workers, which must stop.
    Dismiss(u32),
    /// Report pressure to an upstream site, 0 (relief) to 1; `None`: to every upstream site.
    Shed(Option<SiteId>, f64),
    /// Deliver this report to other sites.
    Tell(PeerReport),
    /// Poll again at this time or later.
    WakeAt(Timestamp),
    /// Nothing to do.
    Idle,
}

impl<J> Action<J> {
    /// The order of the actions of one call: decisions about held jobs come before new work, and pressure on other
    /// sites comes last.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::Tell(_) => 0,
            Self::Admit(..) => 1,
            Self::Refuse(..) => 2,
            Self::Hire(_) | Self::Dismiss(_) => 3,
            Self::Start(_) => 4,
            Self::Shed(..) => 5,
            Self::WakeAt(_) | Self::Idle => 6,
        }
    }
}

/// The permit of an admitted job. [`super::Gate::ended`] consumes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Permit {
    /// The job's offer.
    pub offer: Offer,
    pub(super) grant: Grant,
    pub(super) offered: Timestamp,
    pub(super) started: Option<Timestamp>,
}

/// A refusal, with the note for its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnedAway {
    /// The reason, and advice on retrying.
    pub refusal: Refusal,
    /// The note of the policy to the sender's policy.
    pub note: Option<Note>,
}

impl TurnedAway {
    /// The refusal of a job that the policy sent back, at a site whose senders cannot wait: with the time before a
    /// retry.
    #[must_use]
    pub(super) fn until(wait: std::time::Duration) -> Self {
        Refusal { reason: Reason::Rate, retry: RetryHint::After(wait) }.into()
    }
}

impl From<Refusal> for TurnedAway {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, note: None }
    }
}
