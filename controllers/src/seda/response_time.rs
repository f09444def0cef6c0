//! The response time controller with classes (USITS'03, sections 3.2 and 3.3).

use std::time::Duration;

use crate::{
    Class, Ctx, Effect, Gauge, Grant, Machine, Offer, Outcome, PeerReport, Policy, PolicyEvent, Reason, Refusal, Seen,
    SiteId, Timestamp, Verdict,
    law::{Aimd, AimdStep},
};

use super::{
    class_controller::{ClassController, Estimate},
    pressure::Pressure,
};

/// Measures each class's response times, and sets each class's admission rate from them.
#[derive(Debug)]
pub(super) struct ResponseTime {
    /// By class, the lowest first.
    pub(super) classes: Vec<ClassController>,
    pub(super) law: Aimd,
    pub(super) multiclass: Multiclass,
    pub(super) decide: Decide,
    pub(super) timeout: Duration,
    pub(super) empty_on_cut: bool,
    /// `None`: reports from other sites are ignored.
    pub(super) pressure: Option<Pressure>,
    /// `None`: upstream stages receive no reports.
    pub(super) signal: Option<Signal>,
    /// False: every job is admitted, and only the estimates continue.
    pub(super) admission: bool,
}

/// The smallest reported level of pressure, since 0 means relief.
const LEAST_LEVEL: f64 = 0.01;

/// The protection of higher classes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Multiclass {
    /// The divisor of lower classes' rates when a higher class is over its target (`adjlo_d`).
    pub(super) lower_factor: f64,
    /// Violations with all lower classes at the lowest rate until a class cuts itself (`lc_thresh`).
    pub(super) lag_threshold: u32,
    /// As coded: a class cuts its own rate at every violation.
    pub(super) lag_is_inert: bool,
    /// As coded: the pre-empted flag and the lag are cleared when the error is below this value. `None`, as published:
    /// the flag covers the next run only.
    pub(super) flag_cleared_below: Option<f64>,
}

/// The trigger of the controller's runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decide {
    /// The last sample, and a timer.
    Timer,
    /// As coded: the end of a batch of the stage only.
    AfterBatch,
}

/// The last report to upstream stages.
#[derive(Debug, Default)]
pub(super) struct Signal {
    pressed: bool,
}

impl ResponseTime {
    /// Switches admission control on or off. Rates do not change.
    pub(super) fn set_admission(&mut self, cx: &mut Ctx<'_>, on: bool) {
        if self.admission != on {
            self.admission = on;
            cx.event(&PolicyEvent::Admission { on });
        }
    }

    /// The lowest class's smoothed percentile and target, seconds, for a degrading stage.
    pub(super) fn published(&self) -> (f64, f64) {
        (self.classes[0].seconds(), self.classes[0].target_s())
    }

    /// The index of a class's controller: classes above the highest known one share its controller.
    fn index(&self, class: Class) -> usize {
        usize::from(class.0).min(self.classes.len() - 1)
    }

    fn timed_out(&self, index: usize, now: Timestamp) -> bool {
        self.classes[index].times_out_at(self.timeout).is_some_and(|at| at <= now)
    }

    /// Runs the controllers that are due, highest class first.
    fn run_due(&mut self, cx: &mut Ctx<'_>) {
        for index in (0..self.classes.len()).rev() {
            // The code leaves the time-out of a class without samples alone: its next one is judged at once.
            let silent = self.decide == Decide::AfterBatch && self.classes[index].is_empty();
            if !silent && (self.classes[index].is_full() || self.timed_out(index, cx.now)) {
                self.run(index, cx);
            }
        }
    }

    fn run(&mut self, index: usize, cx: &mut Ctx<'_>) {
        let Some(estimate) = self.classes[index].estimate(cx.now) else { return };
        let before = self.classes[index].rate();
        if self.admission {
            match self.law.direction(estimate.error) {
                AimdStep::Down => self.violated(index, cx),
                AimdStep::Up => self.met(index, estimate.error, true, cx),
                AimdStep::Stay => self.met(index, estimate.error, false, cx),
            }
        }
        self.tell_upstream(&estimate, cx);
        cx.event(&PolicyEvent::ControllerRan {
            class: self.classes[index].class,
            samples: estimate.samples,
            estimate_ms: estimate.seconds * 1e3,
            error: estimate.error,
            rate_before: before,
            rate_after: self.classes[index].rate(),
        });
    }

    /// A class is over its target: lower classes are cut first.
    fn violated(&mut self, index: usize, cx: &mut Ctx<'_>) {
        let lower_gave_way = self.cut_lower(index, cx);
        let class = &mut self.classes[index];
        if self.multiclass.flag_cleared_below.is_none() {
            class.preempted = false;
        }
        class.lag = if lower_gave_way { 0 } else { class.lag.saturating_add(1) };
        // The lowest class has no class below it to cut, so it does not wait.
        let waited_enough = index == 0 || class.lag >= self.multiclass.lag_threshold;
        if self.multiclass.lag_is_inert || (!lower_gave_way && waited_enough) {
            let rate = self.law.decreased(class.rate());
            class.set_rate(cx, rate, self.empty_on_cut);
        }
    }

