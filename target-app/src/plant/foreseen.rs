//! The knowledge of a plant that an offline bound may use, and no policy: the cost of requests, and the speed of the
//! servers.

use std::time::Duration;

use controllers::Timestamp;
use workloads::persona::Call;

use super::{
    backend::Draws,
    in_flight::{facts_of, head_of},
    world::Plant,
};

/// The work for a request at one service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Foreseen {
    /// All work.
    pub total: Duration,
    /// The longest part that one server must do alone.
    pub longest: Duration,
}

/// The servers of a service, of all its tasks together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Servers {
    /// Their work per second, in seconds: their number, if each has the usual speed.
    pub speed: f64,
    /// The speed of the fastest one; the usual speed is 1.
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
        let head = head_of(call);
        let kind = self.backend.route(&head).kind;
        let class = self.intake.tags(&facts_of(&head, call, user, None), kind, Timestamp::ZERO).class;
        self.backend.steps(kind, class, Draws { key, user }, 1.0).iter().map(|step| step.demand).sum()
    }

    /// The service's servers, at their speed without faults.
    #[must_use]
    pub fn servers(&self) -> Servers {
        let fastest = self.cpu.usual_speed();
        Servers { speed: f64::from(self.cpu.count().min(self.sites.workers())) * fastest, fastest }
    }
}
