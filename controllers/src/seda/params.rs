//! The parameters of the response time controller, and its presets.
//!
//! # The initial rate and the bucket's depth
//!
//! The papers give neither. Both matter more than the paper's remark that the other settings are "less critical"
//! suggests: a bucket of depth 1 refuses pairs of arrivals at any load, and refused requests return as retries. The
//! preset `usits03` starts at 100 per second, as in the code, with a depth of 10, as in the older controllers of that
//! code; `usits03-as-coded` has depth 1 and whole milliseconds.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    Class, Entry, Place, Site,
    entry::{
        CLASS_TIMES, Choice, CompositionRole, Count, EntryKind, Given, Number, ParamDeclaration, Preset, Problem,
        STAGE_TIMES, Source, choice, count, flag, ms, number, params, s, time, time_or,
    },
    estimate::{Ewma, PercentileOfN},
    law::{Aimd, Increase},
    primitives::{TokenBucket, TokenClock},
};

use super::{
    class_controller::ClassController,
    percentile_param::PERCENTILE,
    pressure::Pressure,
    response_time::{Decide, Multiclass, ResponseTime, Signal},
};

pub(crate) const SEDA: Entry = Entry {
    name: "seda",
    about: "adapts an admission rate to keep a percentile of response times (the 90th) under a target, by class",
    caution: "a stage that gets few requests adapts slowly: it learns from what it admits",
    source: Source {
        title: "Adaptive Overload Control for Busy Internet Servers, USITS'03",
        place: "sections 3.2 and 3.3, figure 4",
    },
    deviations: &[
        "Initial rate and bucket depth are the lab's choices where a preset's source does not give them.",
        "Jobs that were refused further down, or whose end says nothing of load, are no samples; in SEDA every event that leaves the stage is one.",
        "The lag counter starts again when a lower class could be cut and when the class is within its target; the paper does not say when it does.",
        "The lowest class cuts itself at once: it has no lower class whose rate could be the lowest.",
        "A user class above the highest one that is known belongs to that one.",
        "The code's user classes without a target are never controlled; here every class has one.",
        "In the code tokens that a group of events took before its refusal are lost; here jobs are offered one by one.",
        "The 90th percentile of n samples is the one after nine tenths of them (the 91st of 100), as in the code; the paper takes the (0.9 n)-th, the 90th.",
        "`empty_on_cut` throws away what the bucket would have earned since its last filling, too; in the code that time stays, and its tokens, at the new rate, are there at the next arrival.",
        "Of the preset `ew02` the low-water mark (10 % below the target) and the weight of an increase (2/s for an error of the whole target) are the lab's: the paper gives no numbers for them.",
        "Reports from other sites (`on_pressure`, `signal_upstream`) are the lab's addition, after the paper's remark that upstream stages react to overload signals (section 2.3).",
    ],
    places: &[Place::Stage, Place::Single, Place::Proxy],
    presets: &[
        Preset { name: "usits03", about: "as published, with the lab's initial rate and depth", given: &[] },
        Preset {
            name: "usits03-as-coded",
            about: "the multiclass controller of the published code",
            given: &[
                ("depth", Given::Number(1.0)),
                ("tokens", Given::Text("milliseconds")),
                ("empty_on_cut", Given::Flag(true)),
                ("decide", Given::Text("after-batch")),
                ("lag", Given::Text("inert")),
                ("preempted_flag", Given::Text("until-below")),
            ],
        },
        Preset {
            name: "ew02",
            about: "as in the earlier paper: halve at 10 % over the target, add in proportion below a low-water mark",
            given: &[
                ("decrease_above", Given::Number(0.1)),
                ("decrease_factor", Given::Number(2.0)),
                ("increase_below", Given::Number(-0.1)),
                ("increase_zero_at", Given::Number(0.0)),
            ],
        },
        Preset {
            name: "direct",
            about: "the default controller of the published code, before the multiclass one",
            given: &DIRECT,
        },
    ],
    samples: &[],
    roles: &[CompositionRole::Inflow],
    kind: EntryKind::Policy(|reader| {
        reader.make_unless(SedaParams::clashes, |params, site| Box::new(params.controller(site)))
    }),
};

