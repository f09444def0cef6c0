//! Arrivals and departures of users, planned from the seed before the run.

mod event;
mod present;
mod recorded;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    time::Duration,
};

use controllers::{Class, Timestamp, seed_for};
use measure::Shard;
use sha2::{Digest, Sha256};

use crate::{
    arrivals::{Crossings, OpenArrivals},
    background::BackgroundRole,
    persona::Stay,
    plan::{Load, LoadPlan, Phase},
};
use present::Present;
use recorded::Recorded;

pub use event::{Arrival, ScheduleChange, ScheduledEvent};

/// A schedule with a look-ahead of one event, which also numbers users that are not in the plan.
#[derive(Debug)]
pub(crate) struct Ahead {
    schedule: Schedule,
    next: Option<ScheduledEvent>,
    /// Users beside the plan of which this is a part.
    beside: u64,
}

/// Local number of the first user beside a part of a plan, above those of any plan.
const FIRST_BESIDE: u64 = 1 << 27;

impl Ahead {
    /// The schedule of this plan.
    pub(crate) fn of(plan: &LoadPlan) -> Self {
        let mut schedule = Schedule::new(plan);
        Self { next: schedule.next(), schedule, beside: 0 }
    }

    /// The time of the next event.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.next.as_ref().map(|event| event.at)
    }

    /// The next event.
    pub(crate) fn next(&mut self) -> Option<ScheduledEvent> {
        std::mem::replace(&mut self.next, self.schedule.next())
    }

    /// An unused number, for a user that is not in the plan. Of a part of it: one that moves no number of the plan, and that no other
    /// part gives.
    pub(crate) fn one_more(&mut self) -> u64 {
        if let Some(shard) = self.schedule.shard {
            let local = FIRST_BESIDE + self.beside;
            self.beside += 1;
            return shard.whole(local).unwrap_or(local);
        }
        let user = self.schedule.users;
        self.schedule.users += 1;
        user
    }
}

/// A group whose size the plan gives: users of a class, or background clients of one role and class.
type GroupKey = (Option<BackgroundRole>, Class);

/// The planned events of a run in order of time, made one at a time: memory is bounded by the number of closed users
/// present at once, and is far less where they came in a row. Two schedules of one plan are equal. That of a part of the plan has the
/// events of the whole, in their order, but for
/// users of other parts: numbers, keys and accounts are those of the whole.
///
/// Closed users of a class arrive and leave as the sum of that class's loads demands, last in, first out. Within a
/// phase, changes along a line happen when the line passes a half: a ramp from 0 to 2 users in 4 s has arrivals at 1 s
/// and 3 s.
#[derive(Debug)]
pub struct Schedule {
    seed: u64,
    shard: Option<Shard>,
    step_gap: Duration,
    phases: std::iter::Enumerate<std::vec::IntoIter<Phase>>,
    phase_ends: Timestamp,
    streams: Vec<Stream>,
    present: BTreeMap<GroupKey, Present>,
    free_slots: BinaryHeap<Reverse<u32>>,
    slots: u32,
    users: u64,
    over: bool,
}

/// One stream of events within the current phase.
#[derive(Debug)]
struct Stream {
    next: Option<Timestamp>,
    kind: StreamKind,
}

#[derive(Debug)]
enum StreamKind {
    Leaving { of: GroupKey, when: Crossings },
    Arriving { of: GroupKey, when: Crossings },
    Open { arrivals: OpenArrivals, of: GroupKey, stay: Stay, seed: u64, ordinal: u64 },
    Recorded(Recorded),
}

impl Schedule {
    /// The schedule of this plan.
    #[must_use]
    pub fn new(plan: &LoadPlan) -> Self {
        Self {
            seed: plan.seed,
            shard: plan.shard,
            step_gap: plan.step_gap,
            phases: plan.phases.clone().into_iter().enumerate(),
            phase_ends: Timestamp::ZERO,
            streams: Vec::new(),
            present: BTreeMap::new(),
            free_slots: BinaryHeap::new(),
            slots: 0,
            users: 0,
            over: false,
        }
    }

