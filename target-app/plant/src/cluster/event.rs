//! Scheduled events of a cluster.

use std::time::Duration;

use controllers::{Moments, PeerReport};
use workloads::sim::{ConnId, Identity, Response, SimRequest, identity_of};

use crate::event::Event;

/// A scheduled event of a cluster.
#[derive(Debug)]
pub enum ClusterEvent {
    /// An event of a node.
    Node(usize, Event),
    /// A SYN between services, and how many were sent before it.
    Syn(ConnId, u32),
    /// The sender learns that it is connected.
    Connected(ConnId),
    /// A request arrives at a task.
    Asked(Box<SimRequest>),
    /// An answer arrives at its sender.
    Answered(ConnId, Response),
    /// The sender learns that the task has closed the connection.
    Closed(ConnId),
    /// A task learns that the sender has closed it.
    HungUp(usize, ConnId),
    /// A call has reached its time limit.
    CallLimit(u64),
    /// A call asks its caller's policy again.
    AskAgain(u64),
    /// A caller's policy is due.
    CallerWakes(usize),
    /// A report arrives.
    Report(PeerReport),
    /// The machines of the whole tree are due.
    MachinesWake,
    /// New policies replace those of the callers.
    Renew,
}

impl Identity for ClusterEvent {
    fn identity(&self) -> u64 {
        match self {
            Self::Node(node, event) => identity_of(0, &[*node as u64, event.identity()]),
            Self::Syn(conn, sent_before) => identity_of(1, &[conn.identity(), u64::from(*sent_before)]),
            Self::Connected(conn) => identity_of(2, &[conn.identity()]),
            Self::Asked(asked) => identity_of(3, &[asked.identity()]),
            Self::Answered(conn, response) => identity_of(4, &[conn.identity(), response.identity()]),
            Self::Closed(conn) => identity_of(5, &[conn.identity()]),
            Self::HungUp(node, conn) => identity_of(6, &[*node as u64, conn.identity()]),
            Self::CallLimit(call) => identity_of(7, &[*call]),
            Self::AskAgain(call) => identity_of(8, &[*call]),
            Self::CallerWakes(caller) => identity_of(9, &[*caller as u64]),
            Self::Report(report) => identity_of(10, &said(*report)),
            Self::MachinesWake => identity_of(11, &[]),
            Self::Renew => identity_of(12, &[]),
        }
    }
}

/// A report as numbers, its kind first.
fn said(report: PeerReport) -> Vec<u64> {
    let moments = |Moments { count, sum, squares }| [count, sum.to_bits(), squares.to_bits()];
    match report {
        PeerReport::Pressure { from, level } => vec![0, from.0.into(), level.to_bits(), 0, 0],
        PeerReport::Usage { from, customer, used, wanted } => {
            vec![1, from.0.into(), customer.into(), used.to_bits(), wanted.to_bits()]
        }
        PeerReport::Quota { to, customer, limit } => vec![2, to.0.into(), customer.into(), limit.to_bits(), 0],
        PeerReport::Arrivals { from, rank, offered } => vec![3, from.0.into(), rank.into(), offered],
        PeerReport::Workload { from, refused, service, interarrival, cpu } => {
            let own = [4, from.0.into(), refused, cpu.to_bits()];
            [&own[..], &moments(service), &moments(interarrival)].concat()
        }
        PeerReport::Nucleus { from, queueing, in_service } => {
            vec![7, from.0.into(), nanos(queueing), in_service.into()]
        }
        PeerReport::Server { to, server, queueing, in_service } => {
            vec![8, to.0.into(), server.into(), nanos(queueing), in_service.into()]
        }
        PeerReport::Target { to, response } => vec![5, to.0.into(), nanos(response)],
        PeerReport::Servers { to, servers } => vec![6, to.0.into(), servers.into()],
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
