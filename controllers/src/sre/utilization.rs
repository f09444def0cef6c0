//! A task that protects itself by its own load: executor load average, CPU rate, memory ("Utilization Signals").

use std::time::Duration;

use crate::{
    Ctx, Entry, Gauge, LoadSample, Machine, Offer, Reason, Refusal, Seen, Timestamp,
    catalogue::{Given, Make, Param, ParamKind, Place, Preset, Problem, SampleKind, Sampling, Values},
};

use super::{Guard, Guarded, section};

/// Refuses a request while any signal is above the threshold of its criticality. Thresholds rise with criticality, so
/// that a level is refused only if all lower ones are.
#[derive(Debug)]
pub(super) struct Utilization {
    load: Option<LoadAverage>,
    cpu: Option<Signal>,
    memory: Option<Signal>,
}

/// A number, and by level of criticality the threshold above which it is too high.
#[derive(Debug)]
struct Signal {
    now: f64,
    thresholds: [f64; 4],
}

/// Tasks running or ready for each processor, smoothed so that a short burst is swallowed.
#[derive(Debug)]
struct LoadAverage {
    signal: Signal,
    processors: f64,
    time_constant_s: f64,
    last: Option<Timestamp>,
}

impl Utilization {
    pub(super) fn new(values: &Values) -> Self {
        let signal = |name: &str| Signal::new(values, name);
        Self {
            load: signal("load").map(|signal| LoadAverage {
                signal,
                processors: values.count("processors") as f64,
                time_constant_s: values.time("time_constant").as_secs_f64(),
                last: None,
            }),
            cpu: signal("cpu"),
            memory: signal("memory"),
        }
    }

    fn signals(&self) -> impl Iterator<Item = (&'static str, &Signal)> {
        let load = self.load.as_ref().map(|load| ("load_average", &load.signal));
        let cpu = self.cpu.as_ref().map(|signal| ("cpu_share", signal));
        load.into_iter().chain(cpu).chain(self.memory.as_ref().map(|signal| ("memory_share", signal)))
    }
}

impl Signal {
    fn new(values: &Values, name: &str) -> Option<Self> {
        values.flag(name).then(|| Self { now: 0.0, thresholds: thresholds(name).map(|name| values.number(name)) })
    }
}

impl LoadAverage {
    fn add(&mut self, now: Timestamp, ready: u32) {
        let since = self.last.map_or(READY_EVERY, |last| now.since(last));
        self.last = Some(now);
        // What was seen holds for the time since the last look: average += (seen − average) × (1 − e^(−t/T)).
        let weight = 1.0 - libm::exp(-since.as_secs_f64() / self.time_constant_s);
        self.signal.now += (f64::from(ready) / self.processors - self.signal.now) * weight;
    }
}

impl Machine for Utilization {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        let Seen::Load(sample) = seen else { return };
        match (*sample, self) {
            (LoadSample::Ready(ready), Self { load: Some(load), .. }) => load.add(cx.now, ready),
            (LoadSample::Cpu(share), Self { cpu: Some(cpu), .. }) => cpu.now = share,
            (LoadSample::Memory(share), Self { memory: Some(memory), .. }) => memory.now = share,
            _ => {}
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        self.signals().for_each(|(name, signal)| visit(Gauge::of(name), signal.now));
    }
}

impl Guard for Utilization {
    fn refusal(&mut self, job: &Offer, _: &mut Ctx<'_>) -> Option<Refusal> {
        let level = job.tags.criticality.level();
        let refused = self.signals().any(|(_, signal)| signal.now > signal.thresholds[level]);
        refused.then_some(Refusal::new(Reason::Utilization))
    }
}

/// Names of the parameters with a signal's thresholds, lowest criticality first.
fn thresholds(signal: &str) -> [&'static str; 4] {
    let first = match signal {
        "load" => 5,
        "cpu" => 9,
        _ => 13,
    };
    [0, 1, 2, 3].map(|level| PARAMS[first + level].name)
}

/// Thresholds that fall with criticality would refuse a level before a lower one.
pub(super) fn falling_thresholds(values: &Values) -> Vec<Problem> {
    let mut problems = Vec::new();
    for signal in ["load", "cpu", "memory"] {
        for pair in thresholds(signal).windows(2) {
            let [lower, higher] = [pair[0], pair[1]].map(|name| values.number(name));
            if higher < lower {
                let message =
                    format!("{higher} is below {} ({lower}): a level would be refused before a lower one", pair[0]);
                problems.push(Problem { key: pair[1].to_owned(), message });
            }
        }
    }
    problems
}

/// At least one signal must be on, and no thresholds may fall.
pub(super) fn clashes(values: &Values) -> Vec<Problem> {
    let mut problems = falling_thresholds(values);
    if !["load", "cpu", "memory"].into_iter().any(|signal| values.flag(signal)) {
        let message = "without load, cpu and memory nothing is ever refused: switch one on".to_owned();
        problems.push(Problem { key: "load".to_owned(), message });
    }
    problems
}

