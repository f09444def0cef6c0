//! A fixed limit on the queue length.

use crate::{
    Ctx, Entry, Gauge, Machine, Offer, Place, Policy, Reason, Seen, Verdict,
    entry::{CompositionRole, EntryKind, Source, count, params},
    estimate::RunningJobs,
};

params! {
    struct QueueLengthParams {
        max: u32 = count(1..=1_000_000, 100), "most jobs waiting", "the lab's choice: a second's worth at 100/s";
    }
}

/// Refuses while `max` admitted jobs wait for a worker.
#[derive(Debug)]
struct QueueLength {
    max: u32,
    running: RunningJobs,
}

impl Machine for QueueLength {
    fn observe(&mut self, seen: &Seen, _: &mut Ctx<'_>) {
        self.running.observe(seen);
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("limit"), f64::from(self.max));
    }
}

impl Policy for QueueLength {
    fn offer(&mut self, _: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        Verdict::admit_if(self.running.waiting(cx.in_flight) < self.max, Reason::QueueFull)
    }
}

pub(crate) const QUEUE_LENGTH: Entry = Entry {
    name: "queue-length",
    about: "a limit on jobs that wait for a worker, which you set",
    caution: "says nothing of time: the same queue is short for a quick stage and endless for a slow one",
    source: Source {
        title: "Adaptive Overload Control for Busy Internet Servers, USITS'03",
        place: "section 2.3, a fixed threshold on the event queue",
    },
    deviations: &["Jobs that were started before a live switch to this policy count as waiting until they end."],
    places: &[Place::Stage, Place::Single],
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Inflow],
    kind: EntryKind::Policy(|reader| {
        reader.make(|params: &QueueLengthParams, _| {
            Box::new(QueueLength { max: params.max, running: RunningJobs::default() })
        })
    }),
};
