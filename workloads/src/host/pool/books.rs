use std::{collections::BTreeMap, time::Duration};

use controllers::Timestamp;

use super::user::{InFlight, UserPhase, UserTask};
use crate::{
    crowd::Crowd,
    host::{ExchangeEnd, ExchangeOutcome},
    measure::{CheckResult, Fate, Health, Intent, Numbers, Recorder, Report, TurnedBack, UserStates, Window},
    persona::{Call, Ending, Persona as _, Reply, Want},
    plan::LoadPlan,
};

/// The ledgers of a run: requests, background activity, request numbers, refusals by balancers.
#[derive(Debug)]
pub struct Books {
    pub(super) recorder: Recorder,
    /// `None`: requests carry no number.
    numbers: Option<Numbers>,
    /// Refusals by balancers in front of services.
    turned_back: BTreeMap<String, TurnedBack>,
    /// Background activities in flight.
    background: u64,
    /// Reasons for which a part of the plan was not sent.
    faults: Vec<String>,
    /// Requests for which the generator had no resources.
    shortages: Shortages,
}

#[derive(Debug, Default)]
struct Shortages {
    ports: u64,
    descriptors: u64,
    memory: u64,
}

impl Books {
    pub(super) fn new(plan: &LoadPlan, crowd: &Crowd, numbered: bool) -> Self {
        Self {
            recorder: Recorder::new(plan.for_recorder(), &crowd.kinds()),
            numbers: numbered.then(Numbers::default),
            turned_back: BTreeMap::new(),
            background: 0,
            faults: Vec::new(),
            shortages: Shortages::default(),
        }
    }

    /// Begins a background activity, and returns the phase in whose ledger it is.
    pub(super) fn begin_background(&mut self, call: &Call, at: Timestamp) -> usize {
        self.background += 1;
        self.recorder.begin_background(at, call.want == Want::Check)
    }

    /// Notes that the client gate is asked about the user's request.
    pub(super) fn asked<C>(&mut self, user: &mut UserTask<C>, now: Timestamp) {
        user.open.iter_mut().for_each(|open| self.recorder.asked(&mut open.ticket, now));
    }

    /// Notes that the client gate has held the user's request until `until`.
    pub(super) fn let_go<C>(&mut self, user: &mut UserTask<C>, until: Timestamp) {
        user.open.iter_mut().for_each(|open| self.recorder.let_go(&mut open.ticket, until));
    }

    /// A number for the user's request, which is about to be written if there is a connection for it. Background
    /// activity has none.
    pub fn number<C>(&mut self, user: &mut UserTask<C>) -> Option<u64> {
        let sending = user.in_flight_mut()?;
        sending.number = self.numbers.as_mut().filter(|_| sending.background.is_none()).map(Numbers::give);
        sending.number
    }

    /// Counts a connection for the user's request.
    pub fn connected<C>(&mut self, user: &UserTask<C>, took: Duration) {
        if let Some(open) = &user.open {
            self.recorder.connected(&open.ticket, took);
        }
        if let Some(phase) = user.in_flight().and_then(|sending| sending.background) {
            self.recorder.connected_background(phase);
        }
    }

    /// Notes that the user's request is written now.
    pub fn sends<C>(&mut self, user: &mut UserTask<C>, now: Timestamp) {
        let UserTask { open: Some(open), phase: UserPhase::InFlight(sending), .. } = user else { return };
        let again = std::mem::replace(&mut sending.written, true);
        if !again {
            self.numbers.as_mut().into_iter().for_each(Numbers::wrote);
        }
        if sending.call.hop == 0 {
            self.recorder.begin(&mut open.ticket, sending.begun.unwrap_or(now));
            self.recorder.sent(&mut open.ticket, now);
        } else if !again {
            self.recorder.hop(&open.ticket);
        }
    }

    /// Notes that the answer to the user's request counts from this time, since it was read while it came.
    pub fn streamed<C>(&mut self, user: &mut UserTask<C>, readable: Timestamp) {
        user.open.iter_mut().for_each(|open| self.recorder.streamed(&mut open.ticket, readable));
    }

    /// Counts that the user's kept connection was found closed before its request was written.
    pub fn resends<C>(&mut self, user: &UserTask<C>) {
        user.open.iter().for_each(|open| self.recorder.resent(&open.ticket));
    }

