//! The parameters of the response time controller, and its presets.
//!
//! # The initial rate and the bucket's depth
//!
//! The papers give neither. Both matter more than the paper's remark that the other settings are "less critical"
//! suggests: a bucket of depth 1 refuses pairs of arrivals at any load, and what it refuses comes back as retries. The
//! preset `usits03` starts at 100 per second, as the code does, with a depth of 10, as the older controllers in that code
//! have it; `usits03-as-coded` has depth 1 and whole milliseconds.

use std::time::Duration;

use crate::{
    Class, Entry, Policy, Site,
    catalogue::{Given, Make, Param, ParamKind, Place, Preset, Problem, Source, TimesBy, Values},
    estimate::Ewma,
    gate::{TokenBucket, TokenClock},
    law::{Aimd, Increase},
};

use super::{
    class_controller::ClassController,
    percentile::{self, PERCENTILE},
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
    params: &PARAMS,
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
    clashes,
    samples: &[],
    make: Make::Policy(|values, site| -> Box<dyn Policy> { Box::new(controller(values, site)) }),
};

const FIG_4: &str = "USITS'03 figure 4";

pub(super) const TARGET: Param = Param {
    name: "target",
    about: "the response time that the percentile shall stay under",
    kind: ParamKind::Time { min: Duration::from_millis(1), max: Duration::from_secs(3600), default: None },
    source: "target, USITS'03 section 3.2; the run's objective unless given",
};

pub(super) const TARGETS: Param = Param {
    name: "targets",
    about: "targets of single stages, by stage name",
    kind: ParamKind::Times { by: TimesBy::Stage },
    source: "USITS'03 section 3.1: separate targets for each stage",
};

/// The first rate.
pub(super) const fn rate_initial(default: f64, source: &'static str) -> Param {
    rate("rate_initial", "admissions per second at the start", default, source)
}

/// A bound of the rate.
pub(super) const fn rate_min(default: f64, source: &'static str) -> Param {
    rate("rate_min", "smallest admission rate", default, source)
}

/// A bound of the rate.
pub(super) const fn rate_max(source: &'static str) -> Param {
    rate("rate_max", "largest admission rate", 5000.0, source)
}

const fn rate(name: &'static str, about: &'static str, default: f64, source: &'static str) -> Param {
    Param { name, about, kind: ParamKind::Number { min: 0.001, max: 1e6, default, unit: "/s" }, source }
}

/// The bucket's depth.
pub(super) const fn depth(default: u64, source: &'static str) -> Param {
    Param {
        name: "depth",
        about: "most admissions at once: the bucket's depth, which is full at the start",
        kind: ParamKind::Count { min: 1, max: 1_000_000, default },
        source,
    }
}

/// The bucket's clock, where the published code's is the default.
pub(super) const fn coded_tokens(source: &'static str) -> Param {
    Param {
        name: "tokens",
        about: "the bucket's clock: whole milliseconds with at most 1000 tokens a second, or precise",
        kind: ParamKind::Choice { words: &["milliseconds", "precise"] },
        source,
    }
}

/// Settings of the published code's direct controller, which `degrade` has too.
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

