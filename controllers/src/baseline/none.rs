//! No control: every job is admitted.

use crate::{
    Ctx, Entry, Gauge, Grant, Machine, Offer, Place, Policy, Seen, Verdict,
    entry::{EntryKind, Source},
};

/// Admits every job.
#[derive(Debug)]
struct NoControl;

impl Machine for NoControl {
    fn observe(&mut self, _: &Seen, _: &mut Ctx<'_>) {}

    fn gauges(&self, _: &mut dyn FnMut(Gauge, f64)) {}
}

impl Policy for NoControl {
    fn offer(&mut self, _: &Offer, _: &mut Ctx<'_>) -> Verdict {
        Verdict::Admit(Grant::default())
    }
}

pub(crate) const NONE: Entry = Entry {
    name: "none",
    about: "no control: everything comes in",
    caution: "response time grows without bound once more is asked than can be done",
    source: Source {
        title: "Adaptive Overload Control for Busy Internet Servers, USITS'03",
        place: "section 4.4, figure 10",
    },
    deviations: &[],
    places: &[Place::Stage, Place::Single, Place::Accept, Place::Client, Place::Proxy],
    presets: &[],
    samples: &[],
    roles: &[],
    kind: EntryKind::Policy(|reader| reader.make(|(): &(), _| Box::new(NoControl))),
};
