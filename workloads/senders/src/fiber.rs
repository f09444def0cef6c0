//! The host on fibers (`may`): many users, little memory, plain HTTP/1.1.
//!
//! A user that thinks or waits is an entry in a heap; it occupies a fiber of a pool only while it has requests to send.
//! So the number of users is bounded by memory for data, and the number of stacks by requests in flight.
//!
//! Everything runs on one worker thread: the *pacer* (a fiber woken by a kernel timer, see `watch`), which starts users
//! that are due, enforces deadlines, closes windows and watches for gaps; and the workers, a fiber each. The calling
//! thread only passes windows on. The hazards of `may`, and the rules that avoid them, are listed in `runtime`.

mod connection;
mod deadline;
mod exchange;
mod network;
mod pacer;
mod polled;
mod pool;
mod routes;
mod runtime;
mod watch;
mod worker;

use std::sync::{Arc, mpsc};

use controllers::Timestamp;
use health::{ProcessSample, clock::RunClock};
use measure::{Health, Report, Window};
use socket2::SockAddr;
use workloads::{StopFlag, crowd::Crowd, host::UserPool, plan::LoadPlan};

use crate::{
    addresses::SourceAddresses,
    driver::Driver,
    http1::{Budget, Limits},
    options::{RunError, RunOptions},
    resource_limits::{MEMORY_FOR_ANSWERS, check},
};
use network::Network;
use pacer::{News, Pacer};
use pool::FiberPool;
use routes::Routes;
use watch::Watch;

/// Runs a plan on fibers. See [`crate::run()`].
pub(crate) fn run(
    plan: &LoadPlan,
    options: &RunOptions,
    mut on_window: impl FnMut(Window),
    stop: &StopFlag,
) -> Result<Report, RunError> {
    let allowance = check(plan, options)?;
    let crowd = Crowd::new(plan)?;
    runtime::configure();
    let unix_socket = |cause| RunError::Setup { what: "the Unix socket", cause };
    let watch = Watch::new().map_err(|cause| RunError::Setup { what: "a timer", cause })?;
    let network = Network {
        routes: Routes::of(plan),
        host: plan.target.host.clone(),
        sources: plan.sources,
        given_sources: SourceAddresses::of(options),
        unix_socket: options.unix_socket.as_ref().map(SockAddr::unix).transpose().map_err(unix_socket)?.map(Arc::new),
        timeout: plan.timeout,
        connect_timeout: plan.connect_timeout,
        redraw: plan.redraw,
        limits: Limits { kept: plan.users.bytes_read(), ..Limits::default() },
        memory: Budget::of(MEMORY_FOR_ANSWERS),
        watch: Arc::new(watch),
    };
    let process = ProcessSample::take();
    let (tell, news) = mpsc::channel();
    let pool = UserPool::new(plan, crowd, options.requests_limit, options.numbered).keeping_times(options.second_times);
    let pool = pool.watching_the_generator();
    let fibers =
        FiberPool::new(RunClock::starting_at(options.begins, || stop.is_stopped()), network, pool, allowance.in_flight);
    let (shared, drain, commands, stop) = (Arc::clone(&fibers), plan.drain, options.commands.clone(), stop.clone());
    let pacing = runtime::spawn(move || Pacer::new(shared, Driver::new(drain, commands, stop), tell).run())
        .map_err(|cause| RunError::Setup { what: "a fiber", cause })?;

    let mut sender = Health::default();
    // Ends with the pacer, which owns the sender.
    for news in news {
        match news {
            News::Window(window) => on_window(window),
            News::Done(seen) => sender = seen,
        }
    }
    sender.fiber_panics = u64::from(pacing.join().is_err());
    let now = fibers.clock.now();
    sender.wall = now.since(Timestamp::ZERO);
    Ok(fibers.into_report(now, allowance.judge(sender, &process)))
}
