//! Counters and gauges through the `metrics` facade: whatever recorder the program has installed receives them.

use std::{sync::Once, time::Duration};

use metrics::{Unit, counter, describe_counter, describe_gauge, gauge};

use crate::Admission;

/// Time between two publications.
const EVERY: Duration = Duration::from_secs(1);

/// Publishes once a second, as long as the policy runs. False: there is no runtime here.
pub(crate) fn start(admission: &Admission) -> bool {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return false };
    let watched = admission.watch();
    drop(runtime.spawn(async move {
        loop {
            tokio::time::sleep(EVERY).await;
            let Some(admission) = watched() else { return };
            admission.publish();
        }
    }));
    true
}

impl Admission {
    /// Publishes counters and gauges now. It happens once a second by itself; before a scrape it makes them fresh.
    ///
    /// All have the labels `layer` and `policy`: `admission_offered_total`, `admission_admitted_total`, `admission_refused_total`,
    /// `admission_would_refuse_total` (shadow mode), `admission_left_total`, `admission_in_flight`, `admission_held`, `admission_shadow` (0 or 1), and
    /// `admission_policy`, the policy's own gauges, each with its name as the label `gauge`.
    pub fn publish(&self) {
        describe();
        let seen = self.gauges();
        let labels = [("layer", self.name().to_owned()), ("policy", seen.policy.clone())];
        counter!("admission_offered_total", &labels).absolute(seen.offered);
        counter!("admission_admitted_total", &labels).absolute(seen.admitted);
        counter!("admission_refused_total", &labels).absolute(seen.refused - seen.would_refuse.min(seen.refused));
        counter!("admission_would_refuse_total", &labels).absolute(seen.would_refuse);
        counter!("admission_left_total", &labels).absolute(seen.left);
        gauge!("admission_in_flight", &labels).set(seen.in_flight as f64);
        gauge!("admission_held", &labels).set(seen.held as f64);
        gauge!("admission_shadow", &labels).set(if self.is_shadow() { 1.0 } else { 0.0 });
        for (name, value) in seen.gauges {
            let [layer, policy] = labels.clone();
            gauge!("admission_policy", &[layer, policy, ("gauge", name)]).set(value);
        }
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
