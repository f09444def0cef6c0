//! HAProxy's `maxconn` of a server: what is over it waits in a queue, for a time.

use std::time::Duration;

use crate::{
    Ctx, Effect, Entry, Gauge, Grant, Machine, Offer, Place, Policy, Reason, Refusal, Seen, Timestamp, Verdict,
    entry::{EntryKind, Source, count, ms, params, s, time},
    primitives::JobQueue,
};

params! {
    struct MaxconnParams {
        maxconn: u32 = count(1..=1_000_000, 32), "most requests in progress", "maxconn 32, the manual's example (section 2.7)";
        timeout_queue: Duration = time(ms(1)..=s(3600), s(5)), "longest wait", "timeout queue: timeout connect without it, 5 s in the manual's example";
        maxqueue: u32 = count(0..=1_000_000, 0), "most requests that wait; 0: no limit", "maxqueue: 0 by default";
    }
}

#[derive(Debug)]
struct MaxconnQueue {
    /// Held jobs with their arrival.
    queue: JobQueue<Timestamp>,
    params: MaxconnParams,
}

impl MaxconnQueue {
    fn refuse_late(&mut self, cx: &mut Ctx<'_>) {
        while self.next_wake().is_some_and(|at| at <= cx.now) {
            let Some((id, _)) = self.queue.pop_oldest() else { return };
            cx.effects.push(Effect::Refuse(id, Refusal::new(Reason::Waited)));
        }
    }

    /// Lets in what there is room for. `in_flight`: those inside, and those that were let in before.
    fn let_in(&mut self, mut in_flight: u32, cx: &mut Ctx<'_>) {
        while in_flight < self.params.maxconn {
            let Some((id, _)) = self.queue.pop_oldest() else { return };
            cx.effects.push(Effect::Release(id, Grant::default()));
            in_flight += 1;
        }
    }
}

impl Machine for MaxconnQueue {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        match seen {
            Seen::Ended { .. } | Seen::Freed(_) => {
                self.refuse_late(cx);
                self.let_in(cx.in_flight, cx);
            }
            Seen::Left(id) => drop(self.queue.remove(*id)),
            _ => {}
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        self.queue.iter().next().map(|arrived| *arrived + self.params.timeout_queue)
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        self.refuse_late(cx);
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("limit"), f64::from(self.params.maxconn));
        visit(Gauge::of("held"), f64::from(self.queue.len()));
    }
}

impl Policy for MaxconnQueue {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        let MaxconnParams { maxconn, maxqueue, .. } = self.params;
        if self.queue.is_empty() && cx.in_flight < maxconn {
            return Verdict::Admit(Grant::default());
        }
        if maxqueue > 0 && self.queue.len() >= maxqueue {
            return Verdict::Refuse(Refusal::new(Reason::QueueFull));
        }
        self.queue.push(job.id, cx.now);
        Verdict::Hold
    }
}

pub(crate) const MAXCONN_QUEUE: Entry = Entry {
    name: "maxconn-queue",
    about: "HAProxy's maxconn: a limit on requests in progress that you set, and a queue before it with a time-out",
    caution: "right only while the service time is what it was when the limit was chosen; under lasting overload all wait as long as the time-out lets them",
    source: Source {
        title: "HAProxy 2.6, Configuration Manual",
        place: "section 5.2 (maxconn, maxqueue), section 4.2 (timeout queue)",
    },
    deviations: &[
        "There is one server: nothing is sent to another when the queue is full (503 here too, where there is none).",
        "Priorities of the queue (`set-priority-class`) are left out.",
    ],
    places: &[Place::Single, Place::Stage, Place::Proxy],
    presets: &[],
    samples: &[],
    roles: &[],
    kind: EntryKind::Policy(|reader| {
        reader.make(|params: &MaxconnParams, _| {
            Box::new(MaxconnQueue { queue: JobQueue::default(), params: params.clone() })
        })
    }),
};