/// Settings of the published code's direct controller, which `degrade` shares.
pub(super) const DIRECT: [(&str, Given); 8] = [
    ("decrease_above", Given::Number(0.2)),
    ("decrease_factor", Given::Number(2.0)),
    ("increase_below", Given::Number(-0.1)),
    ("increase", Given::Text("constant")),
    ("increase_by", Given::Number(0.5)),
    ("rate_initial", Given::Number(10.0)),
    ("tokens", Given::Text("milliseconds")),
    ("decide", Given::Text("after-batch")),
];

const FIG_4: &str = "USITS'03 figure 4";

params! {
    /// The bound of response times.
    pub(super) struct TargetParams {
        target: Option<Duration> = time_or(ms(1)..=s(3600), "the objective's"),
            "the response time that the percentile shall stay under",
            "target, USITS'03 section 3.2; the run's objective unless given";
        targets: BTreeMap<String, Duration> = STAGE_TIMES, "targets of single stages, by stage name",
            "USITS'03 section 3.1: separate targets for each stage";
    }
}

impl TargetParams {
    /// The target of a stage: the stage's own, else the general one, else the run's objective.
    pub(super) fn of(&self, site: &Site) -> Duration {
        let own = self.targets.get(&site.name).copied();
        // The host sets the objective: errors are relative to it, so it must not be zero.
        own.or(self.target).unwrap_or(site.objective.response_time).max(Duration::from_micros(1))
    }
}

/// The initial rate.
pub(super) const fn rate_initial(default: f64, source: &'static str) -> ParamDeclaration<Number> {
    rate("admissions per second at the start", default, source)
}

/// A bound of the rate.
pub(super) const fn rate_min(default: f64, source: &'static str) -> ParamDeclaration<Number> {
    rate("smallest admission rate", default, source)
}

/// A bound of the rate.
pub(super) const fn rate_max(source: &'static str) -> ParamDeclaration<Number> {
    rate("largest admission rate", 5000.0, source)
}

const fn rate(about: &'static str, default: f64, source: &'static str) -> ParamDeclaration<Number> {
    ParamDeclaration { kind: number(0.001..=1e6, default).in_unit("/s"), about, source }
}

/// The bucket's depth.
pub(super) const fn depth(default: u32, source: &'static str) -> ParamDeclaration<Count> {
    let about = "most admissions at once: the bucket's depth, which is full at the start";
    ParamDeclaration { kind: count(1..=1_000_000, default), about, source }
}

/// The bucket's clock, with the published code's as the default.
pub(super) const fn coded_tokens(source: &'static str) -> ParamDeclaration<Choice<TokenClock>> {
    ParamDeclaration {
        kind: choice(("milliseconds", TokenClock::Milliseconds), &[("precise", TokenClock::Precise)]),
        about: "the bucket's clock: whole milliseconds with at most 1000 tokens a second, or precise",
        source,
    }
}

/// Creates a moving average with this weight of the old value.
pub(super) type MakeAverage = fn(f64) -> Ewma;

const FROM_ZERO: MakeAverage = Ewma::from_zero;
const FROM_FIRST_SAMPLE: MakeAverage = Ewma::from_first;

/// The start of the percentile's moving average.
pub(super) const fn estimate_from(source: &'static str) -> ParamDeclaration<Choice<MakeAverage>> {
    ParamDeclaration {
        kind: choice(("zero", FROM_ZERO), &[("first-sample", FROM_FIRST_SAMPLE)]),
        about: "whether the moving average starts at zero or at its first sample",
        source,
    }
}

/// Creates the law of increases from its gain and the error with an increase of zero.
type MakeIncrease = fn(f64, f64) -> Increase;

