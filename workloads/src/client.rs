//! Policies on the sender's side: one seat for each who shares a policy, made when it is first asked.
//!
//! Pure: whoever drives it says what time it is, keeps those that are held, and asks again when it is due. Users are driven
//! by the books that all hosts share; a service that calls another one may be driven likewise.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque},
    time::Duration,
};

use controllers::{
    Entry, Grant, JobId, Next, Note, Objective, Offer, Outcome, Place, Policy, RetryHint, Seat, Seen, Site, SiteId,
    Tags, Timestamp, Timing, UnixSeconds,
    catalogue::{Problem, Values},
    seat::{Decision, Waiting},
    seed_for,
};

use measure::ClientGauges;

use crate::plan::{ClientScope, ClientSpec};

/// The header of a [`Note`] on a reply, or on a request: a whole number, which means something to the policies of both sides alone.
pub const NOTE: &str = "x-note";

/// The note in such a header; nonsense is none.
#[must_use]
pub fn note(value: &[u8]) -> Option<Note> {
    std::str::from_utf8(value).ok()?.trim().parse().ok().map(Note)
}

/// Client-side policies of one kind, each with what it has learnt.
#[derive(Debug)]
pub struct Clients {
    entry: &'static Entry,
    values: Values,
    scope: ClientScope,
    objective: Objective,
    seed: u64,
    posts: Vec<Option<Post>>,
    wakes: BTreeSet<(Timestamp, usize)>,
    /// Places that somebody left, and how many there are in all.
    free: BinaryHeap<Reverse<u32>>,
    places: u32,
    jobs: u64,
    /// Which post holds a request.
    held: BTreeMap<JobId, usize>,
    decided: VecDeque<Decided>,
    let_go: u64,
    refused: u64,
    wall: UnixSeconds,
}

/// Policies whose gauges are looked at: there may be one for each of a hundred thousand users.
const SHOWN: usize = 64;

#[derive(Debug)]
struct Post {
    seat: Seat<Request>,
    site: Site,
    wakes_at: Option<Timestamp>,
}

/// Somebody who sends.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    place: u32,
    number: u64,
}

/// A request that has been let go: it is to be ended once ([`Clients::ended`]).
#[derive(Debug)]
#[must_use = "a request that was let go must be ended"]
pub struct Pass {
    request: Request,
    grant: Grant,
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

#[derive(Debug, Clone, Copy)]
struct Request {
    id: JobId,
    post: usize,
    tags: Tags,
    entered: Timestamp,
    offered: Timestamp,
}

/// The answer to a request.
#[derive(Debug)]
pub enum Asked {
    /// It may be sent.
    Go(Pass),
    /// It may not.
    Refused(RetryHint),
    /// It is to ask again after this long.
    ComeBack(Duration),
    /// It waits until it is [`Decided`] about, or goes away ([`Clients::left`]).
    Held(JobId),
}

/// What became of a request that was held.
#[derive(Debug)]
pub enum Decided {
    /// It may be sent.
    Go(JobId, Pass),
    /// It may not.
    Refused(JobId, RetryHint),
}

impl Clients {
    /// Policies by this choice. `seed`: root of their randomness.
    ///
    /// # Errors
    /// See [`ClientSpec::resolve`].
    pub fn new(spec: &ClientSpec, seed: u64) -> Result<Self, Vec<Problem>> {
        let (entry, values) = spec.resolve()?;
        Ok(Self::of(entry, values, spec, seed))
    }

    /// Policies of this entry, whatever the choice says of them.
    pub(crate) fn of(entry: &'static Entry, values: Values, spec: &ClientSpec, seed: u64) -> Self {
        Self {
            entry,
            values,
            scope: spec.scope,
            objective: spec.objective,
            seed,
            posts: Vec::new(),
            wakes: BTreeSet::new(),
            free: BinaryHeap::new(),
            places: 0,
            jobs: 0,
            held: BTreeMap::new(),
            decided: VecDeque::new(),
            let_go: 0,
            refused: 0,
            wall: UnixSeconds::default(),
        }
    }

    /// What can be seen now.
    #[must_use]
    pub fn gauges(&self) -> ClientGauges {
        let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for post in self.posts.iter().flatten().take(SHOWN) {
            post.seat.gauges(&mut |gauge, value| {
                let name = gauge.class.map_or_else(|| gauge.name.to_owned(), |c| format!("{}[{}]", gauge.name, c.0));
                if value.is_finite() {
                    let (sum, many) = sums.entry(name).or_default();
                    *sum += value;
                    *many += 1.0;
                }
            });
        }
        ClientGauges {
            offered: self.jobs,
            let_go: self.let_go,
            refused: self.refused,
            held: self.held.len() as u64,
            policy: sums.into_iter().map(|(name, (sum, many))| (name, sum / many)).collect(),
        }
    }

    /// Somebody comes, who has this number and no other one has. It takes the lowest place that is free.
    pub fn join(&mut self, number: u64) -> Member {
        let place = self.free.pop().map_or(self.places, |Reverse(place)| place);
        self.places = self.places.max(place + 1);
        Member { place, number }
    }

    /// Somebody goes, with no request open.
    pub fn leave(&mut self, member: Member) {
        self.free.push(Reverse(member.place));
        let post = self.post_of(member);
        if self.scope == ClientScope::User
            && let Some(post_left) = self.posts.get_mut(post).and_then(Option::take)
            && let Some(at) = post_left.wakes_at
        {
            self.wakes.remove(&(at, post));
        }
    }

    /// Shows the wall clock to the policies that are asked from now on.
    pub fn set_wall(&mut self, wall: UnixSeconds) {
        self.wall = wall;
    }

