//! Requests as they arrive: each gets an identity and tags, and is counted by attempt.

use std::sync::atomic::{AtomicU64, Ordering};

use controllers::{Class, JobId, Kind, Offer, Tags, Timestamp};

use super::tags;
use crate::class::{Classification, RequestFacts};

/// Makes offers to the gates of a service.
#[derive(Debug, Default)]
pub struct Intake {
    classification: Classification,
    next_id: AtomicU64,
    /// The numbers of first, second, third and all later attempts.
    attempts: [AtomicU64; 4],
}

impl Intake {
    /// `classification`: the rules for the class and the criticality of a request.
    pub fn new(classification: Classification) -> Self {
        Self { classification, ..Self::default() }
    }

    /// The offer of a request of this type.
    pub fn request(&self, facts: &RequestFacts<'_>, kind: Kind, entered: Timestamp) -> Offer {
        let offer = self.check(facts, kind, entered);
        self.attempts[usize::from(offer.tags.attempt.min(3))].fetch_add(1, Ordering::Relaxed);
        Offer { note: facts.own.note(), ..offer }
    }

    /// The offer of a health check, which is not counted as a request and carries no note.
    pub fn check(&self, facts: &RequestFacts<'_>, kind: Kind, entered: Timestamp) -> Offer {
        self.offer(self.tags(facts, kind, entered), entered)
    }

    /// The offer of a connection, without any tags.
    pub fn connection(&self, entered: Timestamp) -> Offer {
        self.offer(Tags::default(), entered)
    }

    /// The class of a request.
    pub fn class(&self, facts: &RequestFacts<'_>) -> Class {
        self.classification.class(facts)
    }

    /// The tags of a request of this type.
    pub fn tags(&self, facts: &RequestFacts<'_>, kind: Kind, entered: Timestamp) -> Tags {
        tags(&self.classification, facts, kind, entered)
    }

    /// Requests by the number of their attempt, as rows of a gauge.
    pub fn by_attempt(&self) -> impl Iterator<Item = (String, u64)> {
        let count =
            |(attempt, count): (usize, &AtomicU64)| (format!("attempt_{attempt}"), count.load(Ordering::Relaxed));
        self.attempts.iter().enumerate().map(count)
    }

    fn offer(&self, tags: Tags, entered: Timestamp) -> Offer {
        Offer { id: JobId(self.next_id.fetch_add(1, Ordering::Relaxed)), tags, entered, note: None }
    }
}
