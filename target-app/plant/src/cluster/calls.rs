//! Calls that services make on behalf of requests, by events: the host of [`CallMachine`] in virtual time.

use std::{collections::BTreeMap, sync::Arc};

use controllers::{JobId, Tags, Timestamp, UnixSeconds};
use service_core::calls::{
    AttemptEnd, Call, CallContext, CallMachine, CallReply, CallStep, CallsEnded, CallsResult, RequestCalls,
};
use workloads::{
    persona::Call as Wanted,
    sim::{ConnId, Cx, Response, SimRequest},
};

use super::{Cluster, connections::Sender, event::ClusterEvent, node::Deferred};

/// All callers of a cluster, and their calls.
#[derive(Debug)]
pub(super) struct Calls {
    pub(super) callers: Vec<Caller>,
    /// Calls that are under way, by number.
    open: BTreeMap<u64, OpenCall>,
    next: u64,
    /// The calls on behalf of one request, by node and job.
    by_job: BTreeMap<(usize, JobId), JobCalls>,
    path: Arc<str>,
}

/// A task's side of the calls to one service.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) machine: CallMachine<u64>,
    pub(super) pool: usize,
    /// The next wake-up of its policy.
    pub(super) wakes_at: Option<Timestamp>,
}

/// One call.
#[derive(Debug)]
struct OpenCall {
    call: Call,
    node: usize,
    job: JobId,
    caller: usize,
    conn: Option<ConnId>,
}

/// The calls on behalf of one job.
#[derive(Debug)]
struct JobCalls {
    context: CallContext,
    user: u64,
    calls: RequestCalls,
}

impl Calls {
    pub(super) fn new() -> Self {
        let (open, by_job) = (BTreeMap::new(), BTreeMap::new());
        Self { callers: Vec::new(), open, next: 0, by_job, path: Arc::from("/") }
    }

    /// The connection on which a call is sent.
    pub(super) fn connected(&mut self, id: u64, conn: ConnId) {
        self.open.get_mut(&id).into_iter().for_each(|open| open.conn = Some(conn));
    }
}

impl Cluster {
    pub(super) fn begin_calls(&mut self, node: usize, job: JobId, cx: &mut Cx<'_, ClusterEvent>) {
        let Some((context, user)) = self.nodes[node].plant.call_context(job) else { return };
        let service = &self.services[self.nodes[node].service];
        let key = context.key.unwrap_or_default();
        let calls = RequestCalls::new(service.calls.iter().copied(), key, service.fan_out);
        if let Some(nothing) = calls.result() {
            self.deferred.push_back(Deferred::Ended(node, job, nothing));
            return;
        }
        self.calls.by_job.insert((node, job), JobCalls { context, user, calls });
        self.begin_next(node, job, cx);
    }

    /// Begins the next calls of a job.
    fn begin_next(&mut self, node: usize, job: JobId, cx: &mut Cx<'_, ClusterEvent>) {
        while let Some(of_job) = self.calls.by_job.get_mut(&(node, job))
            && let Some((place, number)) = of_job.calls.begin_next()
        {
            let caller = self.nodes[node].callers[place];
            let call = self.calls.callers[caller].machine.begin(&of_job.context, place, number, cx.now());
            let id = self.calls.next;
            self.calls.next += 1;
            cx.plan(call.deadline, ClusterEvent::CallLimit(id));
            self.calls.open.insert(id, OpenCall { call, node, job, caller, conn: None });
            self.go_on(id, CallStep::Attempt, cx);
        }
    }

    /// Carries out the next step of a call.
    fn go_on(&mut self, id: u64, step: CallStep, cx: &mut Cx<'_, ClusterEvent>) {
        match step {
            CallStep::Attempt => {
                self.with_policy(id, cx, |machine, call, now| machine.attempt(call, now, || id));
            }
            CallStep::Send => self.send_call(id, cx),
            CallStep::AskAgain(wait) => cx.plan(cx.now() + wait, ClusterEvent::AskAgain(id)),
            CallStep::Wait => {}
            CallStep::Over(ended) => self.call_over(id, ended, cx),
        }
    }

    /// Asks the caller's policy about a call once more.
    pub(super) fn ask_policy(&mut self, id: u64, cx: &mut Cx<'_, ClusterEvent>) {
        self.with_policy(id, cx, |machine, call, now| machine.ask(call, now, || id));
    }

    /// Carries out the next step of a call after an event, and then the decisions of its caller's policy about other
    /// calls.
    fn with_policy(
        &mut self,
        id: u64,
        cx: &mut Cx<'_, ClusterEvent>,
        act: impl FnOnce(&mut CallMachine<u64>, &mut Call, Timestamp) -> CallStep,
    ) {
        let Some(OpenCall { call, caller, .. }) = self.calls.open.get_mut(&id) else { return };
        let caller = *caller;
        let machine = &mut self.calls.callers[caller].machine;
        machine.set_wall(UnixSeconds::in_virtual_time(cx.now()));
        let step = act(machine, call, cx.now());
        self.go_on(id, step, cx);
        self.look_at_policy(caller, cx);
    }

