//! What sites want their hosts to do.

use crate::{Grant, Note, Offer, PeerReport, Refusal, RetryHint, SiteId, Timestamp, policy::Reason};

/// What the host of a site has to do next.
#[derive(Debug, PartialEq)]
#[must_use]
pub enum Action<J> {
    /// A gate lets this held job in.
    Admit(J, Permit),
    /// A held job is turned away.
    Refuse(J, TurnedAway),
    /// So many idle workers have jobs to begin with.
    Start(u32),
    /// The pool grew by so many workers, which are idle.
    Hire(u32),
    /// So many idle workers are too many, and may leave.
    Dismiss(u32),
    /// Tell an earlier site how hard to shed, 0 (relief) to 1; `None`: every site upstream.
    Shed(Option<SiteId>, f64),
    /// Take this report to other sites.
    Tell(PeerReport),
    /// Nothing until then: poll again at that time or later.
    WakeAt(Timestamp),
    /// Nothing.
    Idle,
}

impl<J> Action<J> {
    /// The order in which the actions of one call are given: what is decided about held jobs comes before new work, and word to
    /// other sites about load comes last.
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

/// Leave to be behind the gate. Ends once, by [`super::Gate::ended`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Permit {
    /// What is known of the job.
    pub offer: Offer,
    pub(super) grant: Grant,
    pub(super) offered: Timestamp,
    pub(super) started: Option<Timestamp>,
}

/// A refusal, and what its reply is to tell beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnedAway {
    /// Why, and what to do.
    pub refusal: Refusal,
    /// From the policy to the sender's.
    pub note: Option<Note>,
}

impl TurnedAway {
    /// Where nobody can wait outside, who is to come back is refused, with the time after which to try again.
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
