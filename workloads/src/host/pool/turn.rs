use std::time::Duration;

use controllers::Timestamp;

use super::{
    UserPool,
    gate::GateAnswer,
    user::{Due, NeverSent, TimerEntry, UserTask},
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

impl<C> UserPool<C> {
    /// It is the user's turn. `None` if it has nothing to send.
    pub(super) fn turn(&mut self, mut user: Box<UserTask<C>>, now: Timestamp) -> Option<Box<UserTask<C>>> {
        user.pause = None;
        let reply = match std::mem::replace(&mut user.due, Due::Woke) {
            Due::Go => return Some(user),
            Due::Over(why) => return self.never_sent(user, why, now),
            Due::Ask => match user.errand.take() {
                Some(call) if user.ticket.is_none() => return self.go_on(user, Move::Send(call), true, now),
                errand => {
                    user.errand = errand;
                    return match self.ask(user, now) {
                        GateAnswer::Go(user) => Some(user),
                        GateAnswer::Wait => None,
                        GateAnswer::Refused(user, hint) => self.never_sent(user, NeverSent::Refused(hint), now),
                    };
                }
            },
            Due::Start => Reply::Start,
            Due::Woke => Reply::Woke,
        };
        let turn = user.persona.next(reply, user.at, &mut user.draws);
        // It was due before the run was over, so it still has its turn.
        self.go_on(user, turn.then, true, now)
    }

    fn never_sent(&mut self, mut user: Box<UserTask<C>>, why: NeverSent, now: Timestamp) -> Option<Box<UserTask<C>>> {
        let then = self.is_refused(&mut user, why, now);
        let may_begin = !self.over;
        self.go_on(user, then, may_begin, now)
    }

    /// The user hears that its own policy refused its request, or kept it back too long.
    fn is_refused(&mut self, user: &mut UserTask<C>, why: NeverSent, now: Timestamp) -> Move {
        self.close(user, Fate::RefusedLocally, now);
        if let Some(client) = &mut user.client {
            client.kept_until = None;
        }
        user.at = now;
        user.persona.next(why.reply(), now, &mut user.draws).then
    }

    /// Does what the user wants next, as far as that is no request to send.
    pub(super) fn go_on(
        &mut self,
        mut user: Box<UserTask<C>>,
        mut then: Move,
        mut may_begin: bool,
        now: Timestamp,
    ) -> Option<Box<UserTask<C>>> {
        let mut setback = pause_after_setback(&mut user);
        loop {
            user.errand = None;
            user.begun = None;
            user.written = false;
            // A request that is being redirected is ended first.
            let leaves = user.ticket.is_none() && (!may_begin || self.departs(user.number));
            let may_sleep = !leaves && (!self.over || user.ticket.is_some());
            match then {
                Move::Send(call) if self.overrides.is_resting() && may_sleep && call.hop == 0 => {
                    self.rests_before(user, call);
                    return None;
                }
                Move::Send(call) if call.want != Want::Answer && !leaves => {
                    user.ordinal += 1;
                    user.beside = Some(self.recorder.begin_beside(user.at, call.want));
                    self.at_beside += 1;
                    user.errand = Some(call);
                    return Some(user);
                }
                Move::Send(call) if user.is_to_wait_for(&call) && may_sleep => {
                    user.at = user.setback.quiet_until;
                    // The first attempt at a request is wanted when it is made; a retry was wanted before.
                    let wanted_at = if call.attempt == 0 { user.at } else { call.wanted_at };
                    user.errand = Some(Call { wanted_at, ..call });
                    user.due = Due::Ask;
                    self.sleep(user, Pause::BackingOff);
                    return None;
                }
                Move::Send(call) if setback.is_some() && call.attempt == 0 && may_sleep => {
                    user.at = user.at + setback.unwrap_or(LEAST_PAUSE);
                    user.errand = Some(Call { wanted_at: user.at, ..call });
                    user.due = Due::Ask;
                    self.sleep(user, Pause::BackingOff);
                    return None;
                }
                Move::Send(call) if !leaves && (call.hop > 0 || self.may_take_one()) => {
                    let first_hop = call.hop == 0;
                    if first_hop {
                        user.ordinal += u64::from(call.attempt == 0);
                        // One that was left open by mistake shows up as in flight, rather than to be counted twice.
                        user.ticket = Some(self.recorder.plan(user.number, &call, user.at));
                        user.persona.begins();
                        user.patience_factor = self.overrides.patience_factor;
                    }
                    user.errand = Some(call);
                    if !first_hop {
                        return Some(user);
                    }
                    match self.ask(user, now) {
                        GateAnswer::Go(user) => return Some(user),
                        GateAnswer::Wait => return None,
                        GateAnswer::Refused(other, hint) => {
                            user = other;
                            then = self.is_refused(&mut user, NeverSent::Refused(hint), now);
                            setback = Some(LEAST_PAUSE);
                            may_begin = !self.over;
                        }
                    }
                }
                Move::Think(pause, why) if may_sleep => {
                    user.at = user.at + pause;
                    self.sleep(user, why);
                    return None;
                }
                Move::Until(moment, why) if may_sleep => {
                    user.at = user.at.max(moment);
                    self.sleep(user, why);
                    return None;
                }
                Move::Send(_) | Move::Think(..) | Move::Until(..) | Move::Leave => {
                    let was_to_stay = self.present.remove(&user.number);
                    let was_let_go = self.departed.remove(&user.number);
                    self.left_for_good += u64::from(was_to_stay && !was_let_go && !self.over);
                    if let (Some(gate), Some(client)) = (&mut self.gate, &user.client) {
                        gate.part(client.member);
                    }
                    return None;
                }
            }
        }
    }

    /// The user is quiet until it is due.
    pub(super) fn sleep(&mut self, mut user: Box<UserTask<C>>, why: Pause) {
        user.pause = (!matches!(user.persona, User::Presence(_))).then_some(why);
        self.count(user.pause, 1);
        let under_way = user.ticket.is_some();
        let entry = TimerEntry { at: user.at, number: user.number, user };
        let awake = if under_way { Some(entry) } else { self.overrides.put_to_rest(entry) };
        if let Some(entry) = awake {
            self.timers.push(entry);
        }
    }
}

/// How long a user has to wait that begins anew at once, since a balancer refused its last request. After a request without an
/// answer it is quiet for a while, whatever it does next and whenever it would do so by itself.
fn pause_after_setback<C>(user: &mut UserTask<C>) -> Option<Duration> {
    let setback = &mut user.setback;
    if std::mem::take(&mut setback.unanswered) {
        let (base, cap) = SETBACK_PAUSE;
        let nth = setback.in_a_row.saturating_sub(1);
        let pause = full_jitter(base, cap, nth, (Purpose::Setback, nth), &user.draws);
        setback.quiet_until = user.at + pause.max(LEAST_PAUSE);
    }
    std::mem::take(&mut setback.turned_back).then_some(LEAST_PAUSE)
}
