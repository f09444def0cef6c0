//! A fixed admission rate.

use crate::{
    Ctx, Entry, Gauge, Machine, Offer, Place, Policy, Reason, Seen, Verdict,
    entry::{CompositionRole, EntryKind, Source, count, number, params},
    primitives::{TokenBucket, TokenClock},
};

params! {
    struct FixedRateParams {
        rate: f64 = number(0.01..=1e6, 100.0).in_unit("/s"), "admissions per second",
            "the lab's choice: the flash crowd's capacity";
        depth: u32 = count(1..=1_000_000, 10), "most admissions at once after a quiet time",
            "the lab's choice: a tenth of a second at the default rate";
    }
}

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
        Verdict::admit_if(self.bucket.pass(cx.now), Reason::Rate)
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
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Inflow],
    kind: EntryKind::Policy(|reader| {
        reader.make(|params: &FixedRateParams, _| {
            let bucket = TokenBucket::new(params.rate, f64::from(params.depth), TokenClock::Precise);
            Box::new(FixedRate { rate: params.rate, bucket })
        })
    }),
};
