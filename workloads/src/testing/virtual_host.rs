//! The smallest host that there can be: an event heap instead of a clock, a function instead of a network.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    time::Duration,
};

use controllers::Timestamp;

use crate::{
    Crowd, Schedule, User,
    crowd::CrowdError,
    health::Health,
    measure::{Fate, Recorder, Report, Ticket, UserStates, Window},
    persona::{Answer, Call, Draws, Ending, Move, Persona, Reply},
    plan::LoadPlan,
    schedule::{Arrival, What},
};

/// An answer that a service gives.
#[derive(Debug, Clone, Default)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Header lines.
    pub headers: Vec<(&'static str, String)>,
    /// Body.
    pub body: String,
}

/// What a service does with a request.
#[derive(Debug, Clone)]
pub enum Reaction {
    /// Answers after this long.
    Answer(Duration, Response),
    /// Never answers.
    Silence,
    /// No connection comes about.
    NoConnection,
}

/// One user, and the request that it has open.
#[derive(Debug)]
struct Guest {
    arrival: Arrival,
    user: User,
    draws: Draws,
    ticket: Option<Ticket>,
    leaving: bool,
    thinking: bool,
}

#[derive(Debug)]
enum Due {
    Woke,
    Answered(Response),
    TimedOut,
    GaveUp,
    ConnectTimedOut,
}

/// Something that becomes due; of two at one moment, the one that was planned first.
type Entry = Reverse<(Timestamp, u64, u64)>;

struct Host<'a> {
    plan: &'a LoadPlan,
    recorder: Recorder,
    guests: BTreeMap<u64, Guest>,
    heap: BinaryHeap<Entry>,
    due: BTreeMap<u64, Due>,
    sequence: u64,
    over: bool,
    service: &'a mut dyn FnMut(u64, &Call, Timestamp) -> Reaction,
}

/// Runs a plan against a service: a function of user number, request and time.
///
/// # Errors
/// If the users of the plan cannot be made.
pub fn run(
    plan: &LoadPlan,
    mut on_window: impl FnMut(Window),
    mut service: impl FnMut(u64, &Call, Timestamp) -> Reaction,
) -> Result<Report, CrowdError> {
    let crowd = Crowd::new(plan)?;
    let recorder = Recorder::new(plan, crowd.kinds());
    let mut host = Host {
        plan,
        recorder,
        guests: BTreeMap::new(),
        heap: BinaryHeap::new(),
        due: BTreeMap::new(),
        sequence: 0,
        over: false,
        service: &mut service,
    };
    let mut schedule = Schedule::new(plan).peekable();
    let ends: Duration = plan.phases.iter().map(|phase| phase.duration).sum();
    let last_moment = Timestamp::ZERO + ends + plan.drain;
    let mut now = Timestamp::ZERO;
    let mut second_ends = Timestamp::from_secs(1);
    loop {
        let planned = schedule.peek().map(|event| event.at);
        let due = host.heap.peek().map(|Reverse((at, ..))| *at);
        let Some(next) = [planned, due].into_iter().flatten().min().filter(|&at| at <= last_moment) else {
            break;
        };
        now = next;
        if now >= second_ends {
            let states = host.states();
            while let Some(window) = host.recorder.next_window(now, states) {
                second_ends = Timestamp::from_secs(window.second + 2);
                on_window(window);
            }
        }
        if planned == Some(now)
            && let Some(event) = schedule.next()
        {
            host.planned(event.what, &crowd, now);
        } else {
            host.next_due(now);
        }
    }
    let end = if host.heap.is_empty() { now } else { last_moment };
    for (_, guest) in std::mem::take(&mut host.guests) {
        if let Some(ticket) = guest.ticket {
            host.recorder.end(ticket, Fate::InFlight, end);
        }
    }
    let mut report = host.recorder.finish(end, Health::default());
    report.transitions = crowd.transitions();
    Ok(report)
}