pub(super) const PARAMS: [Param; 28] = [
    TARGET,
    TARGETS,
    PERCENTILE,
    Param {
        name: "class_targets",
        about: "targets of single user classes, by class; they override the stage's",
        kind: ParamKind::Times { by: TimesBy::Class },
        source: "target^c, USITS'03 section 3.3",
    },
    Param {
        name: "classes",
        about: "user classes to tell apart (1: none); classes named in class_targets count as well",
        kind: ParamKind::Count { min: 1, max: 10, default: 1 },
        source: "the published code allows 10; 1 is the controller of USITS'03 section 3.2",
    },
    Param {
        name: "samples",
        about: "response times before a controller runs",
        kind: ParamKind::Count { min: 1, max: 100_000, default: 100 },
        source: "nreq, USITS'03 figure 4",
    },
    Param {
        name: "timeout",
        about: "longest time between runs, if there is a sample",
        kind: ParamKind::Time {
            min: Duration::from_millis(1),
            max: Duration::from_secs(3600),
            default: Some(Duration::from_secs(1)),
        },
        source: "timeout, USITS'03 figure 4",
    },
    Param {
        name: "smoothing",
        about: "weight of the old estimate in the moving average",
        kind: ParamKind::Number { min: 0.0, max: 0.999, default: 0.7, unit: "" },
        source: "alpha, USITS'03 figure 4",
    },
    Param {
        name: "estimate_from",
        about: "whether the moving average starts at zero or at its first sample",
        kind: ParamKind::Choice { words: &["zero", "first-sample"] },
        source: "zero in the published code; the paper does not say",
    },
    Param {
        name: "decrease_above",
        about: "relative error above which the rate is decreased",
        kind: ParamKind::Number { min: -0.99, max: 100.0, default: 0.0, unit: "" },
        source: "err_d, USITS'03 figure 4",
    },
    Param {
        name: "decrease_factor",
        about: "what the rate is divided by",
        kind: ParamKind::Number { min: 1.001, max: 1000.0, default: 1.2, unit: "" },
        source: "adj_d, USITS'03 figure 4",
    },
    Param {
        name: "increase_below",
        about: "relative error below which the rate is increased",
        kind: ParamKind::Number { min: -1.0, max: 0.0, default: -0.5, unit: "" },
        source: "err_i, USITS'03 figure 4",
    },
    Param {
        name: "increase",
        about: "whether increases grow with the distance from the target",
        kind: ParamKind::Choice { words: &["proportional", "constant"] },
        source: "USITS'03 section 3.2; constant in the code's direct controller",
    },
    Param {
        name: "increase_by",
        about: "weight of the error in an increase, or the increase itself if constant",
        kind: ParamKind::Number { min: 0.001, max: 10_000.0, default: 2.0, unit: "/s" },
        source: "adj_i, USITS'03 figure 4",
    },
    Param {
        name: "increase_zero_at",
        about: "relative error at which a proportional increase would be zero",
        kind: ParamKind::Number { min: -1.0, max: 0.0, default: -0.1, unit: "" },
        source: "c_i, USITS'03 figure 4",
    },
    rate_initial(100.0, "not in the papers; 100 in the published code's multiclass controller"),
    rate_min(0.05, FIG_4),
    rate_max(FIG_4),
    depth(10, "not in the papers; 1 in the published code's multiclass controller, 10 in its others"),
    Param {
        name: "tokens",
        about: "the bucket's clock: precise, or whole milliseconds with at most 1000 tokens a second",
        kind: ParamKind::Choice { words: &["precise", "milliseconds"] },
        source: "milliseconds in the published code; the paper does not say",
    },
    Param {
        name: "empty_on_cut",
        about: "whether lowering a rate also throws away the bucket's tokens",
        kind: ParamKind::Flag { default: false },
        source: "true in the published code's multiclass controller; the paper does not say",
    },
    Param {
        name: "decide",
        about: "whether a run comes with the last sample or a timer, or only after a batch of the stage",
        kind: ParamKind::Choice { words: &["timer", "after-batch"] },
        source: "USITS'03 section 3.2; after a batch in the published code",
    },
    Param {
        name: "lower_class_factor",
        about: "what lower classes' rates are divided by when a higher one is over its target",
        kind: ParamKind::Number { min: 1.001, max: 1000.0, default: 10.0, unit: "" },
        source: "adjlo_d, USITS'03 section 3.3",
    },
    Param {
        name: "lag_threshold",
        about: "violations with all lower classes at the lowest rate until a class cuts itself",
        kind: ParamKind::Count { min: 0, max: 1_000_000, default: 20 },
        source: "lc_thresh, USITS'03 section 3.3",
    },
    Param {
        name: "lag",
        about: "whether the lag counts, or a class cuts itself at every violation",
        kind: ParamKind::Choice { words: &["counts", "inert"] },
        source: "USITS'03 section 3.3; inert in the published code",
    },
    Param {
        name: "preempted_flag",
        about: "whether a pre-empted class may rise again after its next run, or after one with an error below increase_zero_at",
        kind: ParamKind::Choice { words: &["next-run", "until-below"] },
        source: "USITS'03 section 3.3; until-below in the published code",
    },
    Param {
        name: "on_pressure",
        about: "whether the rate is cut, and kept from rising for 5 s, when a later stage or a monitor asks for less",
        kind: ParamKind::Choice { words: &["cut", "ignore"] },
        source: "the lab's choice, after USITS'03 section 2.3",
    },
    Param {
        name: "signal_upstream",
        about: "whether earlier stages are asked for less while this one is over its target",
        kind: ParamKind::Flag { default: false },
        source: "the lab's choice, after USITS'03 section 2.3",
    },
];

