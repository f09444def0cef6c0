//! What a policy is told about a request.

use std::time::Duration;

use controllers::{Class, Criticality, Kind, Note, Tags};

/// What a policy is told about a request. The default is that of every request without tags: class 0, no user,
/// criticality
/// `CRITICAL`, first attempt, no deadline.
///
/// Whatever a client says about itself is its own claim: take class and criticality from what the service knows, or
/// from a
/// caller that it trusts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestTags {
    pub(crate) tags: Tags,
    pub(crate) time_left: Option<Duration>,
    pub(crate) note: Option<Note>,
}

impl RequestTags {
    /// No tags.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The type of the request, a number of the service's own.
    #[must_use]
    pub fn kind(mut self, kind: u16) -> Self {
        self.tags.kind = Kind(kind);
        self
    }

    /// The class of its user, 0 to 9; a higher one is more important.
    #[must_use]
    pub fn class(mut self, class: u8) -> Self {
        self.tags.class = Class(class);
        self
    }

    /// Its user: the same number at every service that the request comes through, 0 if unknown. Policies that refuse
    /// the
    /// same users for a while (`dagor`) need it.
    #[must_use]
    pub fn user(mut self, user: u64) -> Self {
        self.tags.user = user;
        self
    }

    /// The customer who is charged for it: the index of a quota.
    #[must_use]
    pub fn customer(mut self, customer: u32) -> Self {
        self.tags.customer = customer;
        self
    }

    /// Its importance to the product.
    #[must_use]
    pub fn criticality(mut self, criticality: Criticality) -> Self {
        self.tags.criticality = criticality;
        self
    }

    /// The number of the attempt: 0 for the first one, then that of the retry. Retry budgets need it.
    #[must_use]
    pub fn attempt(mut self, attempt: u8) -> Self {
        self.tags.attempt = attempt;
        self
    }

    /// At a client, for a retry: the attempt before was answered "overloaded; don't retry".
    #[must_use]
    pub fn told_not_to_retry(mut self, told: bool) -> Self {
        self.tags.told_not_to_retry = told;
        self
    }

    /// How long its sender still waits.
    #[must_use]
    pub fn time_left(mut self, left: Duration) -> Self {
        self.time_left = Some(left);
        self
    }

    /// The note of the sender's policy.
    #[must_use]
    pub fn note(mut self, note: Note) -> Self {
        self.note = Some(note);
        self
    }
}

/// Says what a policy is told about a request. Closures `Fn(&Request) -> RequestTags` do.
pub trait Classify<Req> {
    /// The tags of a request.
    fn tags(&self, request: &Req) -> RequestTags;
}

/// Tells a policy nothing about requests: the default.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTags;

impl<Req> Classify<Req> for NoTags {
    fn tags(&self, _: &Req) -> RequestTags {
        RequestTags::default()
    }
}

impl<Req, F: Fn(&Req) -> RequestTags> Classify<Req> for F {
    fn tags(&self, request: &Req) -> RequestTags {
        self(request)
    }
}
