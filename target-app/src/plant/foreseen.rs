//! What an offline bound may ask of a plant, and nothing that decides: what requests will cost, and how fast the servers are.

use std::time::Duration;

use controllers::Timestamp;
use workloads::persona::Call;

use super::{
    in_flight::{head_of, peer_of},
    world::Plant,
};
use crate::class::RequestFacts;

/// Work for a request at one service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Foreseen {
    /// All of it.
    pub total: Duration,
    /// The longest part that one server has to do by itself.
    pub longest: Duration,
}

/// The servers of a service, those of all its tasks together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Servers {
    /// The work that they do in a second, in seconds: their number, if each has the usual speed.
    pub speed: f64,
    /// The speed of the fastest one, 1 as usual.
    pub fastest: f64,
}

impl Foreseen {
    /// Work in one piece.
    #[must_use]
    pub fn one(work: Duration) -> Self {
        Self { total: work, longest: work }
    }

    pub(super) fn add(&mut self, more: Self) {
        self.total += more.total;
        self.longest = self.longest.max(more.longest);
    }
}

impl Servers {
    pub(super) fn add(self, more: Self) -> Self {
        Self { speed: self.speed + more.speed, fastest: self.fastest.max(more.fastest) }
    }
}

impl Plant {
    /// The work on this user's request with these draws, at full quality.
    pub fn foresee(&mut self, call: &Call, user: u64, key: u64) -> Duration {
        let head = head_of(call, None);
        let kind = self.backend.route(&head).kind;
        let class = self
            .intake
            .tags(&RequestFacts { head: &head, peer: peer_of(user), session: Some(user) }, kind, Timestamp::ZERO)
            .class;
        self.backend.steps(kind, class, key, 1.0).iter().map(|step| step.demand).sum()
    }

    /// Its servers, as fast as they are without faults.
    #[must_use]
    pub fn servers(&self) -> Servers {
        let fastest = self.cpu.usual_speed();
        Servers { speed: f64::from(self.cpu.count().min(self.sites.workers())) * fastest, fastest }
    }
}
