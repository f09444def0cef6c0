use std::{collections::VecDeque, time::Duration};

use controllers::{Timestamp, UnixSeconds, site::earliest};

mod books;
mod gate;
mod overrides;
mod population;
mod shared;
mod timers;
mod turn;
mod user;

pub use user::UserTask;

use books::Books;
use gate::{GateSettings, UserGate};
use overrides::Overrides;
use population::Population;
use shared::{DueUser, SharedConnections};
use timers::{QuietUsers, Timers};
use user::{Setback, UserPhase};

use crate::{
    background::BackgroundClient,
    behaviour::forbids_retry,
    client::note,
    crowd::{Crowd, User},
    headers::NOTE,
    host::{ExchangeEnd, ExchangeOutcome},
    measure::{Fate, Health, Intent, Report, UserStates, Window},
    persona::{Ending, Persona as _, Reply, Stay},
    plan::LoadPlan,
    schedule::{Ahead, Arrival, ScheduleChange, ScheduledEvent},
};

/// The users of a run as every host sees them: due, quiet and active users, and the ledgers.
///
/// A user that thinks or waits is an entry in a heap. The host takes only users that have a request to send
/// ([`take`](Self::take)), and returns each with the result ([`settle`](Self::settle)). `C` is the host's kind of
/// connection: a user keeps its own.
#[derive(Debug)]
pub struct UserPool<C> {
    crowd: Crowd,
    schedule: Ahead,
    /// The ledgers of the run.
    pub books: Books,
    timers: Timers<C>,
    population: Population,
    /// The gate where users ask their own policy; `None`: there is none.
    gate: Option<Box<UserGate<C>>>,
    overrides: Overrides,
    /// The connections that users take turns on; `None`: each user has its own.
    connections: Option<SharedConnections<C>>,
    /// Users that wait for the host to take them.
    ready: VecDeque<DueUser<C>>,
    active: Active,
    /// True once no request begins any more.
    over: bool,
    begins: Begins,
}

/// How many requests may still begin, and until when.
#[derive(Debug)]
struct Begins {
    /// `None`: no limit.
    left: Option<u64>,
    /// When a host that is behind gives up: what is due and has not begun by then is never sent.
    until: Timestamp,
}

/// The shortest time that a host may be behind at the end of a plan.
const BEHIND: Duration = Duration::from_secs(1);

/// The largest number of users that wait for the host. Those of an open load beyond are counted, and never sent: a host that is
/// so far behind does not catch up, and each of them takes memory, and time at the end.
const MOST_WAITING: usize = 100_000;

/// The largest number of events between two looks at the clock: a schedule that comes faster than it is carried out would keep a
/// host from everything else.
const AT_ONCE: usize = 16_384;

/// Counts of the users that the host has taken.
#[derive(Debug, Default)]
struct Active {
    now: u32,
    peak: u32,
    /// Users lost to a panic.
    lost: u64,
}

impl<C> UserPool<C> {
    /// The users of a plan. `most_requests`: the run ends when so many have begun. `numbered`: requests carry their numbers.
    pub fn new(plan: &LoadPlan, crowd: Crowd, most_requests: Option<u64>, numbered: bool) -> Self {
        let planned: Duration = plan.phases.iter().map(|phase| phase.duration).sum();
        Self {
            books: Books::new(plan, &crowd, numbered),
            schedule: Ahead::of(plan),
            crowd,
            timers: Timers::default(),
            population: Population::default(),
            gate: UserGate::of(plan).map(Box::new),
            overrides: Overrides::new(GateSettings::of(plan)),
            connections: SharedConnections::of(plan),
            ready: VecDeque::new(),
            active: Active::default(),
            over: false,
            begins: Begins {
                left: most_requests.map(|most| plan.portion(most)),
                until: Timestamp::ZERO + planned + planned.max(BEHIND),
            },
        }
    }

    /// Has response times recorded without the generator's own part as well: for hosts that tell when they
    /// [look](Self::looked).
    pub fn watching_the_generator(mut self) -> Self {
        self.books.recorder = self.books.recorder.watching_the_generator();
        self
    }

