//! Calls of a live task: over kept connections, past the caller's own policy.

use std::sync::{Arc, Mutex, MutexGuard};

use controllers::{Note, Random, Seeded, Tags, catalogue::Problem, seed_for};
use senders::http1::{Known, Outgoing};
use service_core::calls::{
    AttemptEnd, Call, CallContext, CallMachine, CallReply, CallStep, CallsEnded, CallsResult, Pool, RequestCalls,
    Visits,
};
use spec::{
    services::{CalleeSpec, TaskSpec},
    wire::{MadeCalls, SetCallees},
};
use tokio::{sync::oneshot, task::JoinSet, time::timeout_at};
use workloads::{headers::CALLER, plan::ClientSpec};

use super::{
    asking::{self, CallSite},
    callees::{CallWay, Callees},
    wire::Wire,
};
use crate::{
    clock::ServiceClock,
    stage::{SharedSite as _, lock},
};

/// The calls of a task.
#[derive(Debug)]
pub(crate) struct Callers {
    callers: Vec<Arc<Caller>>,
    pub(super) fan_out: bool,
    /// The keys of requests that have none.
    keys: Mutex<Seeded>,
}

/// A task's side of the calls to one service.
#[derive(Debug)]
struct Caller {
    /// The name of the calling task's service.
    name: String,
    visits: Visits,
    site: Arc<CallSite>,
    callees: Mutex<Callees<Lease>>,
}

/// A lease of a place in the pool, returned when it is dropped.
#[derive(Debug)]
struct Lease {
    of: Arc<Caller>,
    way: CallWay,
}

impl Callers {
    /// The calls of a task; `None` if it makes none. Needs a runtime.
    pub(crate) fn of(task: &TaskSpec, clock: ServiceClock) -> Result<Option<Self>, Vec<Problem>> {
        let one = |(place, callee): (usize, &CalleeSpec)| {
            let CalleeSpec { call, tasks, balancer, per, cap, reach } = callee;
            if tasks.is_empty() {
                let message = "a service that is called has at least one task".to_owned();
                return Err(vec![Problem { key: call.to.clone(), message }]);
            }
            let seed = seed_for(task.target.seed, &format!("call {place}"));
            let machine = CallMachine::new(call, &task.target.class, task.target.objective, seed)?;
            let pool = Pool::new(tasks.len(), *balancer, *per, call.connections, seed).capped(*cap).reaching(reach);
            Ok(Arc::new(Caller {
                name: task.name.clone(),
                visits: Visits::of(call),
                site: CallSite::new(machine, clock),
                callees: Mutex::new(Callees::new(tasks, pool)),
            }))
        };
        let callers = task.calls.iter().enumerate().map(one).collect::<Result<Vec<_>, Vec<Problem>>>()?;
        let keys = Mutex::new(Seeded::new(seed_for(task.target.seed, "calls")));
        Ok((!callers.is_empty()).then_some(Self { callers, fan_out: task.fan_out, keys }))
    }

    /// Makes all calls on behalf of a request.
    ///
    /// `draw`: the key of the request's draws, if it has one; called services then draw as in virtual time. `brought`:
    /// the note of the request.
    pub(crate) async fn make(&self, tags: Tags, draw: Option<u64>, brought: Option<Note>) -> CallsResult {
        let context = CallContext { tags, key: draw, note: brought };
        let key = draw.unwrap_or_else(|| lock(&self.keys).next_u64());
        let mut calls = RequestCalls::new(self.callers.iter().map(|caller| caller.visits), key, self.fan_out);
        let mut under_way = JoinSet::new();
        loop {
            while let Some((place, number)) = calls.begin_next() {
                under_way.spawn(Arc::clone(&self.callers[place]).call(context, place, number));
            }
            if let Some(result) = calls.result() {
                return result;
            }
            let ended = under_way.join_next().await.and_then(Result::ok);
            let (ended, note) = ended.unwrap_or((CallsEnded::Failed, None));
            calls.replied(note);
            calls.call_ended(ended);
        }
    }

    /// Puts new policies in place of the callers' own.
    pub(crate) fn renew(&self) {
        self.callers.iter().for_each(|caller| caller.site.with(CallMachine::renew));
    }

