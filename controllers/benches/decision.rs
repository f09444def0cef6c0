//! What a decision costs: one job's way through a seat. Run with `cargo bench -p controllers --features testing`.
//!
//! *admitted*: offered, let in, started, ended, with a batch reported every eighth job, and polled: the runs of the
//! controller, one for each hundred jobs, are in it. *refused*: offered at a rate far over the admission rate.

use std::{hint::black_box, time::Duration};

use controllers::{
    Catalogue, Class, Grant, JobId, Next, Offer, Outcome, Seat, Seen, Settings, SiteId, Tags, Timestamp, Timing,
    Verdict,
    testing::{policy, settings},
};
use criterion::{Criterion, criterion_group, criterion_main};

/// A seat, and the time and ids that go with it.
struct Host {
    seat: Seat,
    now: Timestamp,
    id: u64,
    between: Duration,
}

impl Host {
    fn new(name: &str, settings: &Settings, between: Duration) -> Self {
        let policy = policy(name, settings, Duration::from_secs(1));
        Self { seat: Seat::new(SiteId(1), policy, 1, Box::new(())), now: Timestamp::ZERO, id: 0, between }
    }

    fn job(&mut self) {
        self.now = self.now + self.between;
        self.id += 1;
        let id = JobId(self.id);
        let tags = Tags { class: Class((self.id % 4) as u8), customer: (self.id % 1000) as u32, ..Tags::default() };
        let entered = self.now;
        let offer = Offer { id, tags, entered, note: None };
        let grant = match self.seat.offer(self.now, &offer) {
            Verdict::Admit(grant) => Some(grant),
            Verdict::Hold => self.let_in(),
            Verdict::Refuse(_) | Verdict::ComeBack(_) => None,
        };
        if let Some(grant) = grant {
            self.seat.observe(self.now, &Seen::Started { id, waited: Duration::ZERO });
            let ended = self.now + Duration::from_micros(self.id % 1000);
            let timing = Timing { entered, offered: entered, started: entered, ended };
            let outcome = Outcome::Served;
            self.seat.observe(self.now, &Seen::Ended { id, grant, tags, outcome, timing, cost: None, note: None });
        }
        if self.id.is_multiple_of(8) {
            self.seat.observe(self.now, &Seen::Batch { jobs: 8, busy: Duration::from_millis(8) });
        }
        loop {
            match self.seat.poll(self.now) {
                Next::WakeAt(_) | Next::Idle => break,
                next => _ = black_box(next),
            }
        }
    }

    /// Tells of room for one held job.
    fn let_in(&mut self) -> Option<Grant> {
        self.seat.observe(self.now, &Seen::Room(1));
        match self.seat.poll(self.now) {
            Next::Release(_, grant) => Some(grant),
            _ => None,
        }
    }
}

/// What a benchmark is called, the policy, and its settings: every policy of the catalogue as it is by default, so that none is
/// forgotten, and variants of some. Those that keep a queue (`codel`, `folly`, `lifo`) hold each job, and let it in when there is room.
fn admitting() -> Vec<(&'static str, &'static str, Settings)> {
    let policies = Catalogue::built_in().entries().filter(|entry| entry.is_policy());
    let by_default = policies.map(|entry| (entry.name, entry.name, Settings::new()));
    let variants = [
        ("seda, 4 classes", "seda", settings([("classes", 4_u32.into())])),
        ("seda as coded", "usits03-as-coded", Settings::new()),
        ("folly", "folly", Settings::new()),
    ];
    by_default.chain(variants).collect()
}

fn decisions(criterion: &mut Criterion) {
    let mut admitted = criterion.benchmark_group("admitted");
    for (title, name, settings) in admitting() {
        let mut host = Host::new(name, &settings, Duration::from_millis(12));
        admitted.bench_function(title, |bencher| bencher.iter(|| host.job()));
        let counts = host.seat.counts();
        assert!(counts.refused * 100 < counts.offered.max(100), "{title}: {counts:?}");
    }
    admitted.finish();

    let mut refused = criterion.benchmark_group("refused");
    for name in ["fixed-rate", "seda", "quota"] {
        let mut host = Host::new(name, &Settings::new(), Duration::from_nanos(100));
        refused.bench_function(name, |bencher| bencher.iter(|| host.job()));
    }
    refused.finish();
}

criterion_group!(benches, decisions);
criterion_main!(benches);
