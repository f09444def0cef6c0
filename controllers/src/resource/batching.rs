//! SEDA's batching controller: the number of jobs that a worker takes at once.

use std::time::Duration;

use crate::{
    Ctx, Effect, Entry, Gauge, LoadSample, Machine, Place, PolicyEvent, Resize, Seen,
    entry::{EntryKind, Given, Preset, SampleKind, Sampling, Source, count, flag, number, params, s, time},
};

use super::{
    thread_pool::{SAMPLE_PERIOD, min_max},
    throughput::Throughput,
};

/// Searches the smallest batch that keeps throughput near its best: small batches reduce response times, large ones
/// reduce cost.
#[derive(Debug)]
struct Batching {
    params: BatchingParams,
    throughput: Throughput,
    windows: u64,
    best_per_s: f64,
    size: f64,
    falling: bool,
}

impl Batching {
    fn act(&mut self) {
        let per_s = self.throughput.per_s();
        let (below, above) = (self.params.reset_below, self.params.reset_above);
        if per_s < below * self.best_per_s || per_s >= above * self.best_per_s {
            self.size = f64::from(self.params.max);
            self.falling = true;
        }
        if self.falling {
            self.fall(per_s);
        } else {
            self.rise(per_s);
        }
    }

    fn fall(&mut self, per_s: f64) {
        if per_s <= self.params.low * self.best_per_s {
            self.falling = false;
            self.set(self.size * self.params.factor);
            return;
        }
        self.best_per_s = self.best_per_s.max(per_s);
        self.set(self.size / self.params.factor);
    }

    fn rise(&mut self, per_s: f64) {
        self.best_per_s = self.best_per_s.max(per_s);
        let BatchingParams { factor, high, max, .. } = self.params;
        if per_s >= high * self.best_per_s {
            self.falling = true;
            self.set(self.size / factor);
        } else if self.size * factor > f64::from(max) {
            // The largest batch is reached: the current throughput becomes the best.
            self.size = f64::from(max);
            self.falling = true;
            self.best_per_s = per_s;
        } else {
            self.set(self.size * factor);
        }
    }

    fn set(&mut self, size: f64) {
        let size = if self.params.whole { size.floor() } else { size };
        self.size = size.clamp(f64::from(self.params.min), f64::from(self.params.max));
    }

    fn jobs(&self) -> u32 {
        self.size.round() as u32
    }
}

impl Machine for Batching {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        let Seen::Load(LoadSample::Stage { completed, .. }) = *seen else { return };
        if !self.throughput.count(cx.now, completed) {
            return;
        }
        self.windows += 1;
        let before = self.jobs();
        if self.windows.is_multiple_of(u64::from(self.params.act_every)) {
            self.act();
        }
        let after = self.jobs();
        if before != after || self.windows == 1 {
            cx.effects.push(Effect::Resize(Resize::Batch(after)));
            cx.event(&PolicyEvent::Resized { what: "batch".to_owned(), before, after });
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("batch"), f64::from(self.jobs()));
        visit(Gauge::of("throughput_per_s"), self.throughput.per_s());
        visit(Gauge::of("best_throughput_per_s"), self.best_per_s);
    }
}

const CODE: &str = "the published code";

params! {
    struct BatchingParams {
        window: Duration = time(SAMPLE_PERIOD..=s(3600), s(1)), "time over which throughput is measured",
            "the published code; 100 ms in its web server's configuration";
        act_every: u32 = count(1..=1_000_000, 5), "windows between changes", CODE;
        smoothing: f64 = number(0.0..=0.999, 0.7), "weight of the old throughput in its moving average",
            "the published code; 0.5 in its web server's configuration";
        min: u32 = count(1..=1_000_000, 2), "smallest batch", CODE;
        max: u32 = count(1..=1_000_000, 1000), "largest batch, and the first",
            "the published code; 1024 in its web server's configuration";
        factor: f64 = number(1.001..=100.0, 1.2), "what batches are divided or multiplied by",
            "Welsh's thesis, chapter 4: steps of 20 %";
        low: f64 = number(0.01..=1.0, 0.9), "share of the best throughput at which batches start to grow",
            "Welsh's thesis, chapter 4: a margin of 10 %";
        high: f64 = number(0.01..=1.0, 0.98), "share of the best throughput at which they shrink again", CODE;
        reset_below: f64 = number(0.0..=1.0, 0.2),
            "share of the best throughput below which the search starts anew", CODE;
        reset_above: f64 = number(1.0..=1000.0, 2.0),
            "multiple of the best throughput from which the search starts anew", CODE;
        whole: bool = flag(false),
            "whether sizes are cut to whole numbers at each step; then none below 5 can grow by a fifth",
            "true in the published code";
    }
}

