//! Client-side policies, which are asked before a request is sent: a held user is data, and occupies no fiber.

use std::{collections::BTreeMap, time::Duration};

use controllers::{JobId, Note, Outcome, RetryHint, Tags, Timestamp, UnixSeconds, seed_for};

use super::{
    UserPool,
    user::{ClientState, InFlight, NeverSent, UserPhase, UserTask},
};
use crate::{
    client::{Asked, ClientGauges, Clients, Decided, Member, Pass, clients},
    crowd::User,
    headers::NOTE,
    host::{ExchangeEnd, RequestDeadline},
    measure::Fate,
    persona::Call,
    plan::{ClientSpec, LoadPlan, Marks},
};

/// The smallest pause of a user that sends again after a refusal of the client gate: without it the user would ask for
/// ever at one moment.
pub(super) const LEAST_PAUSE: Duration = Duration::from_millis(1);

/// The client gate of a pool of users.
#[derive(Debug)]
pub(super) struct UserGate<C> {
    /// The policies. A user is stored in its own policy while that holds its request.
    clients: Clients<Option<Box<UserTask<C>>>>,
    settings: GateSettings,
    /// The ends of the patience of held users.
    deadlines: BTreeMap<(Timestamp, JobId), Member>,
}

/// The settings of a plan for a gate, whatever its policy.
#[derive(Debug, Clone)]
pub(super) struct GateSettings {
    seed: u64,
    marks: Marks,
    timeout: Duration,
    renewed_in: Vec<usize>,
    /// The wall clock as it was last set.
    pub(super) wall: UnixSeconds,
}

/// The client gate's answer to a user's request.
#[derive(Debug)]
pub(super) enum GateAnswer<C> {
    /// The host may send it.
    Go(Box<UserTask<C>>),
    /// The host must not send it.
    Refused(Box<UserTask<C>>, RetryHint),
    /// The gate keeps the user.
    Wait,
}

impl GateSettings {
    pub(super) fn of(plan: &LoadPlan) -> Self {
        Self {
            seed: seed_for(plan.seed, "clients"),
            marks: plan.marks.clone(),
            timeout: plan.timeout,
            renewed_in: plan.client.iter().flat_map(|client| client.renewed_in.clone()).collect(),
            wall: UnixSeconds::default(),
        }
    }
}

impl<C> UserGate<C> {
    pub(super) fn of(plan: &LoadPlan) -> Option<Self> {
        // The crowd was made of the same plan, and has checked it.
        Self::new(plan.client.as_ref()?, GateSettings::of(plan))
    }

    /// `None`: users cannot have this policy.
    fn new(client: &ClientSpec, settings: GateSettings) -> Option<Self> {
        Some(Self::with(clients(client, settings.seed).ok()?, settings))
    }

    pub(super) fn with(mut clients: Clients<Option<Box<UserTask<C>>>>, settings: GateSettings) -> Self {
        clients.set_wall(settings.wall);
        Self { clients, settings, deadlines: BTreeMap::new() }
    }

    pub(super) fn gauges(&self) -> ClientGauges {
        self.clients.gauges()
    }

    pub(super) fn set_wall(&mut self, wall: UnixSeconds) {
        self.clients.set_wall(wall);
    }

    pub(super) fn join(&mut self, user: u64) -> Box<ClientState> {
        let member = self.clients.join(user);
        Box::new(ClientState { member, pass: None, told_not_to_retry: false, note: None })
    }

    pub(super) fn part(&mut self, client: &ClientState) {
        self.clients.leave(client.member);
    }

    pub(super) fn next_due(&self) -> Option<Timestamp> {
        let deadline = self.deadlines.keys().next().map(|&(at, _)| at);
        [self.clients.next_wake(), deadline].into_iter().flatten().min()
    }

    pub(super) fn holds_users(&self) -> bool {
        !self.deadlines.is_empty()
    }

