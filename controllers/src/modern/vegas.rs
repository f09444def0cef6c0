//! TCP Vegas for jobs: the limit follows an estimate of the number of waiting jobs.

use std::time::Duration;

use super::limiter::{
    self, Ends, EndsParams, HOW_ENDS_COUNT, LimitLaw, LimitSample, Limiter, PLACES, SampleWindow, WINDOW_SAMPLES,
};
use crate::{
    Entry, Gauge, Random,
    entry::{CompositionRole, EntryKind, Source, count, number, params},
};

/// Compares each response time with the shortest one: with a limit L, about L × (1 − shortest / time) jobs wait.
#[derive(Debug)]
pub(super) struct Vegas {
    limit: f64,
    params: VegasParams,
    /// The shortest response time since the last probe, the estimate of the time without load.
    shortest: Option<Duration>,
    /// The random share of the longest interval until the next probe. Drawn with the first sample.
    probe_share: Option<f64>,
    since_probe: u32,
}

impl Vegas {
    fn new(params: &VegasParams) -> Self {
        Self {
            limit: f64::from(params.limit_initial),
            params: params.clone(),
            shortest: None,
            probe_share: None,
            since_probe: 0,
        }
    }

    /// True for a probe: at random intervals the current time replaces the shortest one, since the time without load
    /// can change.
    fn probes(&mut self, random: &mut dyn Random) -> bool {
        self.since_probe = self.since_probe.saturating_add(1);
        let share = *self.probe_share.get_or_insert_with(|| between_half_and_one(random));
        if f64::from(self.since_probe) < share * f64::from(self.params.probe_multiplier) * self.limit {
            return false;
        }
        self.probe_share = Some(between_half_and_one(random));
        self.since_probe = 0;
        true
    }

    fn adjust(&mut self, shortest: Duration, sample: &LimitSample) {
        // The estimated number of waiting jobs, rounded up.
        let queue = (self.limit * (1.0 - shortest.as_secs_f64() / sample.rtt.as_secs_f64())).ceil();
        let step = step(self.limit);
        let (few, alpha, beta) = (step, 3.0 * step, 6.0 * step);
        let wanted = if sample.dropped {
            self.limit - step
        } else if f64::from(sample.in_flight) * 2.0 < self.limit {
            return; // the limit is not used
        } else if queue <= few {
            self.limit + beta
        } else if queue < alpha {
            self.limit + step
        } else if queue > beta {
            self.limit - step
        } else {
            return;
        };
        let wanted = wanted.clamp(1.0, f64::from(self.params.limit_max));
        let smoothing = self.params.smoothing;
        self.limit = (1.0 - smoothing) * self.limit + smoothing * wanted;
    }
}

fn between_half_and_one(random: &mut dyn Random) -> f64 {
    0.5 + random.uniform() / 2.0
}

/// The decimal logarithm of the whole limit, rounded down, at least 1.
fn step(limit: f64) -> f64 {
    f64::from((limit as u32).max(1).ilog10().max(1))
}

impl LimitLaw for Vegas {
    fn sample(&mut self, sample: &LimitSample, random: &mut dyn Random) {
        if self.probes(random) {
            self.shortest = Some(sample.rtt);
            return;
        }
        match self.shortest {
            Some(shortest) if sample.rtt >= shortest => self.adjust(shortest, sample),
            _ => self.shortest = Some(sample.rtt),
        }
    }

    fn limit(&self) -> u32 {
        self.limit as u32
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("rtt_shortest_ms"), self.shortest.unwrap_or_default().as_secs_f64() * 1e3);
    }
}

const CODE: &str = "VegasLimit.java";

params! {
    struct VegasParams {
        limit_initial: u32 = limiter::limit_initial(20, CODE);
        limit_max: u32 = limiter::limit_max(1000, CODE);
        smoothing: f64 = number(0.01..=1.0, 1.0), "weight of the new limit against the old", CODE;
        probe_multiplier: u32 = count(1..=1_000_000, 30),
            "after a half to the whole of this many times the limit of samples, the next is taken as the time without load",
            CODE;
        ends: EndsParams;
        window: Duration = limiter::window(Duration::ZERO, limiter::NO_WINDOW);
        window_samples: u32 = WINDOW_SAMPLES;
    }
}

