//! Times in a histogram of fixed precision, and percentiles with the bounds that censored times leave.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::buckets::Buckets;

/// Times of one kind: whole microseconds, three significant digits, from 1 us to a bound. A longer time is stored as
/// the bound and counted in [`saturated`](Self::saturated).
///
/// Times of which only a lower bound is known (time-outs, abandoned requests) are *right-censored*: they are stored
/// separately, each as the time waited. A percentile is a number only if no censored time lies below it; else that
/// number is a lower bound. Treating a censored time as an answer at that time gives exactly this bound.
#[derive(Debug, Clone)]
pub struct Distribution {
    known: Buckets,
    censored: Option<Buckets>,
    pub(super) most: u64,
    pub(super) total_us: u64,
    pub(super) longest_us: u64,
    pub(super) saturated: u64,
}

impl Distribution {
    /// Times from 1 us to `most`.
    #[must_use]
    pub fn new(most: Duration) -> Self {
        let most = micros(most).max(2);
        Self { known: Buckets::default(), censored: None, most, total_us: 0, longest_us: 0, saturated: 0 }
    }

    /// Adds a time.
    pub fn record(&mut self, time: Duration) {
        let time = self.bounded(time);
        self.total_us += time;
        self.longest_us = self.longest_us.max(time);
        self.known.record(time);
    }

    /// Adds a censored time, which is longer than `waited`.
    pub fn record_censored(&mut self, waited: Duration) {
        let waited = self.bounded(waited);
        self.censored.get_or_insert_default().record(waited);
    }

    /// Adds all times of another distribution.
    pub fn add(&mut self, other: &Self) {
        self.most = self.most.max(other.most);
        self.total_us += other.total_us;
        self.longest_us = self.longest_us.max(other.longest_us);
        self.saturated += other.saturated;
        self.known.add(&other.known);
        if let Some(censored) = &other.censored {
            self.censored.get_or_insert_default().add(censored);
        }
    }

    /// Adds the known times of another distribution, which has counted what of them is over the bound.
    pub(super) fn add_known(&mut self, other: &Self) {
        self.total_us += other.total_us;
        self.longest_us = self.longest_us.max(other.longest_us);
        self.known.add(&other.known);
    }

    /// Removes all samples and keeps the memory.
    pub fn clear(&mut self) {
        self.known.reset();
        if let Some(censored) = &mut self.censored {
            censored.reset();
        }
        self.total_us = 0;
        self.longest_us = 0;
        self.saturated = 0;
    }

