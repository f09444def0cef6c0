//! The controller of SEDA's first paper: a queue threshold moved by the mean response time.

use std::time::Duration;

use crate::{
    Ctx, Entry, Gauge, Grant, Machine, Offer, Outcome, Policy, Reason, Refusal, Seen, Verdict,
    catalogue::{Make, NO_CLASHES, Param, ParamKind, Place, Source},
    estimate::{Ewma, Running},
    law::{Aimd, Direction, Increase},
};

use super::params::{self, TARGET, TARGETS};

/// Refuses while as many jobs wait as its threshold says, and moves the threshold.
#[derive(Debug)]
struct QueueThreshold {
    target_s: f64,
    mean_s: Ewma,
    every: u64,
    seen: u64,
    law: Aimd,
    threshold: f64,
    running: Running,
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
            Direction::Down => self.law.decreased(self.threshold).floor().max(self.law.min),
            Direction::Up => self.law.increased(self.threshold, error),
            Direction::Stay => self.threshold,
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
        if f64::from(self.running.waiting(cx.in_flight)) < self.threshold {
            Verdict::Admit(Grant::default())
        } else {
            Verdict::Refuse(Refusal::new(Reason::QueueFull))
        }
    }
}

const CODE: &str = "the published code's bottleneck stage with direct control";

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
    params: &[
        TARGET,
        TARGETS,
        Param {
            name: "smoothing",
            about: "weight of the old mean in the moving average of response times",
            kind: ParamKind::Number { min: 0.0, max: 0.999, default: 0.5, unit: "" },
            source: "the published code's bottleneck stage; 0.99 in its configuration file",
        },
        Param {
            name: "every",
            about: "requests between decisions",
            kind: ParamKind::Count { min: 1, max: 1_000_000, default: 200 },
            source: CODE,
        },
        Param {
            name: "increase_below",
            about: "relative error below which the threshold is raised",
            kind: ParamKind::Number { min: -1.0, max: 0.0, default: -0.1, unit: "" },
            source: CODE,
        },
        Param {
            name: "increase_by",
            about: "jobs added to the threshold",
            kind: ParamKind::Number { min: 1.0, max: 1000.0, default: 2.0, unit: "jobs" },
            source: CODE,
        },
        Param {
            name: "decrease_above",
            about: "relative error above which the threshold is lowered",
            kind: ParamKind::Number { min: 0.0, max: 100.0, default: 0.1, unit: "" },
            source: CODE,
        },
        Param {
            name: "decrease_factor",
            about: "what the threshold is divided by",
            kind: ParamKind::Number { min: 1.001, max: 1000.0, default: 2.0, unit: "" },
            source: CODE,
        },
        Param {
            name: "max",
            about: "largest threshold; the smallest, and the first, is 1",
            kind: ParamKind::Count { min: 1, max: 1_000_000, default: 1024 },
            source: CODE,
        },
    ],
    presets: &[],
    clashes: NO_CLASHES,
    samples: &[],
    make: Make::Policy(|values, site| {
        Box::new(QueueThreshold {
            target_s: params::target(values, site).as_secs_f64(),
            mean_s: Ewma::from_zero(values.number("smoothing")),
            every: values.count("every"),
            seen: 0,
            law: Aimd {
                decrease_above: values.number("decrease_above"),
                decrease_factor: values.number("decrease_factor"),
                increase_below: values.number("increase_below"),
                increase: Increase::Constant(values.number("increase_by")),
                min: 1.0,
                max: values.count("max") as f64,
            },
            threshold: 1.0,
            running: Running::default(),
        })
    }),
};
