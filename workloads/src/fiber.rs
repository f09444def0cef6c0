//! The host on fibers (`may`): many users, little memory, plain HTTP/1.1.
//!
//! A user that thinks or waits is an entry in a heap; a fiber is borrowed from a pool for as long as a user has requests
//! to send. So users are bounded by memory for data, and stacks by requests in flight.
//!
//! Everything runs on one worker thread: the *pacer* (a fiber woken by a timer of the kernel, see `watch`), which lets due
//! things happen, keeps deadlines, closes windows and watches for gaps; and the workers, a fiber each. The calling thread
//! only passes windows on. Hazards of `may`, and how they are met, are listed in `runtime`.

mod connection;
mod deadline;
mod exchange;
mod pacer;
mod polled;
mod pool;
mod routes;
mod runtime;
mod watch;
mod worker;

use std::sync::{Arc, mpsc};

use controllers::Timestamp;

use crate::{
    clock::Clock,
    crowd::Crowd,
    health::{ProcessSample, ThreadSample},
    host::{Allowance, MEMORY_FOR_ANSWERS, Options, RunError, StopFlag, UserPool, check},
    http1::{Budget, Limits},
    measure::{Health, Report, Window},
    plan::LoadPlan,
};
use exchange::Network;
use pacer::Pacer;
use pool::FiberPool;
use routes::Routes;
use watch::Watch;

/// What the pacer tells the thread that called [`run`].
#[derive(Debug)]
enum News {
    Window(Window),
    Done(Watched),
}

/// What only the worker thread can know of itself.
#[derive(Debug)]
struct Watched {
    began: ThreadSample,
    ended: ThreadSample,
    gaps: crate::health::GapMeter,
    clocks: crate::health::ClockReport,
}

/// Runs a plan on fibers. See [`crate::host::run`].
pub(crate) fn run(
    plan: &LoadPlan,
    options: &Options,
    mut on_window: impl FnMut(Window),
    stop: &StopFlag,
) -> Result<Report, RunError> {
    let allowance = check(plan, options)?;
    let crowd = Crowd::new(plan)?;
    runtime::configure();
    let watch = Watch::new().map_err(|cause| RunError::Setup { what: "a timer", cause })?;
    let network = Network {
        routes: Routes::of(plan),
        host: plan.target.host.clone(),
        sources: plan.sources,
        timeout: plan.timeout,
        connect_timeout: plan.connect_timeout,
        limits: Limits { kept: plan.users.bytes_read(), ..Limits::default() },
        memory: Budget::of(MEMORY_FOR_ANSWERS),
        watch: Arc::new(watch),
    };
    let process = ProcessSample::take();
    let (tell, news) = mpsc::channel();
    let pool = UserPool::new(plan, crowd, options.requests_limit, options.numbered).keeping_times(options.second_times);
    let fibers = FiberPool::new(Clock::start(), network, pool, allowance.in_flight);
    let pacer = Pacer::new(Arc::clone(&fibers), plan, options, stop.clone(), tell);
    let pacing = runtime::spawn(move || pacer.run()).map_err(|cause| RunError::Setup { what: "a fiber", cause })?;

    let mut watched = None;
    // Ends when the pacer has: its sender goes with it.
    for news in news {
        match news {
            News::Window(window) => on_window(window),
            News::Done(seen) => watched = Some(seen),
        }
    }
    let pacer_panicked = pacing.join().is_err();
    let now = fibers.clock.now();
    let mut health = health(&fibers, allowance, watched, &ProcessSample::take(), &process);
    if pacer_panicked {
        health.fiber_panics += 1;
    }
    Ok(fibers.into_report(now, health))
}

fn health(
    fibers: &FiberPool,
    allowance: Allowance,
    watched: Option<Watched>,
    after: &ProcessSample,
    before: &ProcessSample,
) -> Health {
    let wall = fibers.clock.now().since(Timestamp::ZERO);
    let counts = fibers.counts();
    let mut health = Health {
        wall,
        process_cpu: after.cpu.saturating_sub(before.cpu),
        steal: after.steal_since(before),
        major_faults: after.major_faults.saturating_sub(before.major_faults),
        resident_peak: after.resident_peak,
        descriptors_peak: counts.descriptors_peak,
        descriptors_limit: allowance.descriptors,
        out_of_ports: counts.out_of_ports,
        out_of_descriptors: counts.out_of_descriptors,
        out_of_memory: counts.out_of_memory,
        in_flight_limit: allowance.in_flight,
        in_flight_peak: counts.active_peak,
        waited_for_fiber: counts.waited_for_turn,
        stale_connections: counts.stale_connections,
        fiber_panics: counts.panics,
        ..Health::default()
    };
    if let Some(watched) = watched {
        health.sender_cpu = watched.ended.cpu.saturating_sub(watched.began.cpu);
        health.run_queue_delay = watched.ended.run_queue_delay.saturating_sub(watched.began.run_queue_delay);
        health.sender_turns = watched.ended.turns.saturating_sub(watched.began.turns);
        health.largest_gap = watched.gaps.largest();
        health.gap_p999 = watched.gaps.p999();
        health.clocks = watched.clocks;
        (health.stalls, health.more_stalls) = watched.gaps.into_stalls();
    }
    health
}
