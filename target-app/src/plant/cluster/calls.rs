//! Calls that services make on behalf of requests: tried, refused, retried, answered.

use std::collections::VecDeque;

use controllers::{ClassRule, JobId, Note, Tags, Timestamp};
use workloads::{
    client::{Asked as Verdict, Clients, Decided, Member, Pass},
    persona::{Call as Wanted, Connection, Method, Want},
    sim::{ConnId, Cx, Response, SimRequest},
};

use super::{Cluster, ClusterEvent, node::Todo, pipes::Owner};
use crate::{
    calls::{After, CallCounts, CallsEnded, Reply, Told, carried, key_of_attempt, key_of_call},
    plant::{visit::Errand, world::wall},
    tree::CallSpec,
};

/// A task's side of the calls to one service.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) spec: CallSpec,
    pub(super) pool: usize,
    pub(super) clients: Option<(Clients<u64>, Member)>,
    /// When its policy is to be woken.
    pub(super) wakes_at: Option<Timestamp>,
    pub(super) counts: CallCounts,
    /// How requests say their class.
    pub(super) class: ClassRule,
}

/// One call.
#[derive(Debug)]
pub(super) struct Call {
    node: usize,
    caller: usize,
    job: JobId,
    tags: Tags,
    /// Of all its attempts.
    key: u64,
    user: u64,
    /// What came with the request on whose behalf it is.
    brought: Option<Note>,
    entered: Timestamp,
    deadline: Timestamp,
    pass: Option<Pass>,
    held: Option<JobId>,
    pub(super) conn: Option<ConnId>,
}

/// The calls on behalf of one job.
#[derive(Debug)]
pub(super) struct Calls {
    errand: Errand,
    /// Not begun: by the place of the call among its service's, and its number among equal ones.
    left: VecDeque<(usize, u32)>,
    open: u32,
    ended: CallsEnded,
    /// What the last reply told.
    told: Option<Note>,
}

impl Cluster {
    pub(super) fn begin_calls(&mut self, node: usize, job: JobId, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(errand) = self.nodes[node].plant.errand(job) else { return };
        let service = self.nodes[node].service;
        let calls = self.services[service].calls.iter().enumerate();
        let left = calls.flat_map(|(place, times)| (0..*times).map(move |number| (place, number))).collect();
        self.errands.insert((node, job), Calls { errand, left, open: 0, ended: CallsEnded::Answered, told: None });
        self.begin_next(node, job, cx);
    }

    /// Begins the next call of a job, or all of them.
    fn begin_next(&mut self, node: usize, job: JobId, cx: &mut Cx<'_, ClusterEvent>) {
        let fan_out = self.services[self.nodes[node].service].fan_out;
        loop {
            let Some(calls) = self.errands.get_mut(&(node, job)) else { return };
            let Some((place, number)) = calls.left.pop_front() else { return };
            calls.open += 1;
            let Errand { tags, key, user, note } = calls.errand;
            let caller = self.nodes[node].callers[place];
            let by_timeout = cx.now() + self.callers[caller].spec.timeout;
            let deadline = tags.deadline.map_or(by_timeout, |deadline| deadline.min(by_timeout));
            let id = self.next_call;
            self.next_call += 1;
            let call = Call {
                node,
                caller,
                job,
                tags: Tags { attempt: 0, told_not_to_retry: false, deadline: Some(deadline), ..tags },
                key: key_of_call(key, place, number),
                user,
                brought: note,
                entered: cx.now(),
                deadline,
                pass: None,
                held: None,
                conn: None,
            };
            self.calls.insert(id, call);
            cx.plan(deadline, ClusterEvent::CallLimit(id));
            self.attempt(id, cx);
            if !fan_out {
                return;
            }
        }
    }

    /// A call wants to be tried.
    fn attempt(&mut self, id: u64, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(call) = self.calls.get(&id) else { return };
        self.callers[call.caller].counts.begins(call.tags.attempt);
        self.ask_policy(id, cx);
    }

    /// Asks the caller's own policy, if it has one.
    pub(super) fn ask_policy(&mut self, id: u64, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        let caller = call.caller;
        let Some((clients, member)) = &mut self.callers[caller].clients else { return self.send_call(id, cx) };
        clients.set_wall(wall(cx.now()));
        match clients.ask(*member, call.tags, call.entered, call.brought, cx.now(), |_| id) {
            Verdict::Go(pass) => {
                call.pass = Some(pass);
                self.send_call(id, cx);
            }
            Verdict::Refused(_) => self.refused_locally(id, cx),
            Verdict::ComeBack(wait) => cx.plan(cx.now() + wait, ClusterEvent::AskAgain(id)),
            Verdict::Held(held) => call.held = Some(held),
        }
        self.look_at_policy(caller, cx);
    }

