//! Requests in flight, and the integral of their number over time.

use controllers::Timestamp;

/// The number of requests that were sent and have not ended.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub now: u64,
    /// Of these: cut off at the end of the run.
    cut_off: u64,
    /// The integral of the number over time, in nanoseconds, up to `until`.
    area: u128,
    until: Timestamp,
}

impl InFlight {
    pub fn new() -> Self {
        Self { now: 0, cut_off: 0, area: 0, until: Timestamp::ZERO }
    }

    /// One more. A host that learns of a write later reports it later: the time since the write is added here.
    pub fn begins(&mut self, at: Timestamp) {
        self.advance(at);
        self.now += 1;
        self.area += self.until.since(at).as_nanos();
    }

    /// One less, or one that is cut off. A host that learns of an end late reports it late: the time since the end is
    /// subtracted here.
    pub fn ends(&mut self, at: Timestamp, cut_off: bool) {
        self.advance(at);
        self.area = self.area.saturating_sub(self.until.since(at).as_nanos());
        self.cut_off += u64::from(cut_off);
        self.now -= u64::from(!cut_off);
    }

    /// The integral up to now.
    pub fn area(&mut self, now: Timestamp) -> u128 {
        self.advance(now);
        self.area
    }

    fn advance(&mut self, now: Timestamp) {
        self.area += u128::from(self.now - self.cut_off) * now.since(self.until).as_nanos();
        self.until = self.until.max(now);
    }
}
