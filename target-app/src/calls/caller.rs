//! Calls of a live task: over kept connections, past the caller's own policy.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use controllers::{ClassRule, JobId, Note, Outcome, Tags, Timestamp, catalogue::Problem, seed_for};
use tokio::{
    sync::{Notify, oneshot},
    task::JoinSet,
    time::timeout_at,
};
use workloads::{
    client::{Asked, Clients, Decided, Member, Pass, clients},
    http1::names::CALLER,
    http1::{Known, Outgoing},
};

use super::{
    After, CallCounts, CallsEnded, Pool, Reply, Told, Way, carried, key_of_attempt, key_of_call,
    wire::{Broken, Wire},
};
use crate::{
    clock::Clock,
    control::wire::MadeCalls,
    stage::{Timed, keep_time, rearm},
    tree::{CallSpec, CalleeSpec, TaskSpec},
};

/// The calls of a task.
#[derive(Debug)]
pub(crate) struct Callers {
    callers: Vec<Arc<Caller>>,
    pub(super) fan_out: bool,
}

/// A task's side of the calls to one service.
#[derive(Debug)]
struct Caller {
    /// Whose task it is.
    name: String,
    spec: CallSpec,
    tasks: Vec<SocketAddr>,
    class: ClassRule,
    clock: Clock,
    desk: Mutex<Desk>,
    alarm: Notify,
}

#[derive(Debug)]
struct Desk {
    /// Who waits in it is given a place, or hears that it is refused.
    pool: Pool<Wire, oneshot::Sender<Option<Lease>>>,
    clients: Option<(Clients<oneshot::Sender<Option<Pass>>>, Member)>,
    counts: CallCounts,
    armed: Option<Timestamp>,
}

/// A place in the pool, given back when it is dropped.
#[derive(Debug)]
struct Lease {
    of: Arc<Caller>,
    task: usize,
    wire: Option<Wire>,
}

/// What the caller's own policy says.
enum Allowed {
    Go(Option<Pass>),
    Refused,
    TooLate,
}

impl Callers {
    /// Those of a task; `None` if it makes no calls. Needs a runtime.
    pub(crate) fn of(task: &TaskSpec, clock: Clock) -> Result<Option<Self>, Vec<Problem>> {
        let one = |(place, callee): (usize, &CalleeSpec)| {
            if callee.tasks.is_empty() {
                let message = "a service that is called has at least one task".to_owned();
                return Err(vec![Problem { key: callee.call.to.clone(), message }]);
            }
            let seed = seed_for(task.target.seed, &format!("call {place}"));
            let clients = callee.call.client.as_ref().map(|client| clients(client, seed)).transpose()?;
            let clients = clients.map(|mut clients| {
                let member = clients.join(0);
                (clients, member)
            });
            let caller = Arc::new(Caller {
                name: task.name.clone(),
                spec: callee.call.clone(),
                tasks: callee.tasks.clone(),
                class: task.target.class.clone(),
                clock,
                desk: Mutex::new(Desk {
                    pool: Pool::new(callee.tasks.len(), callee.balancer, callee.per, callee.call.connections, seed)
                        .capped(callee.cap),
                    clients,
                    counts: CallCounts::default(),
                    armed: None,
                }),
                alarm: Notify::new(),
            });
            if callee.call.client.is_some() {
                tokio::spawn(keep_time(Arc::downgrade(&caller)));
            }
            Ok(caller)
        };
        let callers = task.calls.iter().enumerate().map(one).collect::<Result<Vec<_>, Vec<Problem>>>()?;
        Ok((!callers.is_empty()).then_some(Self { callers, fan_out: task.fan_out }))
    }

    /// Makes all calls on behalf of a request.
    ///
    /// `draw`: the key of the request's draws, if it has one. What is called draws as it does in virtual time. `brought`: what came with the
    /// request. How they ended, and what the last reply told.
    pub(crate) async fn make(
        &self,
        tags: Tags,
        draw: Option<u64>,
        brought: Option<Note>,
    ) -> (CallsEnded, Option<Note>) {
        let (mut ended, mut told) = (CallsEnded::Answered, None);
        let each = self.callers.iter().enumerate().flat_map(|(place, caller)| {
            let key = move |number| draw.map(|request| key_of_call(request, place, number));
            (0..caller.spec.times).map(move |number| (Arc::clone(caller), key(number)))
        });
        if self.fan_out {
            let mut calls: JoinSet<_> = each.map(|(caller, key)| caller.call(tags, key, brought)).collect();
            while let Some(call) = calls.join_next().await {
                let (call, note) = call.unwrap_or((CallsEnded::Failed, None));
                told = note.or(told);
                if call != CallsEnded::Answered {
                    ended = call;
                }
            }
        } else {
            for (caller, key) in each {
                let (call, note) = caller.call(tags, key, brought).await;
                (ended, told) = (call, note.or(told));
                if ended != CallsEnded::Answered {
                    break;
                }
            }
        }
        (ended, told)
    }

