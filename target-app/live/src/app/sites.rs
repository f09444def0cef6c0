//! The sites of a live service, found by the site numbers of its graph.

use std::sync::Arc;

use controllers::{
    Seen, SiteId,
    site::{InstalledPolicy, StageGauges},
};
use spec::graph::{Graph, Role};

use super::dispatchers::{Dispatched, Dispatchers};
use crate::stage::{AdmissionGate, LiveStage, Neighbours, Upstream, keep_time, spawn};

/// The sites of a live service.
#[derive(Debug)]
pub struct Sites<J: Dispatched> {
    /// The names of the sites and the links between them.
    pub graph: Arc<Graph>,
    /// The gate at accept.
    pub accept: Arc<AdmissionGate>,
    /// The gate at dispatch.
    pub dispatch: Arc<AdmissionGate>,
    /// The workers of dispatch, some of which back-pressure may block.
    pub dispatchers: Arc<Dispatchers<J>>,
    /// The service's own stages, in the order of the graph's branches.
    pub stages: Vec<Arc<LiveStage<J>>>,
}

impl<J: Dispatched> Sites<J> {
    /// Starts stages and timers, on the current runtime.
    pub(crate) fn start(&self) {
        for (branch, stage) in self.stages.iter().enumerate() {
            let dispatchers = Arc::downgrade(&self.dispatchers);
            stage.start(Neighbours {
                upstream: vec![self.upstream_dispatch()],
                room: Box::new(move || Dispatchers::room(&dispatchers, branch)),
            });
        }
        spawn(keep_time(Arc::downgrade(&self.dispatchers)));
        for gate in [&self.dispatch, &self.accept] {
            spawn(keep_time(Arc::downgrade(gate)));
        }
    }

    /// The sites that have a policy.
    pub fn all(&self) -> impl Iterator<Item = SiteId> + '_ {
        [self.graph.accept(), self.graph.dispatch()].into_iter().chain(self.graph.branches().map(|(site, _)| site))
    }

    /// The same, those that jobs come to last first: what a new policy lets in from its queue meets new policies behind it.
    pub fn inner_first(&self) -> Vec<SiteId> {
        let mut all: Vec<SiteId> = self.all().collect();
        all.reverse();
        all
    }

    /// Tells the policy of a site a fact that another site saw.
    pub fn hear(&self, site: SiteId, seen: &Seen) {
        match self.gate(site) {
            Some(gate) => gate.hear(seen),
            None => self.stage(site).into_iter().for_each(|stage| stage.hear(seen)),
        }
    }

    /// Switches the policy of a site.
    pub fn replace(&self, site: SiteId, policy: InstalledPolicy) {
        match (self.gate(site), self.stage(site)) {
            (Some(gate), _) => gate.replace(policy),
            (None, Some(stage)) => stage.replace(policy),
            (None, None) => {}
        }
    }

    /// The gauges of the gate at dispatch and of dispatch's workers.
    pub(crate) fn gauges_of_dispatch(&self) -> StageGauges {
        let (queue, idle) = (self.dispatchers.waiting(), self.dispatchers.idle());
        StageGauges { queue, idle, ..self.dispatch.gauges() }
    }

    /// The stages that have the machines of the target, with their sites.
    pub(crate) fn dynamic(&self) -> impl Iterator<Item = (&Arc<LiveStage<J>>, SiteId)> {
        let all = self.stages.iter().zip(self.graph.branches());
        all.filter(|(_, (_, node))| node.role == Role::Dynamic).map(|(stage, (site, _))| (stage, site))
    }

    /// The sites that monitors of the whole process signal: every dynamic stage, and dispatch.
    pub(crate) fn monitored(&self) -> Vec<Upstream> {
        let stages = self.dynamic().map(|(stage, site)| {
            let stage = Arc::downgrade(stage);
            Upstream::new(site, move |seen| stage.upgrade().into_iter().for_each(|stage| stage.hear(seen)))
        });
        stages.chain([self.upstream_dispatch()]).collect()
    }

    fn upstream_dispatch(&self) -> Upstream {
        let gate = Arc::downgrade(&self.dispatch);
        Upstream::new(self.graph.dispatch(), move |seen| {
            gate.upgrade().into_iter().for_each(|gate| gate.hear(seen));
        })
    }

    fn gate(&self, site: SiteId) -> Option<&Arc<AdmissionGate>> {
        let gates = [(self.graph.accept(), &self.accept), (self.graph.dispatch(), &self.dispatch)];
        gates.into_iter().find_map(|(of, gate)| (of == site).then_some(gate))
    }

    fn stage(&self, site: SiteId) -> Option<&Arc<LiveStage<J>>> {
        let place = self.graph.branches().position(|(of, _)| of == site)?;
        self.stages.get(place)
    }
}
