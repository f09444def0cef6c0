//! The controller of SEDA's first paper: a queue threshold moved by the mean response time.

use std::time::Duration;

use crate::{
    Ctx, Entry, Gauge, Machine, Offer, Outcome, Place, Policy, Reason, Seen, Verdict,
    entry::{CompositionRole, EntryKind, Source, count, number, params},
    estimate::{Ewma, RunningJobs},
    law::{Aimd, AimdStep, Increase},
};

use super::params::TargetParams;

/// Refuses while the number of waiting jobs reaches the threshold, and adapts the threshold.
#[derive(Debug)]
struct QueueThreshold {
    target_s: f64,
    mean_s: Ewma,
    every: u32,
    seen: u32,
    law: Aimd,
    threshold: f64,
    running: RunningJobs,
}

impl QueueThreshold {
    fn record(&mut self, response: Duration) {
        let mean = self.mean_s.add(response.as_secs_f64());
        self.seen += 1;
        if self.seen < self.every {
            return;
        }
        self.seen = 0;
        let error = (mean - self.target_s) / self.target_s;
        self.threshold = match self.law.direction(error) {
            // A threshold is a whole number of jobs.
            AimdStep::Down => self.law.decreased(self.threshold).floor().max(self.law.min),
            AimdStep::Up => self.law.increased(self.threshold, error),
            AimdStep::Stay => self.threshold,
        };
    }
}

impl Machine for QueueThreshold {
    fn observe(&mut self, seen: &Seen, _: &mut Ctx<'_>) {
        self.running.observe(seen);
        match seen {
            Seen::Ended { outcome: Outcome::Ignored | Outcome::Overloaded { .. }, .. } => {}
            Seen::Ended { timing, .. } => self.record(timing.response()),
            _ => {}
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("limit"), self.threshold);
        visit(Gauge::of("mean_ms"), self.mean_s.current() * 1e3);
    }
}

impl Policy for QueueThreshold {
    fn offer(&mut self, _: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        Verdict::admit_if(f64::from(self.running.waiting(cx.in_flight)) < self.threshold, Reason::QueueFull)
    }
}

const CODE: &str = "the published code's bottleneck stage with direct control";

params! {
    struct QueueThresholdParams {
        target: TargetParams;
        smoothing: f64 = number(0.0..=0.999, 0.5), "weight of the old mean in the moving average of response times",
            "the published code's bottleneck stage; 0.99 in its configuration file";
        every: u32 = count(1..=1_000_000, 200), "requests between decisions", CODE;
        increase_below: f64 = number(-1.0..=0.0, -0.1), "relative error below which the threshold is raised", CODE;
        increase_by: f64 = number(1.0..=1000.0, 2.0).in_unit("jobs"), "jobs added to the threshold", CODE;
        decrease_above: f64 = number(0.0..=100.0, 0.1), "relative error above which the threshold is lowered", CODE;
        decrease_factor: f64 = number(1.001..=1000.0, 2.0), "what the threshold is divided by", CODE;
        max: u32 = count(1..=1_000_000, 1024), "largest threshold; the smallest, and the first, is 1", CODE;
    }
}

pub(crate) const QUEUE_THRESHOLD: Entry = Entry {
    name: "queue-threshold",
    about: "moves a limit on waiting jobs by the mean response time",
    caution: "a mean hides the slow tenth that users notice; the papers dropped it for the 90th percentile",
    source: Source {
        title: "SEDA: An Architecture for Well-Conditioned, Scalable Internet Services, SOSP'01",
        place: "section 5.2; constants from the published code",
    },
    deviations: &["Jobs that were started before a live switch to this policy count as waiting until they end."],
    places: &[Place::Stage, Place::Single],
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Inflow],
    kind: EntryKind::Policy(|reader| {
        reader.make(|params: &QueueThresholdParams, site| {
            Box::new(QueueThreshold {
                target_s: params.target.of(site).as_secs_f64(),
                mean_s: Ewma::from_zero(params.smoothing),
                every: params.every,
                seen: 0,
                law: Aimd {
                    decrease_above: params.decrease_above,
                    decrease_factor: params.decrease_factor,
                    increase_below: params.increase_below,
                    increase: Increase::Constant(params.increase_by),
                    min: 1.0,
                    max: f64::from(params.max),
                },
                threshold: 1.0,
                running: RunningJobs::default(),
            })
        })
    }),
};
