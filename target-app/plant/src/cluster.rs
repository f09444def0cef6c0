//! Several services in virtual time: each task is a plant of its own, behind a balancer, and services call each other.
//!
//! A request to a service with calls is worked on first, and keeps its worker while the calls are made, one after the other or
//! all at once. A refused call may be tried again by the service that made it, right away. What a call carries on: criticality,
//! customer, what is left of the time that its sender waits, the number of the attempt, and the key of all draws. Between
//! services messages take as long as between users and service, unless a call has a link of its own; nothing is lost there.
//!
//! Users' requests and calls are counted in separate ledgers, so that users' counts agree with those of the services
//! that they call.

mod build;
mod calls;
mod connections;
mod event;
mod foresight;
mod gauges;
mod members;
mod node;
#[cfg(test)]
mod tests;
mod ways;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use controllers::{Class, PeerReport, Reason, Seen, Timestamp};
use spec::fault::Fault;
use workloads::{
    balance::{LOAD_METRICS, LoadReport},
    sim::{ConnId, Cx, Response, SimClient, SimRequest, SimServer, SynResult},
};

use super::{
    in_flight::is_check,
    world::{Plant, bare, refused},
};
use calls::Calls;
use connections::{InnerConnection, InnerConnections, Sender};
pub use event::ClusterEvent;
use members::Beside;
use node::{Deferred, Node, NodeContext};
use service_core::{
    calls::{CallRoute, Pool, Visits},
    ledger::ServiceLedger,
    request::LedgerEnding,
    tree::addressee,
};
use ways::Way;

/// Several services in virtual time.
#[derive(Debug)]
pub struct Cluster {
    services: Vec<Service>,
    nodes: Vec<Node>,
    entries: Vec<(Option<Class>, usize)>,
    /// The pools of each service's users, then those of each caller.
    pools: Vec<ServicePool>,
    /// Their ways, in the same order.
    ways: Vec<Way>,
    inner: InnerConnections,
    /// Users' connections.
    users: BTreeMap<ConnId, UserConnection>,
    calls: Calls,
    beside: Beside,
    /// Times in which a task was not there, of those that were started since.
    absences: Vec<Fault>,
    renewals: Vec<Duration>,
    hop: Duration,
    deferred: VecDeque<Deferred>,
}

/// A service of the cluster.
#[derive(Debug)]
struct Service {
    name: String,
    /// Its first task among the nodes, and how many there are.
    first: usize,
    tasks: usize,
    /// True if a balancer forwards each request; else users are connected to a task.
    proxied: bool,
    /// True if the balancer refuses requests over a cap.
    capped: bool,
    /// The ledger of users' requests that the balancer refused.
    balancer: Arc<ServiceLedger>,
    /// The calls to each called service for a request.
    calls: Vec<Visits>,
    fan_out: bool,
}

/// A sender's connections to the tasks of a service.
#[derive(Debug)]
struct ServicePool {
    service: usize,
    pool: Pool<ConnId, (Sender, Box<SimRequest>)>,
}

/// A user's connection.
#[derive(Debug, Clone, Copy)]
enum UserConnection {
    /// To this node.
    Direct { node: usize },
    /// To the balancer of this service, which passes a request on by that connection.
    Proxied { service: usize, by: Option<ConnId> },
}

/// The wait before the first repetition of a SYN; it then doubles.
const SYN_AGAIN: Duration = Duration::from_secs(1);
const SYN_RETRIES: u32 = 6;

impl Cluster {
    /// Calls a node with its context.
    fn at<R>(
        &mut self,
        node: usize,
        cx: &mut Cx<'_, ClusterEvent>,
        what: impl FnOnce(&mut Plant, &mut NodeContext<'_, '_>) -> R,
    ) -> R {
        let has_calls = !self.nodes[node].callers.is_empty();
        let (inner, ways, deferred) = (&mut self.inner, &mut self.ways, &mut self.deferred);
        let mut inside = NodeContext { cx, node, hop: self.hop, has_calls, inner, ways, deferred };
        what(&mut self.nodes[node].plant, &mut inside)
    }

