//! Our policies against what the originals' code made of the same input (`controllers/differential`).

use std::{collections::VecDeque, time::Duration};

use crate::{
    Class, Ctx, Effects, Gauge, Grant, JobId, Offer, Outcome, Policy, Random, Seen, Settings, SiteId, Tags, Timestamp,
    Timing, UnixSeconds, Verdict, entry::Setting, testing::policy,
};

/// A policy that is fed as its original was.
struct Replayed {
    policy: Box<dyn Policy>,
    random: Recorded,
    jobs: u64,
    /// The last attempt was.
    let_go: bool,
}

/// What the original drew, uniform in [0.5, 1): of our own draws in [0, 1) the same.
struct Recorded(VecDeque<f64>);

impl Random for Recorded {
    fn next_u64(&mut self) -> u64 {
        let drawn = self.0.pop_front().expect("as many draws as the original's");
        (((2.0 * drawn - 1.0) * (1_u64 << 53) as f64) as u64) << 11
    }
}

impl Replayed {
    /// `vegas window=0s limit_max=200 | 0.69 0.51`.
    fn new(head: &str) -> Self {
        let (named, draws) = head.split_once(" | ").unwrap_or((head, ""));
        let draws = draws.split_whitespace().map(|word| word.parse().expect("a number"));
        let mut words = named.split(' ');
        let name = words.next().expect("a policy");
        let setting = |word: &str| {
            let (key, value) = word.split_once('=').expect("a setting");
            let setting = value.parse().map_or_else(|_| Setting::Text(value.to_owned()), Setting::Number);
            (key.to_owned(), setting)
        };
        let settings: Settings = words.map(setting).collect();
        Self {
            policy: policy(name, &settings, Duration::from_secs(1)),
            random: Recorded(draws.collect()),
            jobs: 0,
            let_go: false,
        }
    }

