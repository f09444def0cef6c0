//! Earliest deadline first, among those that can still be met.

use std::time::Duration;

use super::discipline::{self, MAX, OBJECTIVE, due::DueTimes};
use crate::{
    Ctx, Entry, Gauge, Machine, Offer, Policy, Reason, Refusal, Seen, Timestamp, Verdict,
    entry::{CompositionRole, EntryKind, Source, params},
};

params! {
    struct DeadlineParams {
        objective: Option<Duration> = OBJECTIVE;
        max: u32 = MAX;
    }
}

/// Holds every job, and releases the one whose answer is due first.
#[derive(Debug)]
struct Deadline {
    held: DueTimes,
    max: u32,
}

impl Machine for Deadline {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        match seen {
            Seen::Room(free) => {
                self.held.refuse_hopeless(cx, drop);
                for _ in 0..*free {
                    let Some(id) = self.held.first() else { return };
                    self.held.release(id, cx);
                }
            }
            Seen::Left(id) => self.held.remove(*id),
            Seen::Ended { grant, outcome, .. } => self.held.ended(*grant, *outcome, cx.now),
            _ => {}
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        self.held.next_wake()
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        self.held.refuse_hopeless(cx, drop);
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        self.held.gauges(visit);
    }
}

impl Policy for Deadline {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        if self.held.is_hopeless(job, cx.now) {
            return Verdict::Refuse(Refusal::new(Reason::Waited));
        }
        if self.held.len() >= self.max {
            return Verdict::Refuse(Refusal::new(Reason::QueueFull));
        }
        self.held.push(job);
        Verdict::Hold
    }
}

pub(crate) const DEADLINE: Entry = Entry {
    name: "deadline",
    about: "a queue that lets in first whose answer is due first, and refuses at once what could not be answered in time",
    caution: "where all have one objective it is a queue in order of arrival; blind to who asks; trusts the deadlines that callers state",
    source: Source {
        title: "Liu and Layland, Scheduling Algorithms for Multiprogramming in a Hard-Real-Time Environment, JACM 1973",
        place: "section 7, the deadline driven scheduling algorithm",
    },
    deviations: &[
        "The paper's tasks have deadlines that can all be met, and work that is known; here a job whose deadline could not be met is refused: its time inside is taken for the mean and two standard deviations of those of the last 64, and at most for three quarters of the objective.",
        "A job without a deadline has one an objective after its entry into the service, and none has a later one.",
        "Who is inside is not interrupted for an earlier deadline.",
    ],
    places: discipline::PLACES,
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Queue],
    kind: EntryKind::Discipline(|reader| {
        reader.make(|params: &DeadlineParams, site| {
            let objective = params.objective.unwrap_or(site.objective.response_time);
            Box::new(Deadline { held: DueTimes::new(objective), max: params.max })
        })
    }),
};
