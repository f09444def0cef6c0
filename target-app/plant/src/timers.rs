//! The reactions of a plant to due sites.

use std::sync::Arc;

use controllers::{Effect, PeerReport, Seen, SiteId};
use spec::graph::Role;

use super::{context::PlantContext, event::TimerSite, world::Plant};

impl Plant {
    pub(super) fn on_wake(&mut self, place: TimerSite, cx: &mut dyn PlantContext) {
        let armed = &mut self.sites.armed;
        if armed.get(&place).is_some_and(|&at| at <= cx.now()) {
            armed.remove(&place);
        }
        self.turn(place, cx);
    }

    pub(super) fn turn(&mut self, place: TimerSite, cx: &mut dyn PlantContext) {
        match place {
            TimerSite::Accept => self.turn_accept(cx),
            TimerSite::Dispatch => self.turn_dispatch(cx),
            TimerSite::Stage(stage) => self.turn_stage(stage, cx),
            TimerSite::System => self.turn_monitors(cx),
        }
    }

    /// Lets monitors of the whole process signal every dynamic stage and dispatch, as the live ones do.
    fn turn_monitors(&mut self, cx: &mut dyn PlantContext) {
        let meter = self.meter();
        for want in self.sites.collect_of_monitors(&meter, cx) {
            if let Effect::Tell(report) = want {
                cx.report(report);
            }
            let Effect::Shed { to, level } = want else { continue };
            let graph = Arc::clone(self.sites.graph());
            let seen = Seen::Peer(PeerReport::Pressure { from: graph.system(), level });
            let dynamic = graph.branches().enumerate().filter(|(_, (_, node))| node.role == Role::Dynamic);
            let stages = dynamic.map(|(at, (site, _))| (site, TimerSite::Stage(at)));
            let all = stages.chain([(graph.dispatch(), TimerSite::Dispatch)]);
            for (_, place) in all.filter(|(site, _)| to.is_none_or(|to| to == *site)) {
                self.tell(place, &seen, cx);
            }
        }
    }

    /// Takes a report from another plant, for the site with this number here.
    pub(super) fn on_report(&mut self, site: SiteId, seen: &Seen, cx: &mut dyn PlantContext) {
        if let Some(place) = self.sites.place(site) {
            self.tell(place, seen, cx);
        }
        self.settle(cx);
    }

    pub(super) fn tell(&mut self, place: TimerSite, seen: &Seen, cx: &mut dyn PlantContext) {
        self.sites.observe(cx.now(), place, seen);
        self.turn(place, cx);
    }

    pub(super) fn renew(&mut self, cx: &mut dyn PlantContext) {
        self.sites.renew(cx.now());
        self.turn_all(cx);
    }

    pub(super) fn turn_all(&mut self, cx: &mut dyn PlantContext) {
        let stages = (0..self.sites.stages.len()).map(TimerSite::Stage);
        for place in [TimerSite::Accept, TimerSite::Dispatch, TimerSite::System].into_iter().chain(stages) {
            self.turn(place, cx);
        }
    }
}
