//! Calls that services make on behalf of requests: tried, refused, retried, answered.

use std::collections::{BTreeMap, VecDeque};

use controllers::{JobId, Outcome, RetryHint, Tags, Timestamp, random::mix};
use workloads::{
    client::{Asked as Verdict, Clients, Decided, Member, Pass},
    persona::{Call as Wanted, Connection, Method},
    sim::{Asked, ConnId, Cx, Response},
};

use super::{Cluster, ClusterEvent, node::Todo, pipes::Owner};
use crate::{
    plant::visit::{CallsEnded, Errand},
    tree::{CallSpec, WhenRefused},
};

/// A task's side of the calls to one service.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) spec: CallSpec,
    pub(super) pool: usize,
    pub(super) clients: Option<(Clients, Member)>,
    /// When its policy is to be woken.
    pub(super) wakes_at: Option<Timestamp>,
    pub(super) counts: CallCounts,
}

/// What became of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Attempts that were wanted.
    pub attempts: u64,
    /// Of these, beyond the first of a call.
    pub retries: u64,
    /// Attempts that the caller's own policy refused.
    pub refused_locally: u64,
    /// Attempts that the called service refused.
    pub refused: u64,
    /// Attempts that were answered.
    pub answered: u64,
    /// Attempts that failed or were not answered in time.
    pub failed: u64,
    /// Attempts that are under way, or wait to be let go.
    pub open: u64,
}

impl CallCounts {
    /// True if every attempt is in exactly one place.
    #[must_use]
    pub fn balances(&self) -> bool {
        self.attempts == self.refused_locally + self.refused + self.answered + self.failed + self.open
    }
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
}

/// How an attempt has ended.
#[derive(Debug, Clone, Copy)]
enum Reply {
    Answered,
    Refused { retry: bool },
    Failed,
    TimedOut,
}

impl Cluster {
    pub(super) fn begin_calls(&mut self, node: usize, job: JobId, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(errand) = self.nodes[node].plant.errand(job) else { return };
        let service = self.nodes[node].service;
        let calls = self.services[service].calls.iter().enumerate();
        let left = calls.flat_map(|(place, times)| (0..*times).map(move |number| (place, number))).collect();
        self.errands.insert((node, job), Calls { errand, left, open: 0, ended: CallsEnded::Answered });
        self.begin_next(node, job, cx);
    }

