//! What a person has asked of the pool while a run goes on.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use controllers::{Timestamp, seed_for};

use super::{
    UserPool,
    user::{Due, TimerEntry, UserTask},
};
use crate::{
    host::Order,
    persona::{Call, Pause, Stay},
    schedule::{Arrival, What},
};

/// As far apart as users of a step in the plan.
const APART: Duration = Duration::from_micros(100);

#[derive(Debug)]
pub(super) struct Overrides<C> {
    /// Who comes and goes beside the plan, in order of time.
    unplanned: BTreeMap<(Timestamp, u64), What>,
    /// Users that have been asked for.
    more: u32,
    /// Share of time-outs and patience that is left; `None`: all.
    pub(super) patience_factor: Option<f64>,
    /// Nobody begins a request.
    rest: Option<Rest<C>>,
}

/// Since when everybody rests, and who would have gone on meanwhile.
#[derive(Debug)]
struct Rest<C> {
    since: Timestamp,
    timers: Vec<TimerEntry<C>>,
}

impl<C> Default for Overrides<C> {
    fn default() -> Self {
        Self { unplanned: BTreeMap::new(), more: 0, patience_factor: None, rest: None }
    }
}

impl<C> Overrides<C> {
    /// When the next user comes or goes that is not in the plan.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.unplanned.keys().next().map(|&(at, _)| at)
    }

    pub(super) fn is_resting(&self) -> bool {
        self.rest.is_some()
    }

    /// Keeps a user asleep until the rest is over; gives it back if nobody rests.
    pub(super) fn put_to_rest(&mut self, entry: TimerEntry<C>) -> Option<TimerEntry<C>> {
        match &mut self.rest {
            Some(rest) => {
                rest.timers.push(entry);
                None
            }
            None => Some(entry),
        }
    }

    /// Nobody is asked for any more; gives back who rests.
    pub(super) fn end(&mut self) -> Vec<TimerEntry<C>> {
        self.unplanned.clear();
        self.rest.take().map(|rest| rest.timers).unwrap_or_default()
    }
}

impl<C> UserPool<C> {
    /// Carries out what was asked for.
    pub(crate) fn apply(&mut self, orders: VecDeque<Order>, now: Timestamp) {
        for order in orders {
            match order {
                // Users that come after the end would never leave.
                _ if self.over => {}
                Order::Spike { users, stay, class } => {
                    for n in 0..users {
                        let (user, more) = (self.schedule.one_more(), self.overrides.more);
                        self.overrides.more = more.saturating_add(1);
                        let key = seed_for(u64::from(more), "users asked for");
                        // From the other end of the accounts: the plan's users have the first ones.
                        let slot = u32::MAX - more;
                        let stays = Stay::Forever;
                        let arrival = Arrival { user, key, slot, class, stay: stays, role: None, script: None };
                        let comes = now + APART * n;
                        self.overrides.unplanned.insert((comes, user), What::Arrive(arrival));
                        self.overrides.unplanned.insert((comes + stay, user), What::Depart(user));
                    }
                }
                Order::Haste(share) => self.overrides.patience_factor = (share < 1.0).then_some(share),
                Order::Pause => self.rest(now),
                Order::Resume => self.go_on_after_rest(now),
            }
        }
    }

    /// Lets the next user come or go that is not in the plan.
    pub(super) fn happen_unplanned(&mut self) {
        if let Some(((at, _), what)) = self.overrides.unplanned.pop_first() {
            self.happens(at, at, what);
        }
    }

    /// A request that would begin now waits until the rest is over.
    pub(super) fn rests_before(&mut self, mut user: Box<UserTask<C>>, call: Call) {
        user.errand = Some(call);
        user.due = Due::Ask;
        self.sleep(user, Pause::Waiting);
    }

    /// Who is between two hops of a request goes on: that request is under way.
    fn rest(&mut self, now: Timestamp) {
        if self.overrides.rest.is_some() {
            return;
        }
        let (under_way, resting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.timers).into_vec().into_iter().partition(|s| s.user.ticket.is_some());
        self.timers = under_way.into();
        self.overrides.rest = Some(Rest { since: now, timers: resting });
    }

    /// Everybody goes on where they were: what was left of a pause then is left of it now.
    fn go_on_after_rest(&mut self, now: Timestamp) {
        let Some(Rest { since, timers }) = self.overrides.rest.take() else { return };
        let rested = now.since(since);
        for mut entry in timers {
            entry.at = (entry.at + rested).max(now);
            // The intended start of what comes next: the rest is nobody's lateness.
            entry.user.at = entry.at;
            self.timers.push(entry);
        }
    }
}
