//! The M/M/1 controller of the published code: models the stage as a queue, and computes the rate that meets the
//! target.

use std::time::Duration;

use crate::{
    Class, Ctx, Entry, Gauge, Grant, LoadSample, Machine, Offer, Outcome, Place, Policy, PolicyEvent, Reason, Refusal,
    Seen, Timestamp, Verdict,
    entry::{CompositionRole, EntryKind, SampleKind, Sampling, Source, count, ms, number, params, s, time},
    estimate::{Ewma, PercentileOfN},
    primitives::{TokenBucket, TokenClock},
};

use super::params::{TargetParams, coded_tokens, depth, rate_min};

/// Estimates service and arrival rates, and admits at the rate at which an M/M/1 queue would just meet the target.
#[derive(Debug)]
struct Mm1 {
    target_s: f64,
    params: Mm1Params,
    bucket: TokenBucket,
    /// Infinite until the first estimate.
    rate: f64,
    mu: TwoWay,
    lambda: Ewma,
    threads: Ewma,
    model_p90_s: Ewma,
    samples: PercentileOfN,
    p90_s: Ewma,
    /// The counts since the last estimate.
    window: Window,
    /// The start of the window: the last estimate, or the first job.
    window_began: Option<Timestamp>,
}

/// Counts since the last estimate.
#[derive(Debug, Default)]
struct Window {
    batches: u32,
    admitted: u64,
    processed: u64,
    busy: Duration,
}

/// A moving average with separate weights for rises and falls.
#[derive(Debug)]
struct TwoWay {
    old_weight_rising: f64,
    old_weight_falling: f64,
    current: f64,
}

impl TwoWay {
    fn add(&mut self, sample: f64) -> f64 {
        let old = if sample < self.current { self.old_weight_falling } else { self.old_weight_rising };
        self.current = old * self.current + (1.0 - old) * sample;
        self.current
    }
}

/// ln 10 as the code writes it: the 90th percentile of an exponential response time is ln 10 times its mean.
const LN_10: f64 = 2.302;

/// With fewer jobs or less busy time since the last estimate, the service rate would consist of rounding errors.
const LEAST_JOBS: u64 = 2;
const LEAST_BUSY: Duration = Duration::from_millis(2);

impl Mm1 {
    fn batch(&mut self, jobs: u32, busy: Duration, cx: &mut Ctx<'_>) {
        self.window.processed += u64::from(jobs);
        self.window.busy += busy;
        self.window.batches = self.window.batches.saturating_add(1);
        let since = cx.now.since(*self.window_began.get_or_insert(cx.now));
        if self.window.batches >= self.params.estimate_every || since >= self.params.estimate_timeout {
            self.estimate(since, cx);
        }
    }

    fn estimate(&mut self, since: Duration, cx: &mut Ctx<'_>) {
        if self.window.processed < LEAST_JOBS || self.window.busy < LEAST_BUSY || since < LEAST_BUSY {
            return; // the window continues, so that its jobs and its time match
        }
        self.window_began = Some(cx.now);
        let window = std::mem::take(&mut self.window);
        // The code's assumption: the service rate grows with the logarithm of the threads.
        let scaling = libm::log(self.threads.current().max(1.0)) + 1.0;
        let mu = self.mu.add(window.processed as f64 * scaling / window.busy.as_secs_f64());
        let lambda = self.lambda.add(window.admitted as f64 / since.as_secs_f64());
        let samples = u32::try_from(self.samples.len()).unwrap_or(u32::MAX);
        if let Some(p90) = self.samples.take() {
            self.p90_s.add(p90);
        }
        let before = self.rate;
        self.rate = self.solve(mu, lambda).max(self.params.rate_min);
        self.bucket.set_rate(cx.now, self.rate);
        let estimate = self.model_p90_s.current();
        cx.event(&PolicyEvent::ControllerRan {
            class: Class(0),
            samples,
            estimate_ms: estimate * 1e3,
            error: (estimate - self.target_s) / self.target_s,
            rate_before: before,
            rate_after: self.rate,
        });
    }

    fn solve(&mut self, mu: f64, lambda: f64) -> f64 {
        if mu <= lambda {
            return mu * self.params.overload_share;
        }
        self.model_p90_s.add(LN_10 / (mu - lambda));
        let rate = mu - LN_10 / self.target_s;
        if rate < 0.0 { mu * self.params.overload_share } else { rate }
    }
}

