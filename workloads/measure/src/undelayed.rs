//! What of the response times may be the generator's own doing.
//!
//! A generator that is late, or stands still, adds to what it measures: the send lag of a request, and the time that its
//! answer may have waited unread. Both are known request by request, so response times are recorded a second time without them.

use std::{collections::VecDeque, time::Duration};

use controllers::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Distribution, Times};

/// Response times of a phase without what the generator may have added, and how much of the phase it stood still.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Undelayed {
    /// Response times of the same requests less their send lag, and less all time for which the generator stood still while
    /// they were open: lower bounds.
    pub response_time_ms: Times,
    /// Share of the phase for which the generator stood still: it was late to look for answers, and not since it worked.
    pub stood_still: f64,
}

/// The counts of that.
#[derive(Debug, Clone)]
pub(super) struct RawUndelayed {
    pub times: Distribution,
    pub stood_still: Duration,
}

impl RawUndelayed {
    pub(super) fn new(most: Duration) -> Self {
        Self { times: Distribution::new(most), stood_still: Duration::ZERO }
    }

    pub(super) fn shown(&self, phase: Duration) -> Undelayed {
        let share = self.stood_still.as_secs_f64() / phase.as_secs_f64().max(f64::MIN_POSITIVE);
        Undelayed { response_time_ms: self.times.percentiles(), stood_still: share.min(1.0) }
    }
}

/// A request that has ended, until the generator looks again: only then is it known whether it had stood still.
#[derive(Debug, Clone, Copy)]
pub(super) struct EndedRequest {
    pub intended: Timestamp,
    /// When the generator began it: what was before is its lag.
    pub begun: Timestamp,
    pub lag: Duration,
    pub ended: Timestamp,
    /// Its response time, or the bound of it, as it is shown.
    pub took: Duration,
    /// It was answered as requested; else its time is censored.
    pub is_known: bool,
}

/// Requests that have just ended, and the pauses of the generator.
#[derive(Debug, Default)]
pub(super) struct UndelayedMeter {
    ended: Vec<EndedRequest>,
    pauses: Pauses,
}

impl UndelayedMeter {
    pub(super) fn ended(&mut self, request: EndedRequest) {
        self.ended.push(request);
    }

    /// The generator looks for answers at `now`, and had stood still for so long: the pause, if that is one, and the requests
    /// that have ended since the last look, each with its response time without what the generator may have added.
    pub(super) fn looked(
        &mut self,
        now: Timestamp,
        stood_still: Duration,
    ) -> (Option<Pause>, impl Iterator<Item = (EndedRequest, Duration)>) {
        let Self { ended, pauses } = self;
        let pause = pauses.add(now, stood_still);
        let pauses = &*pauses;
        let without = move |request: EndedRequest| {
            let EndedRequest { begun, lag, ended, took, .. } = request;
            let added = lag + pauses.between(begun, ended);
            (request, took.saturating_sub(added))
        };
        (pause, ended.drain(..).map(without))
    }
}

/// Times for which the generator stood still.
#[derive(Debug, Default)]
struct Pauses {
    /// In order, each with the length of all before it.
    kept: VecDeque<(Pause, Duration)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pause {
    pub from: Timestamp,
    pub to: Timestamp,
}

impl Pauses {
    /// Requests that were open for longer than so many pauses are charged with the last ones alone.
    const KEPT: usize = 4096;

    /// A pause until now; what of it is in the last one already is left out. `None`: it was none.
    fn add(&mut self, now: Timestamp, lasted: Duration) -> Option<Pause> {
        let last = self.kept.back().map_or(Timestamp::ZERO, |(last, _)| last.to);
        let from = Timestamp::from_nanos(now.as_nanos().saturating_sub(lasted.as_nanos() as u64)).max(last);
        if from >= now {
            return None;
        }
        let before = self.until(from);
        if self.kept.len() == Self::KEPT {
            self.kept.pop_front();
        }
        let pause = Pause { from, to: now };
        self.kept.push_back((pause, before));
        Some(pause)
    }

    /// All time stood still between two moments.
    fn between(&self, from: Timestamp, to: Timestamp) -> Duration {
        self.until(to).saturating_sub(self.until(from))
    }

    fn until(&self, at: Timestamp) -> Duration {
        let after = self.kept.partition_point(|(pause, _)| pause.from <= at);
        match after.checked_sub(1).map(|last| self.kept[last]) {
            Some((pause, before)) => before + pause.to.min(at).since(pause.from),
            None => self.kept.front().map_or(Duration::ZERO, |(_, before)| *before),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_charged_with_what_of_each_pause_it_was_open_for() {
        let ms = Timestamp::from_millis;
        let mut pauses = Pauses::default();
        assert_eq!(pauses.add(ms(100), Duration::ZERO), None);
        assert_eq!(pauses.between(ms(0), ms(100)), Duration::ZERO);
        assert_eq!(pauses.add(ms(200), Duration::from_millis(50)), Some(Pause { from: ms(150), to: ms(200) }));
        // What was told already is told once.
        assert_eq!(pauses.add(ms(220), Duration::from_millis(40)), Some(Pause { from: ms(200), to: ms(220) }));
        for (from, to, charged) in [(0, 149, 0), (0, 160, 10), (160, 210, 50), (0, 999, 70), (220, 230, 0)] {
            assert_eq!(pauses.between(ms(from), ms(to)), Duration::from_millis(charged), "{from} to {to}");
        }
    }

    #[test]
    fn pauses_are_kept_in_bounded_memory() {
        let mut pauses = Pauses::default();
        let pause = |n: usize| Timestamp::from_millis(10 * n as u64);
        for n in 1..=Pauses::KEPT + 10 {
            pauses.add(pause(n), Duration::from_millis(1));
        }
        assert_eq!(pauses.kept.len(), Pauses::KEPT);
        assert_eq!(pauses.between(pause(Pauses::KEPT), pause(Pauses::KEPT + 10)), Duration::from_millis(10));
        assert_eq!(pauses.between(Timestamp::ZERO, pause(Pauses::KEPT + 10)), Duration::from_millis(4096));
    }
}