pub(crate) const VEGAS: Entry = Entry {
    name: "vegas",
    about: "a limit on jobs in flight that keeps a few of them waiting, judged by the shortest time seen",
    caution: "takes every time over the shortest for waiting: where jobs differ in size it starves the service, and a probe under load takes waiting for service (issue 165)",
    source: Source { title: "Netflix concurrency-limits, as of 2026-01, after TCP Vegas", place: CODE },
    deviations: &[HOW_ENDS_COUNT, "A first limit above the largest is an error."],
    places: PLACES,
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Limit],
    kind: EntryKind::Policy(|reader| {
        reader.make_unless(
            |params: &VegasParams| limiter::clashes(params.limit_initial, 1, params.limit_max),
            |params, site| {
                let window = SampleWindow::new(params.window, params.window_samples);
                Box::new(Limiter::new(Vegas::new(params), Ends::new(&params.ends, site.place), window))
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

    fn law(pairs: &[(&'static str, u32)]) -> Vegas {
        let settings = settings(pairs.iter().map(|(key, value)| (*key, (*value).into())));
        Vegas::new(&testing::params(&settings))
    }

    /// The limit after a job that took this long, with so many in flight.
    fn after(law: &mut Vegas, ms: u64, in_flight: u32, dropped: bool) -> f64 {
        law.sample(&LimitSample { rtt: Duration::from_millis(ms), in_flight, dropped }, &mut Seeded::new(1));
        law.limit
    }

    #[track_caller]
    fn assert_limit(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-9, "{found} is not {wanted}");
    }

    #[test]
    fn the_four_branches_and_the_two_that_hold() {
        // log10 of 20 to 99, rounded down, is 1: threshold 1, alpha 3, beta 6, steps of 1.
        let mut law = law(&[]);
        assert_limit(after(&mut law, 100, 20, false), 20.0); // the first time is the shortest, and nothing else
        // 20 × (1 − 100/100) = 0 wait, at most the threshold: + beta.
        assert_limit(after(&mut law, 100, 20, false), 26.0);
        // 26 × (1 − 100/107) = 1.7, so 2 wait, fewer than alpha: + 1.
        assert_limit(after(&mut law, 107, 26, false), 27.0);
        // 27 × (1 − 100/120) = 4.5, so 5 wait, between alpha and beta: hold.
        assert_limit(after(&mut law, 120, 27, false), 27.0);
        // 27 × (1 − 100/112) = 2.9 and 27 × (1 − 100/128) = 5.9: 3 is no fewer than alpha, 6 no more than beta.
        assert_limit(after(&mut law, 112, 27, false), 27.0);
        assert_limit(after(&mut law, 128, 27, false), 27.0);
        // 27 × (1 − 100/150) = 9 wait, more than beta: − 1.
        assert_limit(after(&mut law, 150, 27, false), 26.0);
        // Dropped: − 1, whatever the number in flight and the response time.
        assert_limit(after(&mut law, 100, 1, true), 25.0);
        // 12 × 2 < 25: hold, however quick.
        assert_limit(after(&mut law, 100, 12, false), 25.0);
        // 25 × (1 − 100/103) = 0.7, so 1 waits, which is the threshold: + beta. Dropped six times: back.
        assert_limit(after(&mut law, 103, 25, false), 31.0);
        for _ in 0..6 {
            after(&mut law, 103, 25, true);
        }
        // A shorter time becomes the shortest, and nothing else, even if dropped.
        assert_limit(after(&mut law, 50, 25, true), 25.0);
        // 25 × (1 − 50/100) = 12.5 wait now.
        assert_limit(after(&mut law, 100, 25, false), 24.0);
    }

    #[test]
    fn steps_grow_with_the_logarithm_and_end_at_the_bounds() {
        let mut law = law(&[("limit_initial", 150)]);
        after(&mut law, 100, 150, false);
        // log10 150 = 2.2, so 2: beta is 12.
        assert_limit(after(&mut law, 100, 150, false), 162.0);
        law.limit = 995.0;
        assert_limit(after(&mut law, 100, 995, false), 1000.0); // 995 + 12, but 1000 is the largest
        // log10 1000 = 3; 1000 × (1 − 100/200) = 500 wait.
        assert_limit(after(&mut law, 200, 1000, false), 997.0);
        law.limit = 1.0;
        assert_limit(after(&mut law, 100, 1, true), 1.0);
    }

    #[test]
    fn large_limits_by_hand() {
        // log10 400 = 2.6, so 2: threshold 2, alpha 6, beta 12. log10 1000 = 3: threshold 3, alpha 9, beta 18.
        for (limit, shortest_us, rtt_us, wanted) in [
            (400, 50_000, 52_000, 398.0),     // 400 × (1 − 50/52) = 15.4, so 16 wait, more than 12: − 2
            (400, 50_000, 51_000, 400.0),     // 7.8, so 8, between 6 and 12: hold
            (1000, 100_000, 101_000, 1000.0), // 9.9, so 10, between 9 and 18: hold
            (1000, 100_000, 102_000, 997.0),  // 19.6, so 20, more than 18: − 3
            (1000, 100_000, 100_800, 1000.0), // 7.9, so 8, fewer than 9: + 3, but 1000 is the largest
        ] {
            let mut law = law(&[("limit_initial", limit)]);
            for micros in [shortest_us, rtt_us] {
                let rtt = Duration::from_micros(micros);
                law.sample(&LimitSample { rtt, in_flight: limit, dropped: false }, &mut Seeded::new(1));
            }
            assert_limit(law.limit, wanted);
        }
        // The last without the bound: 8 < 9 is + 3.
        let mut law = law(&[("limit_initial", 1000), ("limit_max", 2000)]);
        for micros in [100_000, 100_800] {
            let rtt = Duration::from_micros(micros);
            law.sample(&LimitSample { rtt, in_flight: 1000, dropped: false }, &mut Seeded::new(1));
        }
        assert_limit(law.limit, 1003.0);
    }

    #[test]
    fn with_smoothing_a_part_of_the_way() {
        let mut law = law(&[]);
        law.params.smoothing = 0.25;
        after(&mut law, 100, 20, false);
        // 0.75 × 20 + 0.25 × 26.
        assert_limit(after(&mut law, 100, 20, false), 21.5);
    }

    /// Draws this each time.
    struct Always(u64);

    impl Random for Always {
        fn next_u64(&mut self) -> u64 {
            self.0
        }
    }

    #[test]
    fn the_default_probe_comes_after_15_to_30_times_the_limit() {
        // 20 in all, nobody in flight: U[0.5, 1] × 30 × 20 samples.
        for (draw, probe) in [(0, 300), (u64::MAX, 600)] {
            let mut law = law(&[]);
            let mut random = Always(draw);
            let mut sample = |ms| {
                law.sample(&LimitSample { rtt: Duration::from_millis(ms), in_flight: 1, dropped: false }, &mut random);
            };
            sample(100);
            (2..probe).for_each(|_| sample(300));
            assert_eq!(law.shortest, Some(Duration::from_millis(100)), "sample {} is none", probe - 1);
            law.sample(
                &LimitSample { rtt: Duration::from_millis(300), in_flight: 1, dropped: false },
                &mut Always(draw),
            );
            assert_eq!(law.shortest, Some(Duration::from_millis(300)), "sample {probe} is one");
        }
    }

    #[test]
    fn a_probe_takes_what_is_for_what_would_be_without_load() {
        // The probe comes after half to the whole of 1 × 20 samples; no job is in flight, so the limit stays at 20.
        let mut law = law(&[("probe_multiplier", 1)]);
        after(&mut law, 100, 1, false);
        let mut samples = 1;
        while law.shortest == Some(Duration::from_millis(100)) {
            after(&mut law, 300, 1, false);
            samples += 1;
        }
        assert!((10..=20).contains(&samples), "{samples}");
        assert_eq!((law.shortest, law.since_probe), (Some(Duration::from_millis(300)), 0));
    }
}
