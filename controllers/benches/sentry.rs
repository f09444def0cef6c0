//! What policing alone costs a Cataclysm sentry (WWW'05, figure 4). Run with `cargo bench -p controllers --bench sentry`.
//!
//! As in the paper every request is refused after its test: there is no server. Three classes with delays of 0, 50 and
//! 100 ms ask alike, and each URL has its own service time. Printed: CPU time of a request, by policing and arrival rate, with
//! the 95 % interval over rounds; what the two cost beside each other; and admission tests.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a measurement reads the clock; a machine does not"
)]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use controllers::{
    Class, JobId, Kind, Seeded, Timestamp,
    cataclysm::{
        DelayPlan, Policing, PolicingPlan, Sentry, SentryAction, SentryCounts, SentryPlan, SentryRequest, UrlName,
    },
};

/// Arrivals a second, in virtual time: the rates at which the paper's sentry is saturated, and ten times the higher one.
const RATES: [u64; 3] = [4_000, 19_000, 190_000];
const ROUNDS: usize = 20;
/// Requests of a round.
const REQUESTS: u64 = 100_000;
const CLASSES: u64 = 3;

fn main() {
    println!("{:<12} {:>10} {:>22} {:>14}", "policing", "requests/s", "ns a request", "tests a request");
    let mut all = [Vec::new(), Vec::new()];
    for rate in RATES {
        for (policing, means) in [Policing::Batch, Policing::Threshold].into_iter().zip(&mut all) {
            let (mean, interval, counts) = measured(policing, rate);
            let tests = counts.tests as f64 / counts.offered as f64;
            println!("{:<12} {rate:>10} {mean:>14.1} ± {interval:<5.1} {tests:>14.3}", format!("{policing:?}"));
            means.push(mean);
        }
    }
    for (at, rate) in RATES.iter().enumerate() {
        println!("at {rate}/s batch policing costs {:.1} times threshold policing", all[0][at] / all[1][at]);
    }
}

/// Nanoseconds of a request: the mean over rounds and half of its 95 % interval.
fn measured(policing: Policing, rate: u64) -> (f64, f64, SentryCounts) {
    let rounds: Vec<(f64, SentryCounts)> = (0..ROUNDS).map(|seed| round(policing, rate, seed as u64)).collect();
    let n = ROUNDS as f64;
    let mean = rounds.iter().map(|(ns, _)| ns).sum::<f64>() / n;
    let variance = rounds.iter().map(|(ns, _)| (ns - mean) * (ns - mean)).sum::<f64>() / (n - 1.0);
    // Student's t for 19 degrees of freedom.
    (mean, 2.093 * (variance / n).sqrt(), rounds[0].1)
}

fn round(policing: Policing, rate: u64, seed: u64) -> (f64, SentryCounts) {
    let ms = Duration::from_millis;
    let plan = SentryPlan {
        delays: DelayPlan::Fixed(vec![ms(0), ms(50), ms(100)]),
        policing: PolicingPlan::Always(policing),
        held: 1_000_000,
        ..SentryPlan::three_classes()
    };
    let buckets = plan.ranges.buckets() as u64;
    let mut sentry: Sentry<u64> = Sentry::new(Timestamp::ZERO, plan, &[]).expect("a plan in range");
    let mut random = Seeded::new(seed);
    let gap = 1_000_000_000 / rate;
    let mut now = Timestamp::ZERO;
    let mut step = |sentry: &mut Sentry<u64>, id: u64| {
        now = now + Duration::from_nanos(gap);
        let url = UrlName::Kind(Kind((id % 64) as u16));
        let request = SentryRequest { id: JobId(id), class: Class((id % CLASSES) as u8), url };
        sentry.offer(now, request, id, &mut random);
        while let SentryAction::Refuse(job, why) = black_box(sentry.poll(now)) {
            black_box((job, why));
        }
    };
    // A period and more, so that there is a threshold, which refuses everything.
    let warm_up = rate * 16;
    (0..warm_up).for_each(|id| step(&mut sentry, id));
    let began = Instant::now();
    (warm_up..warm_up + REQUESTS).for_each(|id| step(&mut sentry, id));
    let ns = began.elapsed().as_nanos() as f64 / REQUESTS as f64;
    let counts = sentry.counts();
    assert!(counts.tests <= counts.examinations * buckets * CLASSES, "{counts:?}");
    (ns, counts)
}
