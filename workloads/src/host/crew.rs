use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashSet, VecDeque};

use controllers::Timestamp;

mod asked;
mod door;
mod guest;
mod turn;

pub(crate) use guest::{Guest, Outcome};

use asked::AskedFor;
use door::Door;
use guest::{Due, Setback, Sleeper, Visit};

use crate::{
    behaviour::forbids_retry,
    client::{NOTE, note},
    crowd::{Crowd, User},
    measure::{CheckResult, Fate, Health, Numbers, Recorder, Report, TurnedBack, UserStates, Window},
    persona::{Ending, Pause, Persona as _, Reply, Stay, Want},
    plan::LoadPlan,
    presence::Presence,
    schedule::{Ahead, Arrival, What},
};

/// The users of a run as every host sees them: who is due, who thinks, who is at work, and the books.
///
/// A user that thinks or waits is an entry in a heap; only one that has a request to send is given to the host
/// ([`take`](Self::take)), which comes back with what became of it ([`settle`](Self::settle)). `C` is the host's kind of
/// connection: a user keeps its own.
#[derive(Debug)]
pub(crate) struct Crew<C> {
    crowd: Crowd,
    schedule: Ahead,
    recorder: Recorder,
    /// `None`: requests carry no number.
    numbers: Option<Numbers>,
    sleepers: BinaryHeap<Sleeper<C>>,
    ready: VecDeque<Box<Guest<C>>>,
    /// Closed users that are there: whom the plan may still let go. A tree, since a table of a hundred thousand would stop
    /// everything for some milliseconds whenever it grows.
    present: BTreeSet<u64>,
    /// Of these, the ones that are to leave as soon as their request has ended.
    departed: HashSet<u64>,
    thinking: u64,
    waiting: u64,
    backing_off: u64,
    /// Users that were to stay and have left by themselves.
    left_for_good: u64,
    /// Users that the host has.
    active: u32,
    /// Of these, at something beside requests.
    at_beside: u64,
    active_peak: u32,
    /// Requests that may still be begun; `None`: as many as come.
    left: Option<u64>,
    /// Nobody begins anything any more.
    over: bool,
    /// Why not all was sent that was to be.
    faults: Vec<String>,
    /// Who left with the end of the run. They and their connections are let go after it: ten thousand connections take a tenth
    /// of a second to close, in which the requests still in flight would wait.
    gone: Vec<Sleeper<C>>,
    /// Where users ask their own policy; `None`: there is none.
    door: Option<Box<Door<C>>>,
    asked: AskedFor<C>,
    /// What balancers before services have refused.
    turned_back: BTreeMap<String, TurnedBack>,
}

impl<C> Crew<C> {
    pub(crate) fn new(plan: &LoadPlan, crowd: Crowd, most_requests: Option<u64>, numbered: bool) -> Self {
        Self {
            recorder: Recorder::new(plan.for_recorder(), crowd.kinds()),
            numbers: numbered.then(Numbers::default),
            schedule: Ahead::of(plan),
            crowd,
            sleepers: BinaryHeap::new(),
            ready: VecDeque::new(),
            present: BTreeSet::new(),
            departed: HashSet::new(),
            thinking: 0,
            waiting: 0,
            backing_off: 0,
            left_for_good: 0,
            active: 0,
            at_beside: 0,
            active_peak: 0,
            left: most_requests,
            over: false,
            faults: Vec::new(),
            gone: Vec::new(),
            door: Door::of(plan).map(Box::new),
            asked: AskedFor::default(),
            turned_back: BTreeMap::new(),
        }
    }

    /// Windows have their times, or not.
    pub(crate) fn keeping_times(self, keep: bool) -> Self {
        if keep { Self { recorder: self.recorder.keeping_times(), ..self } } else { self }
    }

    /// Lets everything happen that is due by `now`.
    pub(crate) fn advance(&mut self, now: Timestamp) {
        loop {
            let planned = self.schedule.next_due();
            let unplanned = self.asked.next_due();
            let wake = self.sleepers.peek().map(|sleeper| sleeper.at);
            let door = self.door.as_ref().and_then(|door| door.next_due());
            let next = [planned, unplanned, wake, door].into_iter().flatten().min();
            if next.is_none_or(|at| at > now) {
                return;
            }
            // At the same time, what is planned goes first: a user let go now does not begin anew. And who is let in at the
            // last moment is in.
            if planned == next {
                self.happen(now);
            } else if unplanned == next {
                self.happen_unplanned();
            } else if door == next {
                self.tend_door(now);
            } else {
                self.wake();
            }
        }
    }

