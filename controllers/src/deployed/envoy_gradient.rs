//! Envoy's adaptive concurrency: a limit by the ratio of the smallest latency to the last, measured anew from time to time.

use std::time::Duration;

use crate::{
    Ctx, Entry, Gauge, Grant, Machine, Offer, Outcome, Place, Policy, Reason, Seen, Timestamp, Verdict,
    entry::{CompositionRole, EntryKind, Problem, Source, count, ms, number, params, s, time},
};

const CODE: &str = "gradient_controller.cc";
const API: &str = "adaptive_concurrency.proto, the default";
const EXAMPLE: &str = "the documentation's example: it has no default";

params! {
    struct EnvoyGradientParams {
        percentile: f64 = number(0.0..=100.0, 50.0), "the percentile of latencies that is compared", API;
        max_concurrency: u32 = count(1..=1_000_000, 1000), "largest limit", API;
        update_interval: Duration = time(ms(1)..=s(60), ms(100)), "time between updates of the limit", EXAMPLE;
        min_rtt_interval: Duration = time(ms(1)..=s(3600), s(60)), "time between measurements of the smallest latency", EXAMPLE;
        request_count: u32 = count(1..=100_000, 50), "requests of such a measurement", API;
        jitter: f64 = number(0.0..=100.0, 15.0), "most percent by which the time between measurements is longer", API;
        min_concurrency: u32 = count(1..=1_000_000, 3), "limit during a measurement, and the smallest", API;
        buffer: f64 = number(0.0..=1000.0, 25.0), "percent of the smallest latency by which latencies may be longer", API;
    }
}

/// Updates in a row at the smallest limit after which the smallest latency is measured anew.
const STUCK: u32 = 5;

#[derive(Debug)]
struct EnvoyGradient {
    limit: u32,
    /// The limit before the measurement that is under way.
    before: Option<u32>,
    min_rtt_s: f64,
    sample_rtt_s: f64,
    /// Latencies since the last update, seconds.
    latencies: Vec<f64>,
    /// Requests that were let in before do not count.
    epoch: Timestamp,
    stuck: u32,
    next_update: Option<Timestamp>,
    next_measurement: Option<Timestamp>,
    params: EnvoyGradientParams,
}

impl EnvoyGradient {
    fn new(params: &EnvoyGradientParams) -> Self {
        Self {
            limit: params.min_concurrency,
            before: Some(params.min_concurrency),
            min_rtt_s: 0.0,
            sample_rtt_s: 0.0,
            latencies: Vec::new(),
            epoch: Timestamp::ZERO,
            stuck: 0,
            next_update: None,
            next_measurement: None,
            params: params.clone(),
        }
    }

    /// The percentile of the latencies, which are forgotten.
    fn take_percentile(&mut self) -> f64 {
        let mut latencies = std::mem::take(&mut self.latencies);
        latencies.sort_by(f64::total_cmp);
        let rank = (self.params.percentile / 100.0 * latencies.len() as f64).ceil() as usize;
        latencies.get(rank.max(1) - 1).copied().unwrap_or_default()
    }

    fn measure(&mut self, now: Timestamp) {
        if self.before.is_some() {
            return;
        }
        self.before = Some(self.limit);
        self.limit = self.params.min_concurrency;
        self.stuck = 0;
        self.latencies.clear();
        self.epoch = now;
    }

    fn measured(&mut self, cx: &mut Ctx<'_>) {
        self.min_rtt_s = self.take_percentile();
        self.limit = self.before.take().unwrap_or(self.limit);
        let EnvoyGradientParams { jitter, min_rtt_interval, update_interval, .. } = self.params;
        let later = min_rtt_interval.mul_f64(1.0 + jitter / 100.0 * cx.random.uniform());
        self.next_measurement = Some(cx.now + later);
        self.next_update = Some(cx.now + update_interval);
    }

    fn set_limit(&mut self, limit: u32, now: Timestamp) {
        let least = self.params.min_concurrency;
        self.stuck = if self.limit == least && limit == least { self.stuck + 1 } else { 0 };
        self.limit = limit;
        if self.stuck >= STUCK {
            self.measure(now);
        }
    }

    fn update(&mut self, now: Timestamp) {
        self.next_update = Some(now + self.params.update_interval);
        if self.before.is_some() || self.latencies.is_empty() {
            return;
        }
        self.sample_rtt_s = self.take_percentile();
        let buffered = self.min_rtt_s * (1.0 + self.params.buffer / 100.0);
        let gradient = (buffered / self.sample_rtt_s).clamp(0.5, 2.0);
        let limit = f64::from(self.limit) * gradient;
        let (least, most) = (self.params.min_concurrency, self.params.max_concurrency);
        let with_headroom = (limit + limit.sqrt()) as u32;
        self.set_limit(with_headroom.clamp(least, most), now);
    }
}

impl Machine for EnvoyGradient {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        let Seen::Ended { outcome, timing, .. } = seen else { return };
        let without_answer = matches!(outcome, Outcome::Abandoned | Outcome::Unavailable | Outcome::Ignored);
        if without_answer || timing.offered < self.epoch {
            return;
        }
        self.latencies.push(timing.ended.since(timing.offered).as_secs_f64().max(1e-9));
        if self.before.is_some() && self.latencies.len() >= self.params.request_count as usize {
            self.measured(cx);
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        // A measurement ends by requests.
        let update = self.next_update.filter(|_| self.before.is_none());
        update.into_iter().chain(self.next_measurement.filter(|_| self.before.is_none())).min()
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        if self.next_update.is_some_and(|at| at <= cx.now) {
            self.update(cx.now);
        }
        if self.next_measurement.is_some_and(|at| at <= cx.now) {
            self.measure(cx.now);
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("limit"), f64::from(self.limit));
        visit(Gauge::of("rtt_min_ms"), self.min_rtt_s * 1e3);
        visit(Gauge::of("rtt_last_ms"), self.sample_rtt_s * 1e3);
        visit(Gauge::of("measuring"), f64::from(u8::from(self.before.is_some())));
    }
}

impl Policy for EnvoyGradient {
    fn offer(&mut self, _: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        match cx.in_flight < self.limit {
            true => Verdict::Admit(Grant::default()),
            false => Verdict::Refuse(crate::Refusal::new(Reason::Concurrency)),
        }
    }
}

pub(crate) const ENVOY_GRADIENT: Entry = Entry {
    name: "envoy-gradient",
    about: "Envoy's adaptive concurrency: a limit by the smallest latency over the last one, with room for its square root",
    caution: "measures the smallest latency at a limit of three, which refuses in calm too; under overload that finds the queue of the service and takes it for the smallest",
    source: Source { title: "Envoy 1.40, adaptive concurrency filter", place: CODE },
    deviations: &[
        "The percentile is that of the latencies themselves, the nearest rank; Envoy's is of a histogram with bins of a tenth to a hundredth.",
        "One limit for the site; Envoy's is one for all workers of a process too, and updates it by a timer of the main thread.",
        "An answer of any status is a latency, as in Envoy; a request without an answer is none.",
    ],
    places: &[Place::Single, Place::Stage, Place::Client, Place::Proxy],
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Limit],
    kind: EntryKind::Policy(|reader| {
        reader.make_unless(clashes, |params: &EnvoyGradientParams, _| Box::new(EnvoyGradient::new(params)))
    }),
};

fn clashes(params: &EnvoyGradientParams) -> Vec<Problem> {
    if params.min_concurrency <= params.max_concurrency {
        return Vec::new();
    }
    vec![Problem::new("min_concurrency", "must not be over max_concurrency")]
}
