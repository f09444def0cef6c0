//! An operator's changes to a run while it goes on.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use controllers::{Timestamp, seed_for};

use super::UserPool;
use crate::{
    host::UserCommand,
    persona::Stay,
    schedule::{Arrival, ScheduleChange},
};

/// As far apart as users of a step in the plan.
const APART: Duration = Duration::from_micros(100);

#[derive(Debug, Default)]
pub(super) struct Overrides {
    /// Users that arrive and depart in addition to the plan's, in order of time.
    unplanned: BTreeMap<(Timestamp, u64), ScheduleChange>,
    /// How many users were added.
    added: u32,
    /// Share of time-outs and patience that is left; `None`: all.
    pub(super) patience_factor: Option<f64>,
}

impl Overrides {
    /// When the next user arrives or departs that is not in the plan.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.unplanned.keys().next().map(|&(at, _)| at)
    }

    /// The next user that arrives or departs, and when.
    pub(super) fn next(&mut self) -> Option<(Timestamp, ScheduleChange)> {
        self.unplanned.pop_first().map(|((at, _), what)| (at, what))
    }

    /// The run is over: no user arrives any more.
    pub(super) fn clear(&mut self) {
        self.unplanned.clear();
    }
}

impl<C> UserPool<C> {
    /// Carries out an operator's commands. After the end of the plan there is nothing to do: users that came then would never leave.
    pub(crate) fn apply(&mut self, commands: VecDeque<UserCommand>, now: Timestamp) {
        for command in commands {
            match command {
                _ if self.over => {}
                UserCommand::Spike { users, stay, class } => {
                    for n in 0..users {
                        let (user, added) = (self.schedule.one_more(), self.overrides.added);
                        self.overrides.added = added.saturating_add(1);
                        let key = seed_for(u64::from(added), "users asked for");
                        // From the other end of the accounts: the plan's users have the first ones.
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
            }
        }
    }
}
