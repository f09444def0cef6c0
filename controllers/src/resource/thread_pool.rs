//! SEDA's thread pool controller: the number of workers of a stage.

use std::time::Duration;

use crate::{
    Ctx, Effect, Entry, Gauge, LoadSample, Machine, Place, PolicyEvent, Resize, Seen, Timestamp,
    entry::{
        EntryKind, Given, Preset, Problem, SampleKind, Sampling, Source, count, flag, ms, number, params, s, time,
    },
};

use super::throughput::Throughput;

/// Adds a worker while the queue is long, removes idle ones, and goes back to the best size when more workers reduce
/// throughput.
#[derive(Debug)]
struct ThreadPool {
    params: ThreadPoolParams,
    idle: Idle,
    /// The size with the best throughput, and that throughput, jobs per second.
    best: Option<(u32, f64)>,
    /// Its window is the controller's tick.
    throughput: Throughput,
    ticks: u64,
    workers: u32,
}

/// The start of the idle time, and the smallest number of idle workers since.
#[derive(Debug)]
struct Idle {
    patience: Duration,
    since: Option<Timestamp>,
    least: u32,
}

impl ThreadPool {
    fn tick(&mut self, queue: u32, mut size: u32, cx: &mut Ctx<'_>) -> u32 {
        self.ticks += 1;
        let ThreadPoolParams { threshold, at_threshold, add_every, thrash, thrash_every, .. } = self.params;
        let long = queue > threshold || (at_threshold && queue == threshold);
        if long && self.ticks.is_multiple_of(u64::from(add_every)) {
            size += 1;
        }
        if thrash && self.ticks.is_multiple_of(u64::from(thrash_every)) {
            return self.size_without_thrashing(size, cx);
        }
        size
    }

    /// Thrash detection: goes back to the size with the best throughput.
    fn size_without_thrashing(&mut self, size: u32, cx: &mut Ctx<'_>) -> u32 {
        let per_s = self.throughput.per_s();
        match self.best {
            Some((best_size, best_per_s)) if per_s < best_per_s => {
                if per_s >= (1.0 - self.params.thrash_margin) * best_per_s || size <= best_size {
                    return size; // near the best, or the drop has another cause than too many workers
                }
                let drop = cx.random.below(u64::from(self.params.thrash_drop) + 1);
                best_size.saturating_sub(u32::try_from(drop).unwrap_or(u32::MAX))
            }
            _ => {
                self.best = Some((size, per_s));
                size
            }
        }
    }

    fn resize(&mut self, from: u32, to: u32, cx: &mut Ctx<'_>) {
        if from != to {
            cx.effects.push(Effect::Resize(Resize::Workers(to)));
            cx.event(&PolicyEvent::Resized { what: "workers".to_owned(), before: from, after: to });
        }
    }
}

impl Idle {
    /// The number of workers that were idle for the whole patience.
    fn surplus(&mut self, now: Timestamp, idle: u32) -> u32 {
        if idle == 0 {
            self.since = None;
            return 0;
        }
        let since = *self.since.get_or_insert_with(|| {
            self.least = idle;
            now
        });
        self.least = self.least.min(idle);
        if now.since(since) < self.patience {
            return 0;
        }
        self.since = None;
        self.least
    }
}

impl Machine for ThreadPool {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        let Seen::Load(LoadSample::Stage { queue, workers, idle, completed }) = *seen else { return };
        let mut size = workers.saturating_sub(self.idle.surplus(cx.now, idle));
        if self.throughput.count(cx.now, completed) {
            size = self.tick(queue, size, cx);
        }
        self.workers = size.clamp(self.params.min, self.params.max);
        self.resize(workers, self.workers, cx);
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("workers"), f64::from(self.workers));
        visit(Gauge::of("throughput_per_s"), self.throughput.per_s());
    }
}

const THESIS: &str = "Welsh's thesis, chapter 4";

params! {
    struct ThreadPoolParams {
        tick: Duration = time(SAMPLE_PERIOD..=s(3600), s(1)), "time between looks at the queue", THESIS;
        add_every: u32 = count(1..=1_000_000, 1), "ticks between additions of a worker",
            "Welsh's thesis, chapter 4; every fourth tick in the published code";
        threshold: u32 = count(0..=1_000_000, 100), "jobs in the queue above which a worker is added",
            "Welsh's thesis, chapter 4; 1000 in the published code, 10 in its web server's configuration";
        at_threshold: bool = flag(false), "whether a queue of exactly the threshold is enough",
            "true in the published code";
        idle: Duration = time(SAMPLE_PERIOD..=s(3600), s(5)), "time without work after which workers are removed", THESIS;
        min: u32 = count(1..=100_000, 1), "fewest workers", "the published code";
        max: u32 = count(1..=100_000, 20), "most workers",
            "Welsh's thesis, figures of chapter 4; the published code";
        thrash: bool = flag(true), "whether to step back when more workers made less throughput",
            "Welsh's thesis, chapter 4; off by default in the published code";
        thrash_every: u32 = count(1..=1_000_000, 10), "ticks between looks at the throughput", "the published code";
        thrash_margin: f64 = number(0.0..=0.99, 0.2), "part of the best throughput that may be missing",
            "Welsh's thesis, chapter 4; none in the published code";
        thrash_drop: u32 = count(0..=1000, 4), "largest random step below the size that was best",
            "Welsh's thesis, chapter 4; 3 in the published code, which rounds 4 times a draw down";
        smoothing: f64 = number(0.0..=0.999, 0.7), "weight of the old throughput in its moving average",
            "the published code (0.3 for the new)";
    }
}

