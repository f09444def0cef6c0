//! What holds for a sentry whatever happens, by random operations.

use std::{collections::BTreeMap, time::Duration};

use proptest::prelude::*;

use super::*;
use crate::cataclysm::{AdmissionTest, DelayBound, NucleusReport, SentryFact, Skew, SwitchPlan};

#[derive(Debug, Clone)]
enum Operation {
    Offer { class: u8, url: u8 },
    End { which: usize, cpu_ms: u64 },
    Leave { which: usize },
    Report { server: u32, queueing_ms: u64, in_service: u32 },
    Servers(u32),
    Target { ms: u64 },
    Load { percent: u8 },
    Poll,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        12 => (0..4_u8, 0..5_u8).prop_map(|(class, url)| Operation::Offer { class, url }),
        6 => (any::<usize>(), 0..400_u64).prop_map(|(which, cpu_ms)| Operation::End { which, cpu_ms }),
        1 => any::<usize>().prop_map(|which| Operation::Leave { which }),
        1 => (0..4_u32, 0..800_u64, 0..20_u32)
            .prop_map(|(server, queueing_ms, in_service)| Operation::Report { server, queueing_ms, in_service }),
        1 => (0..4_u32).prop_map(Operation::Servers),
        1 => (100..3000_u64).prop_map(|ms| Operation::Target { ms }),
        2 => (0..=100_u8).prop_map(|percent| Operation::Load { percent }),
        4 => Just(Operation::Poll),
    ]
}

fn plan() -> impl Strategy<Value = SentryPlan> {
    let delays = prop_oneof![
        Just(by_batches().delays),
        Just(DelayPlan::Fixed(vec![Duration::ZERO; 3])),
        Just(DelayPlan::Bounded(DelayBound::default())),
    ];
    let policing = prop_oneof![
        Just(PolicingPlan::Always(Policing::Batch)),
        Just(PolicingPlan::Always(Policing::Threshold)),
        Just(PolicingPlan::ByLoad(SwitchPlan { quiet_for: Duration::from_millis(500), ..SwitchPlan::default() })),
    ];
    let skew = prop_oneof![Just(Skew::NONE), Just(Skew::Measured)];
    (delays, policing, skew, prop_oneof![1..4_u32, 1..30_u32], prop::collection::vec(0..20_u8, 3), any::<bool>())
        .prop_map(|(delays, policing, skew, held, rates, probes_when_idle)| {
            let classes = rates.iter().map(|rate| SentryClass::guaranteed(f64::from(*rate))).collect();
            let period = Duration::from_millis(700);
            SentryPlan { classes, delays, policing, skew, held, period, probes_when_idle, ..by_batches() }
        })
}

const URLS: [&str; 5] = ["/", "/a?x=1", "/b", "/c?y=2", "/d"];

/// Follows a sentry from outside: every request it was offered, and what became of it.
struct Follower {
    bench: Bench,
    /// Offered and not decided, with their classes.
    open: BTreeMap<u64, Class>,
    decided: u64,
    left: u64,
    /// The tokens that each class certainly has: a bucket of our own.
    tokens: [f64; 3],
    now_ms: u64,
}

impl Follower {
    fn new(plan: &SentryPlan) -> Self {
        let rates = [0, 1, 2].map(|rank: usize| plan.classes[rank].guaranteed_per_s);
        let bench = Bench::new(plan.clone(), 3);
        Self { bench, open: BTreeMap::new(), decided: 0, left: 0, tokens: rates.map(|r| r.max(1.0)), now_ms: 0 }
    }

    fn pass(&mut self, plan: &SentryPlan, ms: u64) {
        self.now_ms += ms;
        for (tokens, class) in self.tokens.iter_mut().zip(&plan.classes) {
            let rate = class.guaranteed_per_s;
            *tokens = (*tokens + rate * ms as f64 / 1000.0).min(rate.max(1.0));
        }
    }

