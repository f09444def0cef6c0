//! failsafe-go's adaptive limiter: a limit by recent against usual response times, with guards that ask whether more jobs still bring more.

use std::{collections::VecDeque, time::Duration};

use crate::{
    Ctx, Entry, Gauge, Grant, Machine, Offer, Outcome, Policy, Reason, Refusal, Seen, Timestamp, Verdict,
    entry::{CompositionRole, EntryKind, Source, count, ms, number, params, s, time},
    modern::limiter::{self, PLACES},
};

const CODE: &str = "adaptivelimiter.go, the default";

params! {
    struct FailsafeParams {
        limit_initial: u32 = limiter::limit_initial(20, CODE);
        limit_min: u32 = limiter::limit_min(1, CODE);
        limit_max: u32 = limiter::limit_max(200, CODE);
        most_over: f64 = number(1.0..=1000.0, 5.0), "how many times the jobs in flight the limit may be", CODE;
        window_min: Duration = time(ms(1)..=s(600), s(1)), "shortest time between two updates", CODE;
        window_max: Duration = time(ms(1)..=s(600), s(30)), "longest time between two updates: at least twice the smallest response time", CODE;
        samples: u32 = count(1..=100_000, 50), "jobs of an update at least", CODE;
        quantile: f64 = number(0.0..=1.0, 0.9), "the quantile of recent response times", CODE;
        baseline: u32 = count(1..=100_000, 10), "updates that the usual response time remembers", CODE;
        correlations: u32 = count(2..=10_000, 50), "updates over which jobs are correlated with throughput and response times", CODE;
    }
}

/// First values of a mean that count alike, and of which no correlation is told.
const WARM_UP: usize = 10;
/// Recent quantiles of which the median is taken, and that its mean remembers.
const SMOOTHED: usize = 5;

/// The mean of the first values, then a moving average over n.
#[derive(Debug)]
struct Average {
    weight: f64,
    count: usize,
    value: f64,
}

impl Average {
    fn over(n: u32) -> Self {
        Self { weight: 2.0 / (f64::from(n) + 1.0), count: 0, value: 0.0 }
    }

    fn add(&mut self, value: f64) -> f64 {
        let first = self.count < WARM_UP;
        self.count += usize::from(first);
        let weight = if first { 1.0 / self.count as f64 } else { self.weight };
        self.value += (value - self.value) * weight;
        self.value
    }
}

/// The last pairs of jobs in flight and another figure.
#[derive(Debug)]
struct Pairs {
    all: VecDeque<(f64, f64)>,
    most: usize,
}

impl Pairs {
    fn new(most: u32) -> Self {
        Self { all: VecDeque::new(), most: most as usize }
    }

    /// The correlation, and the variation of the figure over its mean; zeros while there are few, and no correlation of what hardly varies.
    fn add(&mut self, jobs: f64, figure: f64) -> (f64, f64) {
        if self.all.len() == self.most {
            self.all.pop_front();
        }
        self.all.push_back((jobs, figure));
        let n = self.all.len() as f64;
        if self.all.len() < WARM_UP {
            return (0.0, 0.0);
        }
        let mean = |of: fn(&(f64, f64)) -> f64| self.all.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
        let squares = |of: fn(&(f64, f64)) -> f64, mean: f64| {
            self.all.iter().map(|pair| (of(pair) - mean) * (of(pair) - mean)).sum::<f64>() / n
        };
        let (vx, vy) = (squares(|pair| pair.0, x), squares(|pair| pair.1, y));
        let (cx, cy) = (vx.sqrt() / x, vy.sqrt() / y);
        if cx < 0.01 || cy < 0.01 {
            return (0.0, cy);
        }
        let both = self.all.iter().map(|(a, b)| (a - x) * (b - y)).sum::<f64>() / n;
        (both / (vx.sqrt() * vy.sqrt()), cy)
    }
}

#[derive(Debug)]
struct Failsafe {
    limit: f64,
    /// Response times since the last update, seconds, and the most jobs in flight.
    recent: Vec<f64>,
    most_in_flight: u32,
    medians: VecDeque<f64>,
    smoothed: Average,
    usual: Average,
    by_throughput: Pairs,
    by_time: Pairs,
    next_update: Timestamp,
    params: FailsafeParams,
}

/// The decimal logarithm of the whole limit, rounded down, at least 1.
fn step(limit: f64) -> f64 {
    f64::from((limit as u32).max(1).ilog10().max(1))
}

impl Failsafe {
    fn new(params: &FailsafeParams) -> Self {
        Self {
            limit: f64::from(params.limit_initial),
            recent: Vec::new(),
            most_in_flight: 0,
            medians: VecDeque::new(),
            smoothed: Average::over(SMOOTHED as u32),
            usual: Average::over(params.baseline),
            by_throughput: Pairs::new(params.correlations),
            by_time: Pairs::new(params.correlations),
            next_update: Timestamp::ZERO,
            params: params.clone(),
        }
    }

    /// The quantile, or from the fifth on the median of the last five.
    fn filtered(&mut self, value: f64) -> f64 {
        if self.medians.len() == SMOOTHED {
            self.medians.pop_front();
        }
        self.medians.push_back(value);
        if self.medians.len() < SMOOTHED {
            return value;
        }
        let mut sorted: Vec<f64> = self.medians.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        sorted[SMOOTHED / 2]
    }