    /// Sets whether windows have the times of their requests.
    pub fn keeping_times(mut self, keep: bool) -> Self {
        if keep {
            self.books.recorder = self.books.recorder.keeping_times();
        }
        self
    }

    /// The host looks for answers at `now`, and had stood still for so long before.
    pub fn looked(&mut self, now: Timestamp, stood_still: Duration) {
        self.books.recorder.looked(now, stood_still);
    }

    /// Sets the wall clock that the users' own policies see. Hosts call this before [`advance`](Self::advance).
    pub fn set_wall(&mut self, wall: UnixSeconds) {
        self.overrides.gate.wall = wall;
        self.gate.iter_mut().for_each(|gate| gate.set_wall(wall));
    }

    /// Carries out what is due by `now`, as far as there is time.
    pub fn advance(&mut self, now: Timestamp) {
        for _ in 0..AT_ONCE {
            let Some(next) = self.next_due().filter(|next| *next <= now) else { return };
            // At the same time the plan goes first: a user that leaves now begins no further request. And a request
            // that the gate releases at its limit is sent.
            if self.schedule.next_due() == Some(next) {
                if let Some(event) = self.schedule.next() {
                    self.happens(event.at, now, event.what);
                }
            } else if self.overrides.next_due() == Some(next) {
                if let Some((at, what)) = self.overrides.next() {
                    self.happens(at, at, what);
                }
            } else if self.gate.as_ref().is_some_and(|gate| gate.next_due() == Some(next)) {
                self.tend_gate(now);
            } else {
                if let Some(user) = self.timers.wake() {
                    self.queue(user, now);
                }
            }
        }
    }

    /// The next time at which something is due.
    pub fn next_due(&self) -> Option<Timestamp> {
        let gate = self.gate.as_ref().and_then(|gate| gate.next_due());
        earliest(earliest(self.schedule.next_due(), self.timers.next_due()), earliest(self.overrides.next_due(), gate))
    }

    /// Users that the host may take now.
    pub fn ready(&self) -> usize {
        self.ready.len().min(self.room())
    }

    /// True if no request begins any more: the plan is over, or the run was stopped.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// True if the run is over, and no user is active, due or held.
    pub fn is_drained(&self) -> bool {
        let held = self.gate.as_ref().is_some_and(|gate| gate.holds_users());
        self.over && self.active.now == 0 && self.ready.is_empty() && self.timers.is_empty() && !held
    }

    /// True if the rate of the plan cannot be kept: as long again as the plan lasts, users that are due have not begun.
    pub fn has_given_up(&self, now: Timestamp) -> bool {
        let waits = !self.ready.is_empty() || self.schedule.next_due().is_some_and(|due| due <= now);
        now > self.begins.until && waits
    }

    /// True if an action of one user may make others due at once: they share a client-side policy.
    pub fn is_shared(&self) -> bool {
        self.gate.is_some()
    }

    /// The next user that has a request to send.
    pub fn take(&mut self, now: Timestamp) -> Option<Box<UserTask<C>>> {
        if now > self.begins.until { None } else { self.take_due(now).map(|due| due.user) }
    }

    fn take_due(&mut self, now: Timestamp) -> Option<DueUser<C>> {
        while self.room() > 0
            && let Some(DueUser { user, waits_since }) = self.ready.pop_front()
        {
            // Counted before the persona is asked: if that panics, `lost` corrects the count.
            self.active.now += 1;
            if let Some(user) = self.turn(user, now).and_then(|user| self.equip(user, waits_since, now)) {
                self.active.peak = self.active.peak.max(self.active.now);
                return Some(DueUser { user, waits_since });
            }
            self.active.now -= 1;
        }
        None
    }

