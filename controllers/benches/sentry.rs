//! What policing alone costs a Cataclysm sentry (WWW'05, figure 4). Run with `cargo bench -p controllers --bench sentry`.
//!
//! As in the paper every request is refused after its test. Three classes with delays of 0, 50 and 100 ms ask alike. 64 URLs have
//! service times of 1 to 64 ms, which servers have told before the measurement begins; then there is no server. Printed: CPU time
//! of a request, by policing and arrival rate, with the 95 % interval over rounds; admission tests; and the two claims of
//! `cat-fig4` that are about the policing alone.
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
        DelayPlan, NodeId, Policing, PolicingPlan, ResourceUsage, Sentry, SentryAction, SentryCounts, SentryFact,
        SentryPlan, SentryRequest, UrlName,
    },
};

/// Arrivals a second, in virtual time: the rates at which the paper's sentry is saturated, and ten times the higher one.
const RATES: [u64; 3] = [4_000, 19_000, 190_000];
const ROUNDS: usize = 20;
/// Requests of a round.
const REQUESTS: u64 = 100_000;
const CLASSES: u64 = 3;
const URLS: u64 = 64;

fn main() {
    println!(
        "{:<12} {:>10} {:>22} {:>15} {:>11}",
        "policing", "requests/s", "ns a request", "tests a request", "most tests"
    );
    let bound = CLASSES as usize * SentryPlan::three_classes().ranges.buckets();
    let mut most_tests = 0;
    let mut all = [Vec::new(), Vec::new()];
    for rate in RATES {
        for (policing, means) in [Policing::Batch, Policing::Threshold].into_iter().zip(&mut all) {
            let (mean, interval, counts) = measured(policing, rate);
            let tests = counts.tests as f64 / counts.offered as f64;
            let (most, name) = (counts.most_tests, format!("{policing:?}"));
            println!("{name:<12} {rate:>10} {mean:>14.1} ± {interval:<5.1} {tests:>15.3} {most:>11}");
            means.push(mean);
            most_tests = most_tests.max(most as usize);
        }
    }
    for (at, rate) in RATES.iter().enumerate() {
        let times = all[0][at] / all[1][at];
        let word = if times >= 4.0 { "held" } else { "FAILED" };
        println!("{word}: at {rate}/s batch policing costs at least 4 times threshold policing: {times:.1}");
    }
    let word = if most_tests <= bound { "held" } else { "FAILED" };
    println!("{word}: no more tests in an examination than buckets times classes, {bound}: {most_tests}");
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
    let mut random = Seeded::new(seed);
    let mut sentry = taught(plan, &mut random);
    let gap = 1_000_000_000 / rate;
    let mut now = Timestamp::ZERO;
    let mut step = |sentry: &mut Sentry<u64>, id: u64| {
        now = now + Duration::from_nanos(gap);
        let request = SentryRequest { id: JobId(id), class: Class((id % CLASSES) as u8), url: name(id % URLS) };
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
    (ns, sentry.counts())
}

/// A sentry that knows the service times of all URLs, from requests that a server has served one by one, and has no server
/// any more.
fn taught(plan: SentryPlan, random: &mut Seeded) -> Sentry<u64> {
    let server = NodeId(0);
    let mut sentry: Sentry<u64> = Sentry::new(Timestamp::ZERO, plan, &[server]).expect("a plan in range");
    for url in 0..URLS {
        let request = SentryRequest { id: JobId(u64::MAX - url), class: Class(2), url: name(url) };
        sentry.offer(Timestamp::ZERO, request, url, random);
        if let SentryAction::Admit(_, permit) = sentry.poll(Timestamp::ZERO) {
            let cpu = Duration::from_millis(url + 1);
            let usage = ResourceUsage { cpu, data: Duration::ZERO, actual: cpu };
            sentry.ended(Timestamp::ZERO, permit, Some(usage), random);
        }
    }
    sentry.fact(Timestamp::ZERO, SentryFact::Servers(&[]));
    sentry
}

fn name(url: u64) -> UrlName<'static> {
    UrlName::Kind(Kind(url as u16))
}