/// Often enough that a burst which is seen once weighs little: 2 % at the default time constant.
const READY_EVERY: Duration = Duration::from_millis(20);

pub(super) const SAMPLES: [Sampling; 3] = [
    Sampling { what: SampleKind::Ready, period: READY_EVERY },
    Sampling { what: SampleKind::Cpu, period: Duration::from_millis(200) },
    Sampling { what: SampleKind::Memory, period: Duration::from_secs(1) },
];

/// The load average's thresholds as the book has the first, or with room for the queue that chance makes before one or
/// two processors.
pub(super) const PRESETS: [Preset; 2] = [
    Preset { name: "as-in-the-book", about: "refusals begin beyond the number of processors", given: &[] },
    Preset {
        name: "few-processors",
        about: "thresholds of 2, 5, 10 and 20 tasks a processor: before one processor jobs queue at half its load",
        given: &[
            ("load_sheddable", Given::Number(2.0)),
            ("load_sheddable_plus", Given::Number(5.0)),
            ("load_critical", Given::Number(10.0)),
            ("load_critical_plus", Given::Number(20.0)),
        ],
    },
];

const DOUBLED: &str = "the lab's choice: twice that of the level below";
const STEPS: &str = "the lab's choice: steps of 5 % below the full resource, where the signal ends";

const fn switch(name: &'static str, about: &'static str, default: bool, source: &'static str) -> Param {
    Param { name, about, kind: ParamKind::Flag { default }, source }
}

const fn load(name: &'static str, about: &'static str, default: f64, source: &'static str) -> Param {
    Param { name, about, kind: ParamKind::Number { min: 0.0, max: 1e6, default, unit: "tasks a processor" }, source }
}

const fn share(name: &'static str, about: &'static str, default: f64) -> Param {
    Param { name, about, kind: ParamKind::Number { min: 0.0, max: 1.0, default, unit: "" }, source: STEPS }
}

pub(super) const PARAMS: [Param; 17] = [
    switch(
        "load",
        "whether the executor load average is looked at",
        true,
        "chapter 21: the most generally useful signal",
    ),
    switch("cpu", "whether the CPU rate is looked at", false, "chapter 21: in many cases just the CPU rate"),
    switch("memory", "whether the share of memory in use is looked at", false, "chapter 21: memory pressure"),
    Param {
        name: "processors",
        about: "processors that this service may use",
        kind: ParamKind::Count { min: 1, max: 10_000, default: 1 },
        source: "chapter 21: the number of processors available to the task; the lab gives its targets one",
    },
    Param {
        name: "time_constant",
        about: "after which time a load that ended has decayed to 37 %",
        kind: ParamKind::Time {
            min: Duration::from_millis(1),
            max: Duration::from_secs(600),
            default: Some(Duration::from_secs(1)),
        },
        source: "the lab's choice: the book says exponential decay, and no constant",
    },
    load(
        "load_sheddable",
        "load average above which SHEDDABLE is refused",
        1.0,
        "chapter 21: as the number of active threads grows beyond the number of processors",
    ),
    load("load_sheddable_plus", "load average above which SHEDDABLE_PLUS is refused", 2.0, DOUBLED),
    load("load_critical", "load average above which CRITICAL is refused", 4.0, DOUBLED),
    load("load_critical_plus", "load average above which CRITICAL_PLUS is refused", 8.0, DOUBLED),
    share("cpu_sheddable", "share of the CPU above which SHEDDABLE is refused", 0.8),
    share("cpu_sheddable_plus", "share of the CPU above which SHEDDABLE_PLUS is refused", 0.85),
    share("cpu_critical", "share of the CPU above which CRITICAL is refused", 0.9),
    share("cpu_critical_plus", "share of the CPU above which CRITICAL_PLUS is refused", 0.95),
    share("memory_sheddable", "share of the memory limit above which SHEDDABLE is refused", 0.8),
    share("memory_sheddable_plus", "share of the memory limit above which SHEDDABLE_PLUS is refused", 0.85),
    share("memory_critical", "share of the memory limit above which CRITICAL is refused", 0.9),
    share("memory_critical_plus", "share of the memory limit above which CRITICAL_PLUS is refused", 0.95),
];

pub(crate) const UTILIZATION: Entry = Entry {
    name: "utilization",
    about: "refuses by criticality while load average, CPU rate or memory are above thresholds",
    caution: "waiting for anything counts as load; with one processor the book's first threshold sheds at half its capacity (few-processors)",
    source: section("Utilization Signals; Criticality"),
    deviations: &[
        "Active threads are jobs being worked on and jobs that wait for a worker, seen every 20 ms; the book counts the threads of the process.",
        "Signals are looked at one by one; the book can also combine them into one number.",
        "Above its threshold a level is refused altogether; the book does not say how refusals begin.",
    ],
    places: &[Place::Single, Place::Stage, Place::Proxy],
    params: &PARAMS,
    presets: &PRESETS,
    clashes,
    samples: &SAMPLES,
    make: Make::Policy(|values, _| Box::new(Guarded::new(vec![Box::new(Utilization::new(values))]))),
};
