//! What machines show of themselves: gauges on request, and events as they happen.

use serde::{Deserialize, Serialize};

use crate::{Class, Timestamp};

/// Identifies a site (a stage, a listener, a client) within one host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SiteId(pub u16);

/// Names one number that a machine shows: what it is, and for which class if there are several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gauge {
    /// Snake case, unit last: `admission_rate_per_s`, `p90_ms`, `quality`.
    pub name: &'static str,
    /// The class it is about, if not all.
    pub class: Option<Class>,
}

impl Gauge {
    /// A gauge over all classes.
    #[must_use]
    pub const fn of(name: &'static str) -> Self {
        Self { name, class: None }
    }

    /// A gauge of one class.
    #[must_use]
    pub const fn of_class(name: &'static str, class: Class) -> Self {
        Self { name, class: Some(class) }
    }
}

/// What happened inside a policy. Figures are drawn from these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum PolicyEvent {
    /// A controller ran: its estimate, its error, and the admission rate before and after.
    ControllerRan {
        /// Class that it ran for.
        class: Class,
        /// Samples of this run.
        samples: u32,
        /// Smoothed percentile of response time, milliseconds.
        estimate_ms: f64,
        /// (estimate − target) / target.
        error: f64,
        /// Admissions per second, before.
        rate_before: f64,
        /// Admissions per second, after.
        rate_after: f64,
    },
    /// A higher class pre-empted this one: its next increase is skipped.
    Preempted {
        /// The class that gives way.
        class: Class,
        /// The class it gives way to.
        by: Class,
    },
    /// The quality of service changed.
    Quality {
        /// Before, 0 to 1.
        before: f64,
        /// After, 0 to 1.
        after: f64,
    },
    /// Admission control was switched on or off by a degrading policy.
    Admission {
        /// True: on.
        on: bool,
    },
    /// A pool or batch was resized.
    Resized {
        /// `workers` or `batch`.
        what: String,
        /// Before.
        before: u32,
        /// After.
        after: u32,
    },
    /// Word was sent to, or came from, another site.
    Pressure {
        /// 0 to 1.
        level: f64,
    },
}

/// Takes events. May be dropped without changing a decision (effects may not).
pub trait Observer: Send {
    /// One event, as it happens.
    fn event(&mut self, at: Timestamp, site: SiteId, event: &PolicyEvent);
}

/// Drops everything.
impl Observer for () {
    fn event(&mut self, _: Timestamp, _: SiteId, _: &PolicyEvent) {}
}
