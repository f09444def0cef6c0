//! The autoscaler of a service of a tree.

use std::{ops::RangeInclusive, time::Duration};

use spec::{autoscale::AutoscaleSpec, services::ServiceSpec};
use workloads::balance::Per;

use super::{
    fields::Fields,
    keys::{count, number, table, time},
};

const TIMES: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(86_400);
const PERIODS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3600);

table! {
    /// The law of Kubernetes' horizontal pod autoscaler on the mean CPU use of tasks: wanted are `tasks x use / utilization` of them, rounded up. Defaults are those of Kubernetes.
    pub(super) struct AutoscaleKeys as "Autoscale" {
        max: Option<u32> = count(2..=1000).wanted("10"), "Most tasks; `tasks` is their number at the start";
        min: u32 = count(1..=1000).or(1), "Fewest tasks";
        utilization: f64 = number(0.01..=1.0).or(0.8).example("0.7"), "CPU use to aim at, as a share of a task's servers";
        tolerance: f64 = number(0.0..=1.0).or(0.1), "Relative deviation from it that changes nothing";
        period: Duration = time(PERIODS).or(Duration::from_secs(15)), "Time between two looks";
        down: Duration = time(TIMES).or(Duration::from_secs(300)).example("60s"), "Their number goes down to the highest that was wanted within this time";
        start: Option<Duration> = time(TIMES).wanted("60s"), "Time from the decision until a new task takes requests";
    }
}

/// Reads `autoscale`; the service has the largest number of tasks then.
pub(super) fn autoscale(fields: &Fields<'_>, service: &mut ServiceSpec) {
    let Some(keys) = fields.table::<AutoscaleKeys>("autoscale") else { return };
    let AutoscaleKeys { max, min, utilization, tolerance, period, down, start } = keys;
    if service.per != Per::Request {
        fields.problem("per", "whoever stays connected to a task hears of no others", "per: request");
    }
    if service.subset > 0 {
        fields.problem("subset", "belongs to services whose tasks stay the same", "leave it out, or autoscale");
    }
    let (Some(max), Some(start)) = (max, start) else { return };
    let first = service.tasks.max(min);
    if first > max {
        fields.problem("tasks", format!("{first} tasks to begin with are more than max: {max}"), "at most max");
    }
    service.tasks = max;
    service.autoscale = Some(AutoscaleSpec { min, first, utilization, tolerance, period, down, start });
}
