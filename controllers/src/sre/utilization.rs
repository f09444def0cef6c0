//! Admission by the task's own load: executor load average, CPU rate, memory ("Utilization Signals").

mod combined;

use std::time::Duration;

use crate::{
    Ctx, Entry, Gauge, LoadSample, Machine, Offer, Place, Reason, Refusal, Seen, Timestamp,
    entry::{
        CompositionRole, EntryKind, Given, Number, ParamDeclaration, Preset, Problem, SampleKind, Sampling, choice,
        count, flag, ms, number, params, s, time,
    },
};

use super::{
    chapter::section,
    guard::{Guard, Guarded},
};
use combined::Combination;

/// Refuses a request while any signal, or all of them combined, exceed the threshold of the request's criticality.
/// Thresholds rise with criticality, so a level is refused only if all lower levels are.
#[derive(Debug)]
pub(super) struct Utilization {
    load: Option<LoadAverage>,
    cpu: Option<Signal>,
    memory: Option<Signal>,
    /// Jobs that were admitted and have not ended; combined alone.
    in_flight: Option<Signal>,
    combination: Combination,
    /// The thresholds of the combined utilization.
    combined: [f64; 4],
}

/// A signal's value with its thresholds by level of criticality, and its target.
#[derive(Debug)]
struct Signal {
    now: f64,
    thresholds: [f64; 4],
    target: f64,
}

/// Runnable tasks per processor, smoothed against short bursts.
#[derive(Debug)]
struct LoadAverage {
    signal: Signal,
    processors: f64,
    time_constant_s: f64,
    last: Option<Timestamp>,
}

impl Utilization {
    pub(super) fn new(params: &UtilizationParams) -> Self {
        let [(_, of_load), (_, of_cpu), (_, of_memory), (_, combined)] = params.thresholds();
        let signal = |thresholds, target| Signal { now: 0.0, thresholds, target };
        let load = signal(of_load, params.target_load);
        let cpu = signal(of_cpu, params.target_cpu);
        let memory = signal(of_memory, params.target_memory);
        Self {
            load: params.load.then_some(LoadAverage {
                signal: load,
                processors: f64::from(params.processors),
                time_constant_s: params.time_constant.as_secs_f64(),
                last: None,
            }),
            cpu: params.cpu.then_some(cpu),
            memory: params.memory.then_some(memory),
            in_flight: params.in_flight.then_some(signal([f64::INFINITY; 4], params.target_in_flight)),
            combination: params.combine,
            combined,
        }
    }

    fn signals(&self) -> impl Iterator<Item = (&'static str, &Signal)> {
        let load = self.load.as_ref().map(|load| ("load_average", &load.signal));
        let cpu = self.cpu.as_ref().map(|signal| ("cpu_share", signal));
        let memory = self.memory.as_ref().map(|signal| ("memory_share", signal));
        let in_flight = self.in_flight.as_ref().map(|signal| ("in_flight", signal));
        load.into_iter().chain(cpu).chain(memory).chain(in_flight)
    }

    /// All signals as one number, 1 at their targets; `None`: they are looked at one by one.
    fn combined(&self) -> Option<f64> {
        self.combination.utilization(self.signals().map(|(_, signal)| signal.now / signal.target))
    }
}

impl LoadAverage {
    fn add(&mut self, now: Timestamp, ready: u32) {
        let since = self.last.map_or(READY_EVERY, |last| now.since(last));
        self.last = Some(now);
        // A sample represents the time t since the previous one: average += (sample − average) × (1 − e^(−t/T)).
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
        self.combined().into_iter().for_each(|utilization| visit(Gauge::of("utilization"), utilization));
    }
}