    fn with<T>(&mut self, now: Timestamp, act: impl FnOnce(&mut dyn Policy, &mut Ctx<'_>) -> T) -> T {
        let mut cx = Ctx {
            now,
            wall: UnixSeconds::default(),
            in_flight: 0,
            held: 0,
            random: &mut self.random,
            effects: &mut Effects::default(),
            observer: &mut (),
            site: SiteId(1),
        };
        act(&mut *self.policy, &mut cx)
    }

    /// An offer of each class: time-outs count from it.
    fn start(&mut self, at: Timestamp) {
        for class in 0..3 {
            let tags = Tags { class: Class(class), ..Tags::default() };
            let offer = Offer { id: JobId(0), tags, entered: at, note: None };
            let _ = self.with(at, |policy, cx| policy.offer(&offer, cx));
        }
    }

    fn end(&mut self, ended: Timestamp, response: Duration, class: u8, outcome: Outcome, in_flight: u64) {
        self.jobs += 1;
        let entered = ended - response;
        let seen = Seen::Ended {
            id: JobId(self.jobs),
            grant: Grant::new(in_flight),
            tags: Tags { class: Class(class), ..Tags::default() },
            outcome,
            timing: Timing { entered, offered: entered, started: entered, ended },
            cost: None,
            note: None,
        };
        self.see(ended, &seen);
    }

    fn see(&mut self, at: Timestamp, seen: &Seen) {
        self.with(at, |policy, cx| policy.observe(seen, cx));
    }

    fn gauge(&self, wanted: Gauge) -> Option<f64> {
        let mut found = None;
        self.policy.gauges(&mut |gauge, value| {
            if gauge == wanted {
                found = Some(value);
            }
        });
        found
    }

    /// A job of a limit: start, response time, jobs in flight, dropped.
    fn job(&mut self, input: &str) {
        let numbers: Vec<u64> = input.split(' ').map(|word| word.parse().expect("a number")).collect();
        let [start, rtt, in_flight, dropped] = numbers[..] else { panic!("{input}") };
        let outcome = if dropped == 1 { Outcome::TimedOut } else { Outcome::Served };
        let ended = Timestamp::ZERO + Duration::from_nanos(start + rtt);
        self.end(ended, Duration::from_nanos(rtt), 0, outcome, in_flight);
    }

    /// An attempt of a sender: whether it is the first, and how it ends; `-`: it is not let go.
    fn attempt(&mut self, input: &str) {
        let (attempt, ends) = input.split_once(' ').expect("an attempt and its end");
        let tags = Tags { attempt: u8::from(attempt == "retry"), user: 1, ..Tags::default() };
        self.jobs += 1;
        let at = Timestamp::from_millis(self.jobs);
        let offer = Offer { id: JobId(self.jobs), tags, entered: at, note: None };
        let verdict = self.with(at, |policy, cx| policy.offer(&offer, cx));
        let Verdict::Admit(grant) = verdict else {
            self.let_go = false;
            return;
        };
        self.let_go = true;
        let outcome = match ends {
            "served" => Outcome::Served,
            "timed-out" => Outcome::TimedOut,
            _ => Outcome::Failed,
        };
        let timing = Timing { entered: at, offered: at, started: at, ended: at };
        self.see(at, &Seen::Ended { id: offer.id, grant, tags, outcome, timing, cost: None, note: None });
    }

    /// A batch of a stage: its time, its size, and of each job the response time and the class.
    fn batch(&mut self, input: &str) {
        let mut words = input.split(' ').skip(1);
        let at = Timestamp::from_millis(words.next().expect("a time").parse().expect("milliseconds"));
        let Some(jobs) = words.next() else { return self.start(at) };
        for word in words {
            let (response, class) = word.split_once(':').expect("a time and a class");
            let response = Duration::from_millis(response.parse().expect("milliseconds"));
            self.end(at, response, class.parse().expect("a class"), Outcome::Served, 1);
        }
        self.see(at, &Seen::Batch { jobs: jobs.parse().expect("a count"), busy: Duration::ZERO });
    }
}

/// Compares every step of a series.
#[track_caller]
fn same(series: &str, feed: fn(&mut Replayed, &str), shown: fn(&Replayed, &str) -> Vec<(f64, f64)>, within: f64) {
    let (head, steps) = series.split_once('\n').expect("a policy");
    let mut replayed = Replayed::new(head.trim_start_matches("# "));
    let mut compared = 0;
    for (number, line) in steps.lines().enumerate() {
        let (input, original) = line.split_once(" | ").expect("input and original");
        feed(&mut replayed, input);
        if original == "start" {
            continue;
        }
        for (ours, theirs) in shown(&replayed, original) {
            let apart = (ours - theirs).abs() / theirs.abs().max(1.0);
            assert!(apart <= within, "{head}, step {number}: {input}: {ours} here, {theirs} there");
            compared += 1;
        }
    }
    assert!(compared > 80, "{compared} compared");
}

fn numbers(line: &str) -> Vec<f64> {
    line.split(' ').map(|word| word.parse().expect("a number")).collect()
}

fn limit(replayed: &Replayed, original: &str) -> Vec<(f64, f64)> {
    vec![(replayed.gauge(Gauge::of("limit")).expect("a limit"), numbers(original)[0])]
}

/// Whether it was let go, and the tokens then.
fn tokens(replayed: &Replayed, original: &str) -> Vec<(f64, f64)> {
    let ours = [f64::from(u8::from(replayed.let_go)), replayed.gauge(Gauge::of("tokens")).expect("tokens")];
    ours.into_iter().zip(numbers(original)).collect()
}

/// The original's average is in whole nanoseconds when it is shown.
fn limit_and_average(replayed: &Replayed, original: &str) -> Vec<(f64, f64)> {
    let average = replayed.gauge(Gauge::of("rtt_long_ms")).expect("an average");
    [limit(replayed, original), vec![(average, numbers(original)[1])]].concat()
}

/// Rates, and the percentile of the first class.
fn rates(replayed: &Replayed, original: &str) -> Vec<(f64, f64)> {
    let theirs = numbers(original);
    let of = |name, class| {
        let of_class = replayed.gauge(Gauge::of_class(name, Class(class)));
        of_class.or_else(|| replayed.gauge(Gauge::of(name)))
    };
    let rate = |class: u8| of("admission_rate_per_s", class).expect("a rate");
    let classes = u8::try_from(theirs.len().saturating_sub(2)).expect("a few");
    let mut pairs: Vec<(f64, f64)> = (0..classes).map(|class| (rate(class), theirs[2 + usize::from(class)])).collect();
    pairs.push(((0..classes.max(1)).map(rate).sum(), theirs[0]));
    pairs.push((of("p90_ms", 0).unwrap_or(0.0), theirs[1]));
    pairs
}

macro_rules! originals {
    ($($name:ident $file:literal $feed:ident $shown:ident $within:literal;)+) => { $(
        #[test]
        fn $name() {
            same(include_str!(concat!("../differential/", $file, ".txt")), Replayed::$feed, $shown, $within);
        }
    )+ };
}

originals! {
    aws_retries_between_failures "aws-retry-failures" attempt tokens 0.0;
    aimd_from_a_spike "aimd-spike-start" job limit 0.0;
    aimd_with_windows_and_drops "aimd-drops-windows" job limit 0.0;
    gradient2_after_a_slow_start "gradient2-slowthen" job limit_and_average 1e-6;
    gradient2_of_tiny_times "gradient2-tiny" job limit_and_average 1e-5;
    gradient2_of_scattered_times "gradient2-lognormal" job limit_and_average 1e-6;
    vegas_with_drops_and_probes "vegas-drops" job limit 0.0;
    vegas_of_scattered_times_with_probes "vegas-lognormal" job limit 0.0;
    seda_as_coded "usits03-as-coded-noisy" batch rates 1e-12;
    seda_as_coded_with_idle_times "usits03-as-coded-idle" batch rates 1e-12;
    seda_as_coded_with_three_classes "usits03-as-coded-three-noisy" batch rates 1e-12;
    seda_as_coded_with_three_classes_and_few_requests "usits03-as-coded-three-low" batch rates 1e-12;
    seda_as_coded_with_three_classes_and_idle_times "usits03-as-coded-three-idle" batch rates 1e-12;
    direct_of_noisy_times "direct-noisy" batch rates 1e-12;
    direct_of_steps "direct-steps" batch rates 1e-12;
    pid_of_noisy_times "pid-noisy" batch rates 1e-12;
    pid_of_steps "pid-steps" batch rates 1e-12;
}
