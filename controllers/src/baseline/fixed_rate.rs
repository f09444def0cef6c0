//! A rate that a person sets.

use crate::{
    Ctx, Entry, Gauge, Grant, Machine, Offer, Policy, Reason, Refusal, Seen, Verdict,
    catalogue::{Make, NO_CLASHES, Param, ParamKind, Place, Source},
    gate::{TokenBucket, TokenClock},
};

/// Admits at a fixed rate, refuses the rest.
#[derive(Debug)]
struct FixedRate {
    rate: f64,
    bucket: TokenBucket,
}

impl Machine for FixedRate {
    fn observe(&mut self, _: &Seen, _: &mut Ctx<'_>) {}

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("admission_rate_per_s"), self.rate);
    }
}

impl Policy for FixedRate {
    fn offer(&mut self, _: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        if self.bucket.pass(cx.now) {
            Verdict::Admit(Grant::default())
        } else {
            Verdict::Refuse(Refusal::new(Reason::Rate))
        }
    }
}

pub(crate) const FIXED_RATE: Entry = Entry {
    name: "fixed-rate",
    about: "a token bucket at a rate that you set",
    caution: "right only while the capacity is what it was when the rate was chosen",
    source: Source {
        title: "Adaptive Overload Control for Busy Internet Servers, USITS'03",
        place: "section 3.2, the token bucket without its controller",
    },
    deviations: &[],
    places: &[Place::Single, Place::Stage, Place::Accept, Place::Client, Place::Proxy],
    params: &[
        Param {
            name: "rate",
            about: "admissions per second",
            kind: ParamKind::Number { min: 0.01, max: 1e6, default: 100.0, unit: "/s" },
            source: "the lab's choice: the flash crowd's capacity",
        },
        Param {
            name: "depth",
            about: "most admissions at once after a quiet time",
            kind: ParamKind::Count { min: 1, max: 1_000_000, default: 10 },
            source: "the lab's choice: a tenth of a second at the default rate",
        },
    ],
    presets: &[],
    clashes: NO_CLASHES,
    samples: &[],
    make: Make::Policy(|values, _| {
        let rate = values.number("rate");
        let bucket = TokenBucket::new(rate, values.count("depth") as f64, TokenClock::Precise);
        Box::new(FixedRate { rate, bucket })
    }),
};