const PROPORTIONAL: MakeIncrease = |gain, zero_at| Increase::Proportional { gain, zero_at };
const CONSTANT: MakeIncrease = |gain, _| Increase::Constant(gain);

/// The effect of the lag counter on a class's own cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lag {
    Counts,
    /// As coded: a class cuts its own rate at every violation.
    Inert,
}

/// The duration of pre-emption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PreemptedFlag {
    NextRun,
    /// As coded: until a run with an error below `increase_zero_at`.
    UntilBelow,
}

/// The reaction to a report of pressure from another site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnPressure {
    Cut,
    Ignore,
}

params! {
    pub(super) struct SedaParams {
        target: TargetParams;
        percentile: u32 = PERCENTILE;
        class_targets: BTreeMap<Class, Duration> = CLASS_TIMES,
            "targets of single user classes, by class; they override the stage's", "target^c, USITS'03 section 3.3";
        classes: u32 = count(1..=10, 1),
            "user classes to tell apart (1: none); classes named in class_targets count as well",
            "the published code allows 10; 1 is the controller of USITS'03 section 3.2";
        samples: u32 = count(1..=100_000, 100), "response times before a controller runs", "nreq, USITS'03 figure 4";
        timeout: Duration = time(ms(1)..=s(3600), s(1)), "longest time between runs, if there is a sample",
            "timeout, USITS'03 figure 4";
        smoothing: f64 = number(0.0..=0.999, 0.7), "weight of the old estimate in the moving average",
            "alpha, USITS'03 figure 4";
        estimate_from: MakeAverage = estimate_from("zero in the published code; the paper does not say");
        decrease_above: f64 = number(-0.99..=100.0, 0.0), "relative error above which the rate is decreased",
            "err_d, USITS'03 figure 4";
        decrease_factor: f64 = number(1.001..=1000.0, 1.2), "what the rate is divided by", "adj_d, USITS'03 figure 4";
        increase_below: f64 = number(-1.0..=0.0, -0.5), "relative error below which the rate is increased",
            "err_i, USITS'03 figure 4";
        increase: MakeIncrease = choice(("proportional", PROPORTIONAL), &[("constant", CONSTANT)]),
            "whether increases grow with the distance from the target",
            "USITS'03 section 3.2; constant in the code's direct controller";
        increase_by: f64 = number(0.001..=10_000.0, 2.0).in_unit("/s"),
            "weight of the error in an increase, or the increase itself if constant", "adj_i, USITS'03 figure 4";
        increase_zero_at: f64 = number(-1.0..=0.0, -0.1),
            "relative error at which a proportional increase would be zero", "c_i, USITS'03 figure 4";
        rate_initial: f64 =
            rate_initial(100.0, "not in the papers; 100 in the published code's multiclass controller");
        rate_min: f64 = rate_min(0.05, FIG_4);
        rate_max: f64 = rate_max(FIG_4);
        depth: u32 =
            depth(10, "not in the papers; 1 in the published code's multiclass controller, 10 in its others");
        tokens: TokenClock = choice(("precise", TokenClock::Precise), &[("milliseconds", TokenClock::Milliseconds)]),
            "the bucket's clock: precise, or whole milliseconds with at most 1000 tokens a second",
            "milliseconds in the published code; the paper does not say";
        empty_on_cut: bool = flag(false), "whether lowering a rate also throws away the bucket's tokens",
            "true in the published code's multiclass controller; the paper does not say";
        decide: Decide = choice(("timer", Decide::Timer), &[("after-batch", Decide::AfterBatch)]),
            "whether a run comes with the last sample or a timer, or only after a batch of the stage",
            "USITS'03 section 3.2; after a batch in the published code";
        lower_class_factor: f64 = number(1.001..=1000.0, 10.0),
            "what lower classes' rates are divided by when a higher one is over its target",
            "adjlo_d, USITS'03 section 3.3";
        lag_threshold: u32 = count(0..=1_000_000, 20),
            "violations with all lower classes at the lowest rate until a class cuts itself",
            "lc_thresh, USITS'03 section 3.3";
        lag: Lag = choice(("counts", Lag::Counts), &[("inert", Lag::Inert)]),
            "whether the lag counts, or a class cuts itself at every violation",
            "USITS'03 section 3.3; inert in the published code";
        preempted_flag: PreemptedFlag =
            choice(("next-run", PreemptedFlag::NextRun), &[("until-below", PreemptedFlag::UntilBelow)]),
            "whether a pre-empted class may rise again after its next run, or after one with an error below increase_zero_at",
            "USITS'03 section 3.3; until-below in the published code";
        on_pressure: OnPressure = choice(("cut", OnPressure::Cut), &[("ignore", OnPressure::Ignore)]),
            "whether the rate is cut, and kept from rising for 5 s, when a later stage or a monitor asks for less",
            "the lab's choice, after USITS'03 section 2.3";
        signal_upstream: bool = flag(false),
            "whether earlier stages are asked for less while this one is over its target; in stages the policy then sits at dispatch too, which hears them",
            "the lab's choice, after USITS'03 section 2.3";
    }
}