pub(crate) const THREAD_POOL: Entry = Entry {
    name: "thread-pool",
    about: "adds workers to a stage while its queue is long, and removes idle ones",
    caution: "more workers help a stage that waits; one that computes only gets slower",
    source: Source {
        title: "SEDA: An Architecture for Well-Conditioned, Scalable Internet Services, SOSP'01",
        place: "section 4.2; constants from Welsh's thesis and the published code",
    },
    deviations: &[
        "Idle workers are found from the stage's samples: as many as were idle at every sample of the idle time are removed; in SEDA each thread times out by itself.",
        "Thrash detection only removes workers; in the code it also goes back up to the best size, and so undoes the removal of idle workers when the load goes away.",
        "The sources do not say how often the thesis looks for thrashing; every 10 ticks, as in the code.",
    ],
    places: &[Place::Stage],
    presets: &[
        Preset { name: "thesis", about: "the constants of Welsh's thesis", given: &[] },
        Preset {
            name: "as-coded",
            about: "the defaults of the published code, once switched on",
            given: &[
                ("tick", Given::Text("2s")),
                ("add_every", Given::Number(4.0)),
                ("threshold", Given::Number(1000.0)),
                ("at_threshold", Given::Flag(true)),
                ("idle", Given::Text("1s")),
                ("thrash", Given::Flag(false)),
                ("thrash_margin", Given::Number(0.0)),
                ("thrash_drop", Given::Number(3.0)),
            ],
        },
    ],
    samples: &[Sampling { what: SampleKind::Stage, period: SAMPLE_PERIOD }],
    roles: &[],
    kind: EntryKind::Machine(|reader| {
        reader.make_unless(
            |params: &ThreadPoolParams| min_max(params.min, params.max),
            |params, _| {
                Box::new(ThreadPool {
                    idle: Idle { patience: params.idle, since: None, least: 0 },
                    best: None,
                    throughput: Throughput::new(params.tick, params.smoothing),
                    ticks: 0,
                    workers: 0,
                    params: params.clone(),
                })
            },
        )
    }),
};

/// The sampling period of the stage, much shorter than a tick.
pub(super) const SAMPLE_PERIOD: Duration = ms(100);

/// Finds a smallest number above the largest one.
pub(super) fn min_max(min: u32, max: u32) -> Vec<Problem> {
    if min <= max { Vec::new() } else { vec![Problem::new("min", format!("{min} is more than max ({max})"))] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MachineBench, settings};

    const fn stage(queue: u32, workers: u32, idle: u32, completed: u64) -> LoadSample {
        LoadSample::Stage { queue, workers, idle, completed }
    }

    #[test]
    fn a_long_queue_gets_a_worker_a_second_up_to_the_most() {
        let mut bench = MachineBench::new("thread-pool", &settings([("max", 3_u32.into()), ("thrash", false.into())]));
        assert_eq!(bench.load(0, stage(500, 1, 0, 0)), []);
        assert_eq!(bench.load(900, stage(500, 1, 0, 0)), [], "before the tick");
        assert_eq!(bench.load(1000, stage(500, 1, 0, 0)), [Effect::Resize(Resize::Workers(2))]);
        assert_eq!(bench.load(2000, stage(100, 2, 0, 0)), [], "100 is not over 100");
        assert_eq!(bench.load(3000, stage(101, 2, 0, 0)), [Effect::Resize(Resize::Workers(3))]);
        assert_eq!(bench.load(4000, stage(101, 3, 0, 0)), [], "3 is the most");
    }

    #[test]
    fn as_coded_a_worker_comes_every_fourth_tick_of_two_seconds() {
        let mut bench = MachineBench::new("thread-pool", &settings([("preset", "as-coded".into())]));
        for second in [0, 2, 4, 6] {
            assert_eq!(bench.load(second * 1000, stage(1000, 1, 0, 0)), [], "at {second} s");
        }
        assert_eq!(bench.load(8000, stage(1000, 1, 0, 0)), [Effect::Resize(Resize::Workers(2))]);
    }

    #[test]
    fn workers_that_were_idle_all_along_are_removed() {
        let mut bench = MachineBench::new("thread-pool", &settings([]));
        // Idle 4, 2, 3 over 5 s: two of ten did nothing at any sample.
        assert_eq!(bench.load(0, stage(0, 10, 4, 0)), []);
        assert_eq!(bench.load(2500, stage(0, 10, 2, 0)), []);
        assert_eq!(bench.load(5000, stage(0, 10, 3, 0)), [Effect::Resize(Resize::Workers(8))]);
        // Busy once: the five seconds start again.
        assert_eq!(bench.load(6000, stage(0, 8, 0, 0)), []);
        assert_eq!(bench.load(7000, stage(0, 8, 8, 0)), []);
        assert_eq!(bench.load(11_900, stage(0, 8, 8, 0)), []);
        assert_eq!(bench.load(12_000, stage(0, 8, 8, 0)), [Effect::Resize(Resize::Workers(1))], "one stays");
    }

    #[test]
    fn less_throughput_with_more_workers_goes_back_to_the_best_size() {
        let keys = [("thrash_every", 1_u32.into()), ("thrash_drop", 0_u32.into()), ("smoothing", 0.0.into())];
        let mut bench = MachineBench::new("thread-pool", &settings(keys));
        bench.load(0, stage(0, 4, 0, 0));
        assert_eq!(bench.load(1000, stage(0, 4, 0, 100)), [], "100/s with 4 is the best yet");
        // 85/s is within the 20 % margin; 79/s is not.
        assert_eq!(bench.load(2000, stage(0, 8, 0, 185)), []);
        assert_eq!(bench.load(3000, stage(0, 8, 0, 264)), [Effect::Resize(Resize::Workers(4))]);
    }
}
