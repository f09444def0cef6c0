//! What a stage works on, whom it tells, and what comes back from it.

use std::time::Duration;

use controllers::{Note, Offer, Outcome, Seen, SiteId, site::TurnedAway};

use crate::service::{At, Boxed};

/// A job that a stage can work on.
pub trait Work: Send + 'static {
    /// What the policy may know of it.
    fn offer(&self) -> Offer;

    /// True once nobody waits for it any more.
    fn gone(&self) -> bool;

    /// Does the work, and keeps what came of it.
    fn run<'a>(&'a mut self, at: At<'a>) -> Boxed<'a, Outcome>;

    /// What the work cost, CPU time, where that is known.
    fn cost(&self) -> Option<Duration> {
        None
    }

    /// What the last reply to a call on its behalf told.
    fn told(&self) -> Option<Note> {
        None
    }

    /// Hands over what came of it, after [`Work::run`] or after a panic in it. `note`: what the policy here tells that of the sender.
    fn deliver(self, note: Option<Note>);

    /// It was held, and is now refused.
    fn refuse(self, away: TurnedAway);
}

/// A failed enqueue: the job comes back.
#[derive(Debug)]
pub struct RefusedJob<W> {
    /// The job.
    pub work: W,
    /// Why, and what its reply is to tell.
    pub away: TurnedAway,
}

/// A site that can be told facts by other sites.
pub struct Upstream {
    site: SiteId,
    hear: Box<dyn Fn(&Seen) + Send + Sync>,
}

impl Upstream {
    /// A site with this number, and how it is told.
    pub fn new(site: SiteId, hear: impl Fn(&Seen) + Send + Sync + 'static) -> Self {
        Self { site, hear: Box::new(hear) }
    }

    /// Tells the site a fact.
    pub fn tell(&self, seen: &Seen) {
        (self.hear)(seen);
    }

    /// Its number.
    #[must_use]
    pub fn id(&self) -> SiteId {
        self.site
    }
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Upstream").field(&self.site).finish()
    }
}