    /// Removes all held users.
    pub(super) fn close(mut self, now: Timestamp) -> Vec<Box<UserTask<C>>> {
        let deadlines = std::mem::take(&mut self.deadlines);
        deadlines.into_iter().filter_map(|((_, id), member)| self.clients.left(member, id, now).flatten()).collect()
    }

    /// The limit of the user's wait for its request.
    fn deadline_of(&self, user: &UserTask<C>, call: &Call) -> RequestDeadline {
        RequestDeadline::of(self.settings.timeout, call, user.at, user.patience_factor())
    }

    /// The tags of a request; `told`: the previous answer advised against a retry.
    fn tags(&self, user: u64, call: &Call, told: bool, deadline: RequestDeadline) -> Tags {
        Tags {
            kind: call.kind,
            class: call.class,
            user,
            customer: self.settings.marks.customer.get(&call.class).copied().unwrap_or_default(),
            criticality: self.settings.marks.criticality.get(&call.class).copied().unwrap_or_default(),
            attempt: call.attempt,
            told_not_to_retry: told && call.attempt > 0,
            deadline: Some(deadline.at),
        }
    }
}

impl<C> UserPool<C> {
    /// Asks the client gate about a request that its user wants to send now; `kept_until`: the end of the time for
    /// which the gate had sent it back.
    pub(super) fn ask(
        &mut self,
        mut user: Box<UserTask<C>>,
        call: Call,
        kept_until: Option<Timestamp>,
        now: Timestamp,
    ) -> GateAnswer<C> {
        if let (Some(gate), None) = (&mut self.gate, &user.client)
            && !matches!(user.persona, User::Background(_))
        {
            user.client = Some(gate.join(user.number)); // it was there before the gate
        }
        let (Some(gate), Some(client)) = (&mut self.gate, &user.client) else {
            user.phase = UserPhase::InFlight(InFlight::new(call, None));
            return GateAnswer::Go(user);
        };
        let (entered, member, deadline) = (user.at, client.member, gate.deadline_of(&user, &call));
        let tags = gate.tags(user.number, &call, client.told_not_to_retry, deadline);
        self.books.asked(&mut user, now);
        let mut waiting = Some((user, call));
        let hold = |id| {
            let (mut user, call) = waiting.take()?;
            user.phase = UserPhase::AtGate(call, id);
            self.timers.keep_at_gate(&user);
            Some(user)
        };
        let asked = gate.clients.ask(member, tags, entered, None, now, hold);
        let answer = match (asked, waiting) {
            (Asked::Held(id), _) => {
                gate.deadlines.insert((deadline.at, id), member);
                GateAnswer::Wait
            }
            (Asked::Go(pass), Some((mut user, mut call))) => {
                if let Some(until) = kept_until {
                    self.books.let_go(&mut user, until);
                }
                user.takes(pass, &mut call);
                user.phase = UserPhase::InFlight(InFlight::new(call, None));
                GateAnswer::Go(user)
            }
            (Asked::Refused(hint), Some((user, _))) => GateAnswer::Refused(user, hint),
            (Asked::ComeBack(wait), Some((mut user, call))) => {
                // A policy that sends users back with a wait of 0 must not stop virtual time.
                let again = now + if wait.is_zero() { LEAST_PAUSE } else { wait };
                let late = deadline.at <= again;
                let at = if late { deadline.at.max(now) } else { again };
                user.phase = if late { over(deadline) } else { UserPhase::SentBack(call, again) };
                self.timers.keep_at_gate(&user);
                self.timers.wake_from_gate(user, at);
                GateAnswer::Wait
            }
            (_, None) => unreachable!("only a held request is kept"),
        };
        self.poll_gate(now);
        answer
    }

