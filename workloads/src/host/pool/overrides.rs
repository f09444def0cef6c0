//! An operator's changes during a run.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use controllers::{Timestamp, seed_for};

use super::{UserPool, gate::GateSettings};
use crate::{
    host::UserCommand,
    persona::Stay,
    schedule::{Arrival, ScheduleChange},
};

/// The time between arrivals, as in an upward jump of the plan.
const APART: Duration = Duration::from_micros(100);

#[derive(Debug)]
pub(super) struct Overrides {
    /// The settings of a gate that the plan has not.
    pub(super) gate: GateSettings,
    /// Users that arrive and depart in addition to the plan's, in order of time.
    unplanned: BTreeMap<(Timestamp, u64), ScheduleChange>,
    /// The number of users added.
    added: u32,
    /// The share of time-outs and patience that users wait; `None`: all.
    pub(super) patience_factor: Option<f64>,
}

impl Overrides {
    pub(super) fn new(gate: GateSettings) -> Self {
        Self { gate, unplanned: BTreeMap::new(), added: 0, patience_factor: None }
    }

    /// The time of the next arrival or departure that is not in the plan.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.unplanned.keys().next().map(|&(at, _)| at)
    }

    /// The next arrival or departure, and its time.
    pub(super) fn next(&mut self) -> Option<(Timestamp, ScheduleChange)> {
        self.unplanned.pop_first().map(|((at, _), what)| (at, what))
    }

    /// Ends the run: no user arrives any more.
    pub(super) fn clear(&mut self) {
        self.unplanned.clear();
    }
}

impl<C> UserPool<C> {
    /// Carries out an operator's commands. After the end of the plan they have no effect: users that arrived then would
    /// never leave.
    pub fn apply(&mut self, commands: VecDeque<UserCommand>, now: Timestamp) {
        for command in commands {
            match command {
                _ if self.over => {}
                UserCommand::Spike { users, stay, class } => {
                    for n in 0..users {
                        let (user, added) = (self.schedule.one_more(), self.overrides.added);
                        self.overrides.added = added.saturating_add(1);
                        let key = seed_for(u64::from(added), "users asked for");
                        // Accounts from the other end: the plan's users have the first ones.
                        let slot = u32::MAX - added;
                        let stays = Stay::Forever;
                        let arrival = Arrival { user, key, slot, class, stay: stays, role: None, script: None };
                        let comes = now + APART * n;
                        self.overrides.unplanned.insert((comes, user), ScheduleChange::Arrive(arrival));
                        self.overrides.unplanned.insert((comes + stay, user), ScheduleChange::Depart(user));
                    }
                }
                UserCommand::Patience(share) => self.overrides.patience_factor = (share < 1.0).then_some(share),
                UserCommand::Pause => self.timers.pause(now),
                UserCommand::Resume => self.timers.resume(now),
                UserCommand::Client(client) => self.switch_gate(&client, now),
            }
        }
    }
}
