//! A number of jobs in the system that a person sets.

use crate::{
    Ctx, Entry, Gauge, Grant, Machine, Offer, Policy, Reason, Refusal, Seen, Verdict,
    catalogue::{Make, NO_CLASHES, Param, ParamKind, Place, Source},
};

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
        if cx.in_flight < self.max {
            Verdict::Admit(Grant::default())
        } else {
            Verdict::Refuse(Refusal::new(Reason::Concurrency))
        }
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
    params: &[Param {
        name: "max",
        about: "most jobs in flight",
        kind: ParamKind::Count { min: 1, max: 1_000_000, default: 100 },
        source: "the lab's choice: Little's law at 100/s for the target of 1 s",
    }],
    presets: &[],
    clashes: NO_CLASHES,
    samples: &[],
    make: Make::Policy(|values, _| {
        Box::new(Concurrency { max: u32::try_from(values.count("max")).unwrap_or(u32::MAX) })
    }),
};
