//! What a person has asked of the crew while a run goes on.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use controllers::{Timestamp, seed_for};

use super::{
    Crew,
    user::{Due, Guest, Sleeper},
};
use crate::{
    host::Order,
    persona::{Call, Pause, Stay},
    schedule::{Arrival, What},
};

/// As far apart as users of a step in the plan.
const APART: Duration = Duration::from_micros(100);

#[derive(Debug)]
pub(super) struct AskedFor<C> {
    /// Who comes and goes beside the plan, in order of time.
    unplanned: BTreeMap<(Timestamp, u64), What>,
    /// Users that have been asked for.
    more: u32,
    /// Share of time-outs and patience that is left; `None`: all.
    pub(super) haste: Option<f64>,
    /// Nobody begins a request.
    rest: Option<Rest<C>>,
}

/// Since when everybody rests, and who would have gone on meanwhile.
#[derive(Debug)]
struct Rest<C> {
    since: Timestamp,
    sleepers: Vec<Sleeper<C>>,
}

impl<C> Default for AskedFor<C> {
    fn default() -> Self {
        Self { unplanned: BTreeMap::new(), more: 0, haste: None, rest: None }
    }
}

impl<C> AskedFor<C> {
    /// When the next user comes or goes that is not in the plan.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.unplanned.keys().next().map(|&(at, _)| at)
    }

    pub(super) fn is_resting(&self) -> bool {
        self.rest.is_some()
    }

    /// Keeps a user asleep until the rest is over; gives it back if nobody rests.
    pub(super) fn put_to_rest(&mut self, sleeper: Sleeper<C>) -> Option<Sleeper<C>> {
        match &mut self.rest {
            Some(rest) => {
                rest.sleepers.push(sleeper);
                None
            }
            None => Some(sleeper),
        }
    }

    /// Nobody is asked for any more; gives back who rests.
    pub(super) fn end(&mut self) -> Vec<Sleeper<C>> {
        self.unplanned.clear();
        self.rest.take().map(|rest| rest.sleepers).unwrap_or_default()
    }
}

impl<C> Crew<C> {
    /// Carries out what was asked for.
    pub(crate) fn obey(&mut self, orders: VecDeque<Order>, now: Timestamp) {
        for order in orders {
            match order {
                // Users that come after the end would never leave.
                _ if self.over => {}
                Order::Spike { users, stay, class } => {
                    for n in 0..users {
                        let (user, more) = (self.schedule.one_more(), self.asked.more);
                        self.asked.more = more.saturating_add(1);
                        let key = seed_for(u64::from(more), "users asked for");
                        // From the other end of the accounts: the plan's users have the first ones.
                        let slot = u32::MAX - more;
                        let stays = Stay::Forever;
                        let arrival = Arrival { user, key, slot, class, stay: stays, role: None, script: None };
                        let comes = now + APART * n;
                        self.asked.unplanned.insert((comes, user), What::Arrive(arrival));
                        self.asked.unplanned.insert((comes + stay, user), What::Depart(user));
                    }
                }
                Order::Haste(share) => self.asked.haste = (share < 1.0).then_some(share),
                Order::Pause => self.rest(now),
                Order::Resume => self.go_on_after_rest(now),
            }
        }
    }

    /// Lets the next user come or go that is not in the plan.
    pub(super) fn happen_unplanned(&mut self) {
        if let Some(((at, _), what)) = self.asked.unplanned.pop_first() {
            self.happens(at, at, what);
        }
    }

    /// A request that would begin now waits until the rest is over.
    pub(super) fn rests_before(&mut self, mut guest: Box<Guest<C>>, call: Call) {
        guest.errand = Some(call);
        guest.due = Due::Ask;
        self.sleep(guest, Pause::Waiting);
    }

    /// Who is between two hops of a request goes on: that request is under way.
    fn rest(&mut self, now: Timestamp) {
        if self.asked.rest.is_some() {
            return;
        }
        let (under_way, resting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.sleepers).into_vec().into_iter().partition(|s| s.guest.ticket.is_some());
        self.sleepers = under_way.into();
        self.asked.rest = Some(Rest { since: now, sleepers: resting });
    }

    /// Everybody goes on where they were: what was left of a pause then is left of it now.
    fn go_on_after_rest(&mut self, now: Timestamp) {
        let Some(Rest { since, sleepers }) = self.asked.rest.take() else { return };
        let rested = now.since(since);
        for mut sleeper in sleepers {
            sleeper.at = (sleeper.at + rested).max(now);
            // The intended start of what comes next: the rest is nobody's lateness.
            sleeper.guest.at = sleeper.at;
            self.sleepers.push(sleeper);
        }
    }
}
