//! A fixed limit on jobs in the system.

use crate::{
    Ctx, Entry, Gauge, Machine, Offer, Place, Policy, Reason, Seen, Verdict,
    entry::{CompositionRole, EntryKind, Source, count, params},
};

params! {
    struct ConcurrencyParams {
        max: u32 = count(1..=1_000_000, 100), "most jobs in flight",
            "the lab's choice: Little's law at 100/s for the target of 1 s";
    }
}

/// Refuses while `max` jobs are in flight.
#[derive(Debug)]
struct Concurrency {
    max: u32,
}

impl Machine for Concurrency {
    fn observe(&mut self, _: &Seen, _: &mut Ctx<'_>) {}

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("limit"), f64::from(self.max));
    }
}

impl Policy for Concurrency {
    fn offer(&mut self, _: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        Verdict::admit_if(cx.in_flight < self.max, Reason::Concurrency)
    }
}

pub(crate) const CONCURRENCY: Entry = Entry {
    name: "concurrency",
    about: "a limit on jobs in the system (waiting and being worked on) that you set",
    caution: "right only while the service time is what it was when the limit was chosen",
    source: Source {
        title: "Adaptive Overload Control for Busy Internet Servers, USITS'03",
        place: "section 2.3, the fixed threshold that it argues against",
    },
    deviations: &[],
    places: &[Place::Single, Place::Stage, Place::Client, Place::Proxy],
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Limit],
    kind: EntryKind::Policy(|reader| {
        reader.make(|params: &ConcurrencyParams, _| Box::new(Concurrency { max: params.max }))
    }),
};
