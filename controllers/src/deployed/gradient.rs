//! Netflix's first gradient: a limit by the ratio of the smallest response time to the last, with a queue of its square root.

use std::time::Duration;

use crate::{
    Entry, Gauge, Random,
    entry::{CompositionRole, EntryKind, Source, count, number, params},
    modern::limiter::{
        self, Ends, EndsParams, HOW_ENDS_COUNT, LimitLaw, LimitSample, Limiter, PLACES, SampleWindow, WINDOW_SAMPLES,
    },
};

const CODE: &str = "GradientLimit.java";

params! {
    struct GradientParams {
        limit_initial: u32 = limiter::limit_initial(50, CODE);
        limit_min: u32 = limiter::limit_min(1, CODE);
        limit_max: u32 = limiter::limit_max(1000, CODE);
        queue: u32 = count(0..=10_000, 4), "jobs that may wait at least: the square root of the limit, where that is more", CODE;
        smoothing: f64 = number(0.01..=1.0, 0.2), "weight of a lower limit against the old", CODE;
        tolerance: f64 = number(1.0..=10.0, 2.0), "how many times the smallest response time a job may take", CODE;
        backoff_ratio: f64 = number(0.5..=0.999, 0.9), "what is left of the limit after a drop", CODE;
        probe_interval: u32 = count(1..=1_000_000, 1000), "samples after which the smallest is forgotten, and up to as many more", CODE;
        ends: EndsParams;
        window: Duration = limiter::window(Duration::ZERO, limiter::NO_WINDOW);
        window_samples: u32 = WINDOW_SAMPLES;
    }
}

#[derive(Debug)]
struct Gradient {
    limit: f64,
    /// `None`: it was forgotten.
    smallest_s: Option<f64>,
    last_s: f64,
    /// Samples until the smallest is forgotten; `None`: not drawn yet.
    countdown: Option<u32>,
    params: GradientParams,
}

impl Gradient {
    fn new(params: &GradientParams) -> Self {
        let limit = f64::from(params.limit_initial);
        Self { limit, smallest_s: None, last_s: 0.0, countdown: None, params: params.clone() }
    }

    fn queue(&self) -> f64 {
        f64::from(self.params.queue).max(self.limit.floor().sqrt().floor())
    }

    /// True every `probe_interval` samples and up to as many more.
    fn probes(&mut self, random: &mut dyn Random) -> bool {
        let interval = self.params.probe_interval;
        let mut draw = || interval + (random.uniform() * f64::from(interval)) as u32;
        let left = self.countdown.unwrap_or_else(&mut draw);
        let probes = left == 0;
        self.countdown = Some(if probes { draw() } else { left - 1 });
        probes
    }
}

impl LimitLaw for Gradient {
    fn sample(&mut self, sample: &LimitSample, random: &mut dyn Random) {
        let GradientParams { limit_min, limit_max, smoothing, tolerance, backoff_ratio, .. } = self.params;
        let (least, most) = (f64::from(limit_min), f64::from(limit_max));
        let queue = self.queue();
        if self.probes(random) {
            (self.limit, self.smallest_s, self.last_s) = (queue.max(least), None, 0.0);
            return;
        }
        let last = sample.rtt.as_secs_f64();
        let smallest = self.smallest_s.map_or(last, |smallest| smallest.min(last));
        (self.smallest_s, self.last_s) = (Some(smallest), last);
        let wanted = if sample.dropped {
            self.limit * backoff_ratio
        } else if f64::from(sample.in_flight) < self.limit / 2.0 {
            return; // the limit is not used
        } else {
            self.limit * (tolerance * smallest / last).clamp(0.5, 1.0) + queue
        };
        let smoothed =
            if wanted < self.limit { least.max(self.limit * (1.0 - smoothing) + wanted * smoothing) } else { wanted };
        self.limit = smoothed.min(most).max(queue);
    }

    fn limit(&self) -> u32 {
        self.limit as u32
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("rtt_min_ms"), self.smallest_s.unwrap_or_default() * 1e3);
        visit(Gauge::of("rtt_last_ms"), self.last_s * 1e3);
    }
}

pub(crate) const GRADIENT: Entry = Entry {
    name: "gradient",
    about: "Netflix's first gradient: a limit that shrinks while a job takes over twice the smallest time, and forgets that from time to time",
    caution: "each time that it forgets, the limit falls to its square root, in calm too; what is smallest under overload is the queue",
    source: Source { title: "Netflix concurrency-limits, as of 2026-01", place: CODE },
    deviations: &[HOW_ENDS_COUNT, "A first limit outside the bounds is an error; there it is a warning."],
    places: PLACES,
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Limit],
    kind: EntryKind::Policy(|reader| {
        reader.make_unless(
            |params: &GradientParams| limiter::clashes(params.limit_initial, params.limit_min, params.limit_max),
            |params, site| {
                let window = SampleWindow::new(params.window, params.window_samples);
                Box::new(Limiter::new(Gradient::new(params), Ends::new(&params.ends, site.place), window))
            },
        )
    }),
};

#[cfg(test)]
mod unit {
    use super::*;
    use crate::{
        Seeded,
        testing::{self, settings},
    };

    fn after(law: &mut Gradient, ms: u64, in_flight: u32, dropped: bool) -> f64 {
        law.sample(&LimitSample { rtt: Duration::from_millis(ms), in_flight, dropped }, &mut Seeded::new(1));
        law.limit
    }

    #[test]
    fn five_steps_by_hand() {
        let mut law = Gradient::new(&testing::params(&settings([])));
        // √50 = 7: 50 × 1 + 7; a higher limit is not smoothed.
        assert_eq!(after(&mut law, 100, 50, false), 57.0);
        // 2 × 100/400 = 0.5: 28.5 + 7 wanted; 0.8 × 57 + 0.2 × 35.5.
        assert!((after(&mut law, 400, 57, false) - 52.7).abs() < 1e-9);
        // Dropped: 0.9 × 52.7 wanted; 0.8 × 52.7 + 0.2 × 47.43.
        assert!((after(&mut law, 100, 52, true) - 51.646).abs() < 1e-9);
        assert!((after(&mut law, 100, 25, false) - 51.646).abs() < 1e-9, "25 < 51.646/2: nobody asks for more");
        // 2 × 100/160, at most 1; the queue is √51 = 7.
        assert!((after(&mut law, 160, 51, false) - 58.646).abs() < 1e-9);
    }

    #[test]
    fn it_forgets_the_smallest_and_begins_at_its_square_root() {
        let mut law = Gradient::new(&testing::params(&settings([("probe_interval", 10.into())])));
        let mut random = Seeded::new(1);
        let mut fell = Vec::new();
        for n in 0..60 {
            law.sample(&LimitSample { rtt: Duration::from_millis(100), in_flight: 100, dropped: false }, &mut random);
            fell.extend(law.smallest_s.is_none().then_some(n));
        }
        assert!(fell.len() >= 2 && fell.windows(2).all(|two| (11..=20).contains(&(two[1] - two[0]))), "{fell:?}");
    }
}
