//! Overload-control policies as pure machines.
//!
//! A [`Policy`] decides on one arriving job at a time, and learns from the facts that its host reports. Time and
//! randomness are arguments, decisions are return values, and a policy requests its next wake-up as data. The crate
//! cannot read a clock, open a socket or spawn a task (its `clippy.toml` enforces it), so the same policy runs in a
//! stage of a live service, in a proxy, on a client and in a simulator.
//!
//! Hosts drive a policy through a [`Seat`], which counts jobs, keeps held jobs in order, and switches policies live.
//! The [`catalogue`] lists every policy with its parameters, their units, ranges and sources. A program adds its own with
//! [`Catalogue::with`]; [`parts`] has what they are made of, [`params`](mod@params) their parameters.
//!
//! Most policies are composed of three parts: an *estimator* measures, a *law* sets a limit or a rate from the
//! estimate, a *gate* enforces it.
#![warn(missing_docs)]

mod baseline;
pub mod bounds;
pub mod cataclysm;
pub mod catalogue;
pub mod classify;
mod compose;
mod deployed;
#[cfg(test)]
mod differential;
mod entry;
mod estimate;
mod flow;
mod headway;
pub mod job;
mod law;
pub mod millis;
mod modern;
mod moments;
pub mod observe;
pub mod params;
pub mod parts;
pub mod policy;
mod primitives;
pub mod random;
mod resource;
pub mod search;
pub mod seat;
pub mod seda;
pub mod site;
mod sre;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod time;
pub mod webq;

pub use catalogue::Catalogue;
pub use classify::{ClassRule, Classifier, KindRules, NamedClasses};
pub use entry::{Entry, Settings};
pub use job::{Class, Criticality, Grant, JobId, Kind, Note, Offer, Outcome, Tags, Timing};
pub use moments::Moments;
pub use observe::{Gauge, Observer, PolicyEvent, SiteId};
pub use policy::{
    Ctx, Effect, Effects, Foresight, LoadSample, Machine, Objective, OwnReason, PeerReport, Place, Policy, Reason,
    Refusal, Resize, RetryHint, Seen, Site, Verdict,
};
pub use random::{Random, Seeded, seed_for};
pub use seat::{Counts, MachineSeat, Next, Seat};
pub use time::{Timestamp, UnixSeconds};
