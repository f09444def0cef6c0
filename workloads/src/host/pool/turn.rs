use std::time::Duration;

use controllers::Timestamp;

use super::{
    UserPool,
    gate::{GateAnswer, LEAST_PAUSE},
    user::{InFlight, NeverSent, OpenRequest, Setback, UserPhase, UserTask},
};
use crate::{
    behaviour::full_jitter,
    measure::Fate,
    persona::{Call, Draws, Move, Pause, Persona as _, Purpose, Reply, Want},
};

/// The smallest and the largest bound of the pause after a request that got no connection, or lost it: the bound
/// doubles with each such request in a row, and the pause is drawn uniformly from 0 to the bound. Without it users who
/// retry at once, or nearly so, call a service that is down thousands of times a second; with it they find the service
/// again within a second of its return.
const SETBACK_PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

impl<C> UserPool<C> {
    /// Gives the user its turn. `None` if it has nothing to send.
    pub(super) fn turn(&mut self, mut user: Box<UserTask<C>>, now: Timestamp) -> Option<Box<UserTask<C>>> {
        let reply = match std::mem::take(&mut user.phase) {
            UserPhase::Arrived => Reply::Start,
            UserPhase::Pausing(_) => Reply::Woke,
            UserPhase::PutOff(_, call) => return self.go_on(user, Move::Send(call), true, now),
            UserPhase::SentBack(call, until) => {
                return match self.ask(user, call, Some(until), now) {
                    GateAnswer::Go(user) => Some(user),
                    GateAnswer::Wait => None,
                    GateAnswer::Refused(user, hint) => self.never_sent(user, NeverSent::Refused(hint), now),
                };
            }
            UserPhase::NeverSent(why) => return self.never_sent(user, why, now),
            UserPhase::LetGo(call) => {
                user.phase = UserPhase::InFlight(InFlight::new(call, None));
                return Some(user);
            }
            UserPhase::AtGate(..) | UserPhase::InFlight(_) => unreachable!("the gate or the host has this user"),
        };
        let turn = user.persona.next(reply, user.at, &mut user.draws);
        // It was due before the end of the run, so it still has its turn.
        self.go_on(user, turn.then, true, now)
    }

    pub(super) fn never_sent(
        &mut self,
        mut user: Box<UserTask<C>>,
        why: NeverSent,
        now: Timestamp,
    ) -> Option<Box<UserTask<C>>> {
        let then = self.is_refused(&mut user, why, now);
        let may_begin = !self.over;
        self.go_on(user, then, may_begin, now)
    }

    /// Tells the persona that the client gate refused its request, or held it too long.
    fn is_refused(&mut self, user: &mut UserTask<C>, why: NeverSent, now: Timestamp) -> Move {
        self.books.end(user, None, Fate::RefusedLocally, now);
        user.at = now;
        user.persona.next(why.reply(), now, &mut user.draws).then
    }

    /// Carries out the persona's moves until a request for the host (the user is returned) or a pause. `may_begin`: the
    /// user may begin another request; a redirected one goes on in any case.
    pub(super) fn go_on(
        &mut self,
        mut user: Box<UserTask<C>>,
        mut then: Move,
        mut may_begin: bool,
        now: Timestamp,
    ) -> Option<Box<UserTask<C>>> {
        let mut least_pause = user.setback.pause(user.at, &user.draws);
        loop {
            let leaves = user.open.is_none() && (!may_begin || self.population.is_leaving(user.number));
            let may_sleep = !leaves && (!self.over || user.open.is_some());
            match then {
                Move::Think(pause, why) if may_sleep => {
                    user.at = user.at + pause;
                    return self.sleep(user, UserPhase::Pausing(why));
                }
                Move::Until(moment, why) if may_sleep => {
                    user.at = user.at.max(moment);
                    return self.sleep(user, UserPhase::Pausing(why));
                }
                Move::Send(call) if may_sleep && call.hop == 0 && self.timers.is_paused() => {
                    return self.sleep(user, UserPhase::PutOff(Pause::Waiting, call));
                }
                Move::Send(call) if !leaves && call.want != Want::Answer => {
                    user.ordinal += 1;
                    let phase = self.books.begin_background(&call, user.at);
                    user.phase = UserPhase::InFlight(InFlight::new(call, Some(phase)));
                    return Some(user);
                }
                Move::Send(call) if may_sleep && user.earliest(&call, least_pause) > user.at => {
                    user.at = user.earliest(&call, least_pause);
                    // The first attempt counts from its own start; a retry counts from the start of the first attempt.
                    let wanted_at = if call.attempt == 0 { user.at } else { call.wanted_at };
                    return self.sleep(user, UserPhase::PutOff(Pause::BackingOff, Call { wanted_at, ..call }));
                }
                Move::Send(call) if !leaves && (call.hop > 0 || self.may_take_one()) => {
                    if call.hop > 0 {
                        user.phase = UserPhase::InFlight(InFlight::new(call, None));
                        return Some(user);
                    }
                    self.plan(&mut user, &call);
                    match self.ask(user, call, None, now) {
                        GateAnswer::Go(user) => return Some(user),
                        GateAnswer::Wait => return None,
                        GateAnswer::Refused(refused, hint) => {
                            user = refused;
                            then = self.is_refused(&mut user, NeverSent::Refused(hint), now);
                            least_pause = LEAST_PAUSE;
                            may_begin = !self.over;
                        }
                    }
                }
                Move::Send(_) | Move::Think(..) | Move::Until(..) | Move::Leave => return self.leave(user),
            }
        }
    }

    /// Enters a request into the ledger.
    fn plan(&mut self, user: &mut UserTask<C>, call: &Call) {
        user.ordinal += u64::from(call.attempt == 0);
        let ticket = self.books.recorder.plan(user.number, call.intent(), user.at);
        // A request that was left open by mistake shows as in flight, rather than being counted twice.
        user.open = Some(OpenRequest { ticket, patience_factor: self.overrides.patience_factor });
        user.persona.begins();
    }

    /// Puts the user to sleep until it is due.
    fn sleep(&mut self, mut user: Box<UserTask<C>>, phase: UserPhase) -> Option<Box<UserTask<C>>> {
        user.phase = phase;
        if user.open.is_none() {
            self.take_back(&mut user);
        }
        self.timers.sleep(user);
        None
    }

    fn leave(&mut self, mut user: Box<UserTask<C>>) -> Option<Box<UserTask<C>>> {
        self.take_back(&mut user);
        self.population.leaves(user.number, self.over);
        if let (Some(gate), Some(client)) = (&mut self.gate, &user.client) {
            gate.part(client);
        }
        None
    }
}

impl Setback {
    /// The smallest pause before another first attempt at `at`: not zero if a balancer refused the last request. After
    /// a request without an answer the user is quiet for a while, whatever it does next and whenever it would do so
    /// otherwise.
    fn pause(&mut self, at: Timestamp, draws: &Draws) -> Duration {
        if std::mem::take(&mut self.unanswered) {
            let (base, cap) = SETBACK_PAUSE;
            let nth = self.in_a_row.saturating_sub(1);
            let pause = full_jitter(base, cap, nth, (Purpose::Setback, nth), draws);
            self.quiet_until = at + pause.max(LEAST_PAUSE);
        }
        if std::mem::take(&mut self.turned_back) { LEAST_PAUSE } else { Duration::ZERO }
    }
}