    /// Does all pending work of the current moment.
    fn settle(&mut self, cx: &mut Cx<'_, ClusterEvent>) {
        self.settle_calls(cx);
        if self.end_drained(cx) {
            self.turn_machines(cx);
            self.settle_calls(cx);
        }
    }

    fn settle_calls(&mut self, cx: &mut Cx<'_, ClusterEvent>) {
        while let Some(deferred) = self.deferred.pop_front() {
            match deferred {
                Deferred::Calls(node, job) => self.begin_calls(node, job, cx),
                Deferred::Crashed(node) => {
                    self.leave_out(node, true, cx);
                    self.end_calls_of(node, cx);
                }
                Deferred::Restarted(node) => self.leave_out(node, false, cx),
                Deferred::Ended(node, job, calls) => {
                    self.at(node, cx, |plant, context| plant.calls_ended(job, calls, context));
                }
            }
        }
    }

    /// Sends a request.
    fn send(&mut self, pool: usize, owner: Sender, mut asked: Box<SimRequest>, cx: &mut Cx<'_, ClusterEvent>) {
        let of = &mut self.pools[pool];
        if of.pool.refuses() {
            let service = of.service;
            return self.refuse_at_balancer(service, owner, &asked, cx);
        }
        let now = cx.now();
        let conn = match of.pool.route() {
            CallRoute::Wait => {
                of.pool.waiting.push_back((owner, asked));
                return;
            }
            CallRoute::Kept(_, conn) => {
                of.pool.written += 1;
                asked.conn = conn;
                if let Some(connection) = self.inner.get(conn) {
                    connection.owner = Some(owner);
                }
                cx.plan(now + self.ways[pool].message(), ClusterEvent::Asked(asked));
                conn
            }
            CallRoute::New(task) => {
                let node = self.services[of.service].first + task;
                let connection = InnerConnection { node, pool, owner: Some(owner), asked: Some(asked) };
                let conn = self.inner.open(connection);
                cx.plan(now + self.ways[pool].delay, ClusterEvent::Syn(conn, 0));
                conn
            }
        };
        match owner {
            Sender::User(user) => {
                if let Some(UserConnection::Proxied { by, .. }) = self.users.get_mut(&user) {
                    *by = Some(conn);
                }
            }
            Sender::Call(id) => self.calls.connected(id, conn),
        }
    }

    /// Refuses a request because every task is at its limit.
    fn refuse_at_balancer(&mut self, service: usize, owner: Sender, asked: &SimRequest, cx: &mut Cx<'_, ClusterEvent>) {
        let response = refused(Reason::Concurrency);
        match owner {
            Sender::User(user) => {
                if !is_check(&asked.call) {
                    self.services[service]
                        .balancer
                        .open(asked.number)
                        .close(LedgerEnding::Refused(Reason::Concurrency));
                }
                cx.reply(user, response);
            }
            Sender::Call(id) => self.call_answered(id, &response, cx),
        }
    }

    fn syn(&mut self, conn: ConnId, sent_before: u32, cx: &mut Cx<'_, ClusterEvent>) {
        let Some((node, pool)) = self.inner.get(conn).map(|connection| (connection.node, connection.pool)) else {
            return;
        };
        let back = cx.now() + self.ways[pool].delay;
        match self.at(node, cx, |plant, context| plant.on_connect(conn, false, context)) {
            SynResult::Taken => cx.plan(back, ClusterEvent::Connected(conn)),
            SynResult::Refused => cx.plan(back, ClusterEvent::Closed(conn)),
            SynResult::Dropped if sent_before < SYN_RETRIES => {
                let wait = SYN_AGAIN * (1 << sent_before);
                cx.plan(cx.now() + wait, ClusterEvent::Syn(conn, sent_before + 1));
            }
            SynResult::Dropped => {}
        }
    }

    fn connected(&mut self, conn: ConnId, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(connection) = self.inner.get(conn) else { return };
        let Some(mut asked) = connection.asked.take() else { return };
        asked.conn = conn;
        let pool = connection.pool;
        self.pools[pool].pool.written += 1;
        cx.plan(cx.now() + self.ways[pool].message(), ClusterEvent::Asked(asked));
    }

