//! Ledgers and distributions of all requests, in fixed memory.
//!
//! A host drives a [`Recorder`]: it [plans](Recorder::plan) each request at its intended start, and returns the
//! [`Ticket`] when the request has ended. The recorder keeps a ledger in which every planned request ends exactly once,
//! and histograms with percentiles that do not hide time-outs. Memory is bounded by phases, types and classes, never by
//! requests; only [`Numbers`] of requests without an answer and the counts of each user ([`Fairness`]) are kept one by
//! one, both up to a limit.
//!
//! The crate knows neither hosts nor load plans, so that a [`Report`] can be computed from its [`ReportRecord`] without them.
#![warn(missing_docs)]

mod background;
mod buckets;
mod cell;
mod distribution;
mod groups;
mod health;
mod in_flight;
mod ledger;
mod measured;
mod merge;
mod numbers;
mod plan;
mod raw;
mod record;
mod recorder;
mod replies;
mod report;
mod reports;
mod services;
mod shard;
mod shares;
mod spread;
mod undelayed;
mod user_set;
mod users;
mod window;

pub use background::{BackgroundLedger, CheckResult};
pub use cell::TimeFamily;
pub use controllers::site::ClientGauges;
pub use distribution::{Distribution, Percentile, Times, least_samples};
pub use groups::Group;
pub use health::{ClockReport, Health, Stall, StallCause, WAKE_UP};
pub use ledger::{Fate, Ledger};
pub use measured::Measured;
pub use merge::RecordSum;
pub use numbers::Numbers;
pub use plan::{Intent, RecorderPhase, RecorderPlan};
pub use record::{CellRecord, PhaseRecord, RecordError, ReportRecord, TimesRecord, UndelayedRecord};
pub use recorder::{Recorder, Ticket};
pub use replies::Replies;
pub use report::{GeneratorReport, Little, PhaseReport, Report};
pub use reports::Reported;
pub use services::{Calls, ServiceTotals};
pub use shard::Shard;
pub use shares::{Fairness, jain};
pub use spread::Dispersion;
pub use undelayed::Undelayed;
pub use users::{Offered, Replayed, TransitionCount, WalkCell};
pub use window::{LastSecond, SecondTimes, TurnedBack, UserStates, Window};

#[cfg(test)]
mod tests;
