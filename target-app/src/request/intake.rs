//! Requests as they arrive: each gets an identity and tags, and is counted by attempt.

use std::sync::atomic::{AtomicU64, Ordering};

use controllers::{JobId, Kind, Offer, Tags, Timestamp};

use super::{note, tags};
use crate::class::{Ranks, Shown};

/// Makes offers to the gates of a service.
#[derive(Debug, Default)]
pub struct Arrivals {
    ranks: Ranks,
    next_id: AtomicU64,
    /// First attempts, second ones, third ones, and all later ones.
    attempts: [AtomicU64; 4],
}

impl Arrivals {
    /// `ranks`: which class a request is in, and how important it is.
    pub(crate) fn new(ranks: Ranks) -> Self {
        Self { ranks, ..Self::default() }
    }

    /// A request of this type.
    pub(crate) fn request(&self, shown: &Shown<'_>, kind: Kind, entered: Timestamp) -> Offer {
        let offer = self.check(shown, kind, entered);
        self.attempts[usize::from(offer.tags.attempt.min(3))].fetch_add(1, Ordering::Relaxed);
        Offer { note: note(shown.head), ..offer }
    }

    /// A health check, which is no request: it is not counted, and carries no note.
    pub(crate) fn check(&self, shown: &Shown<'_>, kind: Kind, entered: Timestamp) -> Offer {
        self.offer(self.tags(shown, kind, entered), entered)
    }

    /// A connection, of which nothing is known.
    pub(crate) fn connection(&self, entered: Timestamp) -> Offer {
        self.offer(Tags::default(), entered)
    }

    /// What is known of a request of this type.
    pub(crate) fn tags(&self, shown: &Shown<'_>, kind: Kind, entered: Timestamp) -> Tags {
        tags(&self.ranks, shown, kind, entered)
    }

    /// Requests by the number of their attempt, as rows of a gauge.
    pub(crate) fn by_attempt(&self) -> impl Iterator<Item = (String, u64)> {
        let count =
            |(attempt, count): (usize, &AtomicU64)| (format!("attempt_{attempt}"), count.load(Ordering::Relaxed));
        self.attempts.iter().enumerate().map(count)
    }

    fn offer(&self, tags: Tags, entered: Timestamp) -> Offer {
        Offer { id: JobId(self.next_id.fetch_add(1, Ordering::Relaxed)), tags, entered, note: None }
    }
}
