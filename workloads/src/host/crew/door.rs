//! Where users ask a policy of their own before they send: who is held there is data, and takes no fiber.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use controllers::{JobId, Note, Outcome, RetryHint, Tags, Timestamp, seed_for};

use super::{
    Crew,
    guest::{Due, Guest, NeverSent, Sleeper},
    turn::LEAST_PAUSE,
};
use crate::{
    client::{Asked, Clients, Decided, Member, NOTE},
    host::{End, Limit},
    measure::{ClientGauges, Fate},
    persona::{Call, Pause},
    plan::{LoadPlan, Marks},
};

#[derive(Debug)]
pub(super) struct Door<C> {
    clients: Clients,
    marks: Marks,
    timeout: Duration,
    renewed_in: Vec<usize>,
    held: BTreeMap<JobId, Held<C>>,
    /// When those that are held lose their patience.
    limits: BTreeSet<(Timestamp, JobId)>,
}

#[derive(Debug)]
struct Held<C> {
    guest: Box<Guest<C>>,
    limit: Limit,
}

/// What a user's own policy said to its request.
#[derive(Debug)]
pub(super) enum Said<C> {
    Go(Box<Guest<C>>),
    Refused(Box<Guest<C>>, RetryHint),
    /// The user is looked after.
    Wait,
}

impl<C> Door<C> {
    pub(super) fn of(plan: &LoadPlan) -> Option<Self> {
        // A crowd is made of the same plan, which checks it.
        let clients = Clients::new(plan.client.as_ref()?, seed_for(plan.seed, "clients")).ok()?;
        Some(Self::with(clients, plan))
    }

    pub(super) fn with(clients: Clients, plan: &LoadPlan) -> Self {
        Self {
            clients,
            marks: plan.marks.clone(),
            timeout: plan.timeout,
            renewed_in: plan.client.iter().flat_map(|client| client.renewed_in.clone()).collect(),
            held: BTreeMap::new(),
            limits: BTreeSet::new(),
        }
    }

    pub(super) fn gauges(&self) -> ClientGauges {
        self.clients.gauges()
    }

    pub(super) fn join(&mut self, user: u64) -> Member {
        self.clients.join(user)
    }

    pub(super) fn part(&mut self, member: Member) {
        self.clients.leave(member);
    }

    pub(super) fn next_due(&self) -> Option<Timestamp> {
        let limit = self.limits.first().map(|&(at, _)| at);
        [self.clients.next_wake(), limit].into_iter().flatten().min()
    }

    pub(super) fn is_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// Lets everybody go who is held.
    pub(super) fn close(self) -> Vec<Box<Guest<C>>> {
        self.held.into_values().map(|held| held.guest).collect()
    }

    /// What the policy knows of a request; `told`: the answer before said not to retry.
    fn tags(&self, call: &Call, told: bool, limit: Limit) -> Tags {
        Tags {
            kind: call.kind,
            class: call.class,
            customer: self.marks.customer.get(&call.class).copied().unwrap_or_default(),
            criticality: self.marks.criticality.get(&call.class).copied().unwrap_or_default(),
            attempt: call.attempt,
            told_not_to_retry: told && call.attempt > 0,
            deadline: Some(limit.at),
        }
    }
}

impl<C> Crew<C> {
    /// Asks the user's policy about the request that it wants to send now.
    pub(super) fn ask(&mut self, mut guest: Box<Guest<C>>, now: Timestamp) -> Said<C> {
        let (Some(door), Some(visit), Some(call)) = (&mut self.door, &mut guest.visit, &guest.errand) else {
            return Said::Go(guest);
        };
        let limit = Limit::of(door.timeout, call, guest.at, guest.haste);
        let tags = door.tags(call, visit.told_not_to_retry, limit);
        if let Some(ticket) = &mut guest.ticket {
            self.recorder.asked(ticket, now);
        }
        let said = match door.clients.ask(visit.member, tags, guest.at, None, now) {
            Asked::Go(pass) => {
                put_note(&mut guest.errand, pass.note());
                visit.pass = Some(pass);
                if let (Some(until), Some(ticket)) = (visit.kept_until.take(), &mut guest.ticket) {
                    self.recorder.let_go(ticket, until);
                }
                Said::Go(guest)
            }
            Asked::Refused(hint) => Said::Refused(guest, hint),
            Asked::ComeBack(wait) => {
                // One that sends users back at once must not stop the time.
                let again = now + if wait.is_zero() { LEAST_PAUSE } else { wait };
                let late = limit.at <= again;
                let (at, due) = if late { (limit.at.max(now), over(limit)) } else { (again, Due::Ask) };
                visit.kept_until = Some(at);
                self.park(guest, due, at);
                Said::Wait
            }
            Asked::Held(id) => {
                visit.kept_until = Some(now);
                guest.pause = Some(Pause::Waiting);
                door.limits.insert((limit.at, id));
                door.held.insert(id, Held { guest, limit });
                self.count(Some(Pause::Waiting), 1);
                Said::Wait
            }
        };
        self.decide(now);
        said
    }

