//! The published code's PID controller: the same measurement and gate as `seda`, another law.

use std::time::Duration;

use crate::{
    Class, Ctx, Entry, Gauge, Grant, Machine, Offer, Outcome, Policy, PolicyEvent, Reason, Refusal, Seen, Timestamp,
    Verdict,
    catalogue::{Make, Param, ParamKind, Place, Source},
    gate::TokenBucket,
    law,
};

use super::{
    class_controller::ClassController,
    params::{self, TARGET, TARGETS},
    percentile::{self, PERCENTILE},
    response_time::Decide,
};

/// Adds to its admission rate what a PID law says.
#[derive(Debug)]
struct PidControl {
    all: ClassController,
    law: law::Pid,
    rate_min: f64,
    rate_max: f64,
    decide: Decide,
    timeout: Duration,
    last_run: Option<Timestamp>,
}

/// Two runs at the same moment would divide by zero. The original clock has whole milliseconds.
const SHORTEST_STEP_S: f64 = 1e-3;

impl PidControl {
    fn run(&mut self, cx: &mut Ctx<'_>) {
        let Some(estimate) = self.all.estimate(cx.now) else { return };
        let dt = cx.now.since(self.last_run.unwrap_or(cx.now)).as_secs_f64().max(SHORTEST_STEP_S);
        self.last_run = Some(cx.now);
        let before = self.all.rate();
        // Here the error counts from the target down: positive while there is room.
        let change = self.law.step(-estimate.error, dt);
        let rate = (before + change).clamp(self.rate_min, self.rate_max);
        self.all.set_rate(cx, rate, false);
        cx.event(&PolicyEvent::ControllerRan {
            class: Class(0),
            samples: estimate.samples,
            estimate_ms: estimate.seconds * 1e3,
            error: estimate.error,
            rate_before: before,
            rate_after: rate,
        });
    }

    fn is_due(&self, now: Timestamp) -> bool {
        self.all.is_full() || self.all.times_out_at(self.timeout).is_some_and(|at| at <= now)
    }
}

impl Machine for PidControl {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        self.last_run.get_or_insert(cx.now);
        match seen {
            Seen::Ended { outcome: Outcome::Ignored | Outcome::Overloaded { .. }, .. } => {}
            Seen::Ended { timing, .. } => {
                self.all.record(cx.now, timing.response());
                if self.decide == Decide::Timer && self.all.is_full() {
                    self.run(cx);
                }
            }
            Seen::Batch { .. } if self.decide == Decide::AfterBatch && self.is_due(cx.now) => self.run(cx),
            _ => {}
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        match self.decide {
            Decide::Timer => self.all.times_out_at(self.timeout),
            Decide::AfterBatch => None,
        }
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        if self.is_due(cx.now) {
            self.run(cx);
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of(self.all.gauge()), self.all.seconds() * 1e3);
        visit(Gauge::of("admission_rate_per_s"), self.all.rate());
    }
}

impl Policy for PidControl {
    fn offer(&mut self, _: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        self.last_run.get_or_insert(cx.now);
        if self.all.pass(cx.now) {
            Verdict::Admit(Grant::default())
        } else {
            Verdict::Refuse(Refusal::new(Reason::Rate))
        }
    }
}

const CODE: &str = "the published code's PID controller";

pub(crate) const PID: Entry = Entry {
    name: "pid",
    about: "adds to an admission rate by a PID law on a percentile of response times",
    caution: "the published gains move the rate by about one a run: it lags behind a sudden crowd for minutes",
    source: Source {
        title: "Adaptive Overload Control for Busy Internet Servers, USITS'03",
        place: "section 5.3 on control theory; the law and its constants are in the published code only",
    },
    deviations: &[
        "At a time-out without samples nothing is done; the code reads a stale sample.",
        "Jobs that were refused further down, or whose end says nothing of load, are no samples.",
    ],
    places: &[Place::Stage, Place::Single, Place::Proxy],
    params: &[
        TARGET,
        TARGETS,
        PERCENTILE,
        Param {
            name: "samples",
            about: "response times before the controller runs",
            kind: ParamKind::Count { min: 1, max: 100_000, default: 100 },
            source: CODE,
        },
        Param {
            name: "timeout",
            about: "longest time between runs, if there is a sample",
            kind: ParamKind::Time {
                min: Duration::from_millis(1),
                max: Duration::from_secs(3600),
                default: Some(Duration::from_secs(5)),
            },
            source: CODE,
        },
        Param {
            name: "smoothing",
            about: "weight of the old estimate in the moving average",
            kind: ParamKind::Number { min: 0.0, max: 0.999, default: 0.8, unit: "" },
            source: CODE,
        },
        Param {
            name: "estimate_from",
            about: "whether the moving average starts at zero or at its first sample",
            kind: ParamKind::Choice { words: &["zero", "first-sample"] },
            source: CODE,
        },
        Param {
            name: "proportional",
            about: "gain on the error, (target − estimate) / target",
            kind: ParamKind::Number { min: -1000.0, max: 1000.0, default: 1.0, unit: "/s" },
            source: CODE,
        },
        Param {
            name: "derivative",
            about: "gain on the error's change per second",
            kind: ParamKind::Number { min: -1000.0, max: 1000.0, default: -0.5, unit: "" },
            source: CODE,
        },
        Param {
            name: "integral",
            about: "gain on the error's integral over the window",
            kind: ParamKind::Number { min: -1000.0, max: 1000.0, default: 0.002, unit: "/s²" },
            source: "0.2 / 100, the published code's PID controller",
        },
        Param {
            name: "integral_window",
            about: "runs that the integral covers",
            kind: ParamKind::Count { min: 1, max: 100_000, default: 100 },
            source: CODE,
        },
        params::rate_initial(10.0, CODE),
        params::rate_min(0.05, CODE),
        params::rate_max(CODE),
        params::depth(10, CODE),
        params::coded_tokens(CODE),
        Param {
            name: "decide",
            about: "whether a run comes only after a batch of the stage, or with the last sample or a timer",
            kind: ParamKind::Choice { words: &["after-batch", "timer"] },
            source: CODE,
        },
    ],
    presets: &[],
    clashes: params::rate_clashes,
    samples: &[],
    make: Make::Policy(|values, site| {
        let rate = values.number("rate_initial");
        Box::new(PidControl {
            all: ClassController::new(
                Class(0),
                params::target(values, site),
                percentile::samples(values),
                params::average(values),
                rate,
                TokenBucket::new(rate, values.count("depth") as f64, params::token_clock(values)),
            ),
            law: law::Pid::new(
                values.number("proportional"),
                values.number("derivative"),
                values.number("integral"),
                usize::try_from(values.count("integral_window")).unwrap_or(usize::MAX),
            ),
            rate_min: values.number("rate_min"),
            rate_max: values.number("rate_max"),
            decide: params::decide(values),
            timeout: values.time("timeout"),
            last_run: None,
        })
    }),
};
