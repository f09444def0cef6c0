//! What can be seen of a running policy.

use std::collections::BTreeMap;

/// The visible state of a running policy: totals since the layer was built, and what is so now.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct AdmissionGauges {
    /// The policy.
    pub policy: String,
    /// Requests that were asked about.
    pub offered: u64,
    /// Requests that the policy admitted, at once or after a wait.
    pub admitted: u64,
    /// Requests that the policy refused. In shadow mode they passed.
    pub refused: u64,
    /// Requests that passed although the policy refused them, in shadow mode.
    pub would_refuse: u64,
    /// Requests that went away while they waited.
    pub left: u64,
    /// Requests that were admitted and have not ended.
    pub in_flight: u64,
    /// Requests that wait for a decision.
    pub held: u64,
    /// Ends that contradict what the policy knows, an error of this crate: 0.
    pub contradictions: u64,
    /// The policy's own gauges by name (`limit`, `admission_rate_per_s`); of one class: `name[class]`. With shards: the
    /// means.
    pub gauges: BTreeMap<String, f64>,
}
