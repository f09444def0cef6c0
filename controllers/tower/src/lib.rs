//! Adaptive admission control for [tower] services.
//!
//! A server that gets more requests than it can serve fails at all of them, unless something decides which ones it
//! takes. This crate puts such decisions in front of a
//! service: limits on concurrency that adapt (`gradient2`, `vegas`, `aimd`), queue disciplines (`codel`, `lifo`),
//! priorities (`dagor`), SEDA's controllers (`seda`,
//! `pid`), Google SRE's (`utilization`, `sre`, `quota`; at clients `throttle`, `retry-budget`, `sre-client`), and
//! limits that are set by hand (`concurrency`,
//! `fixed-rate`, `queue-length`). They are the policies of the overload-control lab, unchanged: what won there in an
//! experiment is deployed by its name.
//!
//! ```
//! use std::time::Duration;
//! use tower::{Service, ServiceBuilder, ServiceExt};
//! use tower_admission::AdmissionLayer;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let mut service = ServiceBuilder::new()
//!     .layer(AdmissionLayer::new("gradient2").set("limit_max", 500).build()?)
//!     .service_fn(|_: http::Request<String>| async {
//!         Ok::<_, std::convert::Infallible>(http::Response::new("hello".to_owned()))
//!     });
//! let response = service.ready().await?.call(http::Request::new(String::new())).await?;
//! assert_eq!(response.body(), "hello");
//! # Ok(())
//! # }
//! ```
//!
//! # What happens to a request
//!
//! - It is decided about in `call`. `poll_ready` is the inner service's own, since a policy that tells important
//!   requests from others must see a request.
//! - *Admitted*: the inner service is called at once.
//! - *Refused*: [`HttpRefusal`] answers 503 with `Retry-After`, or what [`AdmissionLayer::refuse_with`] builds; at
//!   clients the response future is the error
//!   [`Refused`].
//! - *Sent back for a while*: refused, with the time after which to come again ([`Refused::retry_after`]), at servers as
//!   `Retry-After`. A client's layer does not wait and send by itself: whether the answer is still wanted then is known
//!   to its caller, or to a retry layer above this one.
//! - *Held* (queue disciplines): the response future waits. The inner service is called when the policy lets the
//!   request in.
//! - The response is the end, of which the policy is told the outcome and the time: at its head, or at the end of its
//!   body
//!   ([`AdmissionLayer::end_at_body`]).
//! - A response future that is dropped ends its request as abandoned; while the request is held, it leaves the queue. A
//!   handler that panics has failed.
//!
//! Layers above this one see refusals as responses; put tracing and metrics of your own there. Layers below it are part
//! of the response time that the policy sees; a
//! time-out belongs below, so that its requests end.
//!
//! # Trying a policy first
//!
//! In shadow mode ([`AdmissionLayer::shadow`]) the policy decides and is told everything, and nothing is refused:
//! [`Admission::gauges`] and the metrics say what would have been.
//!
//! # What policies tell each other
//!
//! - Notes: `dagor` tells callers by a number on each response what it admits, and its clients refuse by themselves what
//!   would be refused. [`AdmissionLayer::notes`] carries such numbers, in HTTP as `X-Note` ([`HttpNotes`]).
//! - Reports: `quota` and `sre` can report the usage of their customers to a process that divides quotas between
//!   replicas. [`AdmissionLayer::on_tell`] gets the reports, [`Admission::tell`] takes the answers; the transport is the
//!   program's.
//!
//! # While it runs
//!
//! [`AdmissionLayer::admission`] and [`AdmissionService::admission`] return the running policy: its numbers, shadow
//! mode, and [`Admission::replace`], which puts another policy in its place, at servers and at clients, without losing a
//! request.
//!
//! # Time
//!
//! A timer task does what a policy has to do at a certain time, on the runtime of the first request that needs one.
//! Tokio's timers count in whole milliseconds: it is
//! one or two late. Without a tokio runtime such work is done with the next request.
//!
//! # Many threads
//!
//! One lock guards a policy while it decides. An end never waits for it, unless the response carries a note.
//! [`AdmissionLayer::shards`] splits a policy where that is possible.
//!
//! # Features
//!
//! - `http` (on by default): HTTP and gRPC as the default ([`HttpRefusal`], [`HttpOutcomes`], [`HttpReplies`],
//!   [`trusted_headers`], [`AtBody`]).
//! - `metrics` (on by default): counters and gauges through the `metrics` facade, once a second
//!   ([`Admission::publish`]).
//!
//! [tower]: https://docs.rs/tower
#![warn(missing_docs)]

mod admission;
mod admitted;
mod build_error;
mod choice;
mod clock;
#[cfg(test)]
mod conformance;
mod defaults;
mod end;
mod gauges;
#[cfg(feature = "http")]
mod http;
mod layer;
mod machine;
#[cfg(feature = "metrics")]
mod metrics;
mod notes;
mod outcome;
mod plan;
pub mod policies;
mod probe;
mod refusal;
mod replace_error;
mod reports;
mod service;
mod sharding;
mod site;
mod tags;
mod timer;

pub use admission::Admission;
pub use build_error::BuildError;
pub use choice::{IntoSetting, PolicyChoice};
/// The vocabulary of policies, of the crate `controllers`.
pub use controllers::{
    Catalogue, Criticality, Entry, Note, Outcome, PeerReport, Reason, RetryHint, Settings, SiteId,
    catalogue::{Problem, Setting},
    site::Probe,
};
pub use end::{AtHead, ResponseEnd, ResponseEnding};
pub use gauges::AdmissionGauges;
#[cfg(feature = "http")]
pub use http::{AdmissionBody, AtBody, HttpNotes, HttpOutcomes, HttpRefusal, HttpReplies, trusted_headers};
pub use layer::AdmissionLayer;
pub use notes::{CarryNotes, NoNotes};
pub use outcome::{ErrorsAreFailures, Outcomes};
pub use probe::ThisProcessProbe;
pub use refusal::{BoxError, OnRefusal, RefuseWith, RefuseWithError, Refused};
pub use replace_error::ReplaceError;
pub use service::{AdmissionFuture, AdmissionService};
pub use tags::{Classify, NoTags, RequestTags};
