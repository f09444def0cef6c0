//! The layer under tokio's paused clock.

use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use controllers::{Catalogue, Outcome, Place, Timestamp, site::Probe};
use tokio::{sync::oneshot, time::Instant};
use tower::{Layer, ServiceExt, service_fn};

use super::{
    CAPACITY, OBJECTIVE, SEED, Setup,
    recording::{Decision, Numbers, Record, facts, recorded},
    script::Op,
    tight,
};
use crate::{Admission, AdmissionLayer, PolicyChoice, Refused, RequestTags};

/// A mistake that a layer could make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Difference {
    /// Failures are told as answers.
    Outcome,
    /// What is known about requests is not told.
    Tags,
    /// The policy sees more room than there is.
    Capacity,
    /// Another root of randomness.
    Seed,
    /// The timer comes with the end of a wait, and not in it.
    LateTimer,
    /// The request stays when its sender goes away.
    Kept,
}

impl Difference {
    pub(super) const ALL: [Self; 6] =
        [Self::Outcome, Self::Tags, Self::Capacity, Self::Seed, Self::LateTimer, Self::Kept];
}

/// CPU time that grows faster and faster, by the millisecond.
#[derive(Debug, Default)]
pub(super) struct Load(pub(super) AtomicU64);

impl Probe for Load {
    fn cpu_time(&self) -> Duration {
        let ms = self.0.load(Ordering::Relaxed);
        Duration::from_micros(ms * ms)
    }

    fn cpus(&self) -> f64 {
        1.0
    }

    fn memory_share(&self) -> f64 {
        0.5
    }
}

#[derive(Debug)]
struct Job {
    number: usize,
    tags: RequestTags,
    finish: oneshot::Receiver<Outcome>,
}

type Decisions = Arc<Mutex<Vec<(Timestamp, usize, Decision)>>>;

pub(super) fn record(setup: &Setup, ops: &[Op], difference: Option<Difference>) -> Record {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(run(setup, ops, difference))
}

async fn run(setup: &Setup, ops: &[Op], difference: Option<Difference>) -> Record {
    let differs = |by| difference == Some(by);
    let (load, decisions, start) = (Arc::new(Load::default()), Decisions::default(), Instant::now());
    let choice = PolicyChoice::entry(recorded(setup.of)).settings(setup.settings.clone());
    let capacity = CAPACITY + u32::from(differs(Difference::Capacity));
    let (no_tags, no_failures) = (differs(Difference::Tags), differs(Difference::Outcome));
    let on_refusal = {
        let decisions = Arc::clone(&decisions);
        move |job: Job, Refused { reason, retry, note }: Refused| {
            let at = Timestamp::ZERO + start.elapsed();
            decisions.lock().unwrap().push((at, job.number, Decision::Refused(reason, retry, note)));
            Outcome::Ignored
        }
    };
    let classify = move |job: &Job| if no_tags { RequestTags::new() } else { job.tags };
    let outcome = move |result: Result<&Outcome, &Infallible>| match result {
        Ok(_) if no_failures => Outcome::Served,
        Ok(outcome) => *outcome,
        Err(never) => match *never {},
    };
    drop(facts());
    macro_rules! layer {
        ($side:expr) => {
            $side
                .capacity(capacity)
                .seed(SEED + u64::from(differs(Difference::Seed)))
                .objective(OBJECTIVE.percentile, OBJECTIVE.response_time)
                .probe(Arc::clone(&load) as _)
                .refuse_with(on_refusal)
                .classify(classify)
                .outcome(outcome)
        };
    }
    let layer =
        if setup.at_client { layer!(AdmissionLayer::client(choice)) } else { layer!(AdmissionLayer::new(choice)) };
    let log = Arc::clone(&decisions);
    let service = layer.layer(service_fn(move |job: Job| {
        log.lock().unwrap().push((Timestamp::ZERO + start.elapsed(), job.number, Decision::In));
        async move { Ok::<_, Infallible>(job.finish.await.unwrap_or(Outcome::Ignored)) }
    }));
    // The timer starts with the first look or request; the bare site is polled from the start.
    drop(service.admission().gauges());
    let mut requests = Vec::new();
    let mut record = Record::default();
    for op in ops {
        match *op {
            Op::Arrive(tags) => {
                let (finish, finished) = oneshot::channel();
                let job = Job { number: requests.len(), tags, finish: finished };
                requests.push((Some(finish), tokio::spawn(service.clone().oneshot(job))));
            }
            Op::Finish(..) | Op::Leave(_) if requests.is_empty() => {}
            Op::Finish(which, outcome) => {
                let which = which % requests.len();
                requests[which].0.take().into_iter().for_each(|finish| _ = finish.send(outcome));
            }
            Op::Leave(which) if !differs(Difference::Kept) => requests[which % requests.len()].1.abort(),
            Op::Leave(_) => {}
            Op::Wait(ms) if differs(Difference::LateTimer) => {
                load.0.fetch_add(ms, Ordering::Relaxed);
                tokio::time::advance(Duration::from_millis(ms)).await;
            }
            Op::Wait(ms) => {
                for _ in 0..ms {
                    load.0.fetch_add(1, Ordering::Relaxed);
                    tokio::time::advance(Duration::from_millis(1)).await;
                    settle().await;
                }
            }
            Op::Replace => replace(setup, service.admission()),
        }
        settle().await;
        record.numbers.push(numbers(service.admission()));
    }
    record.decisions.clone_from(&decisions.lock().unwrap());
    record.facts = facts();
    record
}

/// Puts another policy of the same side in place.
fn replace(setup: &Setup, admission: &Admission) {
    let has = |place| setup.of.places.contains(&place);
    let at_client = setup.at_client || (has(Place::Client) && !has(Place::Single));
    let other = Catalogue::built_in().find(if at_client { "throttle" } else { "concurrency" }).unwrap();
    admission.replace(PolicyChoice::entry(recorded(other)).settings(tight(other.name))).unwrap();
}

fn numbers(admission: &Admission) -> Numbers {
    let seen = admission.gauges();
    Numbers {
        offered: seen.offered,
        admitted: seen.admitted,
        refused: seen.refused,
        left: seen.left,
        in_flight: seen.in_flight,
        held: seen.held,
        contradictions: seen.contradictions,
        policy: seen.gauges.into_iter().map(|(name, value)| (name, value.to_bits())).collect(),
    }
}

async fn settle() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}