pub(crate) const BATCHING: Entry = Entry {
    name: "batching",
    about: "looks for the smallest batch that keeps a stage's throughput near its best",
    caution: "reads less load as less throughput: under changing load it moves without cause",
    source: Source {
        title: "SEDA: An Architecture for Well-Conditioned, Scalable Internet Services, SOSP'01",
        place: "section 4.2; constants from Welsh's thesis and the published code",
    },
    deviations: &[
        "The random changes of direction that the code has switched off (probability 0) are left out.",
        "Sizes are kept as fractions and rounded when told; the preset as-coded cuts them to whole numbers.",
    ],
    places: &[Place::Stage],
    presets: &[
        Preset { name: "thesis", about: "the constants of Welsh's thesis, the code's where it gives none", given: &[] },
        Preset {
            name: "as-coded",
            about: "the published code, once switched on",
            given: &[("whole", Given::Flag(true))],
        },
        Preset {
            name: "haboob",
            about: "the published code with its web server's configuration",
            given: &[
                ("window", Given::Text("100ms")),
                ("smoothing", Given::Number(0.5)),
                ("min", Given::Number(1.0)),
                ("max", Given::Number(1024.0)),
                ("whole", Given::Flag(true)),
            ],
        },
    ],
    samples: &[Sampling { what: SampleKind::Stage, period: SAMPLE_PERIOD }],
    roles: &[],
    kind: EntryKind::Machine(|reader| {
        reader.make_unless(
            |params: &BatchingParams| min_max(params.min, params.max),
            |params, _| {
                Box::new(Batching {
                    throughput: Throughput::new(params.window, params.smoothing),
                    windows: 0,
                    best_per_s: 0.0,
                    size: f64::from(params.max),
                    falling: true,
                    params: params.clone(),
                })
            },
        )
    }),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MachineBench, settings};

    /// Batches after each window of a second with these throughputs.
    fn batches(keys: &[(&'static str, crate::catalogue::Setting)], per_s: &[u64]) -> Vec<u32> {
        let mut all = settings([("act_every", 1_u32.into()), ("smoothing", 0.0.into()), ("max", 100_u32.into())]);
        all.extend(settings(keys.iter().cloned()));
        let mut bench = MachineBench::new("batching", &all);
        let mut completed = 0;
        let mut size = 0;
        let sample = |completed| LoadSample::Stage { queue: 0, workers: 1, idle: 0, completed };
        bench.load(0, sample(0));
        let mut sizes = Vec::new();
        for (second, per_s) in (1..).zip(per_s) {
            completed += per_s;
            for effect in bench.load(second * 1000, sample(completed)) {
                if let Effect::Resize(Resize::Batch(to)) = effect {
                    size = to;
                }
            }
            sizes.push(size);
        }
        sizes
    }

    #[test]
    fn it_falls_while_throughput_holds_and_rises_when_it_does_not() {
        // 100/1.2 = 83.3, 69.4, 57.9; at 89/s (under 90 %) up to 69.4; 95/s is neither: up to 83.3; 98/s: down to 69.4.
        assert_eq!(batches(&[], &[100, 100, 100, 89, 95, 98]), [83, 69, 58, 69, 83, 69]);
    }

    #[test]
    fn it_starts_anew_when_the_load_is_another() {
        // 15/s is under a fifth of the best: back to 100, and since that is under 90 % too, one step up, which is the
        // most.
        assert_eq!(batches(&[], &[100, 100, 15]), [83, 69, 100]);
        // 300/s is over twice the best: back to 100 and down from there.
        assert_eq!(batches(&[], &[100, 100, 300]), [83, 69, 83]);
    }

    #[test]
    fn cut_to_whole_numbers_a_small_batch_never_grows() {
        // 5 / 1.2 = 4.17, cut to 4; then 4 × 1.2 = 4.8, cut to 4 again, and again. As fractions: 4.17, 5 (the most).
        assert_eq!(batches(&[("max", 5_u32.into()), ("whole", true.into())], &[100, 80, 80]), [4, 4, 4]);
        assert_eq!(batches(&[("max", 5_u32.into())], &[100, 80]), [4, 5]);
    }
}
