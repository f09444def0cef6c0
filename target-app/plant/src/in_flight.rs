//! A request inside the plant.

use std::{collections::VecDeque, net::SocketAddr, time::Duration};

use controllers::{
    JobId, Offer, Refusal, Timestamp,
    site::{Permit, QueuedJob},
};
use http::{HeaderName, HeaderValue, Request, request::Parts};
use service_core::{calls::CallsResult, class::RequestFacts, ledger, load_report::LoadMeter, route::Route};
use workloads::{background::HEALTH, persona::Call, sim::SimRequest};

use super::{cpu::Step, job_table::JobTable, rooms::PlantRooms};

/// The requests in a plant, the workers of its stages, the waiting rooms before them, what waits to be policed, and what is reported of all.
#[derive(Debug, Default)]
pub(super) struct Requests {
    pub(super) in_flight: JobTable<InFlight>,
    pub(super) workers: Vec<Option<Worker>>,
    /// Stages whose workers have jobs to begin.
    pub(super) woken_stages: VecDeque<usize>,
    pub(super) rooms: Option<PlantRooms>,
    pub(super) policing: PolicingQueue,
    /// What answers report of the load, if anybody chooses by that.
    pub(super) load: Option<LoadMeter>,
}

/// Requests that have been read and wait to be policed, first come, first served: a decision is not interrupted by the
/// next one.
#[derive(Debug, Default)]
pub(super) struct PolicingQueue {
    pub(super) waiting: VecDeque<Box<SimRequest>>,
    /// Requests on the cores: at most one for each.
    pub(super) under_way: u32,
}

/// A stage's worker with a batch.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) stage: usize,
    pub(super) batch: VecDeque<QueuedJob<JobId>>,
    pub(super) under_way: Option<QueuedJob<JobId>>,
    pub(super) jobs: u32,
    pub(super) began: Timestamp,
}

impl Requests {
    /// Gives a batch to a worker; returns its number.
    pub(super) fn hire(&mut self, worker: Worker) -> usize {
        let number = self.workers.iter().position(Option::is_none).unwrap_or(self.workers.len());
        if number == self.workers.len() {
            self.workers.push(None);
        }
        self.workers[number] = Some(worker);
        number
    }
}

/// A request that has been read, until its answer is sent.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) asked: Box<SimRequest>,
    pub(super) offer: Offer,
    pub(super) route: Route,
    /// Its entry in the service's ledger; dropping it records that the client was gone.
    pub(super) entry: Option<ledger::LedgerEntry>,
    /// The permit of the gate at dispatch.
    pub(super) permit: Option<Permit>,
    /// The remaining steps; the first one is under way.
    pub(super) steps: VecDeque<Step>,
    /// The work done for it so far.
    pub(super) cost: Duration,
    pub(super) answer: PlannedAnswer,
    /// The time from which the reader of an answer that streams was never kept waiting.
    pub(super) readable: Option<Timestamp>,
    /// True if its client is gone.
    pub(super) gone: bool,
    /// True for a health check, which goes no further than dispatch, and is in no ledger of requests.
    pub(super) check: bool,
    /// The work on it.
    pub(super) work: Option<Work>,
    /// How the calls on its behalf have ended.
    pub(super) calls: CallsResult,
}

/// The work of a stage on a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    /// The number of the worker.
    pub(super) worker: usize,
    pub(super) began: Timestamp,
    /// True while the worker waits for calls to other services.
    pub(super) is_calling: bool,
}

/// The answer that a request will get, apart from its calls.
#[derive(Debug)]
pub(super) enum PlannedAnswer {
    /// The full answer.
    Full,
    /// Less than was requested, or older; the value of `X-Degraded`.
    Less(String),
    /// An error at once.
    Failed,
    /// None: the process has died.
    Lost,
    /// A refusal, since its sender no longer waited when its turn came.
    Refused(Refusal),
}

impl PlannedAnswer {
    /// The value of `X-Degraded`, if the answer is less than was requested, or older.
    pub(super) fn less(&self) -> Option<&str> {
        if let Self::Less(how) = self { Some(how) } else { None }
    }
}

/// The head in the form that the live service would get, without what [`facts_of`] says beside it.
pub(super) fn head_of(call: &Call) -> Parts {
    let method = http::Method::from_bytes(call.method.name().as_bytes()).unwrap_or_default();
    let mut head = Request::new(()).into_parts().0;
    head.method = method;
    head.uri = call.path.parse().unwrap_or_default();
    for line in call.headers.split("\r\n").filter(|line| !line.is_empty()) {
        let Some((name, value)) = line.split_once(": ") else { continue };
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse::<HeaderValue>()) {
            head.headers.append(name, value);
        }
    }
    head
}

/// The facts about a request of this user, who still waits for `left`. What a call of another service says in its head
/// holds where the sender says nothing beside it.
pub(super) fn facts_of<'a>(head: &'a Parts, call: &Call, user: u64, left: Option<Duration>) -> RequestFacts<'a> {
    let said = RequestFacts::of_head(head, peer_of(user), Some(user));
    let attempt = if call.attempt > 0 { call.attempt } else { said.attempt };
    RequestFacts { attempt, left: left.or(said.left), ..said }
}

/// True for a health check.
pub(super) fn is_check(call: &Call) -> bool {
    call.path.split('?').next() == Some(HEALTH)
}

/// The address that a live service would see of this user: users are spread over 127.0.0.0/8.
fn peer_of(user: u64) -> SocketAddr {
    let number = (user % 0x00FF_FFFE) as u32 + 1;
    SocketAddr::from((std::net::Ipv4Addr::from_bits(0x7F00_0000 | number), 1024))
}