    /// Begins the next call of a job, or all of them.
    fn begin_next(&mut self, node: usize, job: JobId, cx: &mut Cx<'_, ClusterEvent>) {
        let fan_out = self.services[self.nodes[node].service].fan_out;
        loop {
            let Some(calls) = self.errands.get_mut(&(node, job)) else { return };
            let Some((place, number)) = calls.left.pop_front() else { return };
            calls.open += 1;
            let Errand { tags, key, user } = calls.errand;
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
                key: mix(key ^ mix((place as u64) << 32 | u64::from(number))),
                user,
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
        let (caller, retry) = (call.caller, call.tags.attempt > 0);
        let counts = &mut self.callers[caller].counts;
        counts.attempts += 1;
        counts.open += 1;
        counts.retries += u64::from(retry);
        self.ask_policy(id, cx);
    }

    /// Asks the caller's own policy, if it has one.
    pub(super) fn ask_policy(&mut self, id: u64, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        let caller = call.caller;
        let Some((clients, member)) = &mut self.callers[caller].clients else { return self.send_call(id, cx) };
        match clients.ask(*member, call.tags, call.entered, cx.now()) {
            Verdict::Go(pass) => {
                call.pass = Some(pass);
                self.send_call(id, cx);
            }
            Verdict::Refused(_) => self.refused_locally(id, cx),
            Verdict::ComeBack(wait) => cx.plan(cx.now() + wait, ClusterEvent::AskAgain(id)),
            Verdict::Held(held) => {
                call.held = Some(held);
                self.held.insert((caller, held), id);
            }
        }
        self.look_at_policy(caller, cx);
    }

    /// Takes in what a caller's policy has decided about calls that it held, and plans when to wake it.
    pub(super) fn look_at_policy(&mut self, caller: usize, cx: &mut Cx<'_, ClusterEvent>) {
        while let Some(decided) = self.callers[caller].clients.as_mut().and_then(|(clients, _)| clients.decided()) {
            let (Decided::Go(held, _) | Decided::Refused(held, _)) = &decided;
            let Some(id) = self.held.remove(&(caller, *held)) else { continue };
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
            let counts = &mut self.callers[call.caller].counts;
            counts.open -= 1;
            counts.refused_locally += 1;
            self.call_over(id, CallsEnded::Refused(RetryHint::Unsaid), cx);
        }
    }

    fn send_call(&mut self, id: u64, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(call) = self.calls.get(&id) else { return };
        let millis = call.deadline.since(cx.now()).as_millis();
        let Tags { criticality, customer, attempt, class, kind, .. } = call.tags;
        let headers =
            format!("X-Criticality: {}\r\nX-Customer: {customer}\r\nX-Timeout-Ms: {millis}\r\n", criticality.name());
        let wanted = Wanted {
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
        let key = mix(call.key ^ u64::from(attempt));
        let asked = Asked { conn, user: call.user, call: wanted, key, number: None };
        let pool = self.callers[call.caller].pool;
        self.send(pool, Owner::Call(id), asked, cx);
    }

    /// The called service has answered.
    pub(super) fn call_answered(&mut self, id: u64, response: &Response, cx: &mut Cx<'_, ClusterEvent>) {
        let never = response.headers.iter().any(|(name, value)| *name == "x-retry" && value == "never");
        let reply = match response.status {
            200..=399 => Reply::Answered,
            503 | 429 => Reply::Refused { retry: !never },
            _ => Reply::Failed,
        };
        self.attempt_over(id, reply, cx);
    }

    /// A call has taken as long as it may.
    pub(super) fn call_limit(&mut self, id: u64, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        let (caller, conn, held) = (call.caller, call.conn.take(), call.held.take());
        if let Some(conn) = conn {
            self.abandon(conn, cx);
        }
        self.pools[self.callers[caller].pool].waiting.retain(|(owner, _)| *owner != Owner::Call(id));
        if let (Some(held), Some((clients, _))) = (held, &mut self.callers[caller].clients) {
            self.held.remove(&(caller, held));
            clients.left(held, cx.now());
        }
        self.attempt_over(id, Reply::TimedOut, cx);
    }

    fn attempt_over(&mut self, id: u64, reply: Reply, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.conn = None;
        let (caller, pass, attempt) = (call.caller, call.pass.take(), call.tags.attempt);
        let Caller { spec, clients, counts, .. } = &mut self.callers[caller];
        counts.open -= 1;
        let (counter, outcome) = match reply {
            Reply::Answered => (&mut counts.answered, Outcome::Served),
            Reply::Refused { retry } => (&mut counts.refused, Outcome::Overloaded { retry }),
            Reply::Failed => (&mut counts.failed, Outcome::Failed),
            Reply::TimedOut => (&mut counts.failed, Outcome::TimedOut),
        };
        *counter += 1;
        if let (Some(pass), Some((clients, _))) = (pass, clients) {
            clients.ended(pass, outcome, cx.now());
        }
        let again = match reply {
            Reply::Refused { retry } => attempt + 1 < spec.attempts && (retry || !spec.heed_dont_retry),
            _ => false,
        };
        match reply {
            Reply::Refused { retry } if again => {
                call.tags.attempt += 1;
                call.tags.told_not_to_retry = !retry;
                self.attempt(id, cx);
            }
            Reply::Answered => self.call_over(id, CallsEnded::Answered, cx),
            Reply::Refused { .. } => self.call_over(id, CallsEnded::Refused(RetryHint::Unsaid), cx),
            Reply::Failed | Reply::TimedOut => self.call_over(id, CallsEnded::Failed, cx),
        }
        self.look_at_policy(caller, cx);
    }

    /// A call is over, and with the last of them the job goes on.
    fn call_over(&mut self, id: u64, ended: CallsEnded, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(call) = self.calls.remove(&id) else { return };
        let (node, job) = (call.node, call.job);
        let ended = match (ended, self.callers[call.caller].spec.when_refused) {
            (CallsEnded::Refused(_), WhenRefused::Overloaded) => CallsEnded::Refused(RetryHint::Unsaid),
            (CallsEnded::Refused(_), WhenRefused::DontRetry) => CallsEnded::Refused(RetryHint::Never),
            (CallsEnded::Refused(_), WhenRefused::Degrade) => CallsEnded::Answered,
            (ended, _) => ended,
        };
        let Some(calls) = self.errands.get_mut(&(node, job)) else { return };
        calls.open -= 1;
        if ended != CallsEnded::Answered {
            calls.ended = ended;
            calls.left.clear();
        }
        if !calls.left.is_empty() {
            self.begin_next(node, job, cx);
        } else if calls.open == 0 {
            let ended = calls.ended;
            self.errands.remove(&(node, job));
            self.todo.push_back(Todo::Ended(node, job, ended));
        }
    }
}

/// Held calls of a caller, by the identity that its policy gave them.
pub(super) type Held = BTreeMap<(usize, JobId), u64>;
