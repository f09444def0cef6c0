//! Additive increase, multiplicative decrease of a limit on jobs in flight.

use std::time::Duration;

use super::limiter::{self, HOW_ENDS_COUNT, LimitLaw, Limiter, PLACES, Sample, whole};
use crate::{
    Entry, Gauge, Random,
    catalogue::{Make, Param, ParamKind, Source, Values, joined},
};

/// One more while jobs end in time and the limit is used, a part of it less as soon as one does not.
#[derive(Debug)]
pub(super) struct Aimd {
    limit: u32,
    min: u32,
    max: u32,
    backoff_ratio: f64,
    timeout: Duration,
}

impl Aimd {
    pub(super) fn new(values: &Values) -> Self {
        Self {
            limit: whole(values, "limit_initial"),
            min: whole(values, "limit_min"),
            max: whole(values, "limit_max"),
            backoff_ratio: values.number("backoff_ratio"),
            timeout: values.time("timeout"),
        }
    }
}

impl LimitLaw for Aimd {
    fn sample(&mut self, sample: &Sample, _: &mut dyn Random) {
        let limit = if sample.dropped || sample.rtt > self.timeout {
            (f64::from(self.limit) * self.backoff_ratio) as u32
        } else if u64::from(sample.in_flight) * 2 >= u64::from(self.limit) {
            self.limit.saturating_add(1)
        } else {
            self.limit
        };
        self.limit = limit.clamp(self.min, self.max);
    }

    fn limit(&self) -> u32 {
        self.limit
    }

    fn gauges(&self, _: &mut dyn FnMut(Gauge, f64)) {}
}

const CODE: &str = "AIMDLimit.java";

const LAW: [Param; 5] = [
    limiter::limit_initial(20, CODE),
    limiter::limit_min(20, CODE),
    limiter::limit_max(200, CODE),
    Param {
        name: "backoff_ratio",
        about: "what is left of the limit after a decrease, rounded down",
        kind: ParamKind::Number { min: 0.5, max: 0.999, default: 0.9, unit: "" },
        source: CODE,
    },
    Param {
        name: "timeout",
        about: "a job that took longer counts as dropped",
        kind: ParamKind::Time {
            min: Duration::from_micros(1),
            max: Duration::from_secs(3600),
            default: Some(Duration::from_secs(5)),
        },
        source: CODE,
    },
];

pub(crate) const AIMD: Entry = Entry {
    name: "aimd",
    about: "a limit on jobs in flight: one more for each job that ends in time, a tenth less for one that does not",
    caution: "sees nothing between quick and timed out: with the default time-out of 5 s it climbs to its largest limit while answers take 4 s",
    source: Source { title: "Netflix concurrency-limits, as of 2026-01", place: CODE },
    deviations: &[HOW_ENDS_COUNT, "A first limit outside the bounds is an error; there it is a warning."],
    places: PLACES,
    params: &joined::<13>(&[
        &LAW,
        &limiter::shared(Duration::ZERO, "no window unless one is put around it, WindowedLimit.java"),
    ]),
    presets: &[],
    clashes: limiter::clashes,
    samples: &[],
    make: Make::Policy(|values, site| Box::new(Limiter::new(Aimd::new(values), values, site))),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalogue, Seeded, testing::settings};

    fn law(pairs: &[(&'static str, u32)]) -> Aimd {
        let settings = settings(pairs.iter().map(|(key, value)| (*key, (*value).into())));
        let values = Catalogue::find("aimd").unwrap().check(&settings).unwrap();
        Aimd::new(&values)
    }

    /// The limit after a job that took this long, with so many in flight.
    fn after(law: &mut Aimd, ms: u64, in_flight: u32, dropped: bool) -> u32 {
        law.sample(&Sample { rtt: Duration::from_millis(ms), in_flight, dropped }, &mut Seeded::new(1));
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