    fn update(&mut self, is_full: bool) {
        let mut recent = std::mem::take(&mut self.recent);
        recent.sort_by(f64::total_cmp);
        let rank = (self.params.quantile * recent.len() as f64).ceil() as usize;
        let quantile = recent[rank.clamp(1, recent.len()) - 1];
        let in_flight = f64::from(std::mem::take(&mut self.most_in_flight));
        let filtered = self.filtered(quantile);
        let time = self.smoothed.add(filtered);
        let usual = self.usual.add(time);
        let queue = (self.limit * (1.0 - usual / time)).ceil();
        let (throughput, varies) = self.by_throughput.add(in_flight, in_flight / time);
        let (times, _) = self.by_time.add(in_flight, time);
        let step = step(self.limit);
        // More jobs do not bring more, or only longer times.
        let in_vain = is_full && (throughput < 0.0 || times > 0.5 && (throughput < 0.3 || varies < 0.2));
        let wanted = if queue > 6.0 * step || in_vain {
            self.limit - step
        } else if queue < 3.0 * step {
            self.limit + step
        } else {
            self.limit
        };
        let wanted = if wanted > in_flight * self.params.most_over { self.limit - step } else { wanted };
        self.limit = wanted.clamp(f64::from(self.params.limit_min), f64::from(self.params.limit_max));
    }
}

impl Machine for Failsafe {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        let Seen::Ended { grant, outcome, timing, .. } = seen else { return };
        if matches!(outcome, Outcome::Served | Outcome::Failed) {
            self.recent.push(timing.ended.since(timing.offered).as_secs_f64().max(1e-9));
            self.most_in_flight = self.most_in_flight.max(u32::try_from(grant.cookie).unwrap_or(u32::MAX));
        }
        if cx.now <= self.next_update || self.recent.len() < self.params.samples as usize {
            return;
        }
        let smallest = self.recent.iter().copied().fold(f64::INFINITY, f64::min);
        // The one that ends counts.
        self.update(f64::from(cx.in_flight + 1) >= self.limit.floor());
        let wait = Duration::from_secs_f64(2.0 * smallest).max(self.params.window_min).min(self.params.window_max);
        self.next_update = cx.now + wait;
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("limit"), self.limit.floor());
        visit(Gauge::of("rtt_long_ms"), self.usual.value * 1e3);
        visit(Gauge::of("rtt_last_ms"), self.smoothed.value * 1e3);
    }
}

impl Policy for Failsafe {
    fn offer(&mut self, _: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        match f64::from(cx.in_flight) < self.limit.floor() {
            true => Verdict::Admit(Grant::new(u64::from(cx.in_flight) + 1)),
            false => Verdict::Refuse(Refusal::new(Reason::Concurrency)),
        }
    }
}

pub(crate) const FAILSAFE: Entry = Entry {
    name: "failsafe",
    about: "failsafe-go's adaptive limiter: a limit by recent against usual response times, lower where more jobs bring no more",
    caution: "moves by one a second: a spike is over before it knows; under a long overload the usual time becomes that of the overload",
    source: Source { title: "failsafe-go 0.9, AdaptiveLimiter", place: CODE },
    deviations: &[
        "Quantiles are those of the response times themselves, the nearest rank, not of a digest; correlations are computed anew from the pairs.",
        "What was answered, also with an error, is a response time; all other ends are dropped.",
        "Queueing and priorities, which are off by default, are left out.",
    ],
    places: PLACES,
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Limit],
    kind: EntryKind::Policy(|reader| {
        reader.make_unless(
            |params: &FailsafeParams| limiter::clashes(params.limit_initial, params.limit_min, params.limit_max),
            |params, _| Box::new(Failsafe::new(params)),
        )
    }),
};

#[cfg(test)]
mod unit {
    use super::*;
    use crate::testing::{self, settings};

    fn after(law: &mut Failsafe, ms: f64, in_flight: u32, is_full: bool) -> f64 {
        law.recent = vec![ms / 1e3; 10];
        law.most_in_flight = in_flight;
        law.update(is_full);
        law.limit
    }

    #[test]
    fn it_moves_by_one_and_by_two_from_a_hundred_on() {
        let mut law = Failsafe::new(&testing::params(&settings([("limit_initial", 99.into())])));
        assert_eq!(after(&mut law, 100.0, 99, false), 100.0, "no queue: log₁₀ 99 is 1");
        assert_eq!(after(&mut law, 100.0, 99, false), 102.0);
        assert_eq!(after(&mut law, 100.0, 10, false), 100.0, "over five times what is in flight");
    }

    #[test]
    fn a_queue_of_more_than_six_steps_lowers_it_and_of_three_holds_it() {
        let mut law = Failsafe::new(&testing::params(&settings([])));
        assert_eq!(after(&mut law, 100.0, 20, false), 21.0);
        // Times 100, 200: the mean is 150, the usual (100 + 150)/2 = 125: 21 × (1 − 125/150) = 3.5, rounded up 4: over 3, under 6.
        assert_eq!(after(&mut law, 200.0, 20, false), 21.0);
        // (100 + 200 + 900)/3 = 400; (100 + 150 + 400)/3 = 216.7: 21 × (1 − 0.5417) = 9.6.
        assert_eq!(after(&mut law, 900.0, 20, false), 20.0);
    }

    #[test]
    fn while_it_is_full_more_jobs_must_bring_more() {
        let mut law = Failsafe::new(&testing::params(&settings([("limit_initial", 30.into())])));
        // The throughput stays at 200/s: times grow with the jobs.
        let mut limit = 30.0;
        for jobs in 20..32 {
            limit = after(&mut law, f64::from(jobs) * 5.0, jobs, false);
        }
        assert!(law.by_time.add(32.0, 0.160).0 > 0.7);
        assert!(after(&mut law, 165.0, 33, true) < limit);
        let (none, varies) = Pairs::new(50).add(1.0, 1.0);
        assert_eq!((none, varies), (0.0, 0.0), "one pair says nothing");
    }
}