/// How long a report of pressure holds: five runs of the default time-out, so that one lost report is no relief.
const PRESSURE_HOLD: Duration = Duration::from_secs(5);

pub(super) fn clashes(values: &Values) -> Vec<Problem> {
    let mut problems = rate_clashes(values);
    if values.number("increase_below") >= values.number("decrease_above") {
        let message = "must be below decrease_above, or the rate would have to rise and fall at once".to_owned();
        problems.push(Problem { key: "increase_below".to_owned(), message });
    }
    problems
}

/// Clashes between the bounds of a rate and its start.
pub(super) fn rate_clashes(values: &Values) -> Vec<Problem> {
    let [min, initial, max] = ["rate_min", "rate_initial", "rate_max"].map(|name| values.number(name));
    if min <= initial && initial <= max {
        return Vec::new();
    }
    let message = format!("must lie between rate_min ({min}) and rate_max ({max}), not at {initial}");
    vec![Problem { key: "rate_initial".to_owned(), message }]
}

/// The target of a stage: its own, or the general one, or the run's objective.
pub(super) fn target(values: &Values, site: &Site) -> Duration {
    let own = values.times("targets").get(&site.name).copied();
    // An objective comes from the host: errors are relative to it, so it must not be nothing.
    own.unwrap_or_else(|| values.time_or("target", site.objective.response_time)).max(Duration::from_micros(1))
}

pub(super) fn token_clock(values: &Values) -> TokenClock {
    match values.word("tokens") {
        "milliseconds" => TokenClock::Milliseconds,
        _ => TokenClock::Precise,
    }
}

pub(super) fn decide(values: &Values) -> Decide {
    match values.word("decide") {
        "after-batch" => Decide::AfterBatch,
        _ => Decide::Timer,
    }
}

pub(super) fn average(values: &Values) -> Ewma {
    let old_weight = values.number("smoothing");
    match values.word("estimate_from") {
        "first-sample" => Ewma::from_first(old_weight),
        _ => Ewma::from_zero(old_weight),
    }
}

pub(super) fn controller(values: &Values, site: &Site) -> ResponseTime {
    let timeout = values.time("timeout");
    let zero_at = values.number("increase_zero_at");
    let gain = values.number("increase_by");
    ResponseTime {
        classes: (0..class_count(values)).map(|class| class_controller(Class(class), values, site)).collect(),
        law: Aimd {
            decrease_above: values.number("decrease_above"),
            decrease_factor: values.number("decrease_factor"),
            increase_below: values.number("increase_below"),
            increase: match values.word("increase") {
                "constant" => Increase::Constant(gain),
                _ => Increase::Proportional { gain, zero_at },
            },
            min: values.number("rate_min"),
            max: values.number("rate_max"),
        },
        multiclass: Multiclass {
            lower_factor: values.number("lower_class_factor"),
            lag_threshold: u32::try_from(values.count("lag_threshold")).unwrap_or(u32::MAX),
            lag_is_inert: values.word("lag") == "inert",
            flag_cleared_below: (values.word("preempted_flag") == "until-below").then_some(zero_at),
        },
        decide: decide(values),
        timeout,
        empty_on_cut: values.flag("empty_on_cut"),
        pressure: (values.word("on_pressure") == "cut").then(|| Pressure::new(PRESSURE_HOLD, timeout)),
        signal: values.flag("signal_upstream").then(Signal::default),
        admission: true,
    }
}

fn class_count(values: &Values) -> u8 {
    let named = values.times("class_targets").keys().filter_map(|class| class.parse::<u8>().ok()).max();
    let asked = u8::try_from(values.count("classes")).unwrap_or(u8::MAX);
    asked.max(named.map_or(1, |highest| highest.saturating_add(1)))
}

fn class_controller(class: Class, values: &Values, site: &Site) -> ClassController {
    let own = values.times("class_targets").get(&class.0.to_string()).copied();
    let rate = values.number("rate_initial");
    ClassController::new(
        class,
        own.unwrap_or_else(|| target(values, site)),
        percentile::samples(values),
        average(values),
        rate,
        TokenBucket::new(rate, values.count("depth") as f64, token_clock(values)),
    )
}
