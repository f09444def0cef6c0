//! Where users ask a policy of their own before they send: who is held there is data, and takes no fiber.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use controllers::{JobId, Note, Outcome, RetryHint, Tags, Timestamp, seed_for};

use super::{
    UserPool,
    turn::LEAST_PAUSE,
    user::{Due, NeverSent, TimerEntry, UserTask},
};
use crate::{
    client::{Asked, ClientGauges, Clients, Decided, Member, NOTE},
    host::{End, Limit},
    measure::Fate,
    persona::{Call, Pause},
    plan::{LoadPlan, Marks},
};

#[derive(Debug)]
pub(super) struct UserGate<C> {
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
    user: Box<UserTask<C>>,
    limit: Limit,
}

/// What a user's own policy said to its request.
#[derive(Debug)]
pub(super) enum GateAnswer<C> {
    Go(Box<UserTask<C>>),
    Refused(Box<UserTask<C>>, RetryHint),
    /// The user is looked after.
    Wait,
}

impl<C> UserGate<C> {
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
    pub(super) fn close(self) -> Vec<Box<UserTask<C>>> {
        self.held.into_values().map(|held| held.user).collect()
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

impl<C> UserPool<C> {
    /// Asks the user's policy about the request that it wants to send now.
    pub(super) fn ask(&mut self, mut user: Box<UserTask<C>>, now: Timestamp) -> GateAnswer<C> {
        let (Some(gate), Some(client), Some(call)) = (&mut self.gate, &mut user.client, &user.errand) else {
            return GateAnswer::Go(user);
        };
        let limit = Limit::of(gate.timeout, call, user.at, user.patience_factor);
        let tags = gate.tags(call, client.told_not_to_retry, limit);
        if let Some(ticket) = &mut user.ticket {
            self.recorder.asked(ticket, now);
        }
        let said = match gate.clients.ask(client.member, tags, user.at, None, now) {
            Asked::Go(pass) => {
                put_note(&mut user.errand, pass.note());
                client.pass = Some(pass);
                if let (Some(until), Some(ticket)) = (client.kept_until.take(), &mut user.ticket) {
                    self.recorder.let_go(ticket, until);
                }
                GateAnswer::Go(user)
            }
            Asked::Refused(hint) => GateAnswer::Refused(user, hint),
            Asked::ComeBack(wait) => {
                // One that sends users back at once must not stop the time.
                let again = now + if wait.is_zero() { LEAST_PAUSE } else { wait };
                let late = limit.at <= again;
                let (at, due) = if late { (limit.at.max(now), over(limit)) } else { (again, Due::Ask) };
                client.kept_until = Some(at);
                self.park(user, due, at);
                GateAnswer::Wait
            }
            Asked::Held(id) => {
                client.kept_until = Some(now);
                user.pause = Some(Pause::Waiting);
                gate.limits.insert((limit.at, id));
                gate.held.insert(id, Held { user, limit });
                self.count(Some(Pause::Waiting), 1);
                GateAnswer::Wait
            }
        };
        self.decide(now);
        said
    }

    /// A request that the user's policy had let go has ended so.
    pub(super) fn leave_gate(&mut self, user: &mut UserTask<C>, fate: Fate, now: Timestamp) {
        let (Some(gate), Some(client)) = (&mut self.gate, &mut user.client) else { return };
        let Some(pass) = client.pass.take() else { return };
        let outcome = match fate {
            Fate::Served => Outcome::Served,
            Fate::Rejected => Outcome::Overloaded { retry: !client.told_not_to_retry },
            // The generator came too late to begin with it.
            _ if user.begun.is_none() => Outcome::Ignored,
            Fate::TimedOut => Outcome::TimedOut,
            Fate::ConnectTimedOut | Fate::ConnectFailed => Outcome::Unavailable,
            Fate::Failed if user.setback.unanswered => Outcome::Unavailable,
            Fate::Failed | Fate::Elsewhere => Outcome::Failed,
            Fate::Abandoned | Fate::InFlight | Fate::RefusedLocally | Fate::Unsent => Outcome::Abandoned,
        };
        gate.clients.ended(pass, outcome, client.note.take(), now);
        self.decide(now);
    }

    /// A phase begins.
    pub(super) fn renew_gate(&mut self, phase: usize, now: Timestamp) {
        let Some(gate) = self.gate.as_mut().filter(|gate| gate.renewed_in.contains(&phase)) else { return };
        gate.clients.renew(now);
        self.decide(now);
    }

    /// Does the first thing that is due: a policy's own, or the end of somebody's patience.
    pub(super) fn tend_gate(&mut self, now: Timestamp) {
        let Some(gate) = &mut self.gate else { return };
        let limit = gate.limits.first().copied();
        match limit {
            Some((at, id)) if gate.clients.next_wake().is_none_or(|wake| at < wake) => {
                gate.limits.pop_first();
                gate.clients.left(id, now);
                if let Some(Held { user, limit }) = gate.held.remove(&id) {
                    self.rouse(user, over(limit), now);
                }
            }
            _ => gate.clients.wake(now),
        }
        self.decide(now);
    }

    /// Does what policies have decided about those that they held.
    fn decide(&mut self, now: Timestamp) {
        while let Some(gate) = &mut self.gate
            && let Some(decided) = gate.clients.decided()
        {
            let (id, due, pass) = match decided {
                Decided::Go(id, pass) => (id, Due::Go, Some(pass)),
                Decided::Refused(id, hint) => (id, Due::Over(NeverSent::Refused(hint)), None),
            };
            let Some(Held { mut user, limit }) = gate.held.remove(&id) else { continue };
            gate.limits.remove(&(limit.at, id));
            if let (Some(pass), Some(client), Some(ticket)) = (pass, &mut user.client, &mut user.ticket) {
                client.kept_until = None;
                put_note(&mut user.errand, pass.note());
                client.pass = Some(pass);
                self.recorder.let_go(ticket, now);
            }
            self.rouse(user, due, now);
        }
    }

    /// The user waits for its turn with its policy.
    fn park(&mut self, mut user: Box<UserTask<C>>, due: Due, at: Timestamp) {
        user.pause = Some(Pause::Waiting);
        self.count(user.pause, 1);
        self.rouse(user, due, at);
    }

    /// A user that is counted as waiting has its turn then.
    fn rouse(&mut self, mut user: Box<UserTask<C>>, due: Due, at: Timestamp) {
        user.due = due;
        self.timers.push(TimerEntry { at, number: user.number, user });
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