    fn asked(&mut self, asked: Box<SimRequest>, cx: &mut Cx<'_, ClusterEvent>) {
        // Its sender may be gone meanwhile, and its number be that of another.
        let Some(node) = self.inner.get(asked.conn).map(|connection| connection.node) else { return };
        self.at(node, cx, |plant, context| plant.on_request(asked, context));
    }

    fn answered(&mut self, conn: ConnId, mut response: Response, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(connection) = self.inner.get(conn) else { return };
        let (pool, owner) = (connection.pool, connection.owner.take());
        let task = connection.node - self.services[self.pools[pool].service].first;
        self.pools[pool].pool.left(task);
        if self.pools[pool].pool.hears_reports() {
            let value = response.headers.iter().find_map(|(name, value)| (*name == LOAD_METRICS).then_some(value));
            let report = value.and_then(|value| LoadReport::read(value.as_bytes()));
            report.into_iter().for_each(|report| self.pools[pool].pool.reported(task, &report));
        }
        if response.close {
            self.inner.remove(conn);
            self.pools[pool].pool.remove(task, &conn);
        } else if let Some(unwanted) = self.pools[pool].pool.keep(task, conn) {
            self.close_idle(unwanted, cx);
        }
        response.close = false;
        match owner {
            Some(Sender::User(user)) => {
                if let Some(UserConnection::Proxied { by, .. }) = self.users.get_mut(&user) {
                    *by = None;
                }
                cx.reply(user, response);
            }
            Some(Sender::Call(id)) => self.call_answered(id, &response, cx),
            None => {}
        }
        self.next_in_line(pool, cx);
    }

    /// Sends waiting requests after a connection has become free, or there is room for another one.
    fn next_in_line(&mut self, pool: usize, cx: &mut Cx<'_, ClusterEvent>) {
        if let Some((owner, asked)) = self.pools[pool].pool.waiting.pop_front() {
            self.send(pool, owner, asked, cx);
        }
    }

    /// Takes a connection that a task has closed, or refused: the request on it has failed. It does not go on another one,
    /// since the task may have read it.
    fn closed(&mut self, conn: ConnId, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(connection) = self.inner.remove(conn) else { return };
        let task = connection.node - self.services[self.pools[connection.pool].service].first;
        self.pools[connection.pool].pool.remove(task, &conn);
        if connection.owner.is_some() {
            self.pools[connection.pool].pool.left(task);
        }
        match (connection.owner, connection.asked) {
            (Some(Sender::Call(id)), _) => self.call_broken(id, cx),
            (Some(Sender::User(user)), unsent) => {
                if let Some(asked) = unsent.filter(|asked| !is_check(&asked.call)) {
                    let of = &self.services[self.pools[connection.pool].service];
                    of.balancer.open(asked.number).close(LedgerEnding::Failed);
                }
                if let Some(UserConnection::Proxied { by, .. }) = self.users.get_mut(&user) {
                    *by = None;
                }
                cx.reply(user, bare(502));
            }
            (None, _) => {}
        }
        self.next_in_line(connection.pool, cx);
    }

    /// Closes a connection without a request, which its pool has given up.
    fn close_idle(&mut self, conn: ConnId, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(connection) = self.inner.remove(conn) else { return };
        cx.plan(cx.now() + self.ways[connection.pool].delay, ClusterEvent::HungUp(connection.node, conn));
    }

    /// Closes a connection whose answer nobody waits for any more.
    fn abandon(&mut self, conn: ConnId, cx: &mut Cx<'_, ClusterEvent>) {
        let Some(connection) = self.inner.remove(conn) else { return };
        let task = connection.node - self.services[self.pools[connection.pool].service].first;
        self.pools[connection.pool].pool.remove(task, &conn);
        self.pools[connection.pool].pool.left(task);
        cx.plan(cx.now() + self.ways[connection.pool].delay, ClusterEvent::HungUp(connection.node, conn));
        self.next_in_line(connection.pool, cx);
    }

    fn report(&mut self, report: PeerReport, cx: &mut Cx<'_, ClusterEvent>) {
        match addressee(report) {
            Some((node, to, report)) if node < self.nodes.len() => {
                self.at(node, cx, |plant, context| plant.on_report(to, &Seen::Peer(report), context));
            }
            Some(_) => {}
            None => {
                self.beside.machines.hear(cx.now(), report);
                self.turn_machines(cx);
            }
        }
    }

