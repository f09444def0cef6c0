//! The policy: a door with its queue before a service with its limit.

use std::time::Duration;

use super::{
    deadline::DoorOutlook,
    door::{AtDoor, DoorQueue, DoorRank},
    law::HeadwayLaw,
    shares::CustomerShares,
    window::DoorWindow,
};
use crate::{
    Ctx, Effect, Gauge, Grant, JobId, Machine, Offer, Outcome, Policy, Reason, Refusal, Seen, Tags, Timestamp, Verdict,
};

/// One owner of the jobs that wait and of the number inside. A grant carries the time of the release.
#[derive(Debug)]
pub(super) struct Headway {
    objective: Duration,
    door: DoorQueue,
    shares: CustomerShares,
    outlook: DoorOutlook,
    window: Option<DoorWindow>,
    law: HeadwayLaw,
    /// Of the last fact.
    last: Timestamp,
}

impl Headway {
    pub(super) fn new(objective: Duration) -> Self {
        Self {
            objective,
            door: DoorQueue::new(objective),
            shares: CustomerShares::default(),
            outlook: DoorOutlook::new(objective),
            window: None,
            law: HeadwayLaw::new(objective.as_secs_f64()),
            last: Timestamp::ZERO,
        }
    }

    /// Counts the time since the last fact, with the jobs that were inside until now.
    fn pass_time(&mut self, now: Timestamp, inside: u32) -> &mut DoorWindow {
        let window = self.window.get_or_insert_with(|| DoorWindow::new(now));
        if inside >= self.law.limit() && !self.door.is_empty() {
            window.bind(now.since(self.last).as_secs_f64());
        }
        self.last = now;
        window
    }

    fn rank(&self, tags: &Tags) -> DoorRank {
        DoorRank {
            criticality: tags.criticality,
            within_share: self.shares.is_within(tags.customer),
            first_attempt: tags.attempt == 0,
        }
    }

    fn refusal(&mut self, reason: Reason) -> Refusal {
        self.window.iter_mut().for_each(DoorWindow::refuse);
        Refusal::new(reason)
    }

    fn refuse(&mut self, id: JobId, reason: Reason, cx: &mut Ctx<'_>) {
        let refusal = self.refusal(reason);
        cx.effects.push(Effect::Refuse(id, refusal));
    }

    /// Refuses those whose answer would be late, and lets in as many others as there is room for.
    fn let_in(&mut self, cx: &mut Ctx<'_>) {
        self.refuse_hopeless(cx);
        for _ in cx.in_flight..self.law.limit() {
            let Some(job) = self.door.next(cx.now) else { return };
            self.shares.admit(job.customer);
            cx.effects.push(Effect::Release(job.id, Grant::new(cx.now.as_nanos())));
        }
    }

    fn refuse_hopeless(&mut self, cx: &mut Ctx<'_>) {
        let by = cx.now + self.outlook.need();
        while let Some(job) = self.door.due_by(by, cx.now) {
            self.refuse(job.id, Reason::Waited, cx);
        }
    }

    /// Learns from the end of a job that was let in at this time. Ends that say nothing of the service's work do not count.
    fn learn(&mut self, since: Timestamp, entered: Timestamp, outcome: Outcome, now: Timestamp) {
        if !matches!(outcome, Outcome::Served | Outcome::TimedOut | Outcome::Abandoned) {
            return;
        }
        let (inside, objective) = (now.since(since).as_secs_f64(), self.objective.as_secs_f64());
        let in_time = outcome == Outcome::Served && now.since(entered) <= self.objective;
        self.law.end(inside, !self.door.is_empty());
        let Some(window) = &mut self.window else { return };
        window.end(inside, in_time, objective);
        if let Some(seen) = window.close(now, objective) {
            self.law.window(&seen);
            self.outlook.window(&seen);
            self.shares.fade();
        }
    }
}

impl Machine for Headway {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        match seen {
            Seen::Ended { outcome, timing, grant, .. } => {
                self.pass_time(cx.now, cx.in_flight + 1);
                self.learn(Timestamp::from_nanos(grant.cookie), timing.entered, *outcome, cx.now);
                self.let_in(cx);
            }
            Seen::Freed(_) => {
                self.pass_time(cx.now, cx.in_flight + 1);
                self.let_in(cx);
            }
            Seen::Left(id) => {
                let waited = self.door.leave(*id, cx.now);
                if waited {
                    self.window.iter_mut().for_each(DoorWindow::refuse);
                }
            }
            _ => {}
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        self.door.first_due().map(|due| due - self.outlook.need())
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        self.pass_time(cx.now, cx.in_flight);
        self.let_in(cx);
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("limit"), f64::from(self.law.limit()));
        visit(Gauge::of("elasticity"), self.law.elasticity().max(0.0));
        visit(Gauge::of("healthy_ms"), self.law.healthy_time() * 1e3);
        visit(Gauge::of("need_ms"), self.outlook.need().as_secs_f64() * 1e3);
        visit(Gauge::of("pace_per_s"), self.outlook.pace());
        visit(Gauge::of("at_door"), self.door.len() as f64);
    }
}

impl Policy for Headway {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        self.pass_time(cx.now, cx.in_flight).offer();
        self.refuse_hopeless(cx);
        if cx.in_flight < self.law.limit() && self.door.is_empty() {
            self.shares.admit(job.tags.customer);
            return Verdict::Admit(Grant::new(cx.now.as_nanos()));
        }
        let due = job.due(self.objective);
        let rank = self.rank(&job.tags);
        if due <= cx.now + self.outlook.need() {
            self.door.turn_away(rank, cx.now);
            return Verdict::Refuse(self.refusal(Reason::Concurrency));
        }
        if self.door.len() >= self.outlook.most_waiting() {
            let Some(gone) = self.door.give_way(rank, cx.now) else {
                return Verdict::Refuse(self.refusal(Reason::QueueFull));
            };
            self.refuse(gone.id, Reason::QueueFull, cx);
        }
        self.door.push(AtDoor { id: job.id, customer: job.tags.customer, due }, rank);
        self.let_in(cx);
        Verdict::Hold
    }
}