    /// Takes the decisions of a caller's policy about held calls, and schedules its next wake-up.
    pub(super) fn look_at_policy(&mut self, caller: usize, cx: &mut Cx<'_, ClusterEvent>) {
        self.calls.callers[caller].machine.set_wall(UnixSeconds::in_virtual_time(cx.now()));
        while let Some((id, pass)) = self.calls.callers[caller].machine.decided(cx.now()) {
            let Some(OpenCall { call, .. }) = self.calls.open.get_mut(&id) else { continue };
            let step = self.calls.callers[caller].machine.resume(call, pass);
            self.go_on(id, step, cx);
        }
        let Caller { machine, wakes_at, .. } = &mut self.calls.callers[caller];
        if let Some(at) = machine.next_wake().filter(|at| wakes_at.is_none_or(|planned| *at < planned)) {
            *wakes_at = Some(at);
            cx.plan(at, ClusterEvent::CallerWakes(caller));
        }
    }

    /// Wakes a caller's policy.
    pub(super) fn caller_wakes(&mut self, caller: usize, cx: &mut Cx<'_, ClusterEvent>) {
        self.calls.callers[caller].wakes_at = None;
        self.look_at_policy(caller, cx);
    }

    fn send_call(&mut self, id: u64, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(OpenCall { call, node, job, caller, .. }) = self.calls.open.get(&id) else { return };
        let Some(JobCalls { user, .. }) = self.calls.by_job.get(&(*node, *job)) else { return };
        let Caller { machine, pool, .. } = &self.calls.callers[*caller];
        let Tags { attempt, class, kind, .. } = call.tags;
        let headers = machine.headers(call, cx.now()).into();
        let wanted = Wanted::get(class, Arc::clone(&self.calls.path), headers);
        let wanted = Wanted { kind, wanted_at: call.entered, attempt, ..wanted };
        let conn = ConnId { place: u32::MAX, generation: 0 };
        let key = call.attempt_key().unwrap_or_default();
        let asked = Box::new(SimRequest { conn, user: *user, call: wanted, key, number: None, left: None });
        self.send(*pool, Sender::Call(id), asked, cx);
    }

    /// Takes the answer of the called service.
    pub(super) fn call_answered(&mut self, id: u64, response: &Response, cx: &mut Cx<'_, ClusterEvent>) {
        let headers = response.headers.iter().map(|(name, value)| (*name, value.as_bytes()));
        let told = CallReply::of(response.status, headers);
        let Some(open) = self.calls.open.get_mut(&id) else { return };
        open.conn = None;
        let of_job = self.calls.by_job.get_mut(&(open.node, open.job));
        of_job.into_iter().for_each(|of_job| of_job.calls.replied(told.note));
        self.with_policy(id, cx, |machine, call, now| machine.replied(call, told, now));
    }

    /// Ends an attempt whose connection was refused, or broke.
    pub(super) fn call_broken(&mut self, id: u64, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(open) = self.calls.open.get_mut(&id) else { return };
        open.conn = None;
        self.with_policy(id, cx, |machine, call, now| machine.replied(call, AttemptEnd::Unavailable.into(), now));
    }

    /// Ends all calls of a task that has crashed.
    pub(super) fn end_calls_of(&mut self, node: usize, cx: &mut Cx<'_, ClusterEvent>) {
        let ids: Vec<u64> = self.calls.open.iter().filter(|(_, open)| open.node == node).map(|(id, _)| *id).collect();
        for id in ids {
            let Some(mut open) = self.calls.open.remove(&id) else { continue };
            let Caller { machine, pool, .. } = &mut self.calls.callers[open.caller];
            machine.abandon(&mut open.call, cx.now());
            self.pools[*pool].pool.waiting.retain(|(owner, _)| *owner != Sender::Call(id));
            if let Some(conn) = open.conn {
                self.abandon(conn, cx);
            }
        }
        let jobs: Vec<JobId> = self.calls.by_job.keys().filter(|(of, _)| *of == node).map(|(_, job)| *job).collect();
        for job in jobs {
            self.calls.by_job.remove(&(node, job));
            let failed = CallsResult { ended: CallsEnded::Failed, note: None };
            self.deferred.push_back(Deferred::Ended(node, job, failed));
        }
    }

    /// Ends a call at its time limit.
    pub(super) fn call_limit(&mut self, id: u64, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(open) = self.calls.open.get_mut(&id) else { return };
        let (caller, conn) = (open.caller, open.conn.take());
        if let Some(conn) = conn {
            self.abandon(conn, cx);
        }
        let pool = self.calls.callers[caller].pool;
        self.pools[pool].pool.waiting.retain(|(owner, _)| *owner != Sender::Call(id));
        self.with_policy(id, cx, CallMachine::timed_out);
    }

    /// Ends a call; after the last one, the job goes on.
    fn call_over(&mut self, id: u64, ended: CallsEnded, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(OpenCall { node, job, .. }) = self.calls.open.remove(&id) else { return };
        let Some(of_job) = self.calls.by_job.get_mut(&(node, job)) else { return };
        of_job.calls.call_ended(ended);
        match of_job.calls.result() {
            Some(result) => {
                self.calls.by_job.remove(&(node, job));
                self.deferred.push_back(Deferred::Ended(node, job, result));
            }
            None => self.begin_next(node, job, cx),
        }
    }
}