    /// Settles the user's request by its outcome. Returns the user if it wants to send another request at once.
    pub fn settle(
        &mut self,
        mut user: Box<UserTask<C>>,
        is: ExchangeOutcome<'_>,
        now: Timestamp,
    ) -> Option<Box<UserTask<C>>> {
        let UserPhase::InFlight(sending) = std::mem::take(&mut user.phase) else {
            unreachable!("only a user in flight has a request that can end")
        };
        user.setback.note(&is);
        self.books.wait_is_over(&user, &sending, &is);
        if let Some(client) = &mut user.client {
            client.told_not_to_retry = matches!(is.reply, Reply::Answer(answer) if forbids_retry(&answer));
            client.note = match is.reply {
                Reply::Answer(answer) => answer.header(NOTE).and_then(|value| note(value.as_bytes())),
                _ => None,
            };
        }
        let turn = user.persona.next(is.reply, now, &mut user.draws);
        if turn.ending == Ending::Failed {
            self.books.objected(&user);
        }
        self.books.end_background(&sending, Some((is.fate, turn.ending)));
        let fate = match turn.ending {
            Ending::Continued => None,
            Ending::Unasked => Some(is.fate),
            Ending::Served => Some(Fate::Served),
            Ending::Rejected => Some(Fate::Rejected),
            Ending::Failed => Some(Fate::Failed),
            Ending::Elsewhere => Some(Fate::Elsewhere),
            Ending::Abandoned => Some(Fate::Abandoned),
        };
        if let Some(fate) = fate {
            self.leave_gate(&mut user, sending.begun, fate, now);
            self.books.end(&mut user, sending.begun, fate, now);
        }
        user.at = now;
        let may_begin = !self.over;
        let onward = self.go_on(user, turn.then, may_begin, now);
        if onward.is_none() {
            self.active.now -= 1;
            self.frees(now);
        }
        onward
    }

    /// Abandons the request because the run ends.
    pub fn cut(&mut self, mut user: Box<UserTask<C>>, now: Timestamp) {
        self.active.now -= 1;
        self.frees(now);
        let UserPhase::InFlight(sending) = std::mem::take(&mut user.phase) else { return };
        let is = ExchangeOutcome { fate: Fate::InFlight, error: None, ..ExchangeEnd::Broken.without_answer() };
        self.books.wait_is_over(&user, &sending, &is);
        self.books.end_background(&sending, None);
        self.leave_gate(&mut user, sending.begun, Fate::InFlight, now);
        self.books.end(&mut user, sending.begun, Fate::InFlight, now);
    }

    /// Counts a user lost to a panic: the ledger will show its request as in flight.
    pub fn lost(&mut self) {
        self.active.now -= 1;
        self.active.lost += 1;
    }

    /// Stops the run before the end of its plan: phases are cut off here.
    pub fn stop(&mut self, now: Timestamp) {
        if !self.over {
            self.books.recorder.stop(now);
            self.end();
        }
    }

    /// Ends the run: no request begins any more. Users that think leave; users with an open request finish it.
    fn end(&mut self) {
        if !std::mem::replace(&mut self.over, true) {
            self.overrides.clear();
            self.timers.stop();
        }
    }

    /// The next second that has ended by `now`.
    pub fn next_window(&mut self, now: Timestamp) -> Option<Window> {
        let window = self.books.next_window(now, self.states())?;
        Some(Window { client: self.gate.as_ref().map(|gate| gate.gauges()), ..window })
    }

    /// Closes the ledgers; `health`: the host's figures of itself.
    pub fn finish(mut self, now: Timestamp, mut health: Health) -> Report {
        while !self.over && self.schedule.next_due().is_some_and(|due| due <= now) {
            match self.schedule.next() {
                Some(ScheduledEvent { at, what: ScheduleChange::Arrive(arrival) }) => self.pass_over(at, now, &arrival),
                Some(ScheduledEvent { what: ScheduleChange::Broken(reason), .. }) => self.books.fault(reason),
                _ => {}
            }
        }
        health.in_flight_peak = self.active.peak;
        health.fiber_panics += self.active.lost;
        health.waited_for_connection = self.lift_limit();
        health.contradictions += self.gate.as_ref().map_or(0, |gate| gate.gauges().contradictions);
        let held = self.gate.take().map(|gate| gate.close(now)).unwrap_or_default();
        let (open, due): (Vec<_>, Vec<_>) = self.ready.drain(..).partition(|due| due.user.open.is_some());
        let open = open.into_iter().map(|due| due.user);
        for mut user in held.into_iter().chain(self.timers.take_all()).chain(open) {
            let fate = user.fate_at_end();
            self.books.end(&mut user, None, fate, now);
        }
        // Requests of users that were due and never had a turn are unsent.
        self.over = false;
        self.ready.extend(due);
        while let Some(DueUser { mut user, waits_since }) = self.take_due(now) {
            let fate = if waits_since.is_some() { Fate::RefusedLocally } else { Fate::Unsent };
            self.books.end(&mut user, None, fate, now);
        }
        self.books.finish(&self.crowd, now, health)
    }

