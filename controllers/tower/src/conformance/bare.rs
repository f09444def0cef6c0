//! The site alone, polled every millisecond.

use std::{collections::VecDeque, sync::atomic::Ordering, time::Duration};

use controllers::{
    Catalogue, JobId, Offer, Outcome, Place, RetryHint, Seat, Site, SiteId, Timestamp, UnixSeconds,
    catalogue::Factory,
    seed_for,
    site::{
        Action, Asked, ClientScope, Clients, Decided, Entered, Gate, InstalledPolicy, Member, Pass, Permit, PolicySite,
    },
};

use super::{
    CAPACITY, OBJECTIVE, SEED, Setup,
    live::Load,
    recording::{Decision, Numbers, Record, facts, recorded},
    script::Op,
    tight,
};
use crate::RequestTags;

enum Host {
    Gate(Gate<usize>),
    Clients(Clients<usize>, Member),
}

enum Inside {
    Unwatched,
    Permit(Permit),
    Pass(Pass),
}

/// What became of a request.
enum State {
    /// With the answer of the service, once it is called.
    Held(JobId, Option<Outcome>),
    Inside(Inside),
    Gone,
}

struct Bare {
    host: Host,
    now: Timestamp,
    load: Load,
    requests: Vec<State>,
    /// Decisions about held requests that the requests have not taken up.
    decided: VecDeque<(usize, Result<Inside, Decision>)>,
    left: u64,
    unwatched: u64,
    record: Record,
}

pub(super) fn record(setup: &Setup, ops: &[Op]) -> Record {
    drop(facts());
    let mut bare = Bare {
        host: Host::new(setup),
        now: Timestamp::ZERO,
        load: Load::default(),
        requests: Vec::new(),
        decided: VecDeque::new(),
        left: 0,
        unwatched: 0,
        record: Record::default(),
    };
    // The layer is looked at before the first step, and a site samples load from its first poll on.
    bare.set_wall();
    bare.turn();
    for op in ops {
        bare.step(*op);
    }
    bare.record.facts = facts();
    bare.record
}

fn site(place: Place) -> Site {
    Site { id: SiteId(0), name: "server".to_owned(), place, objective: OBJECTIVE }
}

impl Host {
    fn new(setup: &Setup) -> Self {
        let entry = recorded(setup.of);
        let factory: Factory = entry.check_among(None, &setup.settings, Catalogue::built_in()).unwrap();
        let has = |place| entry.places.contains(&place);
        let place = [Place::Single, Place::Client, Place::Proxy].into_iter().find(|place| has(*place)).unwrap();
        if setup.at_client || place == Place::Client {
            let mut clients = Clients::new(entry, factory, ClientScope::All, OBJECTIVE, SEED);
            let member = clients.join(0);
            return Self::Clients(clients, member);
        }
        let policy = factory.policy(&site(place)).unwrap();
        let seat = Seat::new(SiteId(0), policy, seed_for(SEED, "server"), Box::new(()));
        Self::Gate(Gate::new("server", PolicySite::new(seat, entry, Vec::new()), CAPACITY))
    }
}

impl Bare {
    fn step(&mut self, op: Op) {
        self.set_wall();
        match op {
            Op::Arrive(tags) => self.arrive(tags),
            Op::Finish(..) | Op::Leave(_) if self.requests.is_empty() => {}
            Op::Finish(which, outcome) => {
                let which = which % self.requests.len();
                self.finish(which, outcome);
            }
            Op::Leave(which) => {
                let which = which % self.requests.len();
                self.leave(which);
            }
            Op::Wait(ms) => {
                for _ in 0..ms {
                    self.now = self.now + Duration::from_millis(1);
                    self.load.0.fetch_add(1, Ordering::Relaxed);
                    self.set_wall();
                    self.turn();
                }
            }
            Op::Replace => self.replace(),
        }
        self.turn();
        let numbers = self.numbers();
        self.record.most_held = self.record.most_held.max(numbers.held);
        self.record.numbers.push(numbers);
    }

    fn replace(&mut self) {
        let at_client = matches!(self.host, Host::Clients(..));
        let entry = recorded(Catalogue::built_in().find(if at_client { "throttle" } else { "concurrency" }).unwrap());
        let factory = entry.check_among(None, &tight(entry.name), Catalogue::built_in()).unwrap();
        match &mut self.host {
            Host::Gate(gate) => {
                let policy = factory.policy(&site(Place::Single)).unwrap();
                gate.replace(self.now, InstalledPolicy { entry, policy });
            }
            Host::Clients(clients, _) => clients.replace(self.now, entry, factory),
        }
    }

    fn set_wall(&mut self) {
        let wall = UnixSeconds::in_virtual_time(self.now);
        match &mut self.host {
            Host::Gate(gate) => gate.set_wall(wall),
            Host::Clients(clients, _) => clients.set_wall(wall),
        }
    }