    /// A request that the user's policy had let go has ended so.
    pub(super) fn leave_door(&mut self, guest: &mut Guest<C>, fate: Fate, now: Timestamp) {
        let (Some(door), Some(visit)) = (&mut self.door, &mut guest.visit) else { return };
        let Some(pass) = visit.pass.take() else { return };
        let outcome = match fate {
            Fate::Served => Outcome::Served,
            Fate::Rejected => Outcome::Overloaded { retry: !visit.told_not_to_retry },
            // The generator came too late to begin with it.
            _ if guest.begun.is_none() => Outcome::Ignored,
            Fate::TimedOut => Outcome::TimedOut,
            Fate::ConnectTimedOut | Fate::ConnectFailed => Outcome::Unavailable,
            Fate::Failed if guest.setback.unanswered => Outcome::Unavailable,
            Fate::Failed | Fate::Elsewhere => Outcome::Failed,
            Fate::Abandoned | Fate::InFlight | Fate::RefusedLocally | Fate::Unsent => Outcome::Abandoned,
        };
        door.clients.ended(pass, outcome, visit.note.take(), now);
        self.decide(now);
    }

    /// A phase begins.
    pub(super) fn renew_door(&mut self, phase: usize, now: Timestamp) {
        let Some(door) = self.door.as_mut().filter(|door| door.renewed_in.contains(&phase)) else { return };
        door.clients.renew(now);
        self.decide(now);
    }

    /// Does the first thing that is due: a policy's own, or the end of somebody's patience.
    pub(super) fn tend_door(&mut self, now: Timestamp) {
        let Some(door) = &mut self.door else { return };
        let limit = door.limits.first().copied();
        match limit {
            Some((at, id)) if door.clients.next_wake().is_none_or(|wake| at < wake) => {
                door.limits.pop_first();
                door.clients.left(id, now);
                if let Some(Held { guest, limit }) = door.held.remove(&id) {
                    self.rouse(guest, over(limit), now);
                }
            }
            _ => door.clients.wake(now),
        }
        self.decide(now);
    }

    /// Does what policies have decided about those that they held.
    fn decide(&mut self, now: Timestamp) {
        while let Some(door) = &mut self.door
            && let Some(decided) = door.clients.decided()
        {
            let (id, due, pass) = match decided {
                Decided::Go(id, pass) => (id, Due::Go, Some(pass)),
                Decided::Refused(id, hint) => (id, Due::Over(NeverSent::Refused(hint)), None),
            };
            let Some(Held { mut guest, limit }) = door.held.remove(&id) else { continue };
            door.limits.remove(&(limit.at, id));
            if let (Some(pass), Some(visit), Some(ticket)) = (pass, &mut guest.visit, &mut guest.ticket) {
                visit.kept_until = None;
                put_note(&mut guest.errand, pass.note());
                visit.pass = Some(pass);
                self.recorder.let_go(ticket, now);
            }
            self.rouse(guest, due, now);
        }
    }

    /// The user waits for its turn with its policy.
    fn park(&mut self, mut guest: Box<Guest<C>>, due: Due, at: Timestamp) {
        guest.pause = Some(Pause::Waiting);
        self.count(guest.pause, 1);
        self.rouse(guest, due, at);
    }

    /// A user that is counted as waiting has its turn then.
    fn rouse(&mut self, mut guest: Box<Guest<C>>, due: Due, at: Timestamp) {
        guest.due = due;
        self.sleepers.push(Sleeper { at, number: guest.number, guest });
    }
}

/// Puts what the user's policy tells on the request, in place of what it told with an earlier attempt.
fn put_note(call: &mut Option<Call>, note: Option<Note>) {
    let Some(call) = call else { return };
    let is_note = |line: &&str| line.split(':').next() == Some(NOTE);
    if note.is_none() && !call.headers.split_inclusive("\r\n").any(|line| is_note(&line)) {
        return;
    }
    let mut lines: String = call.headers.split_inclusive("\r\n").filter(|line| !is_note(line)).collect();
    if let Some(Note(number)) = note {
        lines += &format!("{NOTE}: {number}\r\n");
    }
    call.headers = lines.into();
}

/// The request has waited as long as it may.
fn over(limit: Limit) -> Due {
    Due::Over(if limit.end == End::GaveUp { NeverSent::GaveUp } else { NeverSent::TimedOut })
}
