//! Counters and gauges through the `metrics` facade: whatever recorder the program has installed receives them.

use std::{sync::Once, time::Duration};

use metrics::{Unit, counter, describe_counter, describe_gauge, gauge};

use crate::AdmissionGauges;

/// Time between two publications.
const EVERY: Duration = Duration::from_secs(1);

/// Publishes once a second, until `publish` says `None`. False: there is no runtime here.
pub(crate) fn start(publish: impl Fn() -> Option<()> + Send + 'static) -> bool {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return false };
    drop(runtime.spawn(async move {
        loop {
            tokio::time::sleep(EVERY).await;
            if publish().is_none() {
                return;
            }
        }
    }));
    true
}

/// Publishes the numbers of a layer now.
pub(crate) fn publish(layer: &str, shadow: bool, seen: AdmissionGauges) {
    describe();
    let labels = [("layer", layer.to_owned()), ("policy", seen.policy)];
    counter!("admission_offered_total", &labels).absolute(seen.offered);
    counter!("admission_admitted_total", &labels).absolute(seen.admitted);
    counter!("admission_refused_total", &labels).absolute(seen.refused - seen.would_refuse.min(seen.refused));
    counter!("admission_would_refuse_total", &labels).absolute(seen.would_refuse);
    counter!("admission_left_total", &labels).absolute(seen.left);
    gauge!("admission_in_flight", &labels).set(seen.in_flight as f64);
    gauge!("admission_held", &labels).set(seen.held as f64);
    gauge!("admission_shadow", &labels).set(if shadow { 1.0 } else { 0.0 });
    for (name, value) in seen.gauges {
        let [layer, policy] = labels.clone();
        gauge!("admission_policy", &[layer, policy, ("gauge", name)]).set(value);
    }
}

fn describe() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        describe_counter!("admission_offered_total", Unit::Count, "requests that the policy was asked about");
        describe_counter!("admission_admitted_total", Unit::Count, "requests that the policy admitted");
        describe_counter!("admission_refused_total", Unit::Count, "requests that were refused");
        describe_counter!(
            "admission_would_refuse_total",
            Unit::Count,
            "requests that passed in shadow mode although the policy refused them"
        );
        describe_counter!(
            "admission_left_total",
            Unit::Count,
            "requests that went away while they waited for a decision"
        );
        describe_gauge!("admission_in_flight", Unit::Count, "admitted requests that have not ended");
        describe_gauge!("admission_held", Unit::Count, "requests that wait for a decision");
        describe_gauge!("admission_shadow", Unit::Count, "1 in shadow mode, in which nothing is refused");
        describe_gauge!("admission_policy", "a gauge of the policy, by its name");
    });
}
