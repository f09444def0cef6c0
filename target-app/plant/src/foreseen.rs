//! The knowledge of a plant that an offline bound may use, and no policy: the cost of requests, and the speed of the
//! servers.

use std::time::Duration;

use controllers::{Kind, Timestamp};
use workloads::persona::Call;

use super::{
    backend::Draws,
    in_flight::{facts_of, head_of},
    world::Plant,
};

/// The work for a request at one service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Foreseen {
    /// Its type there.
    pub kind: Kind,
    /// All work.
    pub total: Duration,
    /// The longest part that one server must do alone before the answer is due: less than all where the rest may follow.
    pub longest: Duration,
}

/// The servers of a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Servers {
    /// Their work per second, in seconds: their number, if each has the usual speed.
    pub speed: f64,
    /// The speed of one; the usual speed is 1.
    pub fastest: f64,
    /// The requests that are in service at once, at most.
    pub workers: u32,
    /// The work to read a request, if reading takes the servers from other work.
    pub read: Duration,
    /// The work to refuse one that was read.
    pub refuse: Duration,
}

impl Foreseen {
    /// Work in one piece on a request of this type.
    #[must_use]
    pub fn one(kind: Kind, work: Duration) -> Self {
        Self { kind, total: work, longest: work }
    }

    pub(super) fn add(&mut self, more: Self) {
        self.kind = if self.total.is_zero() { more.kind } else { self.kind };
        self.total += more.total;
        self.longest = self.longest.max(more.longest);
    }
}

impl Plant {
    /// The work on this user's request with these draws, at full quality.
    pub fn foresee(&mut self, call: &Call, user: u64, key: u64) -> Foreseen {
        let head = head_of(call);
        let kind = self.backend.route(&head).kind;
        let class = self.intake.tags(&facts_of(&head, call, user, None), kind, Timestamp::ZERO).class;
        let draws = Draws { key, user };
        let total = self.backend.steps(kind, class, draws, 1.0).iter().map(|step| step.demand).sum();
        let batch = self.batch.as_ref().zip(self.backend.tokens(draws));
        // In time with its first token, on a place that has its part of the server.
        let longest = batch.map(|(batch, tokens)| batch.first_token(tokens).div_f64(batch.places()));
        Foreseen { longest: longest.unwrap_or(total), ..Foreseen::one(kind, total) }
    }

    /// The service's servers, at their speed without faults. Places in a batch are servers that share the speed of one.
    #[must_use]
    pub fn servers(&self) -> Servers {
        let (usual, workers) = (self.cpu.usual_speed(), self.sites.workers());
        let fastest = self.batch.as_ref().map_or(usual, |batch| usual / batch.places());
        // Cores for which there are no workers read and refuse without taking anything from them.
        let costs = if workers >= self.cpu.count() { [self.costs.read_ms, self.costs.refuse_ms] } else { [0.0; 2] };
        let [read, refuse] = costs.map(|ms| Duration::from_secs_f64(ms / 1e3));
        Servers { speed: f64::from(self.cpu.count().min(workers)) * usual, fastest, workers, read, refuse }
    }
}
