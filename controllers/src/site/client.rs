//! Policies on the sender's side: each is asked before a request is sent, and told how the released requests have
//! ended.
//!
//! The senders that share a policy have one gate, created at its first request. It differs from [`super::Gate`] in the
//! facts for its policy: none about workers and batches, which belong to a server; and in the reaction to "come back",
//! which a sender can obey.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::gauges::name_of;
use crate::{
    Entry, Grant, JobId, Next, Note, Objective, Offer, Outcome, Place, Policy, RetryHint, Seat, Seen, Site, SiteId,
    Tags, Timestamp, Timing, UnixSeconds, Verdict, catalogue::Factory, seat::Waiting, seed_for,
};

/// The senders that share one client-side policy and its state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientScope {
    /// No sharing: each sender has a policy of its own, as long as it is there.
    User,
    /// Groups of this number of senders that are present at the same time, like those of one client process. A new
    /// sender takes the place of one that left.
    Group(u32),
    /// All senders.
    #[default]
    All,
}

/// Client-side policies of one kind, each with its own state. `J` is the host's payload of a request, returned when a
/// held request is decided or leaves. Hosts call [`Clients::poll`] after every other call, and when a policy is due.
#[derive(Debug)]
pub struct Clients<J> {
    recipe: Recipe,
    scope: ClientScope,
    /// The gates, by the number of the group that shares each.
    gates: Vec<Option<ClientGate<J>>>,
    /// The wake-up of each gate.
    wakes: BTreeSet<(Timestamp, usize)>,
    /// Gates that have been called since their last poll.
    called: VecDeque<usize>,
    /// Places of senders that have left, and the number of all places.
    free: BinaryHeap<Reverse<u32>>,
    places: u32,
    totals: ClientGauges,
    wall: UnixSeconds,
}

/// The maker of policies.
#[derive(Debug)]
struct Recipe {
    entry: &'static Entry,
    factory: Factory,
    objective: Objective,
    /// The root of the policies' randomness.
    seed: u64,
}

#[derive(Debug)]
struct ClientGate<J> {
    seat: Seat<J>,
    site: Site,
    wakes_at: Option<Timestamp>,
}

/// The gauges of client-side policies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientGauges {
    /// Offered requests; those that were sent back and came again count again.
    pub offered: u64,
    /// Released requests.
    pub let_go: u64,
    /// Requests that were refused or sent back for a while.
    pub refused: u64,
    /// Requests held now.
    pub held: u64,
    /// The policies' gauges, as the mean over the first 64 of them.
    pub policy: BTreeMap<String, f64>,
}

/// The number of policies whose gauges are read: there may be one for each of a hundred thousand users.
const SHOWN: usize = 64;

/// A sender.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    place: u32,
    number: u64,
}

/// A released request, which must be ended once ([`Clients::ended`]).
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
    /// The policy's note for the request.
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
    /// The request waits until it is [`Decided`], or leaves ([`Clients::left`]).
    Held(JobId),
}

/// The decision about a held request.
#[derive(Debug)]
pub enum Decided<J> {
    /// The request may be sent.
    Go(J, Pass),
    /// The request must not be sent.
    Refused(J, RetryHint),
}

impl<J> Clients<J> {
    /// Policies of this entry, each with this objective. `seed`: root of their randomness.
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

    /// The current gauges.
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

    /// Adds a sender with a unique number. It takes the lowest free place.
    pub fn join(&mut self, number: u64) -> Member {
        let place = self.free.pop().map_or(self.places, |Reverse(place)| place);
        self.places = self.places.max(place + 1);
        Member { place, number }
    }

    /// Removes a sender without an open request.
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

    /// Sets the wall clock for policies that are asked from now on.
    pub fn set_wall(&mut self, wall: UnixSeconds) {
        self.wall = wall;
    }

    /// Asks the policy about a request. `entered`: when the request was first wanted; `told`: the note of the request
    /// on whose behalf it is made, if any; `job`: the payload to store if the request is held, under this identity.
    pub fn ask(
        &mut self,
        member: Member,
        tags: Tags,
        entered: Timestamp,
        told: Option<Note>,
        now: Timestamp,
        job: impl FnOnce(JobId) -> J,
    ) -> Asked {
        let (group, wall) = (self.group_of(member), self.wall);
        let id = JobId(self.totals.offered);
        self.totals.offered += 1;
        self.called.push_back(group);
        let offer = Offer { id, tags, entered, note: told };
        let seat = self.seat(group, member);
        seat.set_wall(wall);
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

    /// Ends a released request; `note`: the note of its reply.
    #[expect(clippy::needless_pass_by_value, reason = "a pass is handed back once")]
    pub fn ended(&mut self, pass: Pass, outcome: Outcome, note: Option<Note>, now: Timestamp) {
        let Pass { group, offer: Offer { id, tags, entered, .. }, grant, offered, let_go, .. } = pass;
        let timing = Timing { entered, offered, started: let_go, ended: now };
        if let Some(Some(gate)) = self.gates.get_mut(group) {
            gate.seat.observe(now, &Seen::Ended { id, grant, tags, outcome, timing, cost: None, note });
            self.called.push_back(group);
        }
    }

    /// Removes a held request of this sender. `None` if it was decided.
    pub fn left(&mut self, member: Member, id: JobId, now: Timestamp) -> Option<J> {
        let group = self.group_of(member);
        let gone = self.gates.get_mut(group)?.as_mut()?.seat.leave(now, id)?;
        self.totals.held -= 1;
        self.called.push_back(group);
        Some(gone.job)
    }

    /// The time at which a policy is due, and the host must poll.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.wakes.first().map(|&(at, _)| at)
    }