    /// The number of known times.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.known.len()
    }

    /// The number of censored times, of which only a lower bound is known.
    #[must_use]
    pub fn censored(&self) -> u64 {
        self.censored.as_ref().map_or(0, Buckets::len)
    }

    /// The number of times over the bound: a run with any is invalid.
    #[must_use]
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// Mean of the known times in milliseconds, exact to the microsecond.
    #[must_use]
    pub fn mean_ms(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.total_us as f64 / self.count() as f64 / 1000.0)
    }

    /// Standard deviation of the natural logarithm of the known times; `None` for fewer than two.
    #[must_use]
    pub fn log_spread(&self) -> Option<f64> {
        let count = self.count() as f64;
        if self.count() < 2 {
            return None;
        }
        let logs = || self.known.iter().map(|(micros, times)| (libm::log(micros as f64), times as f64));
        let mean = logs().map(|(log, n)| log * n).sum::<f64>() / count;
        let squares: f64 = logs().map(|(log, n)| (log - mean) * (log - mean) * n).sum();
        Some(libm::sqrt(squares / (count - 1.0)))
    }

    /// Longest known time in milliseconds, exact to the microsecond.
    #[must_use]
    pub fn max_ms(&self) -> Option<f64> {
        (self.count() > 0).then(|| ms(self.longest_us))
    }

    /// The percentile `p` (of 100) in milliseconds: a number, a lower bound, or nothing if there are too few samples.
    #[must_use]
    pub fn percentile(&self, p: f64) -> Percentile {
        let count = self.count() + self.censored();
        if count < least_samples(p) {
            return Percentile::Unknown;
        }
        // A bucket's upper end may be over the longest time in it.
        let at = |value: u64| Percentile::At(ms(value.min(self.longest_us)));
        let Some(censored) = self.censored.as_ref().filter(|censored| censored.len() > 0) else {
            return at(self.known.value_at_percentile(p));
        };
        let mut all = self.known.clone();
        all.add(censored);
        let value = all.value_at_percentile(p);
        if censored.has_until(value) { Percentile::AtLeast(ms(all.lowest(value))) } else { at(value) }
    }

    /// The known time with this rank, from 1, in milliseconds; `None` if there are not so many.
    fn of_rank(&self, rank: u64) -> Option<f64> {
        let mut so_far = 0;
        let found = self.known.iter().find(|(_, times)| {
            so_far += times;
            so_far >= rank
        });
        Some(ms(found?.0.min(self.longest_us)))
    }

    /// The percentiles that every table shows.
    #[must_use]
    pub fn percentiles(&self) -> Times {
        self.times(self.censored(), |per_mille| self.percentile(per_mille as f64 / 10.0))
    }

    fn times(&self, censored: u64, at: impl Fn(u64) -> Percentile) -> Times {
        Times { max: self.max_ms(), mean: self.mean_ms(), count: self.count(), censored, ..Times::of(at) }
    }

    /// Percentiles of this many requests, of which the known times are those of the answered ones, and of which all others would
    /// have waited for ever: a percentile beyond the answered ones is at least `patience`, and at least as long as any answer
    /// took.
    pub(super) fn percentiles_among(&self, wanted: u64, patience: Duration) -> Times {
        let all = wanted.max(self.count());
        let never = ms(micros(patience).max(self.longest_us));
        let at = |per_mille: u64| {
            if all < least_samples(per_mille as f64 / 10.0) {
                return Percentile::Unknown;
            }
            self.of_rank((all * per_mille).div_ceil(1000)).map_or(Percentile::AtLeast(never), Percentile::At)
        };
        self.times(all - self.count(), at)
    }

    /// The known times, in microseconds, as HdrHistogram's V2 bytes: what `*.hlog` files hold in base 64.
    ///
    /// # Errors
    /// If the histogram cannot be encoded.
    pub fn known_as_v2(&self) -> Result<Vec<u8>, String> {
        self.known.as_v2()
    }

    /// The censored times, in microseconds, as HdrHistogram's V2 bytes; `None` if there are none.
    ///
    /// # Errors
    /// If the histogram cannot be encoded.
    pub fn censored_as_v2(&self) -> Result<Option<Vec<u8>>, String> {
        self.censored.as_ref().filter(|censored| censored.len() > 0).map(Buckets::as_v2).transpose()
    }

    /// The buckets of the known and of the censored times: the smallest microsecond of each, and the number of times in
    /// it.
    pub(super) fn buckets(&self) -> [Vec<[u64; 2]>; 2] {
        let of = |buckets: &Buckets| buckets.iter().map(|(micros, times)| [buckets.lowest(micros), times]).collect();
        [of(&self.known), self.censored.as_ref().map(of).unwrap_or_default()]
    }

    /// The distribution with these buckets.
    pub(super) fn of_buckets(most: u64, [known, censored]: [&[[u64; 2]]; 2]) -> Self {
        let filled = |counts: &[[u64; 2]]| {
            let mut buckets = Buckets::default();
            counts.iter().for_each(|&[micros, times]| buckets.record_n(micros, times));
            buckets
        };
        let censored = (!censored.is_empty()).then(|| filled(censored));
        Self { known: filled(known), censored, most, total_us: 0, longest_us: 0, saturated: 0 }
    }

    /// The same, with the upper end of its last bucket for the longest time.
    pub(super) fn with_longest_of_bucket(self) -> Self {
        let longest_us = self.known.iter().last().map_or(0, |(micros, _)| micros);
        Self { longest_us, ..self }
    }

    fn bounded(&mut self, time: Duration) -> u64 {
        let time = micros(time).max(1);
        if time > self.most {
            self.saturated += 1;
        }
        time.min(self.most)
    }
}