    /// Pre-empts every class below `index`, and cuts those above the lowest rate. False: none could be cut.
    fn cut_lower(&mut self, index: usize, cx: &mut Ctx<'_>) -> bool {
        let by = self.classes[index].class;
        let mut gave_way = false;
        for lower in &mut self.classes[..index] {
            lower.preempted = true;
            cx.event(&PolicyEvent::Preempted { class: lower.class, by });
            if lower.rate() > self.law.min {
                gave_way = true;
                let rate = self.law.divided(lower.rate(), self.multiclass.lower_factor);
                lower.set_rate(cx, rate, self.empty_on_cut);
            }
        }
        gave_way
    }

    /// A class is within its target; `increase`: far enough below it to raise the rate.
    fn met(&mut self, index: usize, error: f64, increase: bool, cx: &mut Ctx<'_>) {
        let pressed = self.pressure.as_ref().is_some_and(|pressure| pressure.is_on(cx.now));
        let class = &mut self.classes[index];
        let preempted = class.preempted;
        match self.multiclass.flag_cleared_below {
            None => {
                class.preempted = false;
                class.lag = 0;
            }
            Some(below) if error < below => {
                class.preempted = false;
                if !preempted {
                    class.lag = 0;
                }
            }
            Some(_) => {}
        }
        if increase && !preempted && !pressed {
            let rate = self.law.increased(class.rate(), error);
            class.set_rate(cx, rate, self.empty_on_cut);
        }
    }

    fn hear(&mut self, from: SiteId, level: f64, cx: &mut Ctx<'_>) {
        let Some(pressure) = &mut self.pressure else { return };
        if pressure.hear(cx.now, from, level) && self.admission {
            cx.event(&PolicyEvent::Pressure { level });
            self.give_way(cx);
        }
    }

    /// Reacts to an overloaded site as if the highest class were over its target, without the lag.
    fn give_way(&mut self, cx: &mut Ctx<'_>) {
        let top = self.classes.len() - 1;
        if !self.cut_lower(top, cx) {
            let rate = self.law.decreased(self.classes[top].rate());
            self.classes[top].set_rate(cx, rate, self.empty_on_cut);
        }
    }

    fn tell_upstream(&mut self, estimate: &Estimate, cx: &mut Ctx<'_>) {
        let Some(signal) = &mut self.signal else { return };
        let pressed = self.law.direction(estimate.error) == AimdStep::Down;
        // The share by which response times must fall. Repeated while overload lasts, since reports expire. If the rate
        // is cut below the target already, the share can be zero: the smallest level then, since 0 means relief.
        let excess = estimate.error / (1.0 + estimate.error);
        let level = if pressed { excess.max(LEAST_LEVEL) } else { 0.0 };
        if pressed || signal.pressed {
            cx.effects.push(Effect::Shed { to: None, level });
            cx.event(&PolicyEvent::Pressure { level });
        }
        signal.pressed = pressed;
    }
}

impl Machine for ResponseTime {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        match seen {
            // A refusal from downstream, or an end without information about load, is no response time.
            Seen::Ended { outcome: Outcome::Ignored | Outcome::Overloaded { .. }, .. } => {}
            Seen::Ended { tags, timing, .. } => {
                let index = self.index(tags.class);
                self.classes[index].record(cx.now, timing.response());
                if self.decide == Decide::Timer && self.classes[index].is_full() {
                    self.run(index, cx);
                }
            }
            Seen::Batch { .. } if self.decide == Decide::AfterBatch => self.run_due(cx),
            Seen::Peer(PeerReport::Pressure { from, level }) => self.hear(*from, *level, cx),
            _ => {}
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        match self.decide {
            Decide::Timer => self.classes.iter().filter_map(|class| class.times_out_at(self.timeout)).min(),
            Decide::AfterBatch => None,
        }
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        self.run_due(cx);
    }

    /// Leaves the rate out while admission control is off.
    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of(self.classes[0].gauge()), self.classes[0].seconds() * 1e3);
        if self.admission {
            visit(Gauge::of("admission_rate_per_s"), self.classes.iter().map(ClassController::rate).sum());
        }
        if self.classes.len() == 1 {
            return;
        }
        for class in &self.classes {
            visit(Gauge::of_class(class.gauge(), class.class), class.seconds() * 1e3);
            if self.admission {
                visit(Gauge::of_class("admission_rate_per_s", class.class), class.rate());
            }
        }
    }
}

impl Policy for ResponseTime {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        let index = self.index(job.tags.class);
        let class = &mut self.classes[index];
        if class.pass(cx.now) || !self.admission {
            return Verdict::Admit(Grant::default());
        }
        Verdict::Refuse(Refusal::new(if class.preempted { Reason::Class } else { Reason::Rate }))
    }
}
