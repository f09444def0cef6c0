//! A limit that falls while response times rise, by the ratio of their long average to the last one.

use std::time::Duration;

use super::limiter::{
    self, Ends, EndsParams, HOW_ENDS_COUNT, LimitLaw, LimitSample, Limiter, PLACES, SampleWindow, WINDOW_SAMPLES,
};
use crate::{
    Entry, Gauge, Random,
    entry::{CompositionRole, EntryKind, Source, count, number, params, s},
};

/// Sets the limit L to L × gradient + queue, smoothed. The gradient is 1 unless the last time exceeds the long average
/// by the tolerance.
#[derive(Debug)]
pub(super) struct Gradient2 {
    limit: f64,
    params: Gradient2Params,
    long: LongAverage,
    last_s: f64,
}

/// The mean of the first samples, then a moving average. A change of the value lasts until the next of the first samples alone, as in
/// `ExpAvgMeasurement.java`.
#[derive(Debug)]
struct LongAverage {
    new_weight: f64,
    samples: u32,
    /// Of the first samples.
    sum_s: f64,
    seconds: f64,
}

/// The number of first samples with equal weight.
const WARM_UP: u32 = 10;

impl LongAverage {
    fn add(&mut self, seconds: f64) -> f64 {
        if self.samples < WARM_UP {
            self.samples += 1;
            self.sum_s += seconds;
            self.seconds = self.sum_s / f64::from(self.samples);
        } else {
            self.seconds = self.seconds * (1.0 - self.new_weight) + seconds * self.new_weight;
        }
        self.seconds
    }
}

impl Gradient2 {
    fn new(params: &Gradient2Params) -> Self {
        // The usual moving average over n samples: the newest has the weight 2 / (n + 1).
        let new_weight = 2.0 / (f64::from(params.long_window) + 1.0);
        Self {
            limit: f64::from(params.limit_initial),
            params: params.clone(),
            long: LongAverage { new_weight, samples: 0, sum_s: 0.0, seconds: 0.0 },
            last_s: 0.0,
        }
    }
}

impl LimitLaw for Gradient2 {
    /// Ignores drops, since the times show them.
    fn sample(&mut self, sample: &LimitSample, _: &mut dyn Random) {
        let short = sample.rtt.as_secs_f64();
        let long = self.long.add(short);
        self.last_s = short;
        // After a long overload the average must fall faster.
        if long / short > 2.0 {
            self.long.seconds *= 0.95;
        }
        if f64::from(sample.in_flight) < self.limit / 2.0 {
            return; // the limit is not used
        }
        let Gradient2Params { queue, smoothing, tolerance, limit_min, limit_max, .. } = self.params;
        let gradient = (tolerance * long / short).clamp(0.5, 1.0);
        let wanted = self.limit * gradient + f64::from(queue);
        let smoothed = self.limit * (1.0 - smoothing) + wanted * smoothing;
        self.limit = smoothed.clamp(f64::from(limit_min), f64::from(limit_max));
    }

    fn limit(&self) -> u32 {
        self.limit as u32
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("rtt_long_ms"), self.long.seconds * 1e3);
        visit(Gauge::of("rtt_last_ms"), self.last_s * 1e3);
    }
}

const CODE: &str = "Gradient2Limit.java";

params! {
    struct Gradient2Params {
        limit_initial: u32 = limiter::limit_initial(20, CODE);
        limit_min: u32 = limiter::limit_min(20, CODE);
        limit_max: u32 = limiter::limit_max(200, CODE);
        queue: u32 = count(0..=10_000, 4),
            "jobs that may wait: what the limit grows by, times the smoothing, at each sample that is not slow", CODE;
        smoothing: f64 = number(0.01..=1.0, 0.2), "weight of the new limit against the old", CODE;
        tolerance: f64 = number(1.0..=10.0, 1.5),
            "how many times the long average a sample may take before the limit shrinks", CODE;
        long_window: u32 = count(1..=1_000_000, 600), "samples in the long average", CODE;
        ends: EndsParams;
        window: Duration = limiter::window(s(1), "the server's example in README.md; 1 s in WindowedLimit.java");
        window_samples: u32 = WINDOW_SAMPLES;
    }
}

