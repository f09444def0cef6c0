//! Overload-control policies as pure machines.
//!
//! A [`Policy`] decides on one arriving job at a time, and learns from facts that its host tells it. Time and
//! randomness come in as arguments, decisions go out as values, and the next wake-up is *asked for*. Nothing here can
//! read a clock, open a socket or spawn a task (`clippy.toml` beside this crate enforces it), so the same policy runs in
//! a stage of a live service, in a proxy, on a client and in a simulator.
//!
//! Hosts drive a policy through a [`Seat`], which counts, keeps order, and switches policies live. The [`catalogue`]
//! names every policy with its parameters, their units, ranges and sources.
//!
//! Inside, most policies are *estimator → law → gate*: measure, decide a number, enforce it.
#![warn(missing_docs)]

mod baseline;
pub mod catalogue;
pub mod classify;
mod entry;
mod estimate;
mod gate;
pub mod job;
mod law;
pub mod millis;
mod modern;
pub mod observe;
pub mod policy;
pub mod random;
mod resource;
pub mod seat;
pub mod seda;
pub mod site;
mod sre;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod time;

pub use catalogue::Catalogue;
pub use classify::{ClassRule, Classifier, KindRules};
pub use entry::{Entry, Settings};
pub use job::{Class, Criticality, Grant, JobId, Kind, Note, Offer, Outcome, Tags, Timing};
pub use observe::{Gauge, Observer, PolicyEvent, SiteId};
pub use policy::{
    Ctx, Effect, Effects, LoadSample, Machine, Objective, PeerReport, Place, Policy, Reason, Refusal, Resize,
    RetryHint, Seen, Site, Verdict,
};
pub use random::{Random, Seeded, seed_for};
pub use seat::{Counts, MachineSeat, Next, Seat};
pub use time::{Timestamp, UnixSeconds};