    /// A request wants to be sent. `entered`: since when; `told`: what came with the request on whose behalf it is made, if it is.
    pub fn ask(&mut self, member: Member, tags: Tags, entered: Timestamp, told: Option<Note>, now: Timestamp) -> Asked {
        let post = self.post_of(member);
        let id = JobId(self.jobs);
        self.jobs += 1;
        let request = Request { id, post, tags, entered, offered: now };
        let offer = Offer { id, tags, entered, note: told };
        let wall = self.wall;
        let seat = self.seat(post, member);
        seat.set_wall(wall);
        let asked = match seat.decide(now, &offer, request) {
            Decision::Admit(request, grant) => {
                Asked::Go(Pass { request, grant, let_go: now, note: seat.note(request.id) })
            }
            Decision::Refuse(_, refusal) => Asked::Refused(refusal.retry),
            Decision::ComeBack(_, wait) => Asked::ComeBack(wait),
            Decision::Hold => Asked::Held(id),
        };
        match asked {
            Asked::Go(_) => self.let_go += 1,
            Asked::Refused(_) | Asked::ComeBack(_) => self.refused += 1,
            Asked::Held(id) => _ = self.held.insert(id, post),
        }
        self.poll(post, now);
        asked
    }

    /// A request that had been let go has ended so; `note`: what its reply told beside the answer.
    #[expect(clippy::needless_pass_by_value, reason = "a pass is handed back once")]
    pub fn ended(&mut self, pass: Pass, outcome: Outcome, note: Option<Note>, now: Timestamp) {
        let Pass { request: Request { id, post, tags, entered, offered }, grant, let_go, .. } = pass;
        let timing = Timing { entered, offered, started: let_go, ended: now };
        self.tell(post, &Seen::Ended { id, grant, tags, outcome, timing, cost: None, note }, now);
    }

    /// A request that was held is not wanted any more.
    pub fn left(&mut self, id: JobId, now: Timestamp) {
        if let Some(post) = self.held.remove(&id) {
            self.tell(post, &Seen::Left(id), now);
        }
    }

    /// When a policy is due.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.wakes.first().map(|&(at, _)| at)
    }

    /// Lets the policies do what is due.
    pub fn wake(&mut self, now: Timestamp) {
        while let Some(&(at, post)) = self.wakes.first()
            && at <= now
        {
            self.poll(post, now);
        }
    }

    /// All policies begin anew; who is held asks them again, in order.
    pub fn renew(&mut self, now: Timestamp) {
        for post in 0..self.posts.len() {
            if let Some(Post { seat, site, .. }) = &mut self.posts[post] {
                seat.replace(now, policy(self.entry, &self.values, site));
            }
            self.poll(post, now);
        }
    }

    /// What became of those that were held, one after the other. To be looked at after every call.
    pub fn decided(&mut self) -> Option<Decided> {
        self.decided.pop_front()
    }

    fn post_of(&self, member: Member) -> usize {
        match self.scope {
            ClientScope::User => member.place as usize,
            ClientScope::Group(users) => (member.place / users.max(1)) as usize,
            ClientScope::All => 0,
        }
    }

    fn seat(&mut self, post: usize, member: Member) -> &mut Seat<Request> {
        if self.posts.len() <= post {
            self.posts.resize_with(post + 1, || None);
        }
        let (entry, values, objective) = (self.entry, &self.values, self.objective);
        let (seed, scope) = (self.seed, self.scope);
        let made = self.posts[post].get_or_insert_with(|| {
            let name = match scope {
                ClientScope::User => format!("client of user {}", member.number),
                ClientScope::Group(_) => format!("client of group {post}"),
                ClientScope::All => "client".to_owned(),
            };
            let id = SiteId(u16::try_from(post).unwrap_or(u16::MAX));
            let site = Site { id, name, place: Place::Client, objective };
            let seat = Seat::new(id, policy(entry, values, &site), seed_for(seed, &site.name), Box::new(()));
            Post { seat, site, wakes_at: None }
        });
        &mut made.seat
    }

    fn tell(&mut self, post: usize, seen: &Seen, now: Timestamp) {
        if let Some(Some(told)) = self.posts.get_mut(post) {
            told.seat.observe(now, seen);
            self.poll(post, now);
        }
    }

    /// Takes in what a policy wants done, until it wants nothing more now.
    fn poll(&mut self, index: usize, now: Timestamp) {
        let Some(Some(post)) = self.posts.get_mut(index) else { return };
        let wakes_at = loop {
            match post.seat.poll(now) {
                Next::Release(Waiting { job: request, .. }, grant) => {
                    self.held.remove(&request.id);
                    self.let_go += 1;
                    let note = post.seat.note(request.id);
                    self.decided.push_back(Decided::Go(request.id, Pass { request, grant, let_go: now, note }));
                }
                Next::Refuse(Waiting { job: request, .. }, refusal) => {
                    self.held.remove(&request.id);
                    self.refused += 1;
                    self.decided.push_back(Decided::Refused(request.id, refusal.retry));
                }
                // Quality, pools, sites upstream and replies are a server's.
                Next::Do(_) => {}
                Next::WakeAt(at) => break Some(at),
                Next::Idle => break None,
            }
        };
        let before = std::mem::replace(&mut post.wakes_at, wakes_at);
        if before != wakes_at {
            before.into_iter().for_each(|at| _ = self.wakes.remove(&(at, index)));
            self.wakes.extend(wakes_at.map(|at| (at, index)));
        }
    }
}

fn policy(entry: &Entry, values: &Values, site: &Site) -> Box<dyn Policy> {
    entry.policy(values, site).unwrap_or_else(|| unreachable!("{} was checked to be a policy", entry.name))
}
