//! Controlled delay: a queue in order of arrival that refuses jobs at its head while the queue stands.

mod folly;
mod linux;

use std::time::Duration;

pub use folly::FollyCodel;
pub use linux::LinuxCodel;

use super::discipline::{self, Head, MAX};
use crate::{
    Ctx, Effect, Entry, Gauge, Grant, JobId, Machine, Offer, Policy, Reason, Refusal, Seen, Timestamp, Verdict,
    entry::{CompositionRole, EntryKind, Given, Preset, Problem, Source, choice, ms, params, s, time, us},
    primitives::JobQueue,
};

/// Holds every job, and releases the oldest as workers become free.
#[derive(Debug)]
struct Codel {
    /// Held jobs with their time of arrival.
    queue: JobQueue<Timestamp>,
    max: u32,
    law: Law,
}

/// The law that selects the jobs to refuse at the head.
#[derive(Debug)]
enum Law {
    Linux(LinuxCodel),
    Folly(FollyCodel),
}

/// Creates a law from target and interval.
type MakeLaw = fn(Duration, Duration) -> Law;

const LINUX: MakeLaw = |target, interval| Law::Linux(LinuxCodel::new(target, interval));
const FOLLY: MakeLaw = |target, interval| Law::Folly(FollyCodel::new(target, interval));

impl Codel {
    fn next(&mut self, cx: &mut Ctx<'_>) -> Option<JobId> {
        let queue = &mut self.queue;
        let now = cx.now;
        let mut pop = || {
            let (id, arrived) = queue.pop_oldest()?;
            Some(Head { id, waited: now.since(arrived), left: queue.len() })
        };
        let mut refuse = |id| cx.effects.push(Effect::Refuse(id, Refusal::new(Reason::Waited)));
        match &mut self.law {
            Law::Linux(law) => law.next(now, &mut pop, &mut refuse),
            Law::Folly(law) => law.next(now, &mut pop, &mut refuse),
        }
    }
}

impl Machine for Codel {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        match seen {
            Seen::Room(free) => {
                for _ in 0..*free {
                    let Some(id) = self.next(cx) else { return };
                    cx.effects.push(Effect::Release(id, Grant::default()));
                }
            }
            Seen::Left(id) => drop(self.queue.remove(*id)),
            _ => {}
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("held"), f64::from(self.queue.len()));
        match &self.law {
            Law::Linux(law) => law.gauges(visit),
            Law::Folly(law) => law.gauges(visit),
        }
    }
}

impl Policy for Codel {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        discipline::hold(&mut self.queue, self.max, job.id, cx.now)
    }
}

const HEADER: &str = "codel_impl.h (Linux), Codel.cpp (folly)";

params! {
    struct CodelParams {
        law: MakeLaw = choice(("linux", LINUX), &[("folly", FOLLY)]),
            "linux: while the queue stands, refuse one at growing frequency; folly: refuse all that waited over twice the target",
            "the lab's name for two codes of one name";
        target: Duration = time(us(1)..=s(60), ms(5)), "a wait that is no standing queue", HEADER;
        interval: Duration = time(us(2)..=s(600), ms(100)),
            "a queue stands if every wait was over the target for this long", HEADER;
        max: u32 = MAX;
    }
}

pub(crate) const CODEL: Entry = Entry {
    name: "codel",
    about: "a queue in order of arrival that refuses at its head while the queue stands",
    caution: "blind to who asks; a target of 5 ms is for jobs that take no longer; preset linux refuses too slowly from about four times capacity on, as senders here do not slow down",
    source: Source {
        title: "Nichols and Jacobson, Controlling Queue Delay, 2012, as in Linux; folly's Codel for preset folly",
        place: HEADER,
    },
    deviations: &[
        "A queue counts in jobs, not in bytes: one job left behind stands for the one packet with which Linux does not drop.",
        "The root of the count is exact; Linux approaches it by one Newton step a drop.",
        "With `scope: single` it keeps the queue before a service of one stage; before several, whose room it would see as one, it is refused.",
        "Jobs that were held before a live switch count their wait from the switch.",
        "Nothing is marked instead of dropped: there is no ECN here.",
    ],
    places: discipline::PLACES,
    presets: &[
        Preset { name: "linux", about: "refuses one after interval / √count, as the Linux kernel", given: &[] },
        Preset {
            name: "folly",
            about: "refuses what waited over twice the target while the least wait is over it, as Facebook's executors",
            given: &[("law", Given::Text("folly"))],
        },
    ],
    samples: &[],
    roles: &[CompositionRole::Queue],
    kind: EntryKind::Discipline(|reader| {
        reader.make_unless(clashes, |params: &CodelParams, _| {
            let law = (params.law)(params.target, params.interval);
            Box::new(Codel { queue: JobQueue::default(), max: params.max, law })
        })
    }),
};

fn clashes(params: &CodelParams) -> Vec<Problem> {
    if params.target < params.interval {
        return Vec::new();
    }
    vec![Problem::new("interval", "must be longer than target, or every wait stands")]
}