    /// Tells the client gate how a request that it had released has ended; `begun`: when the host began with it, if it
    /// has.
    pub(super) fn leave_gate(&mut self, user: &mut UserTask<C>, begun: Option<Timestamp>, fate: Fate, now: Timestamp) {
        let (Some(gate), Some(client)) = (&mut self.gate, &mut user.client) else { return };
        let Some(pass) = client.pass.take() else { return };
        let outcome = match fate {
            Fate::Served => Outcome::Served,
            Fate::Rejected => Outcome::Overloaded { retry: !client.told_not_to_retry },
            // The generator was too late to begin it.
            _ if begun.is_none() => Outcome::Ignored,
            Fate::TimedOut => Outcome::TimedOut,
            Fate::ConnectTimedOut | Fate::ConnectFailed | Fate::Broken => Outcome::Unavailable,
            Fate::Failed | Fate::Elsewhere => Outcome::Failed,
            Fate::Abandoned | Fate::InFlight | Fate::RefusedLocally | Fate::Unsent => Outcome::Abandoned,
        };
        gate.clients.ended(pass, outcome, client.note.take(), now);
        self.poll_gate(now);
    }

    /// Switches the users' policy, also where they had none.
    pub(super) fn switch_gate(&mut self, client: &ClientSpec, now: Timestamp) {
        match (&mut self.gate, client.resolve()) {
            (Some(gate), Ok((entry, factory))) => gate.clients.replace(now, entry, factory),
            (None, Ok(_)) => self.gate = UserGate::new(client, self.overrides.gate.clone()).map(Box::new),
            (_, Err(_)) => {} // a command is checked when it is given
        }
        self.poll_gate(now);
    }

    /// Begins a phase of the plan.
    pub(super) fn renew_gate(&mut self, phase: usize, now: Timestamp) {
        let Some(gate) = self.gate.as_mut().filter(|gate| gate.settings.renewed_in.contains(&phase)) else { return };
        gate.clients.renew(now);
        self.poll_gate(now);
    }

    /// Carries out what is due at the client gate: the end of a held user's patience, if that comes before the next
    /// wake-up of a policy.
    pub(super) fn tend_gate(&mut self, now: Timestamp) {
        let Some(gate) = &mut self.gate else { return };
        let wake = gate.clients.next_wake();
        if let Some(first) = gate.deadlines.first_entry().filter(|first| wake.is_none_or(|wake| first.key().0 < wake)) {
            let ((_, id), member) = first.remove_entry();
            if let Some(mut user) = gate.clients.left(member, id, now).flatten() {
                if let UserPhase::AtGate(call, _) = &user.phase {
                    user.phase = over(gate.deadline_of(&user, call));
                }
                self.timers.wake_from_gate(user, now);
            }
        }
        self.poll_gate(now);
    }

    /// Continues the users whose held requests the client gate has decided about.
    fn poll_gate(&mut self, now: Timestamp) {
        while let Some(gate) = &mut self.gate
            && let Some(decided) = gate.clients.poll(now)
        {
            let (user, decision) = match decided {
                Decided::Go(user, pass) => (user, Ok(pass)),
                Decided::Refused(user, hint) => (user, Err(hint)),
            };
            let Some(mut user) = user else { continue };
            let UserPhase::AtGate(mut call, id) = std::mem::take(&mut user.phase) else { continue };
            gate.deadlines.remove(&(gate.deadline_of(&user, &call).at, id));
            user.phase = match decision {
                Ok(pass) => {
                    self.books.let_go(&mut user, now);
                    user.takes(pass, &mut call);
                    UserPhase::LetGo(call)
                }
                Err(hint) => UserPhase::NeverSent(NeverSent::Refused(hint)),
            };
            self.timers.wake_from_gate(user, now);
        }
    }
}

impl<C> UserTask<C> {
    /// Takes the pass of a released request.
    fn takes(&mut self, pass: Pass, call: &mut Call) {
        put_note(call, pass.note());
        if let Some(client) = &mut self.client {
            client.pass = Some(pass);
        }
    }
}

/// Puts the policy's note on the request, in place of that of an earlier attempt.
fn put_note(call: &mut Call, note: Option<Note>) {
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

/// The end of a request that has waited as long as it may.
fn over(deadline: RequestDeadline) -> UserPhase {
    UserPhase::NeverSent(if deadline.end == ExchangeEnd::GaveUp { NeverSent::GaveUp } else { NeverSent::TimedOut })
}
