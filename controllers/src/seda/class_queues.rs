//! Classes in queues of their own, with workers of their own or by priority: the first option of section 3.3.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    Class, Ctx, Entry, Gauge, Machine, Offer, Policy, Reason, Refusal, Seen, Timestamp, Verdict,
    entry::{CompositionRole, EntryKind, Problem, Source, class_numbers, ms, params, s, time_or},
    modern::discipline::{MAX, PLACES, lanes::Lanes},
};

const OPTION: &str = "section 3.3: segregate request processing for each class into its own set of stages";

params! {
    struct ClassQueueParams {
        workers: BTreeMap<Class, f64> = class_numbers(1.0..=1e6, "workers"), "most workers that a class has at once, which it does not share; without it the highest class comes first", OPTION;
        timeout: Option<Duration> = time_or(ms(1)..=s(3600), "none"), "longest wait; then a job is refused", "the lab's choice: section 3.3 has none";
        max: u32 = MAX;
    }
}

/// Holds every job, and releases the oldest of the highest class that has a worker left.
#[derive(Debug)]
struct ClassQueues {
    lanes: Lanes<Class>,
    /// Jobs that were released and have not ended.
    inside: BTreeMap<Class, u32>,
    params: ClassQueueParams,
}

impl ClassQueues {
    fn new(params: &ClassQueueParams) -> Self {
        Self { lanes: Lanes::default(), inside: BTreeMap::new(), params: params.clone() }
    }

    /// The highest class that waits and has a worker left.
    fn next(&self) -> Option<Class> {
        self.lanes.heads().map(|(class, _)| class).rev().find(|class| {
            let inside = f64::from(self.inside.get(class).copied().unwrap_or(0));
            self.params.workers.is_empty() || inside < self.params.workers.get(class).copied().unwrap_or(1.0)
        })
    }
}

impl Machine for ClassQueues {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        match seen {
            Seen::Room(free) => {
                self.lanes.refuse_expired(self.params.timeout, cx);
                for _ in 0..*free {
                    let Some(class) = self.next() else { return };
                    self.lanes.release_oldest(class, cx);
                    *self.inside.entry(class).or_default() += 1;
                }
            }
            Seen::Left(id) => self.lanes.remove(*id),
            Seen::Ended { tags, .. } => {
                if let Some(inside) = self.inside.get_mut(&tags.class) {
                    *inside = inside.saturating_sub(1);
                }
            }
            _ => {}
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        self.lanes.next_expiry(self.params.timeout)
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        self.lanes.refuse_expired(self.params.timeout, cx);
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("held"), f64::from(self.lanes.len()));
    }
}

impl Policy for ClassQueues {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        if self.lanes.len() >= self.params.max {
            return Verdict::Refuse(Refusal::new(Reason::QueueFull));
        }
        self.lanes.push(job.tags.class, job.id, cx.now);
        Verdict::Hold
    }
}

pub(crate) const CLASS_QUEUES: Entry = Entry {
    name: "class-queues",
    about: "a queue for each class with workers of its own, or without them the highest class first",
    caution: "by priority low classes wait for as long as high ones fill the service; with workers of their own, idle ones help nobody",
    source: Source {
        title: "Welsh and Culler, Adaptive Overload Control for Busy Internet Servers, USITS 2003",
        place: "section 3.3, the option that the paper does not take",
    },
    deviations: &[
        "The classes share one stage, whose workers are divided: the paper speaks of sets of stages with threads of their own.",
        "A class that `workers` does not name has one.",
        "Jobs that were held before a live switch count their wait from the switch; those inside take no worker of their class.",
    ],
    places: PLACES,
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Queue],
    kind: EntryKind::Discipline(|reader| {
        reader.make_unless(clashes, |params: &ClassQueueParams, _| Box::new(ClassQueues::new(params)))
    }),
};

fn clashes(params: &ClassQueueParams) -> Vec<Problem> {
    let broken = params.workers.iter().filter(|(_, workers)| workers.fract() > 0.0);
    broken
        .map(|(class, workers)| Problem::new("workers", format!("class {}: whole workers, not {workers}", class.0)))
        .collect()
}
