//! Policies on the sender's side: each is asked before a request is sent, and told how the requests that it let go have ended.
//!
//! One gate for each who shares a policy, made when it is first asked. It differs from [`super::Gate`] in what its policy is told:
//! nothing of workers and batches, which are a server's; and in the answer to "come back", which a sender can obey.

#[cfg(test)]
mod tests;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::gauges::name_of;
use crate::{
    Entry, Grant, JobId, Next, Note, Objective, Offer, Outcome, Place, Policy, RetryHint, Seat, Seen, Site, SiteId,
    Tags, Timestamp, Timing, UnixSeconds, Verdict, catalogue::Factory, seat::HeldJob, seed_for,
};

/// Which senders share one client-side policy, and what it has learnt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientScope {
    /// Nobody: each sender has its own, as long as it is there.
    User,
    /// Groups of this many senders, like those of one client process. A new sender takes the place of one that has left.
    Group(u32),
    /// All senders.
    #[default]
    All,
}

/// Client-side policies of one kind, each with what it has learnt. `J` is what the host gives with a request, and gets back when a
/// held one is decided about or leaves. Hosts call [`Clients::poll`] after every other call, and when a policy is due.
#[derive(Debug)]
pub struct Clients<J> {
    recipe: Recipe,
    scope: ClientScope,
    /// By the number of the group that shares one.
    gates: Vec<Option<ClientGate<J>>>,
    /// When which gate is due.
    wakes: BTreeSet<(Timestamp, usize)>,
    /// Gates that have been called since they were last polled.
    called: VecDeque<usize>,
    /// Places that somebody has left, and how many there are in all.
    free: BinaryHeap<Reverse<u32>>,
    places: u32,
    totals: ClientGauges,
    wall: UnixSeconds,
}

/// How policies are made.
#[derive(Debug)]
struct Recipe {
    entry: &'static Entry,
    factory: Factory,
    objective: Objective,
    /// Root of their randomness.
    seed: u64,
}

#[derive(Debug)]
struct ClientGate<J> {
    seat: Seat<J>,
    site: Site,
    wakes_at: Option<Timestamp>,
}

/// What can be seen of policies on the sender's side.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientGauges {
    /// Requests that wanted to be sent, those that came back counted again.
    pub offered: u64,
    /// Requests that were let go.
    pub let_go: u64,
    /// Requests that were refused, or sent back for a while.
    pub refused: u64,
    /// Held now.
    pub held: u64,
    /// Ends of requests that their policy did not know as in flight: an error of the host.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub contradictions: u64,
    /// What the policies show, as the mean over the first 64 of them.
    pub policy: BTreeMap<String, f64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Policies whose gauges are looked at: there may be one for each of a hundred thousand users.
const SHOWN: usize = 64;

/// A sender.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    place: u32,
    number: u64,
}

/// A request that has been let go: it is to be ended once ([`Clients::ended`]).
#[derive(Debug)]
#[must_use = "a request that was let go must be ended"]
pub struct Pass {
    group: usize,
    offer: Offer,
    grant: Grant,
    offered: Timestamp,
    let_go: Timestamp,
    note: Option<Note>,
}

impl Pass {
    /// What the policy puts on the request.
    #[must_use]
    pub fn note(&self) -> Option<Note> {
        self.note
    }
}

/// The answer to a request.
#[derive(Debug)]
pub enum Asked {
    /// The request may be sent.
    Go(Pass),
    /// The request must not be sent.
    Refused(RetryHint),
    /// The sender must ask again after this time.
    ComeBack(Duration),
    /// The request waits until it is [`Decided`] about, or leaves ([`Clients::left`]).
    Held(JobId),
}

/// What became of a request that was held.
#[derive(Debug)]
pub enum Decided<J> {
    /// The request may be sent.
    Go(J, Pass),
    /// The request must not be sent.
    Refused(J, RetryHint),
}

impl<J> Clients<J> {
    /// Policies of this entry, with an objective for each. `seed`: root of their randomness.
    #[must_use]
    pub fn new(entry: &'static Entry, factory: Factory, scope: ClientScope, objective: Objective, seed: u64) -> Self {
        Self {
            recipe: Recipe { entry, factory, objective, seed },
            scope,
            gates: Vec::new(),
            wakes: BTreeSet::new(),
            called: VecDeque::new(),
            free: BinaryHeap::new(),
            places: 0,
            totals: ClientGauges::default(),
            wall: UnixSeconds::default(),
        }
    }