    /// Replaces all policies by new ones, which are asked about the held requests in order.
    pub fn renew(&mut self, now: Timestamp) {
        for (group, gate) in self.gates.iter_mut().enumerate() {
            if let Some(ClientGate { seat, site, .. }) = gate {
                seat.replace(now, self.recipe.policy(site));
                self.called.push_back(group);
            }
        }
    }

    /// Lets policies perform the work that is due, and returns the decisions about held requests one after the other,
    /// until `None`.
    pub fn poll(&mut self, now: Timestamp) -> Option<Decided<J>> {
        while let Some(group) = self.next_to_poll(now) {
            let Some(Some(gate)) = self.gates.get_mut(group) else {
                self.called.pop_front();
                continue;
            };
            let wakes_at = match gate.seat.poll(now) {
                Next::Release(Waiting { job, offer, offered }, grant) => {
                    let note = gate.seat.note(offer.id);
                    self.totals.held -= 1;
                    self.totals.let_go += 1;
                    return Some(Decided::Go(job, Pass { group, offer, grant, offered, let_go: now, note }));
                }
                Next::Refuse(Waiting { job, .. }, refusal) => {
                    self.totals.held -= 1;
                    self.totals.refused += 1;
                    return Some(Decided::Refused(job, refusal.retry));
                }
                // Quality, pools, upstream sites and replies belong to a server.
                Next::Do(_) => continue,
                Next::WakeAt(at) => Some(at),
                Next::Idle => None,
            };
            self.called.pop_front();
            let before = std::mem::replace(&mut gate.wakes_at, wakes_at);
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
        &mut made.seat
    }
}

impl Recipe {
    fn policy(&self, site: &Site) -> Box<dyn Policy> {
        let Self { entry, factory, .. } = self;
        factory.policy(site).unwrap_or_else(|| unreachable!("{} was checked to be a policy", entry.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Ctx, Effect, Gauge, Machine, Settings,
        catalogue::{EntryKind, Source},
    };

    /// Holds every request, and releases the oldest each second.
    #[derive(Debug, Default)]
    struct OneASecond {
        held: Vec<JobId>,
        next: Timestamp,
    }

    impl Machine for OneASecond {
        fn observe(&mut self, seen: &Seen, _: &mut Ctx<'_>) {
            if let Seen::Left(gone) = seen {
                self.held.retain(|id| id != gone);
            }
        }

        fn next_wake(&self) -> Option<Timestamp> {
            Some(self.next)
        }

        fn wake(&mut self, cx: &mut Ctx<'_>) {
            self.next = cx.now + Duration::from_secs(1);
            if !self.held.is_empty() {
                cx.effects.push(Effect::Release(self.held.remove(0), Grant::default()));
            }
        }

        fn gauges(&self, _: &mut dyn FnMut(Gauge, f64)) {}
    }

    impl Policy for OneASecond {
        fn offer(&mut self, job: &Offer, _: &mut Ctx<'_>) -> Verdict {
            self.held.push(job.id);
            Verdict::Hold
        }
    }

    static ONE_A_SECOND: Entry = Entry {
        name: "test",
        about: "",
        caution: "",
        source: Source { title: "", place: "" },
        deviations: &[],
        places: &[Place::Client],
        presets: &[],
        samples: &[],
        kind: EntryKind::Policy(|reader| reader.make(|(): &(), _| Box::<OneASecond>::default())),
    };

    #[test]
    fn a_held_request_comes_back_with_what_its_host_gave() {
        let objective = Objective { percentile: 90.0, response_time: Duration::from_secs(1) };
        let mut clients =
            Clients::new(&ONE_A_SECOND, ONE_A_SECOND.check(&Settings::new()).unwrap(), ClientScope::All, objective, 1);
        let member = clients.join(0);
        let second = Timestamp::from_secs;
        let mut held = Vec::new();
        for job in ["first", "second", "third"] {
            match clients.ask(member, Tags::default(), second(1), None, second(1), |_| job) {
                Asked::Held(id) => held.push(id),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(clients.left(member, held[0], second(1)), Some("first"));
        assert_eq!(clients.left(member, held[0], second(1)), None, "it has left");
        assert!(matches!(clients.poll(second(1)), Some(Decided::Go("second", _))));
        assert!(clients.poll(second(1)).is_none());
        assert_eq!((clients.next_wake(), clients.gauges().held), (Some(second(2)), 1));
        // A late host lets the policy perform its work once.
        let Some(Decided::Go("third", pass)) = clients.poll(second(5)) else { panic!("it is due") };
        assert!(clients.poll(second(5)).is_none());
        clients.ended(pass, Outcome::Served, None, second(6));
        let gauges = clients.gauges();
        assert_eq!((gauges.offered, gauges.let_go, gauges.refused, gauges.held), (3, 2, 0, 0));
    }
}
