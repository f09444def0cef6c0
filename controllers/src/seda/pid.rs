//! The PID controller of the published code: estimator and gate of `seda`, with a PID law.

use std::time::Duration;

use crate::{
    Class, Ctx, Entry, Gauge, Machine, Offer, Outcome, Place, Policy, PolicyEvent, Reason, Seen, Timestamp, Verdict,
    entry::{CompositionRole, EntryKind, Source, choice, count, ms, number, params, s, time},
    estimate::PercentileOfN,
    law,
    primitives::{TokenBucket, TokenClock},
};

use super::{
    class_controller::ClassController,
    params::{
        MakeAverage, TargetParams, coded_tokens, depth, estimate_from, rate_clashes, rate_initial, rate_max, rate_min,
    },
    percentile_param::PERCENTILE,
    response_time::Decide,
};

/// Changes its admission rate by a PID law.
#[derive(Debug)]
struct PidControl {
    all: ClassController,
    law: law::Pid,
    params: PidParams,
    last_run: Option<Timestamp>,
}

/// The smallest time between runs, since a time of zero would divide by zero. The clock of the original has whole
/// milliseconds.
const SHORTEST_STEP_S: f64 = 1e-3;

impl PidControl {
    fn run(&mut self, cx: &mut Ctx<'_>) {
        let Some(estimate) = self.all.estimate(cx.now) else { return };
        let dt = cx.now.since(self.last_run.unwrap_or(cx.now)).as_secs_f64().max(SHORTEST_STEP_S);
        self.last_run = Some(cx.now);
        let before = self.all.rate();
        // The law's error is positive below the target.
        let change = self.law.step(-estimate.error, dt);
        let rate = (before + change).clamp(self.params.rate_min, self.params.rate_max);
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
        self.all.is_full() || self.all.times_out_at(self.params.timeout).is_some_and(|at| at <= now)
    }
}

impl Machine for PidControl {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        self.last_run.get_or_insert(cx.now);
        match seen {
            Seen::Ended { outcome: Outcome::Ignored | Outcome::Overloaded { .. }, .. } => {}
            Seen::Ended { timing, .. } => {
                self.all.record(cx.now, timing.response());
                if self.params.decide == Decide::Timer && self.all.is_full() {
                    self.run(cx);
                }
            }
            Seen::Batch { .. } if self.params.decide == Decide::AfterBatch && self.is_due(cx.now) => self.run(cx),
            _ => {}
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        match self.params.decide {
            Decide::Timer => self.all.times_out_at(self.params.timeout),
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
        Verdict::admit_if(self.all.pass(cx.now), Reason::Rate)
    }
}

const CODE: &str = "the published code's PID controller";

params! {
    struct PidParams {
        target: TargetParams;
        percentile: u32 = PERCENTILE;
        samples: u32 = count(1..=100_000, 100), "response times before the controller runs", CODE;
        timeout: Duration = time(ms(1)..=s(3600), s(5)), "longest time between runs, if there is a sample", CODE;
        smoothing: f64 = number(0.0..=0.999, 0.8), "weight of the old estimate in the moving average", CODE;
        estimate_from: MakeAverage = estimate_from(CODE);
        proportional: f64 = number(-1000.0..=1000.0, 1.0).in_unit("/s"),
            "gain on the error, (target − estimate) / target", CODE;
        derivative: f64 = number(-1000.0..=1000.0, -0.5), "gain on the error's change per second", CODE;
        integral: f64 = number(-1000.0..=1000.0, 0.002).in_unit("/s²"),
            "gain on the error's integral over the window", "0.2 / 100, the published code's PID controller";
        integral_window: u32 = count(1..=100_000, 100), "runs that the integral covers", CODE;
        rate_initial: f64 = rate_initial(10.0, CODE);
        rate_min: f64 = rate_min(0.05, CODE);
        rate_max: f64 = rate_max(CODE);
        depth: u32 = depth(10, CODE);
        tokens: TokenClock = coded_tokens(CODE);
        decide: Decide = choice(("after-batch", Decide::AfterBatch), &[("timer", Decide::Timer)]),
            "whether a run comes only after a batch of the stage, or with the last sample or a timer", CODE;
    }
}

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
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Inflow],
    kind: EntryKind::Policy(|reader| {
        reader.make_unless(
            |params: &PidParams| rate_clashes(params.rate_min, params.rate_initial, params.rate_max),
            |params, site| {
                let rate = params.rate_initial;
                Box::new(PidControl {
                    all: ClassController::new(
                        Class(0),
                        params.target.of(site),
                        PercentileOfN::new(params.percentile as usize, params.samples as usize),
                        (params.estimate_from)(params.smoothing),
                        rate,
                        TokenBucket::new(rate, f64::from(params.depth), params.tokens),
                    ),
                    law: law::Pid::new(
                        params.proportional,
                        params.derivative,
                        params.integral,
                        params.integral_window as usize,
                    ),
                    params: params.clone(),
                    last_run: None,
                })
            },
        )
    }),
};