    fn apply(&mut self, operation: &Operation, plan: &SentryPlan) -> Result<(), TestCaseError> {
        let now = at(self.now_ms);
        match *operation {
            Operation::Offer { class, url } => return self.offer(class, url, plan),
            Operation::End { which, cpu_ms } if !self.bench.permits.is_empty() => {
                let (_, permit) = self.bench.permits.remove(which % self.bench.permits.len());
                let usage = (cpu_ms > 0).then(|| usage(cpu_ms));
                self.bench.sentry.ended(now, permit, usage, &mut self.bench.random);
            }
            Operation::Leave { which } if !self.open.is_empty() => {
                let job = *self.open.keys().nth(which % self.open.len()).expect("not empty");
                if self.bench.sentry.leave(now, JobId(job)).is_some() {
                    self.open.remove(&job);
                    self.left += 1;
                }
            }
            Operation::Report { server, queueing_ms, in_service } => {
                let queueing = Duration::from_millis(queueing_ms);
                let report = NucleusReport { server: NodeId(server), queueing, in_service };
                self.bench.sentry.fact(now, SentryFact::Nucleus(report));
            }
            Operation::Servers(count) => self.bench.sentry.fact(now, SentryFact::Servers(&nodes(count))),
            Operation::Target { ms } => {
                self.bench.sentry.fact(now, SentryFact::Target(Duration::from_millis(ms)));
            }
            Operation::Load { percent } => self.bench.sentry.observe(now, f64::from(percent) / 100.0),
            Operation::Poll | Operation::End { .. } | Operation::Leave { .. } => {}
        }
        self.poll()
    }

    /// A request that conforms to the guaranteed rate is admitted by the time that it is polled.
    fn offer(&mut self, class: u8, url: u8, plan: &SentryPlan) -> Result<(), TestCaseError> {
        self.poll()?;
        let rank = 2 - usize::from(class.min(2));
        let conforms = plan.classes[rank].guaranteed_per_s > 0.0 && self.tokens[rank] >= 1.0;
        let job = self.bench.offer(self.now_ms, Class(class), URLS[usize::from(url)]);
        self.open.insert(job, Class(class));
        if plan.classes[rank].guaranteed_per_s > 0.0 && self.tokens[rank] >= 1.0 - 1e-9 {
            self.tokens[rank] -= 1.0;
        }
        self.poll()?;
        prop_assert!(!conforms || self.bench.permits.iter().any(|(admitted, _)| *admitted == job), "{job} conforms");
        Ok(())
    }

