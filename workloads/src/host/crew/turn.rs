use std::time::Duration;

use controllers::Timestamp;

use super::{
    Crew,
    door::Said,
    guest::{Due, Guest, NeverSent, Sleeper},
};
use crate::{
    behaviour::full_jitter,
    crowd::User,
    measure::Fate,
    persona::{Call, Move, Pause, Persona as _, Purpose, Reply, Want},
};

/// A user that begins anew without a pause after its own policy has refused it would ask again for ever at one moment.
pub(super) const LEAST_PAUSE: Duration = Duration::from_millis(1);

/// Least and greatest bound of the pause after a request that got no connection, or lost it: the bound doubles with each such
/// request in a row, and the pause is drawn evenly from nothing to the bound. Without it users who try again at once, or nearly,
/// try a service that is down thousands of times a second; with it they find the service again within a second of its return.
const SETBACK_PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

impl<C> Crew<C> {
    /// It is the user's turn. `None` if it has nothing to send.
    pub(super) fn turn(&mut self, mut guest: Box<Guest<C>>, now: Timestamp) -> Option<Box<Guest<C>>> {
        guest.pause = None;
        let reply = match std::mem::replace(&mut guest.due, Due::Woke) {
            Due::Go => return Some(guest),
            Due::Over(why) => return self.never_sent(guest, why, now),
            Due::Ask => match guest.errand.take() {
                Some(call) if guest.ticket.is_none() => return self.go_on(guest, Move::Send(call), true, now),
                errand => {
                    guest.errand = errand;
                    return match self.ask(guest, now) {
                        Said::Go(guest) => Some(guest),
                        Said::Wait => None,
                        Said::Refused(guest, hint) => self.never_sent(guest, NeverSent::Refused(hint), now),
                    };
                }
            },
            Due::Start => Reply::Start,
            Due::Woke => Reply::Woke,
        };
        let turn = guest.user.next(reply, guest.at, &mut guest.draws);
        // It was due before the run was over, so it still has its turn.
        self.go_on(guest, turn.then, true, now)
    }

    fn never_sent(&mut self, mut guest: Box<Guest<C>>, why: NeverSent, now: Timestamp) -> Option<Box<Guest<C>>> {
        let then = self.is_refused(&mut guest, why, now);
        let may_begin = !self.over;
        self.go_on(guest, then, may_begin, now)
    }

    /// The user hears that its own policy refused its request, or kept it back too long.
    fn is_refused(&mut self, guest: &mut Guest<C>, why: NeverSent, now: Timestamp) -> Move {
        self.close(guest, Fate::RefusedLocally, now);
        if let Some(visit) = &mut guest.visit {
            visit.kept_until = None;
        }
        guest.at = now;
        guest.user.next(why.reply(), now, &mut guest.draws).then
    }