impl Machine for Mm1 {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        match seen {
            Seen::Ended { outcome: Outcome::Ignored | Outcome::Overloaded { .. }, .. } => {}
            Seen::Ended { timing, .. } => self.samples.record(timing.response()),
            Seen::Batch { jobs, busy } => self.batch(*jobs, *busy, cx),
            Seen::Load(LoadSample::Stage { workers, .. }) => drop(self.threads.add(f64::from(*workers))),
            _ => {}
        }
    }

    /// Leaves the rate out until the first estimate.
    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("p90_ms"), self.p90_s.current() * 1e3);
        visit(Gauge::of("model_p90_ms"), self.model_p90_s.current() * 1e3);
        visit(Gauge::of("service_rate_per_s"), self.mu.current);
        if self.rate.is_finite() {
            visit(Gauge::of("admission_rate_per_s"), self.rate);
        }
    }
}

impl Policy for Mm1 {
    fn offer(&mut self, _: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        self.window_began.get_or_insert(cx.now);
        if !self.bucket.pass(cx.now) {
            return Verdict::Refuse(Refusal::new(Reason::Rate));
        }
        self.window.admitted += 1;
        Verdict::Admit(Grant::default())
    }
}

const CODE: &str = "the published code's M/M/1 controller, \"Arashi runs\"";

params! {
    struct Mm1Params {
        target: TargetParams;
        estimate_every: u32 = count(1..=10_000_000, 5000), "batches between estimates", CODE;
        estimate_timeout: Duration = time(ms(2)..=s(3600), s(5)),
            "longest time between estimates, if there are batches", CODE;
        samples: u32 = count(1..=100_000, 200), "most response times for the percentile that is shown", CODE;
        smoothing: f64 = number(0.0..=0.999, 0.1),
            "weight of the old value in the averages of arrivals, threads and response times", CODE;
        smoothing_rising: f64 = number(0.0..=0.999, 0.9), "weight of the old service rate when it rises", CODE;
        smoothing_falling: f64 = number(0.0..=0.999, 0.1), "weight of the old service rate when it falls", CODE;
        overload_share: f64 = number(0.001..=1.0, 0.1),
            "part of the service rate to admit when the model says overload, or that the target cannot be met", CODE;
        rate_min: f64 = rate_min(0.5, CODE);
        depth: u32 = depth(100, CODE);
        tokens: TokenClock = coded_tokens(CODE);
    }
}

pub(crate) const MM1: Entry = Entry {
    name: "mm1",
    about: "admits at the rate at which an M/M/1 queue would just meet the target",
    caution: "a stage with a database behind it is no M/M/1 queue: busy time counts waiting for others as work",
    source: Source {
        title: "Adaptive Overload Control for Busy Internet Servers, USITS'03",
        place: "section 5.3 on models; the controller and its constants are in the published code only",
    },
    deviations: &[
        "The measured percentile is shown, not used; it is that of at most the first 200 response times since the last estimate, in the code of the last 200.",
        "Where there is too little for an estimate the window goes on here, its jobs and its time together, and the next batch tries again; in the code the time and the count of batches begin anew and the jobs stay, so that the next arrival rate comes out too high.",
        "The model's percentile is 2.302 times its mean, as in the code's equation for the rate; the percentile that the code shows is 2.3 times the mean.",
        "The 90th percentile of n samples is the one after nine tenths of them (the 181st of 200), as in the code.",
        "An estimate of equal rates counts as overload; in the code it is an infinite response time that is not negative.",
        "The moving averages start at zero, as in the code; threads start at 1 and follow the stage's load samples.",
    ],
    places: &[Place::Stage],
    presets: &[],
    samples: &[Sampling { what: SampleKind::Stage, period: Duration::from_secs(1) }],
    roles: &[CompositionRole::Inflow],
    kind: EntryKind::Policy(|reader| {
        reader.make(|params: &Mm1Params, site| {
            let average = || Ewma::from_zero(params.smoothing);
            let mut threads = Ewma::from_first(params.smoothing);
            threads.add(1.0);
            Box::new(Mm1 {
                target_s: params.target.of(site).as_secs_f64(),
                bucket: TokenBucket::new(f64::INFINITY, f64::from(params.depth), params.tokens),
                rate: f64::INFINITY,
                mu: TwoWay {
                    old_weight_rising: params.smoothing_rising,
                    old_weight_falling: params.smoothing_falling,
                    current: 0.0,
                },
                lambda: average(),
                threads,
                model_p90_s: average(),
                samples: PercentileOfN::new(90, params.samples as usize),
                p90_s: average(),
                params: params.clone(),
                window: Window::default(),
                window_began: None,
            })
        })
    }),
};
