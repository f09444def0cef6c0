//! Decisions a second through one limit that several threads share: this crate's layer, tower's `ConcurrencyLimit`,
//! `tower-acc` and `governor`, in turn.
//!
//! ```sh
//! cargo run --release --manifest-path controllers/tower/contended/Cargo.toml [-- ROUNDS [MILLISECONDS]]
//! ```
//!
//! Each thread asks, gets an answer at once, and asks again, as fast as it can: no service is like that, so that this
//! is the most that a lock can be contended. A decision is all that goes with a request: readiness, the decision, the
//! call of a service that answers at once, and the end. `governor` limits rates: its figure is the decision alone.
//!
//! Printed are medians over the rounds, in which the subjects take turns.

use std::{
    convert::Infallible,
    future::{Future as _, Ready, ready},
    num::NonZeroU32,
    pin::pin,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use governor::{Quota, RateLimiter};
use tower::{Layer, Service, limit::ConcurrencyLimitLayer};
use tower_admission::{AdmissionLayer, Outcome, PolicyChoice, policies};

const THREADS: [u32; 4] = [1, 2, 4, 8];
/// More than the threads need: nothing waits.
const AMPLE: usize = 1_000;

/// A subject, and its rate for so many threads.
type Subject = (&'static str, fn(u32, Duration) -> f64);

const SUBJECTS: [Subject; 10] = [
    ("tower ConcurrencyLimit", |threads, time| {
        service(threads, time, ConcurrencyLimitLayer::new(AMPLE).layer(Immediate))
    }),
    ("tower-acc Gradient2", |threads, time| {
        let algorithm = tower_acc::Gradient2::default();
        service(threads, time, tower_acc::ConcurrencyLimitLayer::new(algorithm).layer(Immediate))
    }),
    ("tower-acc Vegas", |threads, time| {
        service(threads, time, tower_acc::ConcurrencyLimitLayer::new(tower_acc::Vegas::default()).layer(Immediate))
    }),
    ("governor", |threads, time| {
        let most = NonZeroU32::MAX;
        let limiter = Arc::new(RateLimiter::direct(Quota::per_second(most).allow_burst(most)));
        measure(threads, time, || {
            let limiter = Arc::clone(&limiter);
            move || assert!(limiter.check().is_ok(), "nothing is refused")
        })
    }),
    ("none", |threads, time| layer(threads, time, "none".into(), 1)),
    ("concurrency", |threads, time| layer(threads, time, policies::Concurrency::default().max(1_000).into(), 1)),
    ("gradient2", |threads, time| layer(threads, time, "gradient2".into(), 1)),
    ("gradient2, a shard a thread", |threads, time| layer(threads, time, "gradient2".into(), threads)),
    ("vegas", |threads, time| layer(threads, time, "vegas".into(), 1)),
    ("vegas, a shard a thread", |threads, time| layer(threads, time, "vegas".into(), threads)),
];

/// Answers at once.
#[derive(Debug, Clone, Copy)]
struct Immediate;

impl Service<()> for Immediate {
    type Response = ();
    type Error = Infallible;
    type Future = Ready<Result<(), Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        ready(Ok(()))
    }
}

/// The rate of this crate's layer.
fn layer(threads: u32, time: Duration, policy: PolicyChoice, shards: u32) -> f64 {
    let layer = AdmissionLayer::new(policy)
        .shards(shards)
        .refuse_with(|(), _| ())
        .outcome(|_: Result<&(), &Infallible>| Outcome::Served)
        .build()
        .expect("a layer");
    let rate = service(threads, time, layer.layer(Immediate));
    let seen = layer.admission().expect("built").gauges();
    assert_eq!((seen.in_flight, seen.contradictions), (0, 0), "each decision has its end");
    rate
}

fn service<S>(threads: u32, time: Duration, service: S) -> f64
where
    S: Service<()> + Clone + Send,
    S::Error: std::fmt::Debug,
{
    measure(threads, time, || {
        let mut service = service.clone();
        move || {
            let mut cx = Context::from_waker(Waker::noop());
            assert!(matches!(service.poll_ready(&mut cx), Poll::Ready(Ok(()))), "nothing waits");
            let answer = pin!(service.call(())).poll(&mut cx);
            assert!(matches!(answer, Poll::Ready(Ok(_))), "nothing waits");
        }
    })
}

/// Calls a second, over all threads.
fn measure<W: FnMut() + Send>(threads: u32, time: Duration, work: impl Fn() -> W) -> f64 {
    // Timers of layers run here.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().expect("a runtime");
    let (start, stop) = (Barrier::new(threads as usize + 1), AtomicBool::new(false));
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                let (mut work, handle, start, stop) = (work(), runtime.handle().clone(), &start, &stop);
                scope.spawn(move || {
                    let _inside = handle.enter();
                    start.wait();
                    let mut calls = 0_u64;
                    while !stop.load(Ordering::Relaxed) {
                        for _ in 0..64 {
                            work();
                        }
                        calls += 64;
                    }
                    calls
                })
            })
            .collect();
        start.wait();
        let began = Instant::now();
        thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        let calls: u64 = workers.into_iter().map(|worker| worker.join().expect("a worker")).sum();
        calls as f64 / began.elapsed().as_secs_f64()
    })
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(default);
    let (rounds, time) = (number(0, 7), Duration::from_millis(number(1, 300)));
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    println!("millions of decisions a second, median of {rounds} rounds of {time:?}; {cores} cores\n");
    let mut rates = vec![[const { Vec::new() }; THREADS.len()]; SUBJECTS.len()];
    for _ in 0..rounds {
        for (at, threads) in THREADS.into_iter().enumerate() {
            for ((_, rate), of_subject) in SUBJECTS.iter().zip(&mut rates) {
                of_subject[at].push(rate(threads, time));
            }
        }
    }
    println!(
        "| limit | {} |",
        THREADS.map(|threads| format!("{threads} thread{}", if threads == 1 { "" } else { "s" })).join(" | ")
    );
    println!("|---|{}", "---|".repeat(THREADS.len()));
    for ((name, _), of_subject) in SUBJECTS.iter().zip(rates) {
        let cells = of_subject.map(|mut rates| {
            rates.sort_by(f64::total_cmp);
            let millions = |at: usize| rates[at] / 1e6;
            format!("{:.2} ({:.2} to {:.2})", millions(rates.len() / 2), millions(0), millions(rates.len() - 1))
        });
        println!("| {name} | {} |", cells.join(" | "));
    }
}