    /// When something is due next.
    pub(crate) fn next_due(&mut self) -> Option<Timestamp> {
        let wake = self.sleepers.peek().map(|sleeper| sleeper.at);
        let door = self.door.as_ref().and_then(|door| door.next_due());
        [self.schedule.next_due(), self.asked.next_due(), wake, door].into_iter().flatten().min()
    }

    /// Users that wait for the host to take them.
    pub(crate) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Most users that the host had at once.
    pub(crate) fn active_peak(&self) -> u32 {
        self.active_peak
    }

    /// Nobody begins anything any more (the plan is over, or the run was stopped).
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Over, and nobody is at anything.
    pub(crate) fn is_drained(&self) -> bool {
        let held = self.door.as_ref().is_some_and(|door| door.is_held());
        self.over && self.active == 0 && self.ready.is_empty() && self.sleepers.is_empty() && !held
    }

    /// What one user does may make others due at once: those who share a policy of their own.
    pub(crate) fn is_shared(&self) -> bool {
        self.door.is_some()
    }

    /// The next user that has something to send.
    pub(crate) fn take(&mut self, now: Timestamp) -> Option<Box<Guest<C>>> {
        while let Some(guest) = self.ready.pop_front() {
            // Counted before the user is asked: should it panic, `lost` sets that right.
            self.active += 1;
            if let Some(guest) = self.turn(guest, now) {
                self.active_peak = self.active_peak.max(self.active);
                return Some(guest);
            }
            self.active -= 1;
        }
        None
    }

    /// A connection was made for the user's request.
    pub(crate) fn connected(&mut self, guest: &Guest<C>, took: std::time::Duration) {
        if let Some(ticket) = &guest.ticket {
            self.recorder.connected(ticket, took);
        }
        if let Some(phase) = guest.beside {
            self.recorder.connected_beside(phase);
        }
    }

    /// The number of the user's request, which is about to be written if there is a connection for it.
    pub(crate) fn number(&mut self, guest: &mut Guest<C>) -> Option<u64> {
        // Only requests have numbers: nobody joins the books of others.
        guest.request = self.numbers.as_mut().filter(|_| guest.beside.is_none()).map(Numbers::give);
        guest.request
    }

    /// The balancer before this service refused the user's request, as if it had been written and answered.
    pub(crate) fn turned_back(&mut self, guest: &mut Guest<C>, service: &str) {
        guest.setback.turned_back = true;
        if !self.turned_back.contains_key(service) {
            self.turned_back.insert(service.to_owned(), TurnedBack::default());
        }
        let Some(counts) = self.turned_back.get_mut(service) else { return };
        if guest.beside.is_some() {
            counts.checks += 1;
        } else {
            counts.requests += 1;
        }
    }

    /// The user's request is written now.
    pub(crate) fn sends(&mut self, guest: &mut Guest<C>, now: Timestamp) {
        let hop = guest.errand.as_ref().is_some_and(|call| call.hop > 0);
        let again = std::mem::replace(&mut guest.written, true);
        let Some(ticket) = &mut guest.ticket else { return };
        if !again {
            self.numbers.as_mut().into_iter().for_each(Numbers::wrote);
        }
        if hop {
            if !again {
                self.recorder.hop(ticket);
            }
        } else {
            self.recorder.begin(ticket, guest.begun.unwrap_or(now));
            self.recorder.sent(ticket, now);
        }
    }

    /// The user's request has ended so. Gives the user back if it wants to send another at once.
    pub(crate) fn settle(
        &mut self,
        mut guest: Box<Guest<C>>,
        is: Outcome<'_>,
        now: Timestamp,
    ) -> Option<Box<Guest<C>>> {
        let answered = matches!(is.reply, Reply::Answer(_));
        self.wait_is_over(&mut guest, (!answered).then_some(is.fate));
        self.note_outcome(&mut guest, &is);
        if let Some(visit) = &mut guest.visit {
            visit.told_not_to_retry = matches!(is.reply, Reply::Answer(answer) if forbids_retry(&answer));
            visit.note = match is.reply {
                Reply::Answer(answer) => answer.header(NOTE).and_then(|value| note(value.as_bytes())),
                _ => None,
            };
        }
        let turn = guest.user.next(is.reply, now, &mut guest.draws);
        self.end_beside(&mut guest, is.fate, turn.ending);
        let fate = match turn.ending {
            Ending::Continued => None,
            Ending::Unasked => Some(is.fate),
            Ending::Served => Some(Fate::Served),
            Ending::Rejected => Some(Fate::Rejected),
            Ending::Failed => Some(Fate::Failed),
            Ending::Elsewhere => Some(Fate::Elsewhere),
        };
        if let Some(fate) = fate {
            self.leave_door(&mut guest, fate, now);
            self.close(&mut guest, fate, now);
        }
        guest.at = now;
        let may_begin = !self.over;
        let onward = self.go_on(guest, turn.then, may_begin, now);
        self.active -= u32::from(onward.is_none());
        onward
    }

