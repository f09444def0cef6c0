//! Controlled delay: a queue in order of arrival, from whose head jobs are refused that found a standing queue.

mod folly;
mod linux;

use std::time::Duration;

use folly::Folly;
use linux::Linux;

use super::discipline::{self, Head, MAX};
use crate::{
    Ctx, Effect, Entry, Gauge, Grant, JobId, Machine, Offer, Policy, Reason, Refusal, Seen, Timestamp, Verdict,
    catalogue::{Given, Make, Param, ParamKind, Preset, Problem, Source, Values},
    gate::Line,
};

/// Holds every job, and lets the oldest in as there is room for it.
#[derive(Debug)]
struct Codel {
    /// With the time of arrival.
    line: Line<Timestamp>,
    max: u32,
    law: Law,
}

/// Which jobs are refused when their turn comes.
#[derive(Debug)]
enum Law {
    Linux(Linux),
    Folly(Folly),
}

impl Codel {
    fn next(&mut self, cx: &mut Ctx<'_>) -> Option<JobId> {
        let line = &mut self.line;
        let now = cx.now;
        let mut pop = || {
            let (id, arrived) = line.pop_oldest()?;
            Some(Head { id, waited: now.since(arrived), left: line.len() })
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
            Seen::Left(id) => drop(self.line.remove(*id)),
            _ => {}
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("held"), f64::from(self.line.len()));
        match &self.law {
            Law::Linux(law) => law.gauges(visit),
            Law::Folly(law) => law.gauges(visit),
        }
    }
}

impl Policy for Codel {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        discipline::hold(&mut self.line, self.max, job.id, cx.now)
    }
}

const HEADER: &str = "codel_impl.h (Linux), Codel.cpp (folly)";

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
    params: &[
        Param {
            name: "law",
            about: "linux: while the queue stands, refuse one at growing frequency; folly: refuse all that waited over twice the target",
            kind: ParamKind::Choice { words: &["linux", "folly"] },
            source: "the lab's name for two codes of one name",
        },
        Param {
            name: "target",
            about: "a wait that is no standing queue",
            kind: ParamKind::Time {
                min: Duration::from_micros(1),
                max: Duration::from_secs(60),
                default: Some(Duration::from_millis(5)),
            },
            source: HEADER,
        },
        Param {
            name: "interval",
            about: "a queue stands if every wait was over the target for this long",
            kind: ParamKind::Time {
                min: Duration::from_micros(2),
                max: Duration::from_secs(600),
                default: Some(Duration::from_millis(100)),
            },
            source: HEADER,
        },
        MAX,
    ],
    presets: &[
        Preset { name: "linux", about: "refuses one after interval / √count, as the Linux kernel", given: &[] },
        Preset {
            name: "folly",
            about: "refuses what waited over twice the target while the least wait is over it, as Facebook's executors",
            given: &[("law", Given::Text("folly"))],
        },
    ],
    clashes,
    samples: &[],
    make: Make::Policy(|values, _| {
        let (target, interval) = (values.time("target"), values.time("interval"));
        let law = match values.word("law") {
            "folly" => Law::Folly(Folly::new(target, interval)),
            _ => Law::Linux(Linux::new(target, interval)),
        };
        Box::new(Codel { line: Line::default(), max: discipline::max(values), law })
    }),
};

fn clashes(values: &Values) -> Vec<Problem> {
    if values.time("target") < values.time("interval") {
        return Vec::new();
    }
    let message = "must be longer than target, or every wait stands".to_owned();
    vec![Problem { key: "interval".to_owned(), message }]
}
