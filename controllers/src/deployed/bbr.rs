//! The limiters that are called after BBR: jobs in flight by the largest throughput and the smallest latency that were seen, while the CPU
//! is busy.

use std::time::Duration;

use crate::{
    Ctx, Entry, Gauge, Grant, LoadSample, Machine, Offer, Outcome, Place, Policy, Reason, Refusal, Seen, Timestamp,
    Verdict,
    entry::{
        CompositionRole, EntryKind, Given, Preset, SampleKind, Sampling, Source, count, flag, ms, number, params, s,
        time,
    },
};

const KRATOS: &str = "bbr.go of kratos, the default";

params! {
    struct BbrParams {
        window: Duration = time(ms(100)..=s(600), s(10)), "time of which the best is looked for", KRATOS;
        buckets: u32 = count(1..=1000, 100), "parts of that time, of which each has a throughput and a latency", KRATOS;
        cpu: f64 = number(0.0..=1.0, 0.8), "share of the CPU from which on there is a limit; 0: always", KRATOS;
        cpu_decay: f64 = number(0.0..=0.999, 0.95), "weight of the CPU's past, per sample", "cpu.go of kratos: 0.95, a sample each 500 ms";
        cool_off: Duration = time(Duration::ZERO..=s(60), s(1)), "time for which there is a limit after the first refusal", KRATOS;
        in_flight_decay: f64 = number(0.0..=0.999, 0.0), "weight of the past in a mean of jobs in flight that must be over the limit too; 0: none", "go-zero alone: flyingBeta";
        overload_factor: bool = flag(false), "whether the limit shrinks down to a tenth as the CPU goes from its bound to 1", "go-zero alone: overloadFactor";
    }
}

/// One part of the window.
#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    served: u32,
    total: Duration,
}

#[derive(Debug)]
struct Bbr {
    /// The current part is the last.
    buckets: Vec<Bucket>,
    /// The current part, counted from time zero.
    newest: u64,
    cpu: f64,
    /// Mean of jobs in flight at ends.
    mean_in_flight: f64,
    refused: Option<Timestamp>,
    params: BbrParams,
}

impl Bbr {
    fn new(params: &BbrParams) -> Self {
        let buckets = vec![Bucket::default(); params.buckets as usize];
        Self { buckets, newest: 0, cpu: 0.0, mean_in_flight: 0.0, refused: None, params: params.clone() }
    }

    fn width_ns(&self) -> u64 {
        let width = self.params.window.as_nanos() / u128::from(self.params.buckets);
        u64::try_from(width).unwrap_or(u64::MAX).max(1)
    }

    fn advance(&mut self, now: Timestamp) {
        let current = now.as_nanos() / self.width_ns();
        let passed = usize::try_from(current - self.newest.min(current)).unwrap_or(usize::MAX).min(self.buckets.len());
        self.buckets.drain(..passed);
        self.buckets.resize(self.params.buckets as usize, Bucket::default());
        self.newest = current;
    }

    /// The largest throughput times the smallest mean latency, of parts that are over; jobs.
    fn most(&self) -> f64 {
        let (_, past) = self.buckets.split_last().expect("there is one at least");
        let served = past.iter().map(|bucket| bucket.served).max().unwrap_or(0).max(1);
        let latencies = past.iter().filter(|bucket| bucket.served > 0);
        // Whole milliseconds, rounded up.
        let mean_ms = |bucket: &Bucket| (bucket.total.as_secs_f64() * 1e3 / f64::from(bucket.served)).ceil();
        let least_ms = latencies.map(mean_ms).fold(f64::INFINITY, f64::min).clamp(1.0, 1e9);
        let least_ms = if past.iter().all(|bucket| bucket.served == 0) { 1.0 } else { least_ms };
        let per_s = 1e9 / self.width_ns() as f64;
        let most = (f64::from(served) * least_ms * per_s / 1000.0).floor();
        if !self.params.overload_factor {
            return most;
        }
        let bound = self.params.cpu.min(0.999);
        most.max(1.0) * ((1.0 - self.cpu) / (1.0 - bound)).clamp(0.1, 1.0)
    }