    /// The callers' own policies begin anew.
    pub(crate) fn renew(&self) {
        for caller in &self.callers {
            let mut desk = caller.lock();
            let now = caller.clock.now();
            if let Some((clients, _)) = &mut desk.clients {
                clients.renew(now);
            }
            caller.look_at_policy(&mut desk, now);
        }
    }

    /// What became of them so far.
    pub(crate) fn counts(&self) -> Vec<MadeCalls> {
        let made = |caller: &Arc<Caller>| {
            let desk = caller.lock();
            let client = desk.clients.as_ref().map(|(clients, _)| clients.gauges().policy).unwrap_or_default();
            let Pool { written, refused: turned_back, .. } = desk.pool;
            MadeCalls { to: caller.spec.to.clone(), counts: desk.counts, written, turned_back, client }
        };
        self.callers.iter().map(made).collect()
    }
}

impl Caller {
    /// One call, with all its attempts; `key`: that of its draws.
    async fn call(self: Arc<Self>, of: Tags, key: Option<u64>, brought: Option<Note>) -> (CallsEnded, Option<Note>) {
        let entered = self.clock.now();
        let by_timeout = entered + self.spec.timeout;
        let deadline = of.deadline.map_or(by_timeout, |deadline| deadline.min(by_timeout));
        let mut tags = Tags { attempt: 0, told_not_to_retry: false, deadline: Some(deadline), ..of };
        let mut told = None;
        loop {
            self.lock().counts.begins(tags.attempt);
            let reply = match self.may(tags, entered, brought, deadline).await {
                Allowed::Go(pass) => {
                    let draw = key.map(|call| key_of_attempt(call, tags.attempt));
                    let note = pass.as_ref().and_then(Pass::note).or(brought);
                    let asking = Arc::clone(&self).ask(tags, note, deadline, draw);
                    let asked = timeout_at(self.clock.instant(deadline), asking).await;
                    let Told { reply, note } = asked.unwrap_or(Reply::TimedOut.into());
                    told = note.or(told);
                    self.tell_policy(pass, reply.outcome(), note);
                    reply
                }
                Allowed::TooLate => Reply::TimedOut,
                Allowed::Refused => {
                    self.lock().counts.refused_at_home();
                    return (self.spec.given_up(), told);
                }
            };
            self.lock().counts.ended(reply);
            match self.spec.after(reply, tags.attempt) {
                After::Over(ended) => return (ended, told),
                After::Again { told_not_to } => {
                    tags.attempt += 1;
                    tags.told_not_to_retry = told_not_to;
                }
            }
        }
    }

    /// Asks the caller's own policy, if there is one, and waits as long as it says.
    async fn may(&self, tags: Tags, entered: Timestamp, brought: Option<Note>, deadline: Timestamp) -> Allowed {
        loop {
            let mut decision = {
                let mut desk = self.lock();
                let now = self.clock.now();
                let Some((clients, member)) = &mut desk.clients else { return Allowed::Go(None) };
                clients.set_wall(self.clock.wall());
                let mut held = None;
                let hold = |_| {
                    let (decided, decision) = oneshot::channel();
                    held = Some(decision);
                    decided
                };
                let decision = match (clients.ask(*member, tags, entered, brought, now, hold), held) {
                    (Asked::Held(job), Some(decision)) => Ok((job, decision)),
                    (at_once, _) => Err(at_once),
                };
                self.look_at_policy(&mut desk, now);
                decision
            };
            let limit = self.clock.instant(deadline);
            match &mut decision {
                Err(Asked::ComeBack(wait)) => {
                    let back = self.clock.now() + *wait;
                    self.clock.sleep_until(back.min(deadline)).await;
                    if back >= deadline {
                        return Allowed::TooLate;
                    }
                    continue;
                }
                Ok((job, decision)) => {
                    if let Ok(decided) = timeout_at(limit, &mut *decision).await {
                        return decided.ok().flatten().map_or(Allowed::Refused, |pass| Allowed::Go(Some(pass)));
                    }
                    self.gives_up(*job, decision);
                    return Allowed::TooLate;
                }
                Err(_) => {}
            }
            return match decision {
                Err(Asked::Go(pass)) => Allowed::Go(Some(pass)),
                _ => Allowed::Refused,
            };
        }
    }

    /// A call that its policy holds has taken as long as it may.
    fn gives_up(&self, job: JobId, decision: &mut oneshot::Receiver<Option<Pass>>) {
        decision.close();
        let mut desk = self.lock();
        let now = self.clock.now();
        if let Some((clients, member)) = &mut desk.clients {
            match decision.try_recv() {
                // It was let go this very moment.
                Ok(Some(pass)) => clients.ended(pass, Outcome::TimedOut, None, now),
                _ => drop(clients.left(*member, job, now)),
            }
        }
        self.look_at_policy(&mut desk, now);
    }

    fn tell_policy(&self, pass: Option<Pass>, outcome: Outcome, note: Option<Note>) {
        let Some(pass) = pass else { return };
        let mut desk = self.lock();
        let now = self.clock.now();
        if let Some((clients, _)) = &mut desk.clients {
            clients.ended(pass, outcome, note, now);
        }
        self.look_at_policy(&mut desk, now);
    }