    /// What can be seen now.
    #[must_use]
    pub fn gauges(&self) -> ClientGauges {
        let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for gate in self.gates.iter().flatten().take(SHOWN) {
            gate.seat.gauges(&mut |gauge, value| {
                if value.is_finite() {
                    let (sum, many) = sums.entry(name_of(gauge)).or_default();
                    *sum += value;
                    *many += 1.0;
                }
            });
        }
        let policy = sums.into_iter().map(|(name, (sum, many))| (name, sum / many)).collect();
        ClientGauges { policy, ..self.totals.clone() }
    }

    /// A sender joins, whose number no other one has. It takes the lowest place that is free.
    pub fn join(&mut self, number: u64) -> Member {
        let place = self.free.pop().map_or(self.places, |Reverse(place)| place);
        self.places = self.places.max(place + 1);
        Member { place, number }
    }

    /// A sender leaves, with no request open.
    pub fn leave(&mut self, member: Member) {
        self.free.push(Reverse(member.place));
        let group = self.group_of(member);
        if self.scope == ClientScope::User
            && let Some(left) = self.gates.get_mut(group).and_then(Option::take)
            && let Some(at) = left.wakes_at
        {
            self.wakes.remove(&(at, group));
        }
    }

    /// Sets the wall clock that the policies see. Hosts call this before each other call that takes a time.
    pub fn set_wall(&mut self, wall: UnixSeconds) {
        self.wall = wall;
    }

    /// A request asks to be sent. `entered`: since when; `told`: what came with the request on whose behalf it is made, if it is;
    /// `job`: what is kept of it if it is held, under this identity.
    pub fn ask(
        &mut self,
        member: Member,
        tags: Tags,
        entered: Timestamp,
        told: Option<Note>,
        now: Timestamp,
        job: impl FnOnce(JobId) -> J,
    ) -> Asked {
        let group = self.group_of(member);
        let id = JobId(self.totals.offered);
        self.totals.offered += 1;
        self.called.push_back(group);
        let offer = Offer { id, tags, entered, note: told };
        let seat = self.seat(group, member);
        match seat.decide_with(now, &offer, || job(id)) {
            Verdict::Admit(grant) => {
                let pass = Pass { group, offer, grant, offered: now, let_go: now, note: seat.note(id) };
                self.totals.let_go += 1;
                Asked::Go(pass)
            }
            Verdict::Refuse(refusal) => {
                self.totals.refused += 1;
                Asked::Refused(refusal.retry)
            }
            Verdict::ComeBack(wait) => {
                self.totals.refused += 1;
                Asked::ComeBack(wait)
            }
            Verdict::Hold => {
                self.totals.held += 1;
                Asked::Held(id)
            }
        }
    }

    /// A request that had been let go has ended; `note`: what its reply told beside the answer.
    #[expect(clippy::needless_pass_by_value, reason = "a pass is handed back once")]
    pub fn ended(&mut self, pass: Pass, outcome: Outcome, note: Option<Note>, now: Timestamp) {
        let Pass { group, offer: Offer { id, tags, entered, .. }, grant, offered, let_go, .. } = pass;
        let timing = Timing { entered, offered, started: let_go, ended: now };
        let Some(Some(gate)) = self.gates.get_mut(group) else { return };
        self.totals.contradictions += u64::from(!gate.seat.is_in_flight(id));
        self.called.push_back(group);
        gate.seat.set_wall(self.wall);
        gate.seat.observe(now, &Seen::Ended { id, grant, tags, outcome, timing, cost: None, note });
    }

    /// A request of this sender that is held is not wanted any more. `None` if it was decided about.
    pub fn left(&mut self, member: Member, id: JobId, now: Timestamp) -> Option<J> {
        let group = self.group_of(member);
        let gone = self.gate(group)?.seat.leave(now, id)?;
        self.totals.held -= 1;
        self.called.push_back(group);
        Some(gone.job)
    }

