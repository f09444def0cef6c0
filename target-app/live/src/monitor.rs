//! Monitors of the whole process: machines that look at CPU and memory and signal the stages (USITS'03, section 6).

use std::sync::Arc;

use controllers::{
    Effect, LoadSample, SiteId, Timestamp, UnixSeconds,
    site::{SiteMachine, StageGauges, earliest},
};

use crate::{
    clock::ServiceClock,
    signals::Probe,
    stage::{Shared, SharedSite, Upstream, shed},
};

/// The monitors of the process, and the sites that they signal.
#[derive(Debug)]
pub struct Monitors {
    site: SiteId,
    upstream: Vec<Upstream>,
    probe: Arc<dyn Probe>,
    shared: Shared<Vec<SiteMachine>>,
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
        Arc::new(Self { site, upstream, probe, shared: Shared::new(machines, clock) })
    }

    /// Puts these monitors in place of those that there are.
    pub fn replace(self: &Arc<Self>, machines: Vec<SiteMachine>) {
        self.with(|monitors, _| *monitors = machines);
    }

    /// The names of the monitors.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.shared.peek(|machines| machines.iter().map(SiteMachine::name).collect())
    }

    /// The current gauges of all monitors.
    #[must_use]
    pub fn gauges(&self) -> StageGauges {
        let mut row = StageGauges { name: "system".to_owned(), ..StageGauges::default() };
        self.shared.peek(|machines| machines.iter().for_each(|machine| machine.gauges(&mut row.policy)));
        row
    }
}

impl SharedSite for Monitors {
    type Machine = Vec<SiteMachine>;
    type Wants = Vec<Effect>;

    fn shared(&self) -> &Shared<Self::Machine> {
        &self.shared
    }

    fn set_wall(machines: &mut Self::Machine, wall: UnixSeconds) {
        machines.iter_mut().for_each(|machine| machine.set_wall(wall));
    }

    fn poll(self: &Arc<Self>, machines: &mut Self::Machine, now: Timestamp) -> (Self::Wants, Option<Timestamp>) {
        let nothing = LoadSample::Stage { queue: 0, workers: 0, idle: 0, completed: 0 };
        let (probe, mut wants) = (&*self.probe, Vec::new());
        let wakes = machines.iter_mut().map(|machine| machine.poll(now, nothing, probe, |want| wants.push(want)));
        let wake = wakes.fold(None, earliest);
        (wants, wake)
    }

    fn carry_out(self: &Arc<Self>, wants: Self::Wants) {
        for want in wants {
            match want {
                Effect::Shed { to, level } => shed(&self.upstream, self.site, to, level),
                // A monitor has no queue, pool or replies of its own; a machine that divides quotas is not among them.
                Effect::Release(..)
                | Effect::Refuse(..)
                | Effect::Quality(_)
                | Effect::Resize(_)
                | Effect::Annotate(..)
                | Effect::Tell(_) => {}
            }
        }
    }
}