    fn begin_phase(&mut self, index: usize, phase: &Phase) {
        let begins = self.phase_ends;
        self.phase_ends = begins + phase.duration;
        let mut closed: BTreeMap<GroupKey, (u64, u64)> = self.present.keys().map(|&of| (of, (0, 0))).collect();
        let mut open = Vec::new();
        let mut add = |of: GroupKey, from: u32, to: u32| {
            let (all_from, all_to) = closed.entry(of).or_default();
            *all_from += u64::from(from);
            *all_to += u64::from(to);
        };
        for (number, load) in phase.loads.iter().enumerate() {
            let seed = seed_for(self.seed, &format!("arrivals/{index}/{number}"));
            let (of, stay) = match *load {
                Load::Replay { ref sessions, pace, .. } => {
                    open.push(StreamKind::Recorded(Recorded::new(sessions, pace, begins, self.phase_ends, seed)));
                    continue;
                }
                Load::Users { from, to, class } => {
                    add((None, class), from, to);
                    continue;
                }
                Load::Present { from, to, role, class } => {
                    add((Some(role), class), from, to);
                    continue;
                }
                Load::Sessions { class, .. } => ((None, class), Stay::OneSession),
                Load::Requests { class, .. } | Load::Wave { class, .. } => ((None, class), Stay::OneRequest),
                Load::Churn { ask, class, .. } => ((Some(BackgroundRole::Churn { ask }), class), Stay::OneRequest),
            };
            if let Some((rate, law)) = load.rate(phase.duration) {
                let arrivals = OpenArrivals::new(rate, law, begins, phase.duration, seed);
                open.push(StreamKind::Open { arrivals, of, stay, seed, ordinal: 0 });
            }
        }
        // At one moment, departures come before arrivals, over all classes: their accounts are free again.
        let mut kinds = Vec::new();
        let mut arriving = Vec::new();
        for (of, (from, to)) in closed {
            let now = self.present.entry(of).or_default().len();
            let change = Crossings::new(now, from, to, begins, phase.duration).spaced(self.step_gap);
            kinds.push(StreamKind::Leaving { of, when: change.leaving() });
            arriving.push(StreamKind::Arriving { of, when: change.arriving() });
        }
        kinds.extend(arriving);
        kinds.extend(open);
        self.streams = kinds.into_iter().map(Stream::new).collect();
    }

    fn next_in_phase(&mut self) -> Option<ScheduledEvent> {
        let (at, which) =
            self.streams.iter().enumerate().filter_map(|(which, stream)| Some((stream.next?, which))).min()?;
        let stream = &mut self.streams[which];
        let what = match &mut stream.kind {
            StreamKind::Leaving { of, when } => {
                when.next();
                let left = self.present.get_mut(of).and_then(Present::pop);
                left.map(|(user, slot)| {
                    // Only users have accounts.
                    if of.0.is_none() {
                        self.free_slots.push(Reverse(slot));
                    }
                    ScheduleChange::Depart(user)
                })
            }
            StreamKind::Arriving { of, when } => {
                when.next();
                let (role, class) = *of;
                let slot = match (role, self.free_slots.pop()) {
                    (None, Some(Reverse(slot))) => slot,
                    (None, None) => {
                        self.slots += 1;
                        self.slots - 1
                    }
                    (Some(_), free) => {
                        self.free_slots.extend(free);
                        0
                    }
                };
                let user = self.users;
                self.users += 1;
                let present = self.present.entry(*of).or_default();
                let who = role.map_or_else(|| "user".to_owned(), |role| format!("{role:?}"));
                let key = seed_for(present.ever, &format!("{who} of class {}", class.0));
                present.push(user, slot);
                Some(ScheduleChange::Arrive(Arrival {
                    user,
                    key,
                    slot,
                    class,
                    stay: Stay::Forever,
                    role,
                    script: None,
                }))
            }
            StreamKind::Open { arrivals, of: (role, class), stay, seed, ordinal } => {
                arrivals.next();
                let user = self.users;
                self.users += 1;
                let key = seed.wrapping_add(controllers::random::mix(*ordinal));
                *ordinal += 1;
                let slot = (user % u64::from(u32::MAX)) as u32;
                Some(ScheduleChange::Arrive(Arrival {
                    user,
                    key,
                    slot,
                    class: *class,
                    stay: *stay,
                    role: *role,
                    script: None,
                }))
            }
            StreamKind::Recorded(recorded) => recorded.next(self.users).inspect(|what| {
                self.users += u64::from(matches!(what, ScheduleChange::Arrive(_)));
            }),
        };
        stream.next = stream.kind.peek();
        what.map(|what| ScheduledEvent { at, what })
    }
}