/// One percentile in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Percentile {
    /// Too few samples for a figure.
    Unknown,
    /// The value.
    At(f64),
    /// A lower bound: the percentile lies among censored times.
    AtLeast(f64),
}

impl Percentile {
    fn number(self) -> Option<f64> {
        if let Self::At(value) = self { Some(value) } else { None }
    }

    fn bound(self) -> Option<f64> {
        if let Self::AtLeast(value) = self { Some(value) } else { None }
    }
}

/// Percentiles of a set of times, in milliseconds. A percentile with too few samples is `None`; one that time-outs hide
/// has a lower bound instead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Times {
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
    /// The longest known time.
    pub max: Option<f64>,
    /// The mean of the known times.
    pub mean: Option<f64>,
    /// The number of known times.
    pub count: u64,
    /// The number of censored times (time-outs, abandoned requests): they are not part of `max` and `mean`.
    pub censored: u64,
    /// A lower bound of the median, if time-outs hide it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_at_least: Option<f64>,
    /// A lower bound of the 90th percentile, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90_at_least: Option<f64>,
    /// A lower bound of the 95th percentile, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_at_least: Option<f64>,
    /// A lower bound of the 99th percentile, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_at_least: Option<f64>,
    /// A lower bound of the 99.9th percentile, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p999_at_least: Option<f64>,
}

impl Times {
    /// The percentiles, in thousandths, and nothing else.
    fn of(percentile: impl Fn(u64) -> Percentile) -> Self {
        let [p50, p90, p95, p99, p999] = [500, 900, 950, 990, 999].map(percentile);
        Self {
            p50: p50.number(),
            p90: p90.number(),
            p95: p95.number(),
            p99: p99.number(),
            p999: p999.number(),
            p50_at_least: p50.bound(),
            p90_at_least: p90.bound(),
            p95_at_least: p95.bound(),
            p99_at_least: p99.bound(),
            p999_at_least: p999.bound(),
            ..Self::default()
        }
    }

    /// A percentile by its name, and the lower bound that stands for it where time-outs hide it.
    #[must_use]
    pub fn percentile(&self, name: &str) -> (Option<f64>, Option<f64>) {
        match name {
            "p50" => (self.p50, self.p50_at_least),
            "p90" => (self.p90, self.p90_at_least),
            "p95" => (self.p95, self.p95_at_least),
            "p99" => (self.p99, self.p99_at_least),
            "p999" | "p99.9" => (self.p999, self.p999_at_least),
            _ => (None, None),
        }
    }

    /// The share of censored times; 0 without any.
    #[must_use]
    pub fn censored_share(&self) -> f64 {
        if self.censored == 0 { 0.0 } else { self.censored as f64 / (self.count + self.censored) as f64 }
    }

    /// True if there are no times.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0 && self.censored == 0
    }
}

/// The smallest number of samples for which the percentile `p` (of 100) has a two-sided 95 % interval, that is, for
/// which it lies between the smallest and the largest sample with that probability: 1 - p^n - (1-p)^n >= 0.95. That is
/// 6, 29, 59, 299 and 2995 for p50, p90, p95, p99 and p99.9 (order statistics; Le Boudec, "Performance Evaluation",
/// chapter 2).
#[must_use]
pub fn least_samples(p: f64) -> u64 {
    let tail = (1.0 - p / 100.0).min(p / 100.0);
    if tail <= 0.0 {
        return 1;
    }
    let n = (libm::log(0.05) / libm::log(1.0 - tail)).ceil() as u64;
    // Away from the median the smaller of the two powers is negligible; at the median they are equal, and 6 samples are
    // needed.
    n.max(6)
}

pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn ms(micros: u64) -> f64 {
    micros as f64 / 1000.0
}
