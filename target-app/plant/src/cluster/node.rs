//! One task of a service, and the context of its plant.

use std::{collections::VecDeque, time::Duration};

use controllers::{JobId, PeerReport, Timestamp};
use service_core::{calls::CallsResult, tree::global};
use workloads::sim::{ConnId, Cx, Response};

use super::{
    connections::{InnerConnections, is_inside},
    event::ClusterEvent,
    ways::Way,
};
use crate::{context::PlantContext, event::Event, world::Plant};

/// A task.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) plant: Plant,
    pub(super) service: usize,
    pub(super) task: usize,
    /// The callers of its calls, in the order of its service's calls.
    pub(super) callers: Vec<usize>,
    pub(super) life: Life,
}

/// Whether a task is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    /// It runs, perhaps to drain.
    Runs,
    /// It was never started.
    Unborn,
    /// It ended then.
    Ended(Timestamp),
}

/// Work that follows a plant's own: done at once, one after the other, so that calls do not nest.
#[derive(Debug)]
pub(super) enum Deferred {
    /// A job makes its calls.
    Calls(usize, JobId),
    /// The calls of a job have ended.
    Ended(usize, JobId, CallsResult),
    /// A task has crashed, with all of its calls.
    Crashed(usize),
    /// A task that had crashed is back.
    Restarted(usize),
}

/// The cluster around a plant.
pub(super) struct NodeContext<'a, 'b> {
    pub(super) cx: &'a mut Cx<'b, ClusterEvent>,
    pub(super) node: usize,
    pub(super) hop: Duration,
    pub(super) has_calls: bool,
    pub(super) inner: &'a mut InnerConnections,
    pub(super) ways: &'a mut [Way],
    pub(super) deferred: &'a mut VecDeque<Deferred>,
}

impl NodeContext<'_, '_> {
    /// The way of a connection within the cluster, as long as its sender has it.
    fn way(&mut self, conn: ConnId) -> Option<&mut Way> {
        self.ways.get_mut(self.inner.get(conn)?.pool)
    }
}

impl PlantContext for NodeContext<'_, '_> {
    fn now(&self) -> Timestamp {
        self.cx.now()
    }

    fn plan(&mut self, at: Timestamp, event: Event) {
        self.cx.plan(at, ClusterEvent::Node(self.node, event));
    }

    fn reply(&mut self, conn: ConnId, response: Response) {
        if is_inside(conn) {
            let (now, hop) = (self.cx.now(), self.hop);
            let at = now + self.way(conn).map_or(hop, Way::message);
            self.cx.plan(at, ClusterEvent::Answered(conn, response));
        } else {
            self.cx.reply(conn, response);
        }
    }

    fn close(&mut self, conn: ConnId) {
        if is_inside(conn) {
            let (now, hop) = (self.cx.now(), self.hop);
            let at = now + self.way(conn).map_or(hop, |way| way.delay);
            self.cx.plan(at, ClusterEvent::Closed(conn));
        } else {
            self.cx.close(conn);
        }
    }

    fn reset(&mut self, conn: ConnId) {
        if is_inside(conn) {
            self.close(conn);
        } else {
            self.cx.reset(conn);
        }
    }

    fn report(&mut self, report: PeerReport) {
        let report = global(self.node, report);
        let at = self.cx.now() + self.hop;
        self.cx.plan(at, ClusterEvent::Report(report));
    }

    fn crashed(&mut self) {
        self.deferred.push_back(Deferred::Crashed(self.node));
    }

    fn restarted(&mut self) {
        self.deferred.push_back(Deferred::Restarted(self.node));
    }

    fn calls(&mut self, job: JobId) -> bool {
        if self.has_calls {
            self.deferred.push_back(Deferred::Calls(self.node, job));
        }
        self.has_calls
    }
}