    fn poll(&mut self) -> Result<(), TestCaseError> {
        let (admitted, refused, wake) = self.bench.poll(self.now_ms);
        for job in admitted.into_iter().chain(refused.into_iter().map(|(job, _)| job)) {
            prop_assert!(self.open.remove(&job).is_some(), "{job} is decided twice, or was never offered");
            self.decided += 1;
        }
        prop_assert!(wake > at(self.now_ms), "due at once");
        let counts = self.bench.sentry.counts();
        prop_assert_eq!(counts.admitted + counts.refused, self.decided);
        prop_assert_eq!(counts.offered, self.decided + self.left + u64::from(self.bench.sentry.held()));
        prop_assert_eq!(self.open.len(), self.bench.sentry.held() as usize);
        prop_assert_eq!(self.bench.sentry.in_flight(), self.bench.permits.len() as u64);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Each request is admitted, refused or left exactly once, those of the guaranteed rate are admitted, and nothing is
    /// held longer than the longest delay.
    #[test]
    fn every_request_is_decided_once(
        plan in plan(),
        operations in prop::collection::vec((operation(), prop_oneof![Just(0), 0..60_u64]), 1..200),
    ) {
        let mut follower = Follower::new(&plan);
        for (operation, pause_ms) in &operations {
            follower.pass(&plan, *pause_ms);
            follower.apply(operation, &plan)?;
            prop_assert!(follower.bench.sentry.held() <= plan.held);
        }
        follower.pass(&plan, 200);
        follower.poll()?;
        prop_assert!(follower.open.is_empty(), "held longer than every delay: {:?}", follower.open);
    }

    /// The same operations give the same decisions.
    #[test]
    fn decisions_are_repeatable(plan in plan(), operations in prop::collection::vec((operation(), 0..60_u64), 1..60)) {
        let run = || {
            let mut follower = Follower::new(&plan);
            for (operation, pause_ms) in &operations {
                follower.pass(&plan, *pause_ms);
                follower.apply(operation, &plan).expect("checked elsewhere");
            }
            (follower.bench.permits, follower.bench.sentry.counts())
        };
        prop_assert_eq!(run(), run());
    }

    /// One round from a known state, against equation 4 itself: what is admitted passes the test with all that was
    /// admitted before it, what fails does not, no class under a failed one is admitted or tested, and there is at most
    /// one test for each bucket of each class.
    #[test]
    fn a_round_is_the_published_one(
        servers in 1..5_u32,
        in_service in 0..15_u32,
        queueing_ms in 0..400_u64,
        offers in prop::collection::vec((0..2_u8, 1..5_usize), 1..80),
    ) {
        let ms = Duration::from_millis;
        let mut bench = Bench::new(SentryPlan { delays: DelayPlan::Fixed(vec![ms(0), ms(50), ms(100)]), ..by_batches() }, servers);
        for (url, cpu_ms) in [("/a", 5), ("/b", 50), ("/c", 100), ("/d", 200)] {
            bench.offer(1, GOLD, url);
            _ = bench.poll(1);
            bench.end(1, Some(usage(cpu_ms)));
        }
        for server in 0..servers {
            let report = NucleusReport { server: NodeId(server), queueing: ms(queueing_ms), in_service };
            bench.sentry.fact(at(2), SentryFact::Nucleus(report));
        }
        // Offers of Silver and Bronze after 50 ms, so that both are due at 100 ms.
        let mut batches = BTreeMap::<(usize, usize), Vec<u64>>::new();
        for (class, url) in &offers {
            let job = bench.offer(60, Class(*class), ["/", "/a", "/b", "/c", "/d"][*url]);
            batches.entry((2 - usize::from(*class), *url)).or_default().push(job);
        }
        let before = bench.sentry.counts();
        let (admitted, refused, _) = bench.poll(100);
        let counts = bench.sentry.counts();
        prop_assert!(counts.tests - before.tests <= batches.len() as u64);
        prop_assert!(batches.len() <= 2 * 4);
        prop_assert_eq!(counts.examinations - before.examinations, 1);
        // The round by hand: middles of (0, 10], (10, 90], (90, 110] and (110, 290] ms.
        let middles_s = [0.0, 0.005, 0.050, 0.100, 0.200];
        let mut eta = f64::from(in_service);
        let mut failed_rank = None;
        for ((rank, url), jobs) in &batches {
            let test = AdmissionTest {
                queueing_s: queueing_ms as f64 / 1000.0, in_service: eta, servers: f64::from(servers), response_s: 1.0,
            };
            let delay_s = [0.0, 0.05, 0.1][*rank];
            let examined = failed_rank.is_none_or(|failed| failed == *rank);
            let passes = examined && test.admits(jobs.len() as u64, middles_s[*url], delay_s);
            for job in jobs {
                prop_assert_eq!(admitted.contains(job), passes, "{} of class {} and script {}", job, rank, url);
                let why = refused.iter().find(|(refused, _)| refused == job).map(|(_, why)| *why);
                let expected = if examined { SentryRefusal::TooSlow } else { SentryRefusal::LessImportant };
                prop_assert_eq!(why, (!passes).then_some(expected));
            }
            if passes {
                eta += jobs.len() as f64 / f64::from(servers);
            } else if examined {
                failed_rank = Some(*rank);
            }
        }
    }
}
