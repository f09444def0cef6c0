//! The observable state of machines: gauges on request, and events as they happen.

use serde::{Deserialize, Serialize};

use crate::{Class, Timestamp};

/// Identifies a site (a stage, a listener, a client) within one host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SiteId(pub u16);

/// Identifies one number that a machine exposes, for all classes or for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gauge {
    /// The name, snake case with the unit last: `admission_rate_per_s`, `p90_ms`, `quality`.
    pub name: &'static str,
    /// The class; `None`: all classes.
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

/// An event inside a policy. Plots use these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum PolicyEvent {
    /// A controller ran: its estimate, its error, and the admission rate before and after.
    ControllerRan {
        /// The class of the controller.
        class: Class,
        /// Samples used in this run.
        samples: u32,
        /// Smoothed percentile of response time, milliseconds.
        estimate_ms: f64,
        /// (estimate − target) / target.
        error: f64,
        /// Admissions per second before the run.
        rate_before: f64,
        /// Admissions per second after the run.
        rate_after: f64,
    },
    /// A higher class pre-empted this one: its next increase is skipped.
    Preempted {
        /// The class that gives way.
        class: Class,
        /// The class that is protected.
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
    /// A report of pressure was sent to, or received from, another site.
    Pressure {
        /// 0 to 1.
        level: f64,
    },
}

/// Receives events. Dropping events changes no decision, in contrast to effects.
pub trait Observer: Send {
    /// Receives one event.
    fn event(&mut self, at: Timestamp, site: SiteId, event: &PolicyEvent);
}

/// Drops every event.
impl Observer for () {
    fn event(&mut self, _: Timestamp, _: SiteId, _: &PolicyEvent) {}
}