/// The lifetime of a report of pressure: five default time-outs, so that one lost report is no relief.
const PRESSURE_HOLD: Duration = Duration::from_secs(5);

/// Finds an initial rate outside the bounds.
pub(super) fn rate_clashes(min: f64, initial: f64, max: f64) -> Vec<Problem> {
    if min <= initial && initial <= max {
        return Vec::new();
    }
    let message = format!("must lie between rate_min ({min}) and rate_max ({max}), not at {initial}");
    vec![Problem::new("rate_initial", message)]
}

impl SedaParams {
    pub(super) fn clashes(&self) -> Vec<Problem> {
        let mut problems = rate_clashes(self.rate_min, self.rate_initial, self.rate_max);
        if self.increase_below >= self.decrease_above {
            let message = "must be below decrease_above, or the rate would have to rise and fall at once";
            problems.push(Problem::new("increase_below", message));
        }
        problems
    }

    pub(super) fn controller(&self, site: &Site) -> ResponseTime {
        ResponseTime {
            classes: (0..self.class_count()).map(|class| self.class_controller(Class(class), site)).collect(),
            law: Aimd {
                decrease_above: self.decrease_above,
                decrease_factor: self.decrease_factor,
                increase_below: self.increase_below,
                increase: (self.increase)(self.increase_by, self.increase_zero_at),
                min: self.rate_min,
                max: self.rate_max,
            },
            multiclass: Multiclass {
                lower_factor: self.lower_class_factor,
                lag_threshold: self.lag_threshold,
                lag_is_inert: self.lag == Lag::Inert,
                flag_cleared_below: (self.preempted_flag == PreemptedFlag::UntilBelow).then_some(self.increase_zero_at),
            },
            decide: self.decide,
            timeout: self.timeout,
            empty_on_cut: self.empty_on_cut,
            pressure: (self.on_pressure == OnPressure::Cut).then(|| Pressure::new(PRESSURE_HOLD, self.timeout)),
            signal: self.signal_upstream.then(Signal::default),
            admission: true,
        }
    }

    fn class_count(&self) -> u8 {
        let named = self.class_targets.keys().next_back().map_or(1, |highest| highest.0.saturating_add(1));
        u8::try_from(self.classes).unwrap_or(u8::MAX).max(named)
    }

    fn class_controller(&self, class: Class, site: &Site) -> ClassController {
        ClassController::new(
            class,
            self.class_targets.get(&class).copied().unwrap_or_else(|| self.target.of(site)),
            PercentileOfN::new(self.percentile as usize, self.samples as usize),
            (self.estimate_from)(self.smoothing),
            self.rate_initial,
            TokenBucket::new(self.rate_initial, f64::from(self.depth), self.tokens),
        )
    }
}