    fn states(&self) -> UserStates {
        let (written, background) = self.books.in_flight();
        let in_flight = written.min(u64::from(self.active.now));
        let QuietUsers { thinking, waiting, backing_off } = self.timers.quiet();
        UserStates {
            thinking,
            waiting,
            backing_off,
            gone: self.population.left_early(),
            queued: self.ready.len() as u64,
            connecting: u64::from(self.active.now).saturating_sub(in_flight + background),
            in_flight,
        }
    }

    fn happens(&mut self, at: Timestamp, now: Timestamp, what: ScheduleChange) {
        match what {
            // The plan of a run that was stopped goes on without those who would have come.
            ScheduleChange::Arrive(_) if self.over => {}
            // While the run is paused, single requests and sessions do not arrive; closed users do, and wait.
            ScheduleChange::Arrive(arrival) if arrival.stay != Stay::Forever && self.timers.is_paused() => {}
            ScheduleChange::Arrive(arrival) => self.arrive(at, now, &arrival),
            ScheduleChange::Depart(user) => self.population.let_go(user),
            ScheduleChange::Phase(index) => self.renew_gate(index, now),
            ScheduleChange::Broken(reason) => self.books.fault(reason),
            ScheduleChange::End => self.end(),
        }
    }

    fn arrive(&mut self, at: Timestamp, now: Timestamp, arrival: &Arrival) {
        if self.ready.len() >= MOST_WAITING && arrival.stay != Stay::Forever && self.gate.is_none() {
            return self.pass_over(at, now, arrival);
        }
        let user = self.user(at, arrival);
        self.queue(user, now);
    }

    /// Counts the request of a user that the host has no time for.
    fn pass_over(&mut self, at: Timestamp, now: Timestamp, arrival: &Arrival) {
        let fate = if self.room() <= self.ready.len() { Fate::RefusedLocally } else { Fate::Unsent };
        if let Some(kind) = self.crowd.first_kind(arrival) {
            if self.may_take_one() {
                let intent = Intent { kind, class: arrival.class, wanted_at: at, attempt: 0 };
                self.books.never_begins(arrival.user, intent, fate, now);
            }
            return;
        }
        let user = self.user(at, arrival);
        if let Some(mut user) = self.turn(user, now) {
            self.books.end(&mut user, None, fate, now);
        }
    }

    fn user(&mut self, at: Timestamp, arrival: &Arrival) -> Box<UserTask<C>> {
        if arrival.stay == Stay::Forever {
            self.population.arrives(arrival.user);
        }
        let persona = match arrival.role {
            None => self.crowd.user(arrival),
            Some(role) => User::Background(BackgroundClient::new(role, arrival.class)),
        };
        // Only users have a client-side policy.
        let gate = self.gate.as_mut().filter(|_| arrival.role.is_none());
        Box::new(UserTask {
            persona,
            draws: self.crowd.draws(arrival.key),
            number: arrival.user,
            connection: None,
            ordinal: 0,
            at,
            setback: Setback::default(),
            client: gate.map(|gate| gate.join(arrival.user)),
            open: None,
            phase: UserPhase::Arrived,
        })
    }

    /// Counts one more request, if the limit allows it; no request begins after the last one.
    fn may_take_one(&mut self) -> bool {
        match &mut self.begins.left {
            None => return true,
            Some(0) => return false,
            Some(left) => *left -= 1,
        }
        if self.begins.left == Some(0) {
            self.books.recorder.ends_early();
            self.end();
        }
        true
    }
}

#[cfg(test)]
mod tests;