    fn renew(&mut self, cx: &mut Cx<'_, ClusterEvent>) {
        for caller in 0..self.calls.callers.len() {
            self.calls.callers[caller].machine.renew(cx.now());
            self.look_at_policy(caller, cx);
        }
    }

    fn entry(&self, class: Class) -> Option<usize> {
        let fits = |of: &Option<Class>| of.is_none_or(|of| of == class);
        self.entries.iter().find(|(of, _)| fits(of)).map(|(_, service)| *service)
    }
}

impl SimServer for Cluster {
    type Event = ClusterEvent;

    fn begin(&mut self, cx: &mut Cx<'_, ClusterEvent>) {
        for node in 0..self.nodes.len() {
            self.at(node, cx, |plant, context| plant.start(context));
        }
        for &at in &self.renewals {
            cx.plan(Timestamp::ZERO + at, ClusterEvent::Renew);
        }
        self.leave_out_tasks_on_demand();
        self.turn_machines(cx);
        self.settle(cx);
    }

    fn connect(&mut self, conn: ConnId, client: SimClient, cx: &mut Cx<'_, ClusterEvent>) -> SynResult {
        let Some(service) = self.entry(client.class) else { return SynResult::Refused };
        if self.services[service].proxied {
            self.users.insert(conn, UserConnection::Proxied { service, by: None });
            return SynResult::Taken;
        }
        let task = self.pools[service].pool.pick();
        let node = self.services[service].first + task;
        let syn = self.at(node, cx, |plant, context| plant.on_connect(conn, client.silent, context));
        match syn {
            SynResult::Taken => _ = self.users.insert(conn, UserConnection::Direct { node }),
            SynResult::Dropped | SynResult::Refused => self.pools[service].pool.left(task),
        }
        self.settle(cx);
        syn
    }

    fn ask(&mut self, asked: Box<SimRequest>, cx: &mut Cx<'_, ClusterEvent>) {
        match self.users.get(&asked.conn) {
            Some(&UserConnection::Direct { node }) => {
                self.at(node, cx, |plant, context| plant.on_request(asked, context));
            }
            Some(&UserConnection::Proxied { service, .. }) => self.send(service, Sender::User(asked.conn), asked, cx),
            None => {}
        }
        self.settle(cx);
    }

    fn hang_up(&mut self, conn: ConnId, cx: &mut Cx<'_, ClusterEvent>) {
        match self.users.remove(&conn) {
            Some(UserConnection::Direct { node }) => {
                let Node { service, task, .. } = self.nodes[node];
                self.pools[service].pool.left(task);
                self.at(node, cx, |plant, context| plant.on_hang_up(conn, context));
            }
            Some(UserConnection::Proxied { by: Some(by), .. }) => self.abandon(by, cx),
            Some(UserConnection::Proxied { by: None, .. }) | None => {}
        }
        self.settle(cx);
    }

    fn happen(&mut self, event: ClusterEvent, cx: &mut Cx<'_, ClusterEvent>) {
        match event {
            ClusterEvent::Node(node, event) => self.at(node, cx, |plant, context| plant.on_event(event, context)),
            ClusterEvent::Syn(conn, sent_before) => self.syn(conn, sent_before, cx),
            ClusterEvent::Connected(conn) => self.connected(conn, cx),
            ClusterEvent::Asked(asked) => self.asked(asked, cx),
            ClusterEvent::Answered(conn, response) => self.answered(conn, response, cx),
            ClusterEvent::Closed(conn) => self.closed(conn, cx),
            ClusterEvent::HungUp(node, conn) => self.at(node, cx, |plant, context| plant.on_hang_up(conn, context)),
            ClusterEvent::CallLimit(call) => self.call_limit(call, cx),
            ClusterEvent::AskAgain(call) => self.ask_policy(call, cx),
            ClusterEvent::CallerWakes(caller) => self.caller_wakes(caller, cx),
            ClusterEvent::Report(report) => self.report(report, cx),
            ClusterEvent::MachinesWake => {
                self.beside.wake = None;
                self.turn_machines(cx);
            }
            ClusterEvent::Renew => self.renew(cx),
        }
        self.settle(cx);
    }
}