impl Guard for Utilization {
    fn refusal(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Option<Refusal> {
        let level = job.tags.criticality.level();
        self.in_flight.iter_mut().for_each(|signal| signal.now = f64::from(cx.in_flight));
        let refused = match self.combined() {
            Some(utilization) => utilization > self.combined[level],
            None => self.signals().any(|(_, signal)| signal.now > signal.thresholds[level]),
        };
        refused.then_some(Refusal::new(Reason::Utilization))
    }
}

/// The sampling period: one sample has a weight of 2 % at the default time constant.
const READY_EVERY: Duration = Duration::from_millis(20);

pub(super) const SAMPLES: [Sampling; 3] = [
    Sampling { what: SampleKind::Ready, period: READY_EVERY },
    Sampling { what: SampleKind::Cpu, period: Duration::from_millis(200) },
    Sampling { what: SampleKind::Memory, period: Duration::from_secs(1) },
];

/// Thresholds of the load average: those of the book, or higher ones for the random queue of one or two processors.
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

const fn load(about: &'static str, default: f64, source: &'static str) -> ParamDeclaration<Number> {
    ParamDeclaration { kind: number(0.0..=1e6, default).in_unit("tasks a processor"), about, source }
}

const fn combined(about: &'static str, default: f64) -> ParamDeclaration<Number> {
    let source = "the lab's choice: the targets, and steps of 5 % above them";
    ParamDeclaration { kind: number(0.0..=1e6, default), about, source }
}

const fn target(about: &'static str, kind: Number, source: &'static str) -> ParamDeclaration<Number> {
    ParamDeclaration { kind, about, source }
}

const fn share(about: &'static str, default: f64) -> ParamDeclaration<Number> {
    ParamDeclaration { kind: number(0.0..=1.0, default), about, source: STEPS }
}

params! {
    pub(super) struct UtilizationParams {
        load: bool = flag(true), "whether the executor load average is looked at",
            "chapter 21: the most generally useful signal";
        cpu: bool = flag(false), "whether the CPU rate is looked at", "chapter 21: in many cases just the CPU rate";
        memory: bool = flag(false), "whether the share of memory in use is looked at", "chapter 21: memory pressure";
        in_flight: bool = flag(false), "whether the number of admitted jobs that have not ended is looked at, combined with others",
            "chapter 21: any utilization signal that a particular backend may need";
        combine: Combination = choice(("none", Combination::Individual), &[("max", Combination::Max), ("mean", Combination::Mean)]),
            "how signals make one utilization: the largest, or the mean, of signal / target; none: each has thresholds of its own",
            "chapter 21: combine multiple signals; the combined (or individual) target utilization thresholds";
        target_load: f64 = target("load average at which the combined utilization is 1", number(1e-3..=1e6, 1.0).in_unit("tasks a processor"),
            "chapter 21: the number of processors available to the task");
        target_cpu: f64 = target("share of the CPU at which it is 1", number(1e-3..=1.0, 0.8), "the lab's choice: the lowest threshold of the signal by itself");
        target_memory: f64 = target("share of the memory limit at which it is 1", number(1e-3..=1.0, 0.8), "the lab's choice: the lowest threshold of the signal by itself");
        target_in_flight: f64 = target("jobs in flight at which it is 1", number(1.0..=1e6, 100.0), "the lab's choice");
        combined_sheddable: f64 = combined("combined utilization above which SHEDDABLE is refused", 1.0);
        combined_sheddable_plus: f64 = combined("combined utilization above which SHEDDABLE_PLUS is refused", 1.05);
        combined_critical: f64 = combined("combined utilization above which CRITICAL is refused", 1.1);
        combined_critical_plus: f64 = combined("combined utilization above which CRITICAL_PLUS is refused", 1.15);
        processors: u32 = count(1..=10_000, 1), "processors that this service may use",
            "chapter 21: the number of processors available to the task; the lab gives its targets one";
        time_constant: Duration = time(ms(1)..=s(600), s(1)),
            "after which time a load that ended has decayed to 37 %",
            "the lab's choice: the book says exponential decay, and no constant";
        load_sheddable: f64 = load("load average above which SHEDDABLE is refused", 1.0,
            "chapter 21: as the number of active threads grows beyond the number of processors");
        load_sheddable_plus: f64 = load("load average above which SHEDDABLE_PLUS is refused", 2.0, DOUBLED);
        load_critical: f64 = load("load average above which CRITICAL is refused", 4.0, DOUBLED);
        load_critical_plus: f64 = load("load average above which CRITICAL_PLUS is refused", 8.0, DOUBLED);
        cpu_sheddable: f64 = share("share of the CPU above which SHEDDABLE is refused", 0.8);
        cpu_sheddable_plus: f64 = share("share of the CPU above which SHEDDABLE_PLUS is refused", 0.85);
        cpu_critical: f64 = share("share of the CPU above which CRITICAL is refused", 0.9);
        cpu_critical_plus: f64 = share("share of the CPU above which CRITICAL_PLUS is refused", 0.95);
        memory_sheddable: f64 = share("share of the memory limit above which SHEDDABLE is refused", 0.8);
        memory_sheddable_plus: f64 = share("share of the memory limit above which SHEDDABLE_PLUS is refused", 0.85);
        memory_critical: f64 = share("share of the memory limit above which CRITICAL is refused", 0.9);
        memory_critical_plus: f64 = share("share of the memory limit above which CRITICAL_PLUS is refused", 0.95);
    }
}

/// The levels of criticality in the keys of thresholds, the lowest first.
const LEVELS: [&str; 4] = ["sheddable", "sheddable_plus", "critical", "critical_plus"];

impl UtilizationParams {
    /// The thresholds of load, CPU, memory and all combined with the prefix of their keys, lowest criticality first.
    fn thresholds(&self) -> [(&'static str, [f64; 4]); 4] {
        let load = [self.load_sheddable, self.load_sheddable_plus, self.load_critical, self.load_critical_plus];
        let cpu = [self.cpu_sheddable, self.cpu_sheddable_plus, self.cpu_critical, self.cpu_critical_plus];
        let memory =
            [self.memory_sheddable, self.memory_sheddable_plus, self.memory_critical, self.memory_critical_plus];
        let combined = [
            self.combined_sheddable,
            self.combined_sheddable_plus,
            self.combined_critical,
            self.combined_critical_plus,
        ];
        [("load", load), ("cpu", cpu), ("memory", memory), ("combined", combined)]
    }

    /// Finds thresholds that fall with criticality: they would refuse a level before a lower one.
    pub(super) fn falling_thresholds(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (prefix, thresholds) in self.thresholds() {
            for level in 1..LEVELS.len() {
                let (lower, higher) = (thresholds[level - 1], thresholds[level]);
                if higher < lower {
                    let lower_key = format!("{prefix}_{}", LEVELS[level - 1]);
                    let message =
                        format!("{higher} is below {lower_key} ({lower}): a level would be refused before a lower one");
                    problems.push(Problem::new(format!("{prefix}_{}", LEVELS[level]), message));
                }
            }
        }
        problems
    }

    /// Finds falling thresholds, and parameters without any signal.
    pub(super) fn clashes(&self) -> Vec<Problem> {
        let mut problems = self.falling_thresholds();
        let is_combined = self.combine != Combination::Individual;
        if self.in_flight && !is_combined {
            let message = "has no thresholds of its own: write combine: max, or combine: mean";
            problems.push(Problem::new("in_flight", message));
        } else if !(self.load || self.cpu || self.memory || self.in_flight) {
            let message = "without load, cpu and memory nothing is ever refused: switch one on";
            problems.push(Problem::new("load", message));
        }
        problems
    }
}

pub(crate) const UTILIZATION: Entry = Entry {
    name: "utilization",
    about: "refuses by criticality while load average, CPU rate or memory are above thresholds",
    caution: "waiting for anything counts as load; with one processor the book's first threshold sheds at half its capacity (few-processors)",
    source: section("Utilization Signals; Criticality"),
    deviations: &[
        "Active threads are jobs being worked on and jobs that wait for a worker, seen every 20 ms; the book counts the threads of the process.",
        "The book does not say how signals are combined: here by the largest or the mean of signal / target (`combine`). It refuses what would surpass a threshold; here what comes while it is surpassed.",
        "Above its threshold a level is refused altogether; the book does not say how refusals begin.",
    ],
    places: &[Place::Single, Place::Stage, Place::Proxy],
    presets: &PRESETS,
    samples: &SAMPLES,
    roles: &[CompositionRole::Select],
    kind: EntryKind::Policy(|reader| {
        reader.make_unless(UtilizationParams::clashes, |params, _| {
            Box::new(Guarded::new(vec![Box::new(Utilization::new(params))]))
        })
    }),
};