    fn is_over(&self, in_flight: u32) -> bool {
        let most = self.most();
        let mean_is_over = self.params.in_flight_decay == 0.0 || self.mean_in_flight > most;
        in_flight > 1 && f64::from(in_flight) > most && mean_is_over
    }

    fn refuses(&mut self, in_flight: u32, now: Timestamp) -> bool {
        let cool_off = self.params.cool_off;
        let is_hot = self.refused.is_some_and(|at| now.since(at) <= cool_off);
        if self.cpu < self.params.cpu && !is_hot {
            self.refused = None;
            return false;
        }
        let refuses = self.is_over(in_flight);
        if refuses && self.cpu >= self.params.cpu {
            self.refused.get_or_insert(now);
        }
        refuses
    }
}

impl Machine for Bbr {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        match seen {
            Seen::Load(LoadSample::Cpu(share)) => {
                let decay = self.params.cpu_decay;
                self.cpu = self.cpu * decay + share * (1.0 - decay);
            }
            Seen::Ended { outcome, timing, .. } => {
                let decay = self.params.in_flight_decay;
                self.mean_in_flight = self.mean_in_flight * decay + f64::from(cx.in_flight) * (1.0 - decay);
                if *outcome == Outcome::Ignored {
                    return;
                }
                self.advance(cx.now);
                if let Some(bucket) = self.buckets.last_mut() {
                    bucket.total += timing.ended.since(timing.offered);
                    bucket.served += 1;
                }
            }
            _ => {}
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("limit"), self.most());
        visit(Gauge::of("cpu_share"), self.cpu);
    }
}

impl Policy for Bbr {
    fn offer(&mut self, _: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        self.advance(cx.now);
        match self.refuses(cx.in_flight, cx.now) {
            true => Verdict::Refuse(Refusal::new(Reason::Concurrency)),
            false => Verdict::Admit(Grant::default()),
        }
    }
}

pub(crate) const BBR: Entry = Entry {
    name: "bbr",
    about: "a limit on jobs in flight by the largest throughput times the smallest latency of the last seconds, while the CPU is busy",
    caution: "sees the CPU alone: a service that waits for something else is never limited; cheap requests among heavy ones make the limit too small",
    source: Source {
        title: "kratos aegis 0.2; go-zero 1.8 and Sentinel 1.8 as presets",
        place: "ratelimit/bbr/bbr.go",
    },
    deviations: &[
        "The CPU is that of the service, as the host samples it; the originals read that of the machine or its container.",
        "Preset `go-zero`: the time after a refusal counts from the first, not from the last moment of a busy CPU.",
        "Preset `sentinel` goes by the CPU (`highestCpuUsage`), not by the load average, and has the smallest mean of a part for the smallest time.",
    ],
    places: &[Place::Single, Place::Proxy, Place::Stage],
    presets: &[
        Preset { name: "kratos", about: "ten seconds in a hundred parts, from 80 % CPU", given: &[] },
        Preset {
            name: "go-zero",
            about: "five seconds in fifty parts, from 90 % CPU, by the mean too, and less the busier",
            given: &[
                ("window", Given::Text("5s")),
                ("buckets", Given::Number(50.0)),
                ("cpu", Given::Number(0.9)),
                ("in_flight_decay", Given::Number(0.9)),
                ("overload_factor", Given::Flag(true)),
            ],
        },
        Preset {
            name: "sentinel",
            about: "a second in two parts, from a share of the CPU that you set",
            given: &[
                ("window", Given::Text("1s")),
                ("buckets", Given::Number(2.0)),
                ("cpu_decay", Given::Number(0.0)),
                ("cool_off", Given::Text("0ms")),
            ],
        },
    ],
    samples: &[Sampling { what: SampleKind::Cpu, period: ms(500) }],
    roles: &[CompositionRole::Limit],
    kind: EntryKind::Policy(|reader| reader.make(|params: &BbrParams, _| Box::new(Bbr::new(params)))),
};
