//! Progress of a load while it goes on.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use measure::{Ledger, Replies, Window};

/// Seconds that the chart over time keeps: wider terminals are rare.
const SECONDS: usize = 300;

/// The load that was asked for.
#[derive(Debug, Clone)]
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
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) shape: LoadShape,
    pub(super) elapsed: Duration,
    pub(super) stopping: bool,
    /// The last second that has ended.
    pub(super) last: Option<Window>,
    /// Counts that are shown, over all seconds.
    pub(super) sums: Ledger,
    /// Answered as asked in each second, the last one at the end.
    pub(super) answered: VecDeque<u64>,
    /// Response times of all answers: the smallest microsecond of each bucket, and the number of times in it.
    pub(super) times: BTreeMap<u64, u64>,
    /// Requests given up, by how long they had waited.
    pub(super) censored: BTreeMap<u64, u64>,
    pub(super) replies: Replies,
}

impl Progress {
    pub(super) fn of(shape: LoadShape) -> Self {
        Self {
            shape,
            elapsed: Duration::ZERO,
            stopping: false,
            last: None,
            sums: Ledger::default(),
            answered: VecDeque::new(),
            times: BTreeMap::new(),
            censored: BTreeMap::new(),
            replies: Replies::default(),
        }
    }

    pub(super) fn stops(&mut self) {
        self.stopping = true;
    }

    pub(super) fn add(&mut self, window: &Window) {
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
            let add = |into: &mut BTreeMap<u64, u64>, buckets: &[[u64; 2]]| {
                for [value, count] in buckets {
                    *into.entry(*value).or_default() += count;
                }
            };
            add(&mut self.times, &times.response);
            add(&mut self.censored, &times.response_censored);
        }
        if let Some(replies) = &window.replies {
            self.replies = (**replies).clone();
        }
        self.last = Some(window.clone());
    }

    /// A percentile of the response times so far, milliseconds; true: at least that, since requests that were given up hide it.
    pub(super) fn percentile(&self, percentile: f64) -> Option<(f64, bool)> {
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
                return Some((*value as f64 / 1e3, false));
            }
        }
        let least = self.censored.keys().next().copied().unwrap_or_default();
        Some((least.max(self.times.keys().next_back().copied().unwrap_or_default()) as f64 / 1e3, true))
    }

    /// The response times in so many bars of equal width on a logarithmic scale: the upper end of each in milliseconds, and its
    /// count. Empty: there are none.
    pub(super) fn histogram(&self, bars: usize) -> Vec<(f64, u64)> {
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
