//! What plugs into the stages: the part of a service that knows what its requests mean.
//!
//! The edge reads and parses, stages queue and admit, and a [`Service`] says which stage a request belongs to and does
//! its work there. Mail, the checksum service and emulated service times are three of them.

use std::{fmt, future::Future, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

mod cost;
mod later;
mod page;

use controllers::{JobId, Kind, Reason, Refusal, Tags, Timestamp};
use http::{HeaderName, Response, StatusCode, request::Parts};
pub use hyper::body::Bytes;

use crate::{
    graph::{Branch, Graph},
    signals::{Probe, ThisProcess},
    spec::WorkSpec,
};

pub(crate) use cost::Metered;
pub use cost::StatedCost;
pub(crate) use later::Later;
pub use page::{PageBody, Pieces};

/// The key of the draws that belong to a request.
const DRAW: HeaderName = HeaderName::from_static("x-draw");

/// A future that a trait object can return.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a handler hands back: an answer, or a refusal of its own (a full queue for password hashing, …), which becomes
/// the same 503 page as a refusal by a stage and is booked as one.
pub type Handled = Result<Response<PageBody>, Refusal>;

/// A service behind the stages.
pub trait Service: fmt::Debug + Send + Sync + 'static {
    /// Request types and stages. Asked once, at the start.
    fn graph(&self) -> Graph;

    /// Which type a request is, and which stage works on it. Runs for every request, before admission: no I/O.
    fn route(&self, head: &Parts) -> Route;

    /// Works on a request in its stage. May wait; must not block the thread for long (yield between rounds of work).
    /// A panic is caught, counted, and answered with 500.
    fn handle<'a>(&'a self, request: Request, at: At<'a>) -> Boxed<'a, Handled>;

    /// Whether its work is emulated, burns no CPU, and is done at the speed that [`At`] says. Then policies are told the cost that the
    /// answer states ([`StatedCost`]), else the CPU time of the handler and of other threads that are taken along.
    fn is_emulated(&self) -> bool {
        false
    }

    /// Where policies' samples of its CPU and memory come from: the process, unless its work is emulated.
    fn probe(&self) -> Arc<dyn Probe> {
        Arc::new(ThisProcess)
    }

    /// Spends emulated time on something beside the work on requests: taking a connection, reading, refusing, where that is to cost
    /// something. A service that emulates nothing spends none.
    fn spend(&self, time: Duration) -> Boxed<'_, ()> {
        let _ = time;
        Box::pin(std::future::ready(()))
    }

    /// Whose session a request belongs to, as a number that is no secret: who asks, where no header says so. `None`: it has none, or the
    /// service knows no sessions.
    fn session(&self, head: &Parts) -> Option<u64> {
        let _ = head;
        None
    }

    /// A cheap answer for a request that its stage refused, where [`crate::spec::OnRefuse::Degrade`] is chosen. `None`:
    /// there is none, refuse it.
    fn degrade<'a>(&'a self, request: &'a Request) -> Boxed<'a, Option<Response<PageBody>>> {
        let _ = request;
        Box::pin(std::future::ready(None))
    }

    /// The page of a refusal. Asked once for each reason, at the start.
    fn refused_page(&self, reason: Reason) -> Bytes {
        let page = format!(
            "<!doctype html><html lang=\"en\"><head><title>Too busy</title></head><body data-page=\"refused\">\
             <h1>Too busy</h1><p>The service cannot take this request now ({}). Please try again later.</p></body></html>",
            reason.name()
        );
        Bytes::from(page)
    }

    /// The page of an error that did not come from a handler (a panic, a body that is too large, …).
    fn error_page(&self, status: StatusCode) -> Bytes {
        let text = status.canonical_reason().unwrap_or("Error");
        let page = format!(
            "<!doctype html><html lang=\"en\"><head><title>{text}</title></head><body data-page=\"error\"><h1>{text}</h1></body></html>"
        );
        Bytes::from(page)
    }

    /// Turns the work knob while running.
    ///
    /// # Errors
    /// The service has none, or the values make no sense.
    fn set_work(&self, work: &WorkSpec) -> Result<(), WorkError> {
        let _ = work;
        Err(WorkError::NoKnob)
    }

    /// Releases what has to be released in order, after the last request.
    fn close(&self) -> Boxed<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Where a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Request type: an index into [`Graph::kinds`].
    pub kind: Kind,
    /// Stage: an index into the branches that the service gave to [`Graph::new`].
    pub branch: Branch,
}

/// A request whose head and body were read whole.
#[derive(Debug)]
pub struct Request {
    /// Its identity within this process, in order of arrival.
    pub id: JobId,
    /// When its head had been read.
    pub entered: Timestamp,
    /// What is known of it.
    pub tags: Tags,
    /// Where it goes.
    pub route: Route,
    /// Method, URI, headers.
    pub head: Parts,
    /// The body; empty if there was none.
    pub body: Bytes,
    /// Who sent it.
    pub peer: SocketAddr,
}

impl Request {
    /// The key of the draws that belong to it, which a run of ours gives its requests, and its service the calls for them.
    #[must_use]
    pub fn draw(&self) -> Option<u64> {
        self.head.headers.get(DRAW)?.to_str().ok()?.parse().ok()
    }
}

/// What a handler may know of its stage.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// The stage's name.
    pub stage: &'a str,
    /// When the job was let into the stage.
    pub offered: Timestamp,
    /// When work on it began.
    pub started: Timestamp,
    /// Quality of service that the stage's policy asks for, 0 to 1; 1 unless it says otherwise.
    pub quality: f64,
    /// The stage's 90th percentile of response time as its policy sees it; `None` until it says.
    pub p90: Option<Duration>,
    /// How fast emulated work is to be done, over 0; 1 unless a person slows the service down.
    pub speed: f64,
}

/// The work knob cannot be turned so.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkError {
    /// Not this service.
    #[error("this service has no work knob: only mail does extra database operations")]
    NoKnob,
    /// A number that makes no sense.
    #[error("{name}: {value} is not a number of operations: zero or more is")]
    Value {
        /// `operations`, or a request type.
        name: String,
        /// What was given.
        value: f64,
    },
    /// A request type that there is not.
    #[error("{name}: no such request type; there are {known}")]
    Kind {
        /// What was given.
        name: String,
        /// What would be right.
        known: String,
    },
}