impl Stream {
    fn new(kind: StreamKind) -> Self {
        Self { next: kind.peek(), kind }
    }
}

impl StreamKind {
    fn peek(&self) -> Option<Timestamp> {
        match self {
            Self::Leaving { when, .. } | Self::Arriving { when, .. } => when.peek(),
            Self::Open { arrivals, .. } => arrivals.peek(),
            Self::Recorded(recorded) => recorded.peek(),
        }
    }
}

impl Iterator for Schedule {
    type Item = ScheduledEvent;

    fn next(&mut self) -> Option<ScheduledEvent> {
        let Some(shard) = self.shard else { return self.next_of_whole() };
        loop {
            let event = self.next_of_whole()?;
            if event.user().is_none_or(|user| shard.holds(user)) {
                return Some(event);
            }
        }
    }
}

impl Schedule {
    fn next_of_whole(&mut self) -> Option<ScheduledEvent> {
        if let Some(event) = self.next_in_phase() {
            return Some(event);
        }
        if self.over {
            return None;
        }
        let at = self.phase_ends;
        let Some((index, phase)) = self.phases.next() else {
            self.over = true;
            return Some(ScheduledEvent { at, what: ScheduleChange::End });
        };
        self.begin_phase(index, &phase);
        Some(ScheduledEvent { at, what: ScheduleChange::Phase(index) })
    }
}

/// A digest of a plan and of every event of its schedule, in hexadecimal: two runs with the same digest were meant to
/// send the same; that of a part is the whole plan's. SHA-256 of the plan as JSON (fields in the order of their declaration) and of the events.
///
/// # Errors
/// If the plan cannot be written as JSON.
pub fn digest(plan: &LoadPlan) -> Result<String, serde_json::Error> {
    let whole = LoadPlan { shard: None, ..plan.clone() };
    let mut hash = Sha256::new();
    hash.update(serde_json::to_vec(&whole)?);
    for event in Schedule::new(&whole) {
        hash.update(event.at.as_nanos().to_le_bytes());
        match event.what {
            ScheduleChange::Phase(index) => hash.update(format!("p{index};")),
            ScheduleChange::Depart(user) => {
                hash.update(b"d");
                hash.update(user.to_le_bytes());
            }
            ScheduleChange::End => hash.update(b"e"),
            ScheduleChange::Broken(reason) => hash.update(format!("b{reason};")),
            ScheduleChange::Arrive(Arrival { user, key, slot, class, stay, role, script }) => {
                hash.update(b"a");
                hash.update(user.to_le_bytes());
                hash.update(key.to_le_bytes());
                hash.update(slot.to_le_bytes());
                hash.update([class.0, stay as u8]);
                if let Some(role) = role {
                    hash.update(format!("{role:?}"));
                }
                if let Some(script) = &script {
                    hash.update(format!("{:?};", script.name));
                }
                for step in script.iter().flat_map(|script| script.steps.iter()) {
                    hash.update(step.kind.0.to_le_bytes());
                    hash.update(step.at.as_nanos().to_le_bytes());
                    hash.update(step.pause.as_nanos().to_le_bytes());
                    hash.update(format!("{:?}{:?};", step.object, step.texts));
                }
            }
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod shard_tests;
#[cfg(test)]
mod tests;