    /// Counts what the service said, or why it said nothing. A time-out is no setback: it has taken its time.
    fn note_outcome(&mut self, guest: &mut Guest<C>, is: &Outcome<'_>) {
        let setback = &mut guest.setback;
        setback.unanswered =
            matches!((&is.reply, is.fate), (Reply::ConnectFailed | Reply::Broken, Fate::ConnectFailed | Fate::Failed));
        setback.in_a_row = if setback.unanswered { setback.in_a_row.saturating_add(1) } else { 0 };
        let Some(ticket) = &guest.ticket else { return };
        match (is.reply, is.error) {
            // A balancer's refusal is no answer of the service's, though users take it for one.
            (Reply::Answer(answer), _) if !guest.setback.turned_back => self.recorder.answered(ticket, answer.status),
            (_, Some(error)) => self.recorder.went_wrong(ticket, error),
            _ => {}
        }
    }

    /// The request is let go because the run ends.
    pub(crate) fn cut(&mut self, mut guest: Box<Guest<C>>, now: Timestamp) {
        self.active -= 1;
        self.wait_is_over(&mut guest, Some(Fate::InFlight));
        self.at_beside -= u64::from(guest.beside.take().is_some());
        self.leave_door(&mut guest, Fate::InFlight, now);
        self.close(&mut guest, Fate::InFlight, now);
    }

    /// A user was lost to a panic: the ledger will show the request as in flight.
    pub(crate) fn lost(&mut self) {
        self.active -= 1;
    }

    /// Somebody ends the run before its plan does: phases are cut off here.
    pub(crate) fn stop(&mut self, now: Timestamp) {
        if !self.over {
            self.recorder.stop(now);
            self.end();
        }
    }