    /// Takes in what a caller's policy has decided about calls that it held, and plans when to wake it.
    pub(super) fn look_at_policy(&mut self, caller: usize, cx: &mut Cx<'_, ClusterEvent>) {
        while let Some((clients, _)) = &mut self.callers[caller].clients
            && let Some(decided) = clients.poll(cx.now())
        {
            let (Decided::Go(id, _) | Decided::Refused(id, _)) = decided;
            let Some(call) = self.calls.get_mut(&id) else { continue };
            call.held = None;
            match decided {
                Decided::Go(_, pass) => {
                    call.pass = Some(pass);
                    self.send_call(id, cx);
                }
                Decided::Refused(..) => self.refused_locally(id, cx),
            }
        }
        let caller_of = &mut self.callers[caller];
        let wake = caller_of.clients.as_ref().and_then(|(clients, _)| clients.next_wake());
        if let Some(at) = wake.filter(|at| caller_of.wakes_at.is_none_or(|planned| *at < planned)) {
            caller_of.wakes_at = Some(at);
            cx.plan(at, ClusterEvent::CallerWakes(caller));
        }
    }

    fn refused_locally(&mut self, id: u64, cx: &mut Cx<'_, ClusterEvent>) {
        if let Some(call) = self.calls.get(&id) {
            let caller = &mut self.callers[call.caller];
            caller.counts.refused_at_home();
            let given_up = caller.spec.given_up();
            self.call_over(id, given_up, cx);
        }
    }

    fn send_call(&mut self, id: u64, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(call) = self.calls.get(&id) else { return };
        let Tags { attempt, class, kind, .. } = call.tags;
        let note = call.pass.as_ref().and_then(Pass::note).or(call.brought);
        let headers = carried(&call.tags, call.deadline.since(cx.now()), &self.callers[call.caller].class, note);
        let wanted = Wanted {
            want: Want::Answer,
            kind,
            class,
            method: Method::Get,
            path: std::sync::Arc::clone(&self.path),
            headers: headers.into(),
            body: None,
            wanted_at: call.entered,
            give_up_after: None,
            attempt,
            hop: 0,
            connection: Connection::Keep,
        };
        let conn = ConnId { place: u32::MAX, generation: 0 };
        let key = key_of_attempt(call.key, attempt);
        let asked = SimRequest { conn, user: call.user, call: wanted, key, number: None };
        let pool = self.callers[call.caller].pool;
        self.send(pool, Owner::Call(id), asked, cx);
    }

    /// The called service has answered.
    pub(super) fn call_answered(&mut self, id: u64, response: &Response, cx: &mut Cx<'_, ClusterEvent>) {
        let headers = response.headers.iter().map(|(name, value)| (*name, value.as_bytes()));
        self.attempt_over(id, Told::of(response.status, headers), cx);
    }

    /// A call has taken as long as it may.
    pub(super) fn call_limit(&mut self, id: u64, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        let (caller, conn, held) = (call.caller, call.conn.take(), call.held.take());
        if let Some(conn) = conn {
            self.abandon(conn, cx);
        }
        self.pools[self.callers[caller].pool].pool.waiting.retain(|(owner, _)| *owner != Owner::Call(id));
        if let (Some(held), Some((clients, member))) = (held, &mut self.callers[caller].clients) {
            clients.left(*member, held, cx.now());
        }
        self.attempt_over(id, Reply::TimedOut.into(), cx);
    }

    fn attempt_over(&mut self, id: u64, told: Told, cx: &mut Cx<'_, ClusterEvent>) {
        let Told { reply, note } = told;
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.conn = None;
        if let (Some(note), Some(calls)) = (note, self.errands.get_mut(&(call.node, call.job))) {
            calls.told = Some(note);
        }
        let (caller, pass, attempt) = (call.caller, call.pass.take(), call.tags.attempt);
        let Caller { spec, clients, counts, .. } = &mut self.callers[caller];
        counts.ended(reply);
        if let (Some(pass), Some((clients, _))) = (pass, clients) {
            clients.ended(pass, reply.outcome(), note, cx.now());
        }
        match spec.after(reply, attempt) {
            After::Again { told_not_to } => {
                call.tags.attempt += 1;
                call.tags.told_not_to_retry = told_not_to;
                self.attempt(id, cx);
            }
            After::Over(ended) => self.call_over(id, ended, cx),
        }
        self.look_at_policy(caller, cx);
    }

    /// A call is over, and with the last of them the job goes on.
    fn call_over(&mut self, id: u64, ended: CallsEnded, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(call) = self.calls.remove(&id) else { return };
        let (node, job) = (call.node, call.job);
        let Some(calls) = self.errands.get_mut(&(node, job)) else { return };
        calls.open -= 1;
        if ended != CallsEnded::Answered {
            calls.ended = ended;
            calls.left.clear();
        }
        if !calls.left.is_empty() {
            self.begin_next(node, job, cx);
        } else if calls.open == 0 {
            let (ended, told) = (calls.ended, calls.told);
            self.errands.remove(&(node, job));
            self.todo.push_back(Todo::Ended(node, job, ended, told));
        }
    }
}