    /// Counts a refusal of the user's request by the balancer of this service, as if the request had been written and
    /// answered.
    pub fn turned_back<C>(&mut self, user: &mut UserTask<C>, service: &str) {
        user.setback.turned_back = true;
        if !self.turned_back.contains_key(service) {
            self.turned_back.insert(service.to_owned(), TurnedBack::default());
        }
        let Some(counts) = self.turned_back.get_mut(service) else { return };
        if user.open.is_some() {
            counts.requests += 1;
        } else {
            counts.checks += 1;
        }
    }

    /// Ends the wait for an answer: counts the answer, or the reason that there was none.
    pub(super) fn wait_is_over<C>(&mut self, user: &UserTask<C>, sending: &InFlight, is: &ExchangeOutcome<'_>) {
        match is.end {
            ExchangeEnd::OutOfPorts => self.shortages.ports += 1,
            ExchangeEnd::OutOfDescriptors => self.shortages.descriptors += 1,
            ExchangeEnd::OutOfMemory => self.shortages.memory += 1,
            _ => {}
        }
        let number = sending.number.filter(|_| sending.written);
        let answer = if let Reply::Answer(answer) = is.reply { Some(answer) } else { None };
        if let (Some(numbers), Some(number), None) = (&mut self.numbers, number, answer) {
            numbers.unanswered(number, is.fate);
        }
        let Some(open) = &user.open else { return };
        match (answer, is.error) {
            // A balancer's refusal is no answer of the service, though users take it for one.
            (Some(answer), _) if !user.setback.turned_back => {
                self.recorder.answered(&open.ticket, answer.status, answer.length as u64);
            }
            (_, Some(error)) => self.recorder.went_wrong(&open.ticket, error),
            _ => {}
        }
    }

    /// Notes what the answer to the user's request had not, if the user knows.
    pub(super) fn objected<C>(&mut self, user: &UserTask<C>) {
        if let (Some(open), Some(objection)) = (&user.open, user.persona.objection()) {
            self.recorder.went_wrong(&open.ticket, objection);
        }
    }

    /// Ends a background activity with this outcome; `None`: the run ends first.
    pub(super) fn end_background(&mut self, sending: &InFlight, ended: Option<(Fate, Ending)>) {
        let Some(phase) = sending.background else { return };
        self.background -= 1;
        if let Some((fate, ending)) = ended {
            let result = match ending {
                Ending::Served => CheckResult::Answered,
                Ending::Rejected => CheckResult::Refused,
                _ => CheckResult::Failed,
            };
            self.recorder.end_background(phase, fate, (sending.call.want == Want::Check).then_some(result));
        }
    }

    /// Ends the user's open request, if there is one; `begun`: when the host began with it, if it has.
    pub(super) fn end<C>(&mut self, user: &mut UserTask<C>, begun: Option<Timestamp>, fate: Fate, now: Timestamp) {
        let Some(mut open) = user.open.take() else { return };
        if let Some(begun) = begun {
            self.recorder.begin(&mut open.ticket, begun);
        }
        self.recorder.end(open.ticket, fate, now);
    }

    /// Counts a request that was due at the time from which it is wanted, and that the host has no time for.
    pub(super) fn never_begins(&mut self, user: u64, intent: Intent, fate: Fate, now: Timestamp) {
        let ticket = self.recorder.plan(user, intent, intent.wanted_at);
        self.recorder.end(ticket, fate, now);
    }

    /// Notes why a part of the plan could not be sent.
    pub(super) fn fault(&mut self, reason: String) {
        self.faults.push(reason);
    }

    /// The numbers of written requests and of background activities in flight.
    pub(super) fn in_flight(&self) -> (u64, u64) {
        (self.recorder.in_flight(), self.background)
    }

    pub(super) fn next_window(&mut self, now: Timestamp, users: UserStates) -> Option<Window> {
        let window = self.recorder.next_window(now, users)?;
        Some(Window { turned_back: self.turned_back.clone(), ..window })
    }

    pub(super) fn finish(mut self, crowd: &Crowd, now: Timestamp, health: Health) -> Report {
        let Shortages { ports, descriptors, memory } = self.shortages;
        let health = Health { out_of_ports: ports, out_of_descriptors: descriptors, out_of_memory: memory, ..health };
        let mut report = self.recorder.finish(now, health);
        report.transitions = crowd.transitions();
        report.offered = crowd.offered();
        report.replayed = crowd.replayed();
        report.turned_back = self.turned_back;
        let written = report.total.measured.written();
        if let Some(numbered) = self.numbers.as_ref().map(Numbers::written).filter(|numbered| *numbered != written) {
            let fault = format!("{numbered} requests were written by their numbers, and {written} by the ledger");
            report.faults.push(fault);
        }
        report.numbers = self.numbers;
        report.faults.append(&mut self.faults);
        report
    }
}
