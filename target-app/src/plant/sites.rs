//! The sites of a plant, and when each is due.

use std::{collections::BTreeMap, sync::Arc};

use controllers::{
    Effect, JobId, LoadSample, Seen, SiteId, Timestamp, UnixSeconds,
    site::{Action, Dispatch, Gate, LoadReading, SiteMachine, Stage, earliest},
};

use super::{
    context::PlantContext,
    event::{Event, TimerSite},
    oracle::Foresight,
};
use crate::{
    graph::Graph,
    policies::{Resolved, Seating},
    spec::StageSpec,
};

/// The sites of a plant, and what they are made by.
#[derive(Debug)]
pub(super) struct PlantSites {
    pub(super) accept: Gate<JobId>,
    pub(super) dispatch: Gate<JobId>,
    /// The workers of dispatch, of which back-pressure holds some.
    pub(super) dispatchers: Dispatch<JobId>,
    pub(super) stages: Vec<PlantStage>,
    pub(super) monitors: Vec<SiteMachine>,
    pub(super) chosen: Resolved,
    pub(super) seating: Seating,
    /// What the oracle is told, if there is one.
    pub(super) foresight: Option<Foresight>,
    /// When each site is to be woken.
    pub(super) armed: BTreeMap<TimerSite, Timestamp>,
    /// When blocked jobs are to be tried again.
    pub(super) retry_planned: Option<Timestamp>,
    /// The wall clock that policies were shown last.
    pub(super) wall: UnixSeconds,
    /// For what sites want, kept to be used again.
    pub(super) buffers: Vec<Vec<Action<JobId>>>,
}

/// A stage, and what its host does for it.
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

    /// Plans to wake a site, unless it is woken before.
    fn arm(&mut self, place: TimerSite, wake: Option<Timestamp>, cx: &mut dyn PlantContext) {
        let Some(at) = wake.map(|at| at.max(cx.now())) else { return };
        if self.armed.get(&place).is_none_or(|&armed| at < armed) {
            self.armed.insert(place, at);
            cx.plan(at, Event::Wake(place));
        }
    }

    /// Collects what a site wants, in order, and plans its next wake-up. The buffer is to be given back.
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

    /// Collects what the monitors of the whole process want, and plans their next wake-up.
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

    /// Puts new policies in place of those that have learnt.
    pub(super) fn renew(&mut self, now: Timestamp) {
        let Self { chosen, seating, .. } = self;
        self.accept.replace(now, seating.policy(chosen, seating.graph().accept()));
        // The oracle has learnt nothing that it could forget.
        if self.foresight.is_none() {
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
