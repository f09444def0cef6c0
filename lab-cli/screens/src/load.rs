//! Progress of a load while it goes on.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use analysis::{live::AgentSecond, series::value::Value};
use measure::{Ledger, Replies, Window};

/// Seconds that the chart over time keeps: wider terminals are rare.
const SECONDS: usize = 300;

/// The load that was asked for.
#[derive(Debug, Clone, Default)]
pub struct LoadShape {
    pub url: String,
    /// The kind of load, in words.
    pub how: String,
    /// The length of the load; `None`: until a count of requests has been sent.
    pub lasts: Option<Duration>,
    /// Requests in all, where that is the end.
    pub requests: Option<u64>,
    /// Answers that take longer are no goodput; `None`: no deadline was given.
    pub deadline: Option<Duration>,
    /// Percentiles to show, of a hundred; none: those that are usual.
    pub percentiles: Vec<f64>,
}

/// All of it so far.
#[derive(Debug, Clone, Default)]
pub(super) struct LoadProgress {
    pub shape: LoadShape,
    pub elapsed: Duration,
    pub stopping: bool,
    /// The last second that has ended.
    pub last: Option<Window>,
    /// Counts that are shown, over all seconds.
    pub sums: Ledger,
    /// Answered as asked in each second, the last one at the end.
    pub answered: VecDeque<u64>,
    /// Response times of all answers: the smallest microsecond of each bucket, and the number of times in it.
    pub times: BTreeMap<u64, u64>,
    /// Requests given up, by how long they had waited.
    pub censored: BTreeMap<u64, u64>,
    pub replies: Replies,
    /// Agents in that second; none: this process sends.
    pub agents: Vec<AgentSecond>,
    /// The newest note, scrubbed.
    pub note: String,
}

impl LoadProgress {
    pub fn of(shape: LoadShape) -> Self {
        Self { shape, ..Self::default() }
    }

    /// Adds time that has passed: `true` if another second has begun.
    pub fn passed(&mut self, time: Duration) -> bool {
        let before = self.elapsed.as_secs();
        self.elapsed += time;
        self.elapsed.as_secs() != before
    }

    pub fn add(&mut self, window: &Window) {
        if self.last.is_none() {
            // Whoever sends it may have begun later than the screen.
            self.elapsed = Duration::from_secs(window.second + 1);
        }
        let sums = &mut self.sums;
        sums.planned += window.offered + window.retries;
        sums.served += window.served;
        sums.served_late += window.late;
        sums.rejected += window.rejected;
        sums.failed += window.failed;
        sums.timed_out += window.timed_out;
        sums.connect_failed += window.connect_failed;
        sums.refused_locally += window.refused_locally;
        if self.answered.len() == SECONDS {
            self.answered.pop_front();
        }
        self.answered.push_back(window.served + window.late);
        if let Some(times) = &window.times {
            for (into, buckets) in [(&mut self.times, &times.response), (&mut self.censored, &times.response_censored)]
            {
                buckets.iter().for_each(|[value, count]| *into.entry(*value).or_default() += count);
            }
        }
        if let Some(replies) = &window.replies {
            self.replies = (**replies).clone();
        }
        self.last = Some(window.clone());
    }

    /// A percentile of the response times so far, milliseconds; a bound where requests that were given up hide it.
    pub fn percentile(&self, percentile: f64) -> Option<Value> {
        let known: u64 = self.times.values().sum();
        let hidden: u64 = self.censored.values().sum();
        let wanted = ((known + hidden) as f64 * percentile / 100.0).ceil().max(1.0) as u64;
        if known + hidden == 0 {
            return None;
        }
        let mut sum = 0;
        for (value, count) in &self.times {
            sum += count;
            if sum >= wanted {
                return Some(Value::known(*value as f64 / 1e3));
            }
        }
        let least = self.censored.keys().next().max(self.times.keys().next_back());
        Some(Value { at: *least? as f64 / 1e3, at_least: true })
    }

    /// The response times in so many bars of equal width on a logarithmic scale: the upper end of each in milliseconds, and its
    /// count. Empty: there are none.
    pub fn histogram(&self, bars: usize) -> Vec<(f64, u64)> {
        let (Some(first), Some(last)) = (self.times.keys().next(), self.times.keys().next_back()) else {
            return Vec::new();
        };
        let (from, to) = ((*first).max(1) as f64, (*last).max(1) as f64 * 1.001);
        let width = libm::log(to / from) / bars as f64;
        let mut counts = vec![0; bars];
        for (value, count) in &self.times {
            let at = if width > 0.0 { libm::log((*value).max(1) as f64 / from) / width } else { 0.0 };
            counts[(at as usize).min(bars - 1)] += count;
        }
        let end = |bar: usize| from * libm::exp(width * (bar + 1) as f64) / 1e3;
        counts.into_iter().enumerate().map(|(bar, count)| (end(bar), count)).collect()
    }
}