    /// Takes in what the policy has decided about calls that it held, and when it wants to be woken.
    fn look_at_policy(&self, desk: &mut Desk, now: Timestamp) {
        let Desk { clients: Some((clients, _)), armed, .. } = desk else { return };
        while let Some(decided) = clients.poll(now) {
            let (waits, pass) = match decided {
                Decided::Go(waits, pass) => (waits, Some(pass)),
                Decided::Refused(waits, _) => (waits, None),
            };
            if let Some(pass) = waits.send(pass).err().flatten() {
                clients.ended(pass, Outcome::Abandoned, None, now);
            }
        }
        if rearm(armed, clients.next_wake()) {
            self.alarm.notify_one();
        }
    }

    /// Sends a call and waits for the answer.
    async fn ask(self: Arc<Self>, tags: Tags, note: Option<Note>, deadline: Timestamp, draw: Option<u64>) -> Told {
        let Some(mut lease) = Arc::clone(&self).lease().await else { return Reply::Refused { retry: true }.into() };
        let to = self.tasks[lease.task];
        let host = to.to_string();
        // A kept connection may have been closed meanwhile.
        let mut kept = lease.wire.take().filter(|wire| !wire.is_stale());
        loop {
            let was_kept = kept.is_some();
            let mut wire = match kept.take() {
                Some(wire) => wire,
                None => match Wire::connect(to).await {
                    Ok(wire) => wire,
                    Err(_) => return Reply::Unavailable.into(),
                },
            };
            let left = deadline.since(self.clock.now());
            let headers = format!("{CALLER}: {}\r\n{}", self.name, carried(&tags, left, &self.class, note));
            let request = Outgoing {
                method: "GET",
                path: "/",
                host: &host,
                headers: &headers,
                body: None,
                attempt: tags.attempt,
                known: draw.map(|draw| Known { number: None, draw }),
                close: false,
            };
            self.lock().pool.written += 1;
            match wire.ask(&request).await {
                Ok(told) => {
                    lease.wire = Some(wire).filter(Wire::is_reusable);
                    return told;
                }
                // It was closed just as it was used again: once more on a new one (RFC 9112, section 9.3.1).
                Err(Broken { nothing_came: true }) if was_kept => {}
                Err(_) => return Reply::Unavailable.into(),
            }
        }
    }

    /// A place in the pool; waits for one. `None`: every task of the called service has as many calls as it may.
    async fn lease(self: Arc<Self>) -> Option<Lease> {
        let waits = {
            let mut desk = self.lock();
            if desk.pool.refuses() {
                return None;
            }
            match desk.pool.way() {
                Way::Kept(task, wire) => Ok((task, Some(wire))),
                Way::New(task) => Ok((task, None)),
                Way::Wait => {
                    let (free, waits) = oneshot::channel();
                    desk.pool.waiting.push_back(free);
                    Err(waits)
                }
            }
        };
        let waits = match waits {
            Ok((task, wire)) => return Some(Lease { of: self, task, wire }),
            Err(waits) => waits,
        };
        // Whoever gives a place back while others wait hands it on; the pool outlives them.
        match waits.await {
            Ok(lease) => lease,
            Err(_) => std::future::pending().await,
        }
    }

    /// Hands places on to those that wait longest.
    fn next_in_line(self: &Arc<Self>) {
        loop {
            let handed = {
                let mut desk = self.lock();
                let pool = &mut desk.pool;
                while pool.waiting.front().is_some_and(oneshot::Sender::is_closed) {
                    pool.waiting.pop_front();
                }
                let Some(free) = pool.waiting.pop_front() else { return };
                // As in virtual time, one whose turn has come is sent as if it came now.
                if pool.refuses() {
                    (free, None)
                } else {
                    match pool.way() {
                        Way::Kept(task, wire) => (free, Some((task, Some(wire)))),
                        Way::New(task) => (free, Some((task, None))),
                        Way::Wait => return pool.waiting.push_front(free),
                    }
                }
            };
            let (free, place) = handed;
            // Outside the lock: a lease that nobody takes any more gives itself back.
            let _ = free.send(place.map(|(task, wire)| Lease { of: Arc::clone(self), task, wire }));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        {
            let mut desk = self.of.lock();
            desk.pool.left(self.task);
            match self.wire.take() {
                Some(wire) => desk.pool.keep(self.task, wire),
                None => desk.pool.gone(),
            }
        }
        self.of.next_in_line();
    }
}

impl Timed for Caller {
    fn turn(self: &Arc<Self>) -> Option<Timestamp> {
        let mut desk = self.lock();
        let now = self.clock.now();
        desk.armed = None;
        self.look_at_policy(&mut desk, now);
        desk.armed
    }

    fn alarm(&self) -> &Notify {
        &self.alarm
    }

    fn clock(&self) -> Clock {
        self.clock
    }
}
