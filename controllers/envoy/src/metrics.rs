//! Counts and gauges of the policy among Envoy's statistics.

use std::collections::BTreeMap;

use admission_ffi::AdmissionDoor;

use crate::abi::{FilterConfig, MetricId};

/// Counts that only grow.
const COUNTERS: [&str; 5] = ["offered", "admitted", "refused", "completed", "would_refuse"];
/// Gauges in whole numbers; all others are in thousandths, since Envoy's are whole numbers.
const WHOLE: [&str; 3] = ["in_flight", "held", "limit"];

/// The metrics of a filter. What a policy shows first after the start is not among them: Envoy makes none once requests come.
#[derive(Debug)]
pub struct Metrics {
    config: FilterConfig,
    counters: BTreeMap<&'static str, (MetricId, u64)>,
    gauges: BTreeMap<String, (MetricId, f64)>,
}

impl Metrics {
    pub fn of(config: FilterConfig, door: &AdmissionDoor) -> Self {
        let counter = |name: &'static str| Some((name, (config.metric(&format!("admission.{name}"), true)?, 0)));
        let mut gauges = BTreeMap::new();
        door.gauges(|name, _| {
            let (shown, scale) = match WHOLE.contains(&name) {
                true => (format!("admission.{name}"), 1.0),
                false => (format!("admission.{name}_thousandths"), 1000.0),
            };
            if !COUNTERS.contains(&name)
                && let Some(id) = config.metric(&shown, false)
            {
                gauges.insert(name.to_owned(), (id, scale));
            }
        });
        Self { config, counters: COUNTERS.into_iter().filter_map(counter).collect(), gauges }
    }

    pub fn publish(&mut self, door: &AdmissionDoor, would_refuse: u64) {
        let Self { config, counters, gauges } = self;
        let mut show = |name: &str, value: f64| {
            if let Some((id, so_far)) = counters.get_mut(name) {
                let now = value as u64;
                config.add(*id, now.saturating_sub(*so_far));
                *so_far = now;
            } else if let Some((id, scale)) = gauges.get(name) {
                config.set(*id, (value * scale).max(0.0).round() as u64);
            }
        };
        door.gauges(&mut show);
        show("would_refuse", would_refuse as f64);
    }
}
