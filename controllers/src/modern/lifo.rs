//! Last in, first out: in a standing queue the newest jobs are the most likely to have senders that still wait.

use std::{collections::BTreeSet, time::Duration};

use super::discipline::{self, MAX};
use crate::{
    Ctx, Effect, Entry, Gauge, Grant, JobId, Machine, Offer, Policy, Reason, Refusal, Seen, Timestamp, Verdict,
    entry::{
        CompositionRole, EntryKind, Given, ParamDeclaration, Preset, Problem, Source, Time, count, flag, ms, params, s,
        time,
    },
    primitives::JobQueue,
};

/// Holds every job, and releases the newest, or the oldest while the queue is short or does not stand.
#[derive(Debug)]
struct Lifo {
    /// Held jobs with the end of their time-out.
    queue: JobQueue<Timestamp>,
    by_expiry: BTreeSet<(Timestamp, JobId)>,
    /// The time since which the queue has not been empty.
    queued_since: Option<Timestamp>,
    order: Order,
    params: LifoParams,
}

/// The order of releases.
#[derive(Debug, Clone, Copy)]
enum Order {
    NewestFirst,
    /// Newest first while the queue stands, else oldest first.
    Standing,
    /// Newest first while at least this number of jobs stays behind, else oldest first.
    Long(u32),
}

impl Lifo {
    /// True if the queue has not been empty for an interval.
    fn stands(&self, now: Timestamp) -> bool {
        self.queued_since.is_some_and(|since| now.since(since) > self.params.interval)
    }

    fn release(&mut self, cx: &mut Ctx<'_>) -> bool {
        let newest_first = match self.order {
            Order::NewestFirst => true,
            Order::Standing => self.stands(cx.now),
            Order::Long(behind) => self.queue.len() > behind,
        };
        let next = if newest_first { self.queue.pop_newest() } else { self.queue.pop_oldest() };
        let Some((id, expires)) = next else { return false };
        self.by_expiry.remove(&(expires, id));
        self.note_if_empty();
        cx.effects.push(Effect::Release(id, Grant::default()));
        true
    }

    fn refuse_expired(&mut self, cx: &mut Ctx<'_>) {
        while let Some((expires, id)) = self.by_expiry.first().copied()
            && expires <= cx.now
        {
            self.by_expiry.pop_first();
            self.queue.remove(id);
            cx.effects.push(Effect::Refuse(id, Refusal::new(Reason::Waited)));
        }
        self.note_if_empty();
    }

    fn note_if_empty(&mut self) {
        if self.queue.is_empty() {
            self.queued_since = None;
        }
    }
}

impl Machine for Lifo {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        match seen {
            Seen::Room(free) => {
                self.refuse_expired(cx);
                for _ in 0..*free {
                    if !self.release(cx) {
                        return;
                    }
                }
            }
            Seen::Left(id) => {
                if let Some(expires) = self.queue.remove(*id) {
                    self.by_expiry.remove(&(expires, *id));
                    self.note_if_empty();
                }
            }
            _ => {}
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        self.by_expiry.first().map(|(expires, _)| *expires)
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        self.refuse_expired(cx);
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("held"), f64::from(self.queue.len()));
    }
}

impl Policy for Lifo {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        let patience = if self.stands(cx.now) { self.params.timeout_standing } else { self.params.timeout };
        let expires = cx.now + patience;
        let verdict = discipline::hold(&mut self.queue, self.params.max, job.id, expires);
        if verdict == Verdict::Hold {
            self.by_expiry.insert((expires, job.id));
            self.queued_since.get_or_insert(cx.now);
        }
        verdict
    }
}

const MAURER: &str = "Controlled Delay, Adaptive LIFO";

const fn timeout(about: &'static str, source: &'static str) -> ParamDeclaration<Time> {
    ParamDeclaration { kind: time(ms(1)..=s(3600), s(1)), about, source }
}

params! {
    struct LifoParams {
        adaptive: bool = flag(false),
            "the oldest first until the queue stands (or is long, see turn_at), the newest first while it does", MAURER;
        turn_at: u32 = count(0..=1_000_000, 0),
            "the newest first while at least so many jobs stay behind, the oldest first else; 0: by time, see interval",
            "lifoSwitchThreshold, hphp/util/job-queue.h; there is no published value";
        interval: Duration = time(ms(1)..=s(600), ms(100)),
            "a queue stands if it has not been empty for this long", "N, Controlled Delay";
        timeout: Duration = timeout(
            "longest wait of a job that comes while the queue does not stand",
            "backlogTimeout of Netflix's LifoBlockingLimiter",
        );
        timeout_standing: Duration = timeout(
            "longest wait of a job that comes while the queue stands",
            "as timeout; M of the article under its preset",
        );
        max: u32 = MAX;
    }
}

pub(crate) const LIFO: Entry = Entry {
    name: "lifo",
    about: "a queue that lets in the newest first, always or while it stands, with time-outs",
    caution: "the old wait until they time out, so that without a short time-out a few wait for ever; blind to who asks",
    source: Source { title: "Maurer, Fail at Scale, ACM Queue 2015", place: MAURER },
    deviations: &[
        "The article does not say when a queue has begun to form: here when it has not been empty for `interval`, as for its time-outs. The server that it is about, HHVM, goes by the queue's length (`turn_at`, preset `hhvm`).",
        "Of HHVM's job queue the levels of priority are left out; its time-out, like its length, is off unless set.",
        "A job is refused when its time-out ends, not when its turn comes, as the oldest never has its turn here.",
        "With `scope: single` it keeps the queue before a service of one stage; before several, whose room it would see as one, it is refused.",
        "Jobs that were held before a live switch count their wait from the switch.",
    ],
    places: discipline::PLACES,
    presets: &[
        Preset { name: "newest-first", about: "the newest first at all times, for a second", given: &[] },
        Preset {
            name: "fail-at-scale",
            about: "adaptive, with controlled delay: 100 ms, or 5 ms while the queue stands",
            given: &[
                ("adaptive", Given::Flag(true)),
                ("timeout", Given::Text("100ms")),
                ("timeout_standing", Given::Text("5ms")),
            ],
        },
        Preset {
            name: "hhvm",
            about: "turns round by length: the newest first while ten or more stay behind (the lab's number), one time-out for all",
            given: &[("adaptive", Given::Flag(true)), ("turn_at", Given::Number(10.0))],
        },
    ],
    samples: &[],
    roles: &[CompositionRole::Queue],
    kind: EntryKind::Discipline(|reader| {
        reader.make_unless(clashes, |params: &LifoParams, _| {
            Box::new(Lifo {
                queue: JobQueue::default(),
                by_expiry: BTreeSet::new(),
                queued_since: None,
                order: match (params.adaptive, params.turn_at) {
                    (false, _) => Order::NewestFirst,
                    (true, 0) => Order::Standing,
                    (true, behind) => Order::Long(behind),
                },
                params: params.clone(),
            })
        })
    }),
};

fn clashes(params: &LifoParams) -> Vec<Problem> {
    let mut problems = Vec::new();
    if params.turn_at > 0 && !params.adaptive {
        let message = "needs adaptive: true; without it the newest are first at any length";
        problems.push(Problem::new("turn_at", message));
    }
    if params.timeout_standing > params.timeout {
        let message = "must not be longer than timeout: a standing queue calls for less patience";
        problems.push(Problem::new("timeout_standing", message));
    }
    problems
}
