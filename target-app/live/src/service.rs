//! The interface of services: the part of a target that knows the meaning of its requests.
//!
//! The edge reads and parses, stages queue and admit, and a [`Service`] names the stage of a request and does its work
//! there. Mail, the checksum service and emulated service times are three services.

use std::{fmt, net::SocketAddr, sync::Arc, time::Duration};

use service_core::route::{Route, WorkError};

mod cost;
mod later;
mod page;

use controllers::{JobId, Reason, Refusal, Tags, Timestamp};
use http::{HeaderName, Response, StatusCode, request::Parts};
pub use hyper::body::Bytes;

use crate::signals::{Probe, ThisProcess};
use spec::{WorkSpec, graph::Graph};

pub use cost::{StatedCost, metered};
pub use later::{deferred, rest_of};
pub use page::{Boxed, PageBody, Pieces};

/// The key of a request's draws.
const DRAW: HeaderName = HeaderName::from_static("x-draw");

/// The result of a handler: an answer, or a refusal of its own (a full queue for password hashing, …), which becomes
/// the same 503 page as a refusal by a stage and is counted as one.
pub type Handled = Result<Response<PageBody>, Refusal>;

/// A service behind the stages.
pub trait Service: fmt::Debug + Send + Sync + 'static {
    /// Request types and stages. Called once, at the start.
    fn graph(&self) -> Graph;

    /// The type of a request, and the stage that works on it. Called for every request, before admission: no I/O.
    fn route(&self, _: &Parts) -> Route {
        Route::ONLY
    }

    /// Works on a request in its stage. May wait; must not block the thread for long (yield between rounds of work).
    /// A panic is caught, counted, and answered with 500.
    fn handle<'a>(&'a self, request: Request, at: At<'a>) -> Boxed<'a, Handled>;

    /// True if its work is emulated, burns no CPU, and is done at the speed in [`At`]. Then policies are told the cost
    /// that the answer states ([`StatedCost`]), else the CPU time of the handler and of the other threads that work for
    /// it.
    fn is_emulated(&self) -> bool {
        false
    }

    /// The source of policies' samples of CPU and memory: the process, unless its work is emulated.
    fn probe(&self) -> Arc<dyn Probe> {
        Arc::new(ThisProcess::default())
    }

    /// Spends emulated time in addition to the work on requests: accepting a connection, reading, refusing, where these
    /// have a cost. A service that emulates nothing spends none.
    fn spend(&self, _: Duration) -> Boxed<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// The session of a request, as a number that is no secret: the user, where no header names one. `None`: the
    /// request has no session, or the service has none at all.
    fn session(&self, _: &Parts) -> Option<u64> {
        None
    }

    /// A cheap answer for a request that its stage refused, where [`controllers::site::OnRefuse::Degrade`] is chosen. `None`:
    /// there is none, and the request is refused.
    fn degrade<'a>(&'a self, _: &'a Request) -> Boxed<'a, Option<Response<PageBody>>> {
        Box::pin(std::future::ready(None))
    }

    /// The page of a refusal. Called once for each reason of [`Reason::ALL`], at the start, and for each refusal with
    /// another.
    fn refused_page(&self, reason: Reason) -> Bytes {
        let page = format!(
            "<!doctype html><html lang=\"en\"><head><title>Too busy</title></head><body data-page=\"refused\">\
             <h1>Too busy</h1><p>The service cannot take this request now ({}). Please try again later.</p></body></html>",
            reason.name()
        );
        Bytes::from(page)
    }

    /// The page of an error that no handler made (a panic, a body that is too large, …).
    fn error_page(&self, status: StatusCode) -> Bytes {
        let text = status.canonical_reason().unwrap_or("Error");
        let page = format!(
            "<!doctype html><html lang=\"en\"><head><title>{text}</title></head><body data-page=\"error\"><h1>{text}</h1></body></html>"
        );
        Bytes::from(page)
    }

    /// Sets the work knob at run time.
    ///
    /// # Errors
    /// If the service has none, or the values are invalid.
    fn set_work(&self, _: &WorkSpec) -> Result<(), WorkError> {
        Err(WorkError::NoKnob)
    }

    /// Releases resources in order, after the last request.
    fn close(&self) -> Boxed<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// A request whose head and body were read whole.
#[derive(Debug)]
pub struct Request {
    /// Its identity within this process, in order of arrival.
    pub id: JobId,
    /// The time at which its head had been read.
    pub entered: Timestamp,
    /// Its tags.
    pub tags: Tags,
    /// Its route.
    pub route: Route,
    /// Method, URI, headers.
    pub head: Parts,
    /// The body; empty if there was none.
    pub body: Bytes,
    /// The sender's address.
    pub peer: SocketAddr,
}

impl Request {
    /// The key of the request's draws, which a run of ours gives its requests, and its service the calls for them.
    #[must_use]
    pub fn draw(&self) -> Option<u64> {
        self.head.headers.get(DRAW)?.to_str().ok()?.parse().ok()
    }
}

/// The state of its stage for a handler.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// The stage's name.
    pub stage: &'a str,
    /// The time at which the job was admitted to the stage.
    pub offered: Timestamp,
    /// The start of work on it.
    pub started: Timestamp,
    /// Quality of service that the stage's policy asks for, 0 to 1; 1 unless it says otherwise.
    pub quality: f64,
    /// The stage's 90th percentile of response time as its policy measures it; `None` until the first report.
    pub p90: Option<Duration>,
    /// The speed of emulated work, over 0; 1 unless an operator slows the service down.
    pub speed: f64,
}