    /// Does what the user wants next, as far as that is no request to send.
    pub(super) fn go_on(
        &mut self,
        mut guest: Box<Guest<C>>,
        mut then: Move,
        mut may_begin: bool,
        now: Timestamp,
    ) -> Option<Box<Guest<C>>> {
        let mut setback = pause_after_setback(&mut guest);
        loop {
            guest.errand = None;
            guest.begun = None;
            guest.written = false;
            // A request that is being redirected is ended first.
            let leaves = guest.ticket.is_none() && (!may_begin || self.departs(guest.number));
            let may_sleep = !leaves && (!self.over || guest.ticket.is_some());
            match then {
                Move::Send(call) if self.asked.is_resting() && may_sleep && call.hop == 0 => {
                    self.rests_before(guest, call);
                    return None;
                }
                Move::Send(call) if call.want != Want::Answer && !leaves => {
                    guest.ordinal += 1;
                    guest.beside = Some(self.recorder.begin_beside(guest.at, call.want == Want::Check));
                    self.at_beside += 1;
                    guest.errand = Some(call);
                    return Some(guest);
                }
                Move::Send(call) if guest.is_to_wait_for(&call) && may_sleep => {
                    guest.at = guest.setback.quiet_until;
                    // The first attempt at a request is wanted when it is made; a retry was wanted before.
                    let wanted_at = if call.attempt == 0 { guest.at } else { call.wanted_at };
                    guest.errand = Some(Call { wanted_at, ..call });
                    guest.due = Due::Ask;
                    self.sleep(guest, Pause::BackingOff);
                    return None;
                }
                Move::Send(call) if setback.is_some() && call.attempt == 0 && may_sleep => {
                    guest.at = guest.at + setback.unwrap_or(LEAST_PAUSE);
                    guest.errand = Some(Call { wanted_at: guest.at, ..call });
                    guest.due = Due::Ask;
                    self.sleep(guest, Pause::BackingOff);
                    return None;
                }
                Move::Send(call) if !leaves && (call.hop > 0 || self.may_take_one()) => {
                    let first_hop = call.hop == 0;
                    if first_hop {
                        guest.ordinal += u64::from(call.attempt == 0);
                        // One that was left open by mistake shows up as in flight, rather than to be counted twice.
                        guest.ticket = Some(self.recorder.plan(guest.number, call.intent(), guest.at));
                        guest.user.begins();
                        guest.haste = self.asked.haste;
                    }
                    guest.errand = Some(call);
                    if !first_hop {
                        return Some(guest);
                    }
                    match self.ask(guest, now) {
                        Said::Go(guest) => return Some(guest),
                        Said::Wait => return None,
                        Said::Refused(other, hint) => {
                            guest = other;
                            then = self.is_refused(&mut guest, NeverSent::Refused(hint), now);
                            setback = Some(LEAST_PAUSE);
                            may_begin = !self.over;
                        }
                    }
                }
                Move::Think(pause, why) if may_sleep => {
                    guest.at = guest.at + pause;
                    self.sleep(guest, why);
                    return None;
                }
                Move::Until(moment, why) if may_sleep => {
                    guest.at = guest.at.max(moment);
                    self.sleep(guest, why);
                    return None;
                }
                Move::Send(_) | Move::Think(..) | Move::Until(..) | Move::Leave => {
                    let was_to_stay = self.present.remove(&guest.number);
                    let was_let_go = self.departed.remove(&guest.number);
                    self.left_for_good += u64::from(was_to_stay && !was_let_go && !self.over);
                    if let (Some(door), Some(visit)) = (&mut self.door, &guest.visit) {
                        door.part(visit.member);
                    }
                    return None;
                }
            }
        }
    }

    /// The user is quiet until it is due.
    pub(super) fn sleep(&mut self, mut guest: Box<Guest<C>>, why: Pause) {
        guest.pause = (!matches!(guest.user, User::Presence(_))).then_some(why);
        self.count(guest.pause, 1);
        let under_way = guest.ticket.is_some();
        let sleeper = Sleeper { at: guest.at, number: guest.number, guest };
        let awake = if under_way { Some(sleeper) } else { self.asked.put_to_rest(sleeper) };
        if let Some(sleeper) = awake {
            self.sleepers.push(sleeper);
        }
    }
}

/// How long a user has to wait that begins anew at once, since a balancer refused its last request. After a request without an
/// answer it is quiet for a while, whatever it does next and whenever it would do so by itself.
fn pause_after_setback<C>(guest: &mut Guest<C>) -> Option<Duration> {
    let setback = &mut guest.setback;
    if std::mem::take(&mut setback.unanswered) {
        let (base, cap) = SETBACK_PAUSE;
        let nth = setback.in_a_row.saturating_sub(1);
        let pause = full_jitter(base, cap, nth, (Purpose::Setback, nth), &guest.draws);
        setback.quiet_until = guest.at + pause.max(LEAST_PAUSE);
    }
    std::mem::take(&mut setback.turned_back).then_some(LEAST_PAUSE)
}
