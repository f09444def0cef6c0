//! The sites of a plant: when each is due, and what they tell each other.

use controllers::{
    Effect, JobId, LoadSample, PeerReport, Seen, SiteId, Timestamp,
    site::{Action, earliest},
};
use workloads::sim::Identity;

use super::{
    around::Around,
    world::{Event, Plant},
};
use crate::graph::Role;

/// A site with a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The door at accept.
    Accept,
    /// The door at dispatch.
    Dispatch,
    /// A stage of the service.
    Stage(usize),
    /// The monitors of the whole process.
    System,
}

impl Identity for Place {
    fn identity(&self) -> u64 {
        match *self {
            Self::Accept => 0,
            Self::Dispatch => 1,
            Self::System => 2,
            Self::Stage(stage) => 3 + stage as u64,
        }
    }
}

impl Plant {
    /// Plans to wake a site, unless it is woken before.
    pub(super) fn arm(&mut self, place: Place, wake: Option<Timestamp>, cx: &mut dyn Around) {
        let Some(at) = wake.map(|at| at.max(cx.now())) else { return };
        if self.armed.get(&place).is_none_or(|&armed| at < armed) {
            self.armed.insert(place, at);
            cx.plan(at, Event::Wake(place));
        }
    }

    /// Collects what a site wants, in order, and plans its next wake-up. The buffer is to be given back.
    pub(super) fn collect(&mut self, place: Place, cx: &mut dyn Around) -> Vec<Action<JobId>> {
        let (now, meter) = (cx.now(), self.meter());
        let mut wants = self.buffers.pop().unwrap_or_default();
        let wake = loop {
            let action = match place {
                Place::Accept => self.accept.poll(now, &meter),
                Place::Dispatch => self.dispatch.poll(now, &meter),
                Place::Stage(stage) => self.stages[stage].site.poll(now, &meter),
                Place::System => Action::Idle,
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

    pub(super) fn woken(&mut self, place: Place, cx: &mut dyn Around) {
        if self.armed.get(&place).is_some_and(|&at| at <= cx.now()) {
            self.armed.remove(&place);
        }
        self.turn(place, cx);
    }

    pub(super) fn turn(&mut self, place: Place, cx: &mut dyn Around) {
        match place {
            Place::Accept => self.turn_accept(cx),
            Place::Dispatch => self.turn_dispatch(cx),
            Place::Stage(stage) => self.turn_stage(stage, cx),
            Place::System => self.turn_monitors(cx),
        }
    }

    /// Monitors of the whole process signal every dynamic stage and dispatch, as the live ones do.
    fn turn_monitors(&mut self, cx: &mut dyn Around) {
        let (now, meter) = (cx.now(), self.meter());
        let nothing = LoadSample::Stage { queue: 0, workers: 0, idle: 0, completed: 0 };
        let mut wants = Vec::new();
        let wakes = self.monitors.iter_mut().map(|monitor| monitor.poll(now, nothing, &meter, |want| wants.push(want)));
        let wake = wakes.fold(None, earliest);
        self.arm(Place::System, wake, cx);
        for want in wants {
            if let Effect::Tell(report) = want {
                cx.report(report);
            }
            let Effect::Shed { to, level } = want else { continue };
            let seen = Seen::Peer(PeerReport::Pressure { from: self.graph.system(), level });
            let dynamic = self.graph.branches().enumerate().filter(|(_, (_, node))| node.role == Role::Dynamic);
            let stages: Vec<_> = dynamic.map(|(at, (site, _))| (site, Place::Stage(at))).collect();
            let all = stages.into_iter().chain([(self.graph.dispatch(), Place::Dispatch)]);
            for (_, place) in all.filter(|(site, _)| to.is_none_or(|to| to == *site)) {
                self.tell(place, &seen, cx);
            }
        }
    }

    /// A word from another plant, to the site with this number here.
    pub(super) fn hears(&mut self, site: SiteId, seen: &Seen, cx: &mut dyn Around) {
        let stage = self.graph.branches().position(|(of, _)| of == site);
        match stage {
            Some(stage) => self.tell(Place::Stage(stage), seen, cx),
            None if site == self.graph.dispatch() => self.tell(Place::Dispatch, seen, cx),
            None if site == self.graph.accept() => self.tell(Place::Accept, seen, cx),
            None => {}
        }
        self.come_to_rest(cx);
    }

    pub(super) fn tell(&mut self, place: Place, seen: &Seen, cx: &mut dyn Around) {
        let now = cx.now();
        match place {
            Place::Accept => self.accept.observe(now, seen),
            Place::Dispatch => self.dispatch.observe(now, seen),
            Place::Stage(stage) => self.stages[stage].site.observe(now, seen),
            Place::System => {}
        }
        self.turn(place, cx);
    }

    pub(super) fn renew(&mut self, cx: &mut dyn Around) {
        let now = cx.now();
        self.accept.replace(now, self.seating.policy(&self.chosen, self.graph.accept()));
        // The oracle has learnt nothing that it could forget.
        if self.foresight.is_none() {
            self.dispatch.replace(now, self.seating.policy(&self.chosen, self.graph.dispatch()));
        }
        for stage in &mut self.stages {
            stage.site.replace(now, self.seating.policy(&self.chosen, stage.site.id()));
        }
        self.turn_all(cx);
    }

    pub(super) fn turn_all(&mut self, cx: &mut dyn Around) {
        let stages = (0..self.stages.len()).map(Place::Stage);
        for place in [Place::Accept, Place::Dispatch, Place::System].into_iter().chain(stages) {
            self.turn(place, cx);
        }
    }
}