    /// Nobody begins anything any more. Who thinks, leaves; who is at a request, or between two hops of one, ends it.
    pub(crate) fn end(&mut self) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        let mut sleepers = std::mem::take(&mut self.sleepers).into_vec();
        sleepers.extend(self.asked.end());
        let (stay, leave): (Vec<_>, Vec<_>) = sleepers.into_iter().partition(|sleeper| sleeper.guest.ticket.is_some());
        self.sleepers = stay.into();
        for sleeper in &leave {
            self.count(sleeper.guest.pause, -1);
        }
        self.gone = leave;
    }

    /// The next second that is over by `now`.
    pub(crate) fn next_window(&mut self, now: Timestamp) -> Option<Window> {
        let window = self.recorder.next_window(now, self.states())?;
        let (client, turned_back) = (self.door.as_ref().map(|door| door.gauges()), self.turned_back.clone());
        Some(Window { client, turned_back, ..window })
    }

    /// Closes the books.
    pub(crate) fn finish(mut self, now: Timestamp, health: Health) -> Report {
        let held = self.door.take().map(|door| door.close()).unwrap_or_default();
        let asleep = std::mem::take(&mut self.sleepers).into_iter().map(|sleeper| sleeper.guest);
        let (open, due): (Vec<_>, Vec<_>) = self.ready.drain(..).partition(|guest| guest.ticket.is_some());
        for mut guest in held.into_iter().chain(asleep).chain(open) {
            let fate = if guest.is_kept_back() { Fate::RefusedLocally } else { Fate::InFlight };
            self.close(&mut guest, fate, now);
        }
        // Whoever was due and never had a turn is unsent.
        self.over = false;
        self.ready.extend(due);
        while let Some(mut guest) = self.take(now) {
            self.close(&mut guest, Fate::Unsent, now);
        }
        let mut report = self.recorder.finish(now, health);
        report.transitions = self.crowd.transitions();
        report.offered = self.crowd.offered();
        report.replayed = self.crowd.replayed();
        report.turned_back = self.turned_back;
        if let Some(numbers) = &self.numbers
            && numbers.written() != report.total.ledger.written()
        {
            let (numbered, written) = (numbers.written(), report.total.ledger.written());
            report
                .faults
                .push(format!("{numbered} requests were written by their numbers, and {written} by the ledger"));
        }
        report.numbers = self.numbers;
        report.faults.append(&mut self.faults);
        report
    }

    fn states(&self) -> UserStates {
        let in_flight = self.recorder.in_flight().min(u64::from(self.active));
        UserStates {
            thinking: self.thinking,
            waiting: self.waiting,
            backing_off: self.backing_off,
            gone: self.left_for_good,
            queued: self.ready.len() as u64,
            connecting: u64::from(self.active).saturating_sub(in_flight + self.at_beside),
            in_flight,
        }
    }

    fn happen(&mut self, now: Timestamp) {
        if let Some(event) = self.schedule.next() {
            self.happens(event.at, now, event.what);
        }
    }

    fn happens(&mut self, at: Timestamp, now: Timestamp, what: What) {
        match what {
            // In a rest single requests and sessions do not come; closed users do, and wait.
            What::Arrive(arrival) if arrival.stay != Stay::Forever && self.asked.is_resting() => {}
            What::Arrive(arrival) => self.arrive(at, &arrival),
            What::Depart(user) => {
                // One that went by itself is not waited for: nobody would ever take its number out again.
                if self.present.contains(&user) {
                    self.departed.insert(user);
                }
            }
            What::Phase(index) => self.renew_door(index, now),
            What::Broken(reason) => self.faults.push(reason),
            What::End => self.end(),
        }
    }

    fn arrive(&mut self, at: Timestamp, arrival: &Arrival) {
        if arrival.stay == Stay::Forever {
            self.present.insert(arrival.user);
        }
        let user = match arrival.role {
            None => self.crowd.user(arrival),
            Some(role) => User::Presence(Presence::new(role, arrival.class)),
        };
        // Only users have a policy of their own.
        let door = self.door.as_mut().filter(|_| arrival.role.is_none());
        let visit = door.map(|door| Box::new(Visit::of(door.join(arrival.user))));
        self.ready.push_back(Box::new(Guest {
            user,
            draws: self.crowd.draws(arrival.key),
            number: arrival.user,
            connection: None,
            errand: None,
            ordinal: 0,
            at,
            ticket: None,
            request: None,
            begun: None,
            setback: Setback::default(),
            written: false,
            pause: None,
            due: Due::Start,
            beside: None,
            visit,
            haste: None,
        }));
    }

    fn wake(&mut self) {
        if let Some(Sleeper { guest, .. }) = self.sleepers.pop() {
            self.count(guest.pause, -1);
            self.ready.push_back(guest);
        }
    }

    /// One more request, if the number of requests allows it; the run ends with the last one.
    fn may_take_one(&mut self) -> bool {
        match &mut self.left {
            None => true,
            Some(0) => {
                self.end();
                false
            }
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }

    fn departs(&self, user: u64) -> bool {
        !self.departed.is_empty() && self.departed.contains(&user)
    }

    fn close(&mut self, guest: &mut Guest<C>, fate: Fate, now: Timestamp) {
        let Some(mut ticket) = guest.ticket.take() else { return };
        if let Some(begun) = guest.begun {
            self.recorder.begin(&mut ticket, begun);
        }
        self.recorder.end(ticket, fate, now);
    }

    /// What it was at beside requests has ended.
    fn end_beside(&mut self, guest: &mut Guest<C>, fate: Fate, ending: Ending) {
        let Some(phase) = guest.beside.take() else { return };
        let check = guest.errand.as_ref().is_some_and(|call| call.want == Want::Check);
        let result = match ending {
            Ending::Served => CheckResult::Answered,
            Ending::Rejected => CheckResult::Refused,
            _ => CheckResult::Failed,
        };
        self.at_beside -= 1;
        self.recorder.end_beside(phase, fate, check.then_some(result));
    }

    /// The user does not wait for an answer to its request any more; `without`: why there was none.
    fn wait_is_over(&mut self, guest: &mut Guest<C>, without: Option<Fate>) {
        let written = guest.request.take().filter(|_| guest.written);
        if let (Some(numbers), Some(number), Some(fate)) = (&mut self.numbers, written, without) {
            numbers.unanswered(number, fate);
        }
    }

    fn count(&mut self, pause: Option<Pause>, change: i64) {
        let counter = match pause {
            Some(Pause::Thinking) => &mut self.thinking,
            Some(Pause::Waiting) => &mut self.waiting,
            Some(Pause::BackingOff) => &mut self.backing_off,
            None => return,
        };
        *counter = counter.saturating_add_signed(change);
    }
}

#[cfg(test)]
mod tests;