    /// Puts this policy in place of the callers' own, at the calls to the service `to` or at all.
    pub(crate) fn set_policy(&self, client: &ClientSpec, to: Option<&str>) -> Result<(), Vec<String>> {
        let named = |caller: &Caller| caller.site.shared().peek(|machine| machine.spec.to.clone());
        let chosen: Vec<_> = self.callers.iter().filter(|caller| to.is_none_or(|to| named(caller) == to)).collect();
        if chosen.is_empty() {
            let known: Vec<_> = self.callers.iter().map(|caller| named(caller)).collect();
            return Err(vec![format!("stage: of the calls, those to: {}", known.join(", "))]);
        }
        for caller in chosen {
            let switched = caller.site.with(|machine, now| machine.set_policy(client, now));
            switched.map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// Sends the next calls to these tasks.
    pub(crate) fn set_tasks(&self, SetCallees { call, tasks }: &SetCallees) -> Result<(), Vec<String>> {
        let Some(caller) = self.callers.get(*call) else {
            return Err(vec![format!("call: there are {} calls, the first is 0", self.callers.len())]);
        };
        let known = caller.callees().tasks();
        if tasks.len() != known {
            return Err(vec![format!("tasks: {} are named, and the called service has {known}", tasks.len())]);
        }
        let unwanted = caller.callees().set(tasks);
        drop(unwanted);
        // Some may wait for a connection that there is room for now.
        caller.next_in_line();
        Ok(())
    }

    /// Counts of the calls so far.
    pub(crate) fn counts(&self) -> Vec<MadeCalls> {
        let made = |caller: &Arc<Caller>| caller.site.shared().peek(|machine| machine.made(&caller.callees().pool));
        self.callers.iter().map(made).collect()
    }
}

impl Caller {
    /// Makes call number `number` to the called service at index `place`; returns its end and the note of its last
    /// reply.
    async fn call(self: Arc<Self>, context: CallContext, place: usize, number: u32) -> (CallsEnded, Option<Note>) {
        let clock = self.site.shared().clock;
        let mut call = self.site.shared().peek(|machine| machine.begin(&context, place, number, clock.now()));
        let limit = clock.instant(call.deadline);
        let mut note = None;
        let mut step = CallStep::Attempt;
        loop {
            step = match step {
                CallStep::Send => {
                    let told = timeout_at(limit, Arc::clone(&self).ask(&call)).await;
                    let told = told.unwrap_or(AttemptEnd::TimedOut.into());
                    note = told.note.or(note);
                    self.site.with(|machine, now| machine.replied(&mut call, told, now))
                }
                CallStep::Over(ended) => return (ended, note),
                _ => asking::begin(&self.site, &mut call).await,
            };
        }
    }

    fn callees(&self) -> MutexGuard<'_, Callees<Lease>> {
        lock(&self.callees)
    }

    /// Sends a call and waits for the answer.
    async fn ask(self: Arc<Self>, call: &Call) -> CallReply {
        let Some(mut lease) = Arc::clone(&self).lease().await else {
            return AttemptEnd::Refused { retry: true }.into();
        };
        let Some(to) = lease.way.to else { return AttemptEnd::Unavailable.into() };
        let host = to.to_string();
        // The service may have closed a kept connection meanwhile. Once the call is written it may have been read, and is not
        // sent again.
        let mut wire = match lease.way.wire.take().and_then(Wire::unless_stale) {
            Some(wire) => wire,
            None => match Wire::connect(to).await {
                Ok(wire) => wire,
                Err(_) => return AttemptEnd::Unavailable.into(),
            },
        };
        let carried = self.site.shared().peek(|machine| machine.headers(call, self.site.shared().clock.now()));
        let headers = format!("{CALLER}: {}\r\n{carried}", self.name);
        let request = Outgoing {
            method: "GET",
            path: "/",
            host: &host,
            headers: &headers,
            body: None,
            attempt: call.tags.attempt,
            known: call.attempt_key().map(|draw| Known { number: None, user: None, left: None, draw }),
            close: false,
        };
        self.callees().pool.written += 1;
        let Some(told) = wire.ask(&request).await else { return AttemptEnd::Unavailable.into() };
        let report = told.load.as_ref();
        report.into_iter().for_each(|report| self.callees().reported(&lease.way, report));
        lease.way.wire = Some(wire).filter(Wire::is_reusable);
        told
    }

    /// Waits for a lease of a place in the pool. `None`: every task of the called service is at its limit of calls.
    async fn lease(self: Arc<Self>) -> Option<Lease> {
        let waits = match self.ask_pool()? {
            Ok(way) => return Some(Lease { of: self, way }),
            Err(waits) => waits,
        };
        // A returned place goes to the next waiting call; the pool outlives them.
        match waits.await {
            Ok(lease) => lease,
            Err(_) => std::future::pending().await,
        }
    }

    /// The way of a call, or where it hears of one. `None`: it is refused.
    fn ask_pool(&self) -> Option<Result<CallWay, oneshot::Receiver<Option<Lease>>>> {
        let mut callees = self.callees();
        if callees.pool.refuses() {
            return None;
        }
        Some(callees.way().ok_or_else(|| {
            let (free, waits) = oneshot::channel();
            callees.pool.waiting.push_back(free);
            waits
        }))
    }

    /// Gives free places to the calls that wait longest.
    fn next_in_line(self: &Arc<Self>) {
        loop {
            let Some((free, way)) = self.callees().next_place() else { return };
            // Outside the lock: a lease without a receiver returns itself.
            let _ = free.send(way.map(|way| Lease { of: Arc::clone(self), way }));
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.of.callees().take_back(&mut self.way);
        self.of.next_in_line();
    }
}
