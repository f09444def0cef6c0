//! The sites of a plant, and their wake-ups.

use std::{collections::BTreeMap, sync::Arc};

use controllers::{
    Effect, JobId, LoadSample, Seen, SiteId, Timestamp, UnixSeconds,
    site::{Action, Dispatch, Gate, LoadReading, SiteMachine, Stage, earliest},
};
use service_core::policies::{Resolved, Seating};
use spec::{StageSpec, graph::Graph};

use super::{
    context::PlantContext,
    event::{Event, TimerSite},
};

/// The sites of a plant, and the makers of their policies.
#[derive(Debug)]
pub(super) struct PlantSites {
    pub(super) accept: Gate<JobId>,
    pub(super) dispatch: Gate<JobId>,
    /// The workers of dispatch, some of which back-pressure may block.
    pub(super) dispatchers: Dispatch<JobId>,
    pub(super) stages: Vec<PlantStage>,
    pub(super) monitors: Vec<SiteMachine>,
    pub(super) chosen: Resolved,
    pub(super) seating: Seating,
    /// True if a bound sits at dispatch, which is told what requests will cost.
    pub(super) foresees: bool,
    /// The wake-up of each site.
    pub(super) armed: BTreeMap<TimerSite, Timestamp>,
    /// The time at which blocked jobs are tried again.
    pub(super) retry_planned: Option<Timestamp>,
    /// The wall clock that policies were last shown.
    pub(super) wall: UnixSeconds,
    /// Buffers for sites' actions, kept for reuse.
    pub(super) buffers: Vec<Vec<Action<JobId>>>,
}

/// A stage, and its host's state.
#[derive(Debug)]
pub(super) struct PlantStage {
    pub(super) site: Stage<JobId>,
    pub(super) spec: StageSpec,
}

impl PlantSites {
    pub(super) fn graph(&self) -> &Arc<Graph> {
        self.seating.graph()
    }

    /// Shows the wall clock to all policies and machines, once a second.
    pub(super) fn show_wall(&mut self, now: Timestamp) {
        let wall = UnixSeconds::in_virtual_time(now);
        if wall != std::mem::replace(&mut self.wall, wall) {
            self.dispatch.set_wall(wall);
            self.accept.set_wall(wall);
            self.stages.iter_mut().for_each(|stage| stage.site.set_wall(wall));
            self.monitors.iter_mut().for_each(|monitor| monitor.set_wall(wall));
        }
    }

    /// Schedules the wake-up of a site, unless an earlier one is scheduled.
    fn arm(&mut self, place: TimerSite, wake: Option<Timestamp>, cx: &mut dyn PlantContext) {
        let Some(at) = wake.map(|at| at.max(cx.now())) else { return };
        if self.armed.get(&place).is_none_or(|&armed| at < armed) {
            self.armed.insert(place, at);
            cx.plan(at, Event::Wake(place));
        }
    }

    /// Collects a site's actions, in order, and schedules its next wake-up. The caller returns the buffer.
    pub(super) fn collect(
        &mut self,
        place: TimerSite,
        meter: &LoadReading,
        cx: &mut dyn PlantContext,
    ) -> Vec<Action<JobId>> {
        let now = cx.now();
        let mut wants = self.buffers.pop().unwrap_or_default();
        let wake = loop {
            let action = match place {
                TimerSite::Accept => self.accept.poll(now, meter),
                TimerSite::Dispatch => self.dispatch.poll(now, meter),
                TimerSite::Stage(stage) => self.stages[stage].site.poll(now, meter),
                TimerSite::System => Action::Idle,
            };
            match action {
                Action::WakeAt(at) => break Some(at),
                Action::Idle => break None,
                want => wants.push(want),
            }
        };
        self.arm(place, wake, cx);
        wants
    }

    /// Collects the actions of the monitors of the whole process, and schedules their next wake-up.
    pub(super) fn collect_of_monitors(&mut self, meter: &LoadReading, cx: &mut dyn PlantContext) -> Vec<Effect> {
        let nothing = LoadSample::Stage { queue: 0, workers: 0, idle: 0, completed: 0 };
        let (now, mut wants) = (cx.now(), Vec::new());
        let wakes = self.monitors.iter_mut().map(|monitor| monitor.poll(now, nothing, meter, |want| wants.push(want)));
        let wake = wakes.fold(None, earliest);
        self.arm(TimerSite::System, wake, cx);
        wants
    }

    pub(super) fn observe(&mut self, now: Timestamp, place: TimerSite, seen: &Seen) {
        match place {
            TimerSite::Accept => self.accept.observe(now, seen),
            TimerSite::Dispatch => self.dispatch.observe(now, seen),
            TimerSite::Stage(stage) => self.stages[stage].site.observe(now, seen),
            TimerSite::System => {}
        }
    }

    /// Replaces all policies by new ones of the same kind.
    pub(super) fn renew(&mut self, now: Timestamp) {
        let Self { chosen, seating, .. } = self;
        self.accept.replace(now, seating.policy(chosen, seating.graph().accept()));
        // A bound learns nothing, and is kept.
        if !self.foresees {
            self.dispatch.replace(now, seating.policy(chosen, seating.graph().dispatch()));
        }
        for stage in &mut self.stages {
            stage.site.replace(now, seating.policy(chosen, stage.site.id()));
        }
    }

    /// A site of the graph, if it has a policy.
    pub(super) fn place(&self, site: SiteId) -> Option<TimerSite> {
        let graph = self.graph();
        let stage = graph.branches().position(|(of, _)| of == site).map(TimerSite::Stage);
        let gate = [(graph.dispatch(), TimerSite::Dispatch), (graph.accept(), TimerSite::Accept)];
        stage.or_else(|| gate.into_iter().find_map(|(of, place)| (of == site).then_some(place)))
    }
}