impl Host<'_> {
    fn planned(&mut self, what: What, crowd: &Crowd, now: Timestamp) {
        match what {
            What::Phase(_) => {}
            What::End => {
                self.over = true;
                self.guests.retain(|_, guest| guest.ticket.is_some());
            }
            What::Depart(user) => {
                if let Some(guest) = self.guests.get_mut(&user) {
                    guest.leaving = true;
                    if guest.ticket.is_none() {
                        self.guests.remove(&user);
                    }
                }
            }
            What::Arrive(arrival) => {
                let guest = Guest {
                    user: crowd.user(arrival.slot, arrival.class, arrival.stay),
                    draws: crowd.draws(arrival.key),
                    arrival,
                    ticket: None,
                    leaving: false,
                    thinking: false,
                };
                self.guests.insert(arrival.user, guest);
                self.turn(arrival.user, Reply::Start, None, now);
            }
        }
    }

    fn next_due(&mut self, now: Timestamp) {
        let Some(Reverse((_, sequence, user))) = self.heap.pop() else { return };
        let Some(due) = self.due.remove(&sequence) else { return };
        match due {
            Due::Woke => self.turn(user, Reply::Woke, None, now),
            Due::TimedOut => self.turn(user, Reply::TimedOut, Some(Fate::TimedOut), now),
            Due::GaveUp => self.turn(user, Reply::GaveUp, Some(Fate::Abandoned), now),
            Due::ConnectTimedOut => self.turn(user, Reply::ConnectFailed, Some(Fate::ConnectTimedOut), now),
            Due::Answered(response) => {
                let headers: Vec<(&str, &[u8])> =
                    response.headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
                let answer = Answer { status: response.status, headers: &headers, body: response.body.as_bytes() };
                self.turn(user, Reply::Answer(answer), None, now);
            }
        }
    }

    /// Tells a user what happened and does what it says. `fate` is how its request ended, if the user need not judge that.
    fn turn(&mut self, user: u64, reply: Reply<'_>, fate: Option<Fate>, now: Timestamp) {
        let Some(guest) = self.guests.get_mut(&user) else { return };
        guest.thinking = false;
        let turn = guest.user.next(reply, now, &mut guest.draws);
        let fate = fate.or(match turn.ending {
            Ending::Unasked | Ending::Continued => None,
            Ending::Served => Some(Fate::Served),
            Ending::Rejected => Some(Fate::Rejected),
            Ending::Failed => Some(Fate::Failed),
            Ending::Elsewhere => Some(Fate::Elsewhere),
        });
        if let Some(fate) = fate
            && let Some(ticket) = guest.ticket.take()
        {
            self.recorder.end(ticket, fate, now);
        }
        let gone = matches!(turn.then, Move::Leave) || (guest.ticket.is_none() && (guest.leaving || self.over));
        match turn.then {
            _ if gone => {
                self.guests.remove(&user);
            }
            Move::Leave => {}
            Move::Think(pause, _) => {
                guest.thinking = true;
                self.plan_due(now + pause, user, Due::Woke);
            }
            Move::Send(call) => self.send(user, &call, now),
        }
    }

    fn send(&mut self, user: u64, call: &Call, now: Timestamp) {
        let reaction = (self.service)(user, call, now);
        let Some(guest) = self.guests.get_mut(&user) else { return };
        match &mut guest.ticket {
            Some(ticket) => self.recorder.hop(ticket),
            None => {
                let mut ticket = self.recorder.plan(guest.arrival.user, call, now);
                self.recorder.begin(&mut ticket, now);
                if !matches!(reaction, Reaction::NoConnection) {
                    self.recorder.connected(&ticket, Duration::ZERO);
                    self.recorder.sent(&mut ticket, now);
                }
                guest.ticket = Some(ticket);
            }
        }
        let patience = call.give_up_after.unwrap_or(Duration::MAX);
        let (after, due) = match reaction {
            Reaction::Answer(after, response) => (after, Due::Answered(response)),
            Reaction::Silence => (Duration::MAX, Due::TimedOut),
            Reaction::NoConnection => (self.plan.connect_timeout, Due::ConnectTimedOut),
        };
        let (after, due) = match due {
            _ if patience < after && patience < self.plan.timeout => (patience, Due::GaveUp),
            _ if self.plan.timeout < after => (self.plan.timeout, Due::TimedOut),
            due => (after, due),
        };
        self.plan_due(now + after, user, due);
    }

    fn plan_due(&mut self, at: Timestamp, user: u64, due: Due) {
        self.sequence += 1;
        self.heap.push(Reverse((at, self.sequence, user)));
        self.due.insert(self.sequence, due);
    }

    fn states(&self) -> UserStates {
        let thinking = self.guests.values().filter(|guest| guest.thinking).count() as u64;
        UserStates { thinking, in_flight: self.recorder.in_flight(), ..UserStates::default() }
    }
}
