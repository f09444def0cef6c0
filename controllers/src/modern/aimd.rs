//! Additive increase, multiplicative decrease of a limit on jobs in flight.

use std::time::Duration;

use super::limiter::{
    self, Ends, EndsParams, HOW_ENDS_COUNT, LimitLaw, LimitSample, Limiter, PLACES, SampleWindow, WINDOW_SAMPLES,
};
use crate::{
    Entry, Gauge, Random,
    entry::{CompositionRole, EntryKind, Source, number, params, s, time, us},
};

/// Raises the limit by one while jobs end in time and the limit is used, and lowers it by a ratio when a job does not.
#[derive(Debug)]
pub(super) struct Aimd {
    limit: u32,
    params: AimdParams,
}

impl Aimd {
    fn new(params: &AimdParams) -> Self {
        Self { limit: params.limit_initial, params: params.clone() }
    }
}

impl LimitLaw for Aimd {
    fn sample(&mut self, sample: &LimitSample, _: &mut dyn Random) {
        let limit = if sample.dropped || sample.rtt > self.params.timeout {
            (f64::from(self.limit) * self.params.backoff_ratio) as u32
        } else if u64::from(sample.in_flight) * 2 >= u64::from(self.limit) {
            self.limit.saturating_add(1)
        } else {
            self.limit
        };
        self.limit = limit.clamp(self.params.limit_min, self.params.limit_max);
    }

    fn limit(&self) -> u32 {
        self.limit
    }

    fn gauges(&self, _: &mut dyn FnMut(Gauge, f64)) {}
}

const CODE: &str = "AIMDLimit.java";

params! {
    struct AimdParams {
        limit_initial: u32 = limiter::limit_initial(20, CODE);
        limit_min: u32 = limiter::limit_min(20, CODE);
        limit_max: u32 = limiter::limit_max(200, CODE);
        backoff_ratio: f64 = number(0.5..=0.999, 0.9), "what is left of the limit after a decrease, rounded down", CODE;
        timeout: Duration = time(us(1)..=s(3600), s(5)), "a job that took longer counts as dropped", CODE;
        ends: EndsParams;
        window: Duration = limiter::window(Duration::ZERO, limiter::NO_WINDOW);
        window_samples: u32 = WINDOW_SAMPLES;
    }
}

pub(crate) const AIMD: Entry = Entry {
    name: "aimd",
    about: "a limit on jobs in flight: one more for each job that ends in time, a tenth less for one that does not",
    caution: "sees nothing between quick and timed out: with the default time-out of 5 s it climbs to its largest limit while answers take 4 s",
    source: Source { title: "Netflix concurrency-limits, as of 2026-01", place: CODE },
    deviations: &[HOW_ENDS_COUNT, "A first limit outside the bounds is an error; there it is a warning."],
    places: PLACES,
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Limit],
    kind: EntryKind::Policy(|reader| {
        reader.make_unless(
            |params: &AimdParams| limiter::clashes(params.limit_initial, params.limit_min, params.limit_max),
            |params, site| {
                let window = SampleWindow::new(params.window, params.window_samples);
                Box::new(Limiter::new(Aimd::new(params), Ends::new(&params.ends, site.place), window))
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

    fn law(pairs: &[(&'static str, u32)]) -> Aimd {
        let settings = settings(pairs.iter().map(|(key, value)| (*key, (*value).into())));
        Aimd::new(&testing::params(&settings))
    }

    /// The limit after a job that took this long, with so many in flight.
    fn after(law: &mut Aimd, ms: u64, in_flight: u32, dropped: bool) -> u32 {
        law.sample(&LimitSample { rtt: Duration::from_millis(ms), in_flight, dropped }, &mut Seeded::new(1));
        law.limit()
    }

    #[test]
    fn one_up_while_it_is_used_and_a_tenth_down() {
        let mut law = law(&[("limit_min", 1)]);
        assert_eq!(after(&mut law, 10, 10, false), 21, "10 × 2 ≥ 20: 20 + 1");
        assert_eq!(after(&mut law, 10, 10, false), 21, "10 × 2 < 21: nobody asked for more");
        assert_eq!(after(&mut law, 10, 1, true), 18, "dropped: 21 × 0.9 = 18.9, rounded down");
        assert_eq!(after(&mut law, 5001, 18, false), 16, "over 5 s: 18 × 0.9 = 16.2");
        assert_eq!(after(&mut law, 5000, 16, false), 17, "5 s is in time");
    }

    #[test]
    fn it_stays_within_its_bounds() {
        let mut low = law(&[]);
        assert_eq!(after(&mut low, 10, 20, true), 20, "20 × 0.9 = 18, but 20 is the smallest");
        let mut high = law(&[("limit_initial", 200)]);
        assert_eq!(after(&mut high, 10, 200, false), 200);
    }
}
