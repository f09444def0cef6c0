//! What WebQ's machines do in a second on one core. Run with `cargo bench -p controllers --bench webq`.
//!
//! It prints and asserts nothing. *booked*: a queue of 1000 s in which each request waits for some hundred seconds, on the
//! only replica, and on one of three that exchange reports once a second. *checked*: turns in time, each once.
//! *estimated*: 84 epochs of two request types.
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
    Random, Seeded, Timestamp, UnixSeconds,
    webq::{
        Annealing, Booking, BookingParams, CheckParams, CmaEs, EpochSample, EstimateParams, Minimise, PromisedTurn,
        ReplicaId, ReplicaParams, Subunits, TokenCheck, estimate,
    },
};

const START: u64 = 1_800_000_000;

/// Seconds of each measurement, in virtual time.
const SECONDS: u64 = 20;

/// Requests or tokens a second.
const RATE: u64 = 100_000;

fn main() {
    per_second("booked, one replica", SECONDS * RATE, || book(&[ReplicaId(0)]));
    per_second("booked, one of three replicas", SECONDS * RATE, || book(&[0, 1, 2].map(ReplicaId)));
    per_second("checked, single use", SECONDS * RATE, || check(Some(2 * 11 * RATE as usize)));
    per_second("checked, any use", SECONDS * RATE, || check(None));
    let samples = epochs();
    per_second("estimated by CMA-ES", 5, || estimates(&samples, &CmaEs::default()));
    per_second("estimated by annealing", 5, || estimates(&samples, &Annealing::default()));
}

fn per_second(what: &str, times: u64, work: impl FnOnce()) {
    let began = Instant::now();
    work();
    println!("{what:<30} {:>12.0} a second", times as f64 / began.elapsed().as_secs_f64());
}

fn book(replicas: &[ReplicaId]) {
    let mut all: Vec<Booking> = replicas.iter().map(|me| replica(*me, replicas)).collect();
    for second in (START..).take(SECONDS as usize) {
        let now = UnixSeconds(second);
        let reports: Vec<_> = all.iter_mut().map(|replica| replica.report(now)).collect();
        for (i, replica) in all.iter_mut().enumerate() {
            let others = reports.iter().enumerate().filter(|(j, _)| *j != i);
            others.for_each(|(_, report)| replica.hear(now, report.clone()).expect("a newer report"));
        }
        for _ in 0..RATE {
            _ = black_box(all[0].book(now, Subunits::of(1.3)));
        }
    }
}

fn replica(me: ReplicaId, all: &[ReplicaId]) -> Booking {
    let peers: Vec<ReplicaId> = all.iter().copied().filter(|id| *id != me).collect();
    let mut booking =
        Booking::new(&BookingParams { replica: ReplicaParams::among(me, &peers), ..BookingParams::alone() })
            .expect("good params");
    booking.set_capacity(UnixSeconds(START), Some(Subunits::whole(10_000)));
    booking
}

fn check(single_use: Option<usize>) {
    let mut checks = TokenCheck::new(CheckParams { single_use, ..CheckParams::default() }).expect("good params");
    let mut random = Seeded::new(1);
    let digest = [7; 32];
    for second in (START..).take(SECONDS as usize) {
        for _ in 0..RATE {
            let id = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
            let turn = PromisedTurn { at: UnixSeconds(second), id, binding: &digest, presented: &digest };
            _ = black_box(checks.check(UnixSeconds(second), Timestamp::from_secs(second), &turn));
        }
    }
    assert_eq!(checks.counts().admitted, SECONDS * RATE);
}

fn estimates(samples: &[EpochSample], search: &dyn Minimise) {
    for seed in 0..5 {
        _ = black_box(estimate(samples, &EstimateParams::default(), search, &mut Seeded::new(seed)));
    }
}

/// Epochs of a server of 100 subunits a second with requests of hardness 1 and 4.
fn epochs() -> Vec<EpochSample> {
    let mut random = Seeded::new(1);
    let mut epoch = |_| {
        let (load, part) = (30.0 + 110.0 * random.uniform(), 0.1 + 0.8 * random.uniform());
        let requests = [load * part * 10.0, load * (1.0 - part) / 4.0 * 10.0];
        let response = 0.02 * (1.0 + 0.376 * (load / 100.0 * (load / 100.0)).powi(3));
        EpochSample {
            length: Duration::from_secs(10),
            arrived: requests.map(|n| n as u64).to_vec(),
            served: requests.map(|n| (n * (100.0 / load).min(1.0)) as u64).to_vec(),
            response_s: vec![requests[0] * response, requests[1] * 4.0 * response],
        }
    };
    (0..84).map(&mut epoch).collect()
}