pub(crate) const GRADIENT2: Entry = Entry {
    name: "gradient2",
    about: "a limit on jobs in flight that shrinks while times are over a long average of themselves, and grows else",
    caution: "under an overload that lasts the average learns the queue as normal, and the limit creeps up to its largest (pull request 134); for a small service the smallest limit, 20, is a queue already",
    source: Source { title: "Netflix concurrency-limits, as of 2026-01", place: CODE },
    deviations: &[HOW_ENDS_COUNT, "A first limit outside the bounds is an error; there it is a warning."],
    places: PLACES,
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Limit],
    kind: EntryKind::Policy(|reader| {
        reader.make_unless(
            |params: &Gradient2Params| limiter::clashes(params.limit_initial, params.limit_min, params.limit_max),
            |params, site| {
                let window = SampleWindow::new(params.window, params.window_samples);
                Box::new(Limiter::new(Gradient2::new(params), Ends::new(&params.ends, site.place), window))
            },
        )
    }),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Seeded,
        testing::{self, settings},
    };

    fn law(pairs: &[(&'static str, u32)]) -> Gradient2 {
        let settings = settings(pairs.iter().map(|(key, value)| (*key, (*value).into())));
        Gradient2::new(&testing::params(&settings))
    }

    /// The limit after a job that took this long, with so many in flight.
    fn after(law: &mut Gradient2, ms: u64, in_flight: u32) -> f64 {
        law.sample(&LimitSample { rtt: Duration::from_millis(ms), in_flight, dropped: false }, &mut Seeded::new(1));
        law.limit
    }

    #[track_caller]
    fn assert_close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-6, "{found} is not {wanted}");
    }

    #[test]
    fn five_steps_by_hand() {
        let mut law = law(&[("limit_initial", 100), ("limit_min", 1)]);
        // Long 100, gradient 1.5 × 100/100, at most 1: 100 + 4 wanted; 0.8 × 100 + 0.2 × 104.
        assert_close(after(&mut law, 100, 100), 100.8);
        // Long (100 + 400)/2 = 250, gradient 1.5 × 250/400 = 0.9375: 94.5 + 4 wanted; 80.64 + 19.7.
        assert_close(after(&mut law, 400, 100), 100.34);
        // Long 2400/3 = 800, gradient 1200/1900: 63.372632 + 4 wanted; 80.272 + 13.474526.
        assert_close(after(&mut law, 1900, 100), 93.746_526);
        // Long 102400/4 = 25600, gradient 0.384, at least 0.5: 46.873263 + 4 wanted; 74.997221 + 10.174653.
        assert_close(after(&mut law, 100_000, 100), 85.171_874);
        // Long 102500/5 = 20500, over twice 100: less by a twentieth. Gradient 1: 0.2 × 4 more.
        assert_close(after(&mut law, 100, 100), 85.971_874);
        assert_close(law.long.seconds, 19.475);
    }

    #[test]
    fn after_ten_samples_the_average_moves_by_two_in_six_hundred_and_one() {
        let mut law = law(&[]);
        for _ in 0..10 {
            after(&mut law, 100, 1);
        }
        after(&mut law, 701, 1);
        // 100 + (701 − 100) × 2/601.
        assert_close(law.long.seconds, 0.102);
    }

    #[test]
    fn the_step_after_ten_alike_by_hand() {
        let mut law = law(&[("limit_initial", 100)]);
        for _ in 0..10 {
            after(&mut law, 100, 1);
        }
        // Long 100 + 100 × 2/601 = 100.332779, gradient 1.5 × 100.332779/200 = 0.752496: 75.249584 + 4 wanted; 80 +
        // 15.849917.
        assert_close(after(&mut law, 200, 100), 95.849_917);
    }

    #[test]
    fn it_holds_while_less_than_half_is_used_and_stays_within_its_bounds() {
        let mut law = law(&[("limit_max", 25)]);
        assert_close(after(&mut law, 100, 9), 20.0); // 9 < 20/2
        assert_close(after(&mut law, 100, 10), 20.8);
        for _ in 0..10 {
            after(&mut law, 100, 25);
        }
        assert_close(law.limit, 25.0);
        for _ in 0..20 {
            law.long.seconds = 0.1;
            after(&mut law, 1000, 25);
        }
        assert_close(law.limit, 20.0);
    }
}