    fn arrive(&mut self, RequestTags { mut tags, time_left, note }: RequestTags) {
        let (now, number) = (self.now, self.requests.len());
        tags.deadline = time_left.map(|left| now + left);
        let state = match &mut self.host {
            Host::Gate(gate) => {
                let id = JobId(number as u64 + 1);
                match gate.offer(now, Offer { id, tags, entered: now, note }, || number) {
                    Entered::In(None) => State::Inside(Inside::Unwatched),
                    Entered::In(Some(mut permit)) => {
                        gate.started(now, &mut permit);
                        State::Inside(Inside::Permit(permit))
                    }
                    Entered::Refused(away) => {
                        let refusal = away.refusal;
                        self.refused(number, Decision::Refused(Some(refusal.reason), refusal.retry, away.note))
                    }
                    Entered::Held => State::Held(id, None),
                }
            }
            Host::Clients(clients, member) => match clients.ask(*member, tags, now, note, now, |_| number) {
                Asked::Go(pass) => State::Inside(Inside::Pass(pass)),
                Asked::Refused(retry) => self.refused(number, Decision::Refused(None, retry, None)),
                Asked::ComeBack(wait) => self.refused(number, Decision::Refused(None, RetryHint::After(wait), None)),
                Asked::Held(id) => State::Held(id, None),
            },
        };
        if let State::Inside(inside) = &state {
            self.unwatched += u64::from(matches!(inside, Inside::Unwatched));
            self.record.decisions.push((now, number, Decision::In));
        }
        self.requests.push(state);
    }

    fn refused(&mut self, number: usize, decision: Decision) -> State {
        self.record.decisions.push((self.now, number, decision));
        State::Gone
    }

    fn finish(&mut self, which: usize, outcome: Outcome) {
        match std::mem::replace(&mut self.requests[which], State::Gone) {
            State::Held(id, before) => self.requests[which] = State::Held(id, Some(before.unwrap_or(outcome))),
            State::Inside(inside) => self.end(inside, outcome),
            State::Gone => {}
        }
    }

    fn leave(&mut self, which: usize) {
        match std::mem::replace(&mut self.requests[which], State::Gone) {
            State::Held(id, _) => {
                self.left += 1;
                let gone = match &mut self.host {
                    Host::Gate(gate) => gate.leave(self.now, id),
                    Host::Clients(clients, member) => clients.left(*member, id, self.now),
                };
                assert_eq!(gone, Some(which), "it was held");
            }
            State::Inside(inside) => self.end(inside, Outcome::Abandoned),
            State::Gone => {}
        }
    }

    fn end(&mut self, inside: Inside, outcome: Outcome) {
        match (&mut self.host, inside) {
            (Host::Gate(gate), Inside::Permit(permit)) => _ = gate.ended(self.now, permit, outcome, None, None),
            (Host::Clients(clients, _), Inside::Pass(pass)) => clients.ended(pass, outcome, None, self.now),
            _ => {}
        }
    }

    /// Polls, and lets requests take up what was decided about them, until nothing is due.
    fn turn(&mut self) {
        loop {
            let wake = self.poll();
            if let Some((number, fate)) = self.decided.pop_front() {
                self.take_up(number, fate);
            } else if wake.is_none_or(|at| at > self.now) {
                return;
            }
        }
    }

    fn take_up(&mut self, number: usize, fate: Result<Inside, Decision>) {
        let State::Held(_, answer) = std::mem::replace(&mut self.requests[number], State::Gone) else {
            panic!("{number} was not held");
        };
        let mut inside = match fate {
            Ok(inside) => inside,
            Err(decision) => {
                self.record.decisions.push((self.now, number, decision));
                return;
            }
        };
        if let (Host::Gate(gate), Inside::Permit(permit)) = (&mut self.host, &mut inside) {
            gate.started(self.now, permit);
        }
        self.record.decisions.push((self.now, number, Decision::In));
        match answer {
            Some(outcome) => {
                self.poll();
                self.end(inside, outcome);
            }
            None => self.requests[number] = State::Inside(inside),
        }
    }

    fn poll(&mut self) -> Option<Timestamp> {
        loop {
            match &mut self.host {
                Host::Gate(gate) => match gate.poll(self.now, &self.load) {
                    Action::Admit(number, permit) => self.decided.push_back((number, Ok(Inside::Permit(permit)))),
                    Action::Refuse(number, away) => {
                        let refusal = away.refusal;
                        let decision = Decision::Refused(Some(refusal.reason), refusal.retry, away.note);
                        self.decided.push_back((number, Err(decision)));
                    }
                    Action::WakeAt(at) => return Some(at),
                    Action::Idle => return None,
                    _ => {}
                },
                Host::Clients(clients, _) => match clients.poll(self.now) {
                    Some(Decided::Go(number, pass)) => self.decided.push_back((number, Ok(Inside::Pass(pass)))),
                    Some(Decided::Refused(number, retry)) => {
                        self.decided.push_back((number, Err(Decision::Refused(None, retry, None))));
                    }
                    None => return clients.next_wake(),
                },
            }
        }
    }

    /// Counted here, and not asked of the site.
    fn numbers(&self) -> Numbers {
        let decided = |of: fn(&Decision) -> bool| {
            self.record.decisions.iter().filter(|(_, _, decision)| of(decision)).count() as u64
        };
        let states = |of: fn(&State) -> bool| self.requests.iter().filter(|state| of(state)).count() as u64;
        let policy = match &self.host {
            Host::Gate(gate) => gate.gauges().policy,
            Host::Clients(clients, _) => clients.gauges().policy,
        };
        Numbers {
            offered: self.requests.len() as u64,
            admitted: decided(|decision| *decision == Decision::In),
            refused: decided(|decision| *decision != Decision::In),
            left: self.left,
            in_flight: states(|state| matches!(state, State::Inside(Inside::Permit(_) | Inside::Pass(_)))),
            held: states(|state| matches!(state, State::Held(..))),
            contradictions: 0,
            policy: policy.into_iter().map(|(name, value)| (name, value.to_bits())).collect(),
        }
    }
}
