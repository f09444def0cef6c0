//! Monitors of the whole process: machines that look at CPU and memory and signal the stages (USITS'03, section 6).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use controllers::{
    Effect, LoadSample, PeerReport, Seen, SiteId, Timestamp,
    site::{SiteMachine, StageGauges, earliest},
};
use tokio::sync::Notify;

use crate::{
    clock::ServiceClock,
    signals::Probe,
    stage::{Timed, Upstream, lock},
};

/// The monitors of the process, and the sites that they signal.
#[derive(Debug)]
pub struct Monitors {
    site: SiteId,
    clock: ServiceClock,
    machines: Mutex<Vec<SiteMachine>>,
    upstream: Vec<Upstream>,
    probe: Arc<dyn Probe>,
    alarm: Notify,
}

impl Monitors {
    /// Monitors with this source of load samples, which signal these sites.
    #[must_use]
    pub fn new(
        site: SiteId,
        machines: Vec<SiteMachine>,
        probe: Arc<dyn Probe>,
        upstream: Vec<Upstream>,
        clock: ServiceClock,
    ) -> Arc<Self> {
        Arc::new(Self { site, clock, machines: Mutex::new(machines), upstream, probe, alarm: Notify::new() })
    }

    /// The current gauges of all monitors.
    #[must_use]
    pub fn gauges(&self) -> StageGauges {
        let mut policy = BTreeMap::new();
        for machine in &*lock(&self.machines) {
            machine.gauges(&mut policy);
        }
        StageGauges { name: "system".to_owned(), policy, ..StageGauges::default() }
    }
}

impl Timed for Monitors {
    fn turn(self: &Arc<Self>) -> Option<Timestamp> {
        let mut machines = lock(&self.machines);
        let (wall, now) = (self.clock.wall(), self.clock.now());
        let mut wants = Vec::new();
        let nothing = LoadSample::Stage { queue: 0, workers: 0, idle: 0, completed: 0 };
        let wake = machines
            .iter_mut()
            .map(|machine| {
                machine.set_wall(wall);
                machine.poll(now, nothing, &*self.probe, |want| wants.push(want))
            })
            .fold(None, earliest);
        drop(machines);
        for want in wants {
            match want {
                Effect::Shed { to, level } => {
                    let seen = Seen::Peer(PeerReport::Pressure { from: self.site, level });
                    self.upstream
                        .iter()
                        .filter(|site| to.is_none_or(|to| to == site.id()))
                        .for_each(|site| site.tell(&seen));
                }
                // A monitor has no queue, pool or replies of its own; a machine that divides quotas is not among them.
                Effect::Release(..)
                | Effect::Refuse(..)
                | Effect::Quality(_)
                | Effect::Resize(_)
                | Effect::Annotate(..)
                | Effect::Tell(_) => {}
            }
        }
        wake
    }

    fn timer(&self) -> (&Notify, ServiceClock) {
        (&self.alarm, self.clock)
    }
}
