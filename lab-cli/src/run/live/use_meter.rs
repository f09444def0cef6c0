//! CPU time and memory that the processes of a service that is not the lab's, and its proxy, use between two moments.

use std::time::{Duration, Instant};

use analysis::summary::ServiceUse;

use super::{
    service::{
        ServiceMeter,
        process_tree::{self, TreeSample},
    },
    site::LiveSite,
};
use crate::run::Cpus;

/// The use of service and proxy at one moment.
#[derive(Debug)]
pub struct Used {
    at: Instant,
    /// The use of the service, or the reason why it is unknown. `None`: the service is the lab's.
    service: Option<Result<TreeSample, String>>,
    proxy: Option<Duration>,
}

impl Used {
    /// The use up to now.
    pub fn now(site: &LiveSite) -> Self {
        let proxy = site.proxy_pid().and_then(process_tree::sample).map(|sample| sample.cpu);
        Self { at: Instant::now(), service: site.meter().map(ServiceMeter::sample), proxy }
    }

    /// The use from then until now; `None`: the service is the lab's.
    pub fn until_now(&self, site: &LiveSite, cpus: &Cpus) -> Option<ServiceUse> {
        let now = Self::now(site);
        let seconds = now.at.duration_since(self.at).as_secs_f64().max(f64::MIN_POSITIVE);
        let share = |before: Duration, after: Duration| after.saturating_sub(before).as_secs_f64() / seconds;
        let meter = site.meter()?;
        let (cpu, unknown) = match (self.service.as_ref()?, now.service.as_ref()?) {
            (Ok(before), Ok(after)) => (Some(share(before.cpu, after.cpu)), None),
            (Err(why), _) | (_, Err(why)) => (None, Some(why.clone())),
        };
        let proxy_cpu = self.proxy.zip(now.proxy).map(|(before, after)| share(before, after));
        Some(ServiceUse {
            memory_mb: cpu.map(|_| meter.resident_peak() as f64 / 1e6),
            cpu,
            core: if site.is_ours() { cpus.target } else { None },
            unknown,
            proxy_core: proxy_cpu.and(cpus.proxy),
            proxy_cpu,
        })
    }
}
