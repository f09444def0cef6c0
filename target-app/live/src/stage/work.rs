//! The jobs of a stage, and the sites upstream of it.

use std::time::Duration;

use controllers::{Note, Offer, Outcome, PeerReport, Refusal, Seen, SiteId, site::TurnedAway};

use crate::service::{At, Boxed};

/// A job that a stage can work on.
pub trait StageWork: Send + 'static {
    /// The offer to the policy.
    fn offer(&self) -> Offer;

    /// True once the client has gone.
    fn gone(&self) -> bool;

    /// Does the work, and keeps the result.
    fn run<'a>(&'a mut self, at: At<'a>) -> Boxed<'a, Outcome>;

    /// Takes a refusal as the result, without work.
    fn expire(&mut self, refusal: Refusal) -> Outcome;

    /// The CPU time of the work, where it is known.
    fn cost(&self) -> Option<Duration> {
        None
    }

    /// The note of the last reply to a call on the job's behalf.
    fn told(&self) -> Option<Note> {
        None
    }

    /// Delivers the result, after [`StageWork::run`] or after a panic in it. `note`: from the policy of this stage to that of the sender.
    fn deliver(self, note: Option<Note>);

    /// Refuses the job, which the policy had held.
    fn refuse(self, away: TurnedAway);
}

/// A job that the stage did not take.
#[derive(Debug)]
pub struct RefusedJob<W> {
    /// The job.
    pub work: W,
    /// The refusal, and the note for the sender's policy.
    pub away: TurnedAway,
}

/// A site upstream, to which a stage or monitor reports facts.
pub struct Upstream {
    site: SiteId,
    hear: Box<dyn Fn(&Seen) + Send + Sync>,
}

impl Upstream {
    /// The site with this number; `hear` delivers facts to it.
    pub fn new(site: SiteId, hear: impl Fn(&Seen) + Send + Sync + 'static) -> Self {
        Self { site, hear: Box::new(hear) }
    }
}

/// Reports the pressure of site `from` to one of these sites, or to all.
pub(crate) fn shed(upstream: &[Upstream], from: SiteId, to: Option<SiteId>, level: f64) {
    let seen = Seen::Peer(PeerReport::Pressure { from, level });
    upstream.iter().filter(|site| to.is_none_or(|to| to == site.site)).for_each(|site| (site.hear)(&seen));
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Upstream").field(&self.site).finish()
    }
}