    /// When a policy is due: then poll.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.wakes.first().map(|&(at, _)| at)
    }

    /// Switches to policies of another entry: requests that were let go keep their passes, held ones are offered to the new policies, in order.
    pub fn replace(&mut self, now: Timestamp, entry: &'static Entry, factory: Factory) {
        self.recipe.entry = entry;
        self.recipe.factory = factory;
        self.renew(now);
    }

    /// All policies are replaced by new ones, which are asked about the requests that are held, in order.
    pub fn renew(&mut self, now: Timestamp) {
        for (group, gate) in self.gates.iter_mut().enumerate() {
            if let Some(ClientGate { seat, site, .. }) = gate {
                seat.set_wall(self.wall);
                seat.replace(now, self.recipe.policy(site));
                self.called.push_back(group);
            }
        }
    }

    /// Lets policies do what is due, and says what became of held requests, one after the other, until it says `None`.
    pub fn poll(&mut self, now: Timestamp) -> Option<Decided<J>> {
        while let Some(group) = self.next_to_poll(now) {
            let Some(gate) = self.gate(group) else {
                self.called.pop_front();
                continue;
            };
            let wakes_at = match gate.seat.poll(now) {
                Next::Release(HeldJob { job, offer, offered }, grant) => {
                    let note = gate.seat.note(offer.id);
                    self.totals.held -= 1;
                    self.totals.let_go += 1;
                    return Some(Decided::Go(job, Pass { group, offer, grant, offered, let_go: now, note }));
                }
                Next::Refuse(HeldJob { job, .. }, refusal) => {
                    self.totals.held -= 1;
                    self.totals.refused += 1;
                    return Some(Decided::Refused(job, refusal.retry));
                }
                // Quality, pools, sites upstream and replies are a server's.
                Next::Do(_) => continue,
                Next::WakeAt(at) => Some(at),
                Next::Idle => None,
            };
            let before = std::mem::replace(&mut gate.wakes_at, wakes_at);
            self.called.pop_front();
            if before != wakes_at {
                before.into_iter().for_each(|at| _ = self.wakes.remove(&(at, group)));
                self.wakes.extend(wakes_at.map(|at| (at, group)));
            }
        }
        None
    }

    /// The gate that was called first, else the one that is due first.
    fn next_to_poll(&mut self, now: Timestamp) -> Option<usize> {
        if self.called.is_empty() {
            let due = self.wakes.first().filter(|(at, _)| *at <= now)?;
            self.called.push_back(due.1);
        }
        self.called.front().copied()
    }

    /// The gate of a group, if it was asked before, with the wall clock as it is.
    fn gate(&mut self, group: usize) -> Option<&mut ClientGate<J>> {
        let gate = self.gates.get_mut(group)?.as_mut()?;
        gate.seat.set_wall(self.wall);
        Some(gate)
    }

    fn group_of(&self, member: Member) -> usize {
        match self.scope {
            ClientScope::User => member.place as usize,
            ClientScope::Group(users) => (member.place / users.max(1)) as usize,
            ClientScope::All => 0,
        }
    }

    fn seat(&mut self, group: usize, member: Member) -> &mut Seat<J> {
        if self.gates.len() <= group {
            self.gates.resize_with(group + 1, || None);
        }
        let (recipe, scope) = (&self.recipe, self.scope);
        let made = self.gates[group].get_or_insert_with(|| {
            let name = match scope {
                ClientScope::User => format!("client of user {}", member.number),
                ClientScope::Group(_) => format!("client of group {group}"),
                ClientScope::All => "client".to_owned(),
            };
            let id = SiteId(u16::try_from(group).unwrap_or(u16::MAX));
            let site = Site { id, name, place: Place::Client, objective: recipe.objective };
            let seat = Seat::new(id, recipe.policy(&site), seed_for(recipe.seed, &site.name), Box::new(()));
            ClientGate { seat, site, wakes_at: None }
        });
        made.seat.set_wall(self.wall);
        &mut made.seat
    }
}

impl Recipe {
    fn policy(&self, site: &Site) -> Box<dyn Policy> {
        let Self { entry, factory, .. } = self;
        factory.policy(site).unwrap_or_else(|| unreachable!("{} was checked to be a policy", entry.name))
    }
}
