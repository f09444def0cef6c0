//! The host on tasks (`tokio`, reqwest): TLS, HTTP/2, any URL.
//!
//! Same users, same books as the fiber host, at about twice the cost a request, and with two limits that come from the
//! client library. Its timers are whole milliseconds, so sends are up to 1 ms late (the send lag shows it). And it does
//! not tell when a request is written: the books have it as sent, from the moment it was begun, once anything but a failed
//! connection has come of it; until then a window counts it as connecting.

mod client;
mod worker;

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::Duration,
};

use controllers::Timestamp;
use tokio::{
    sync::{Notify, watch},
    task::{JoinSet, LocalSet},
    time::sleep,
};

use crate::{
    background::Role,
    clock::{Clock, Clocks},
    crowd::Crowd,
    health::{ClockMeter, DescriptorMeter, GapMeter, Health, MachineSample, ProcessSample, ThreadMeter},
    host::{Cut, Options, Orders, RunError, StopFlag, UserPool, check},
    measure::{Report, Window},
    plan::{Load, LoadPlan},
};
use client::{Client, Clients};

/// A run that is stopped from outside drains for at most this long.
const STOP_DRAIN: Duration = Duration::from_secs(10);

/// What the tasks of one run share, on one thread.
#[derive(Debug)]
struct TaskHost {
    clock: Clock,
    clients: Clients,
    pool: RefCell<UserPool<Client>>,
    /// A user went to sleep: it may be due before the pacer wakes.
    changed: Notify,
    cut: watch::Receiver<bool>,
    timeout: Duration,
    descriptors: DescriptorMeter,
    out_of_ports: Cell<u64>,
    out_of_descriptors: Cell<u64>,
    out_of_memory: Cell<u64>,
}

/// Runs a plan on tasks. See [`crate::host::run`].
pub(crate) fn run(
    plan: &LoadPlan,
    options: &Options,
    on_window: impl FnMut(Window),
    stop: &StopFlag,
) -> Result<Report, RunError> {
    let allowance = check(plan, options)?;
    let opens_only =
        |load: &Load| matches!(load, Load::Present { role: Role::Idle, .. } | Load::Churn { ask: false, .. });
    if plan.phases.iter().flat_map(|phase| &phase.loads).any(opens_only) {
        let problem = "connections without a request (idle, churn) go to plain HTTP/1.1 alone: name an http:// target";
        return Err(RunError::Client(problem.to_owned()));
    }
    let clients = Clients::new(plan, options)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| RunError::Setup { what: "an async runtime", cause })?;
    let pool =
        UserPool::new(plan, Crowd::new(plan)?, options.requests_limit, false).keeping_times(options.second_times);
    let (cutter, cut) = watch::channel(false);
    let host = Rc::new(TaskHost {
        clock: Clock::start(),
        clients,
        pool: RefCell::new(pool),
        changed: Notify::new(),
        cut,
        timeout: plan.timeout,
        descriptors: DescriptorMeter::new(),
        out_of_ports: Cell::new(0),
        out_of_descriptors: Cell::new(0),
        out_of_memory: Cell::new(0),
    });
    let before = ProcessSample::take();
    let pace = Pace { stop, orders: &options.orders, drain: plan.drain, limit: allowance.in_flight, cutter };
    let mut health = LocalSet::new().block_on(&runtime, pace.run(&host, on_window));
    // Connections end with the runtime, and with them the last references to the host.
    drop(runtime);

    let after = ProcessSample::take();
    health.process_cpu = after.cpu.saturating_sub(before.cpu);
    health.steal = after.steal_since(&before);
    health.major_faults = after.major_faults.saturating_sub(before.major_faults);
    health.resident_peak = after.resident_peak;
    health.descriptors_peak = host.descriptors.peak();
    health.descriptors_limit = allowance.descriptors;
    health.in_flight_limit = allowance.in_flight;
    health.out_of_ports = host.out_of_ports.get();
    health.out_of_descriptors = host.out_of_descriptors.get();
    health.out_of_memory = host.out_of_memory.get();
    let now = host.clock.now();
    let host = Rc::into_inner(host).expect("every task has ended");
    let pool = host.pool.into_inner();
    health.in_flight_peak = pool.active_peak();
    Ok(pool.finish(now, health))
}

/// Makes things happen when they are due.
struct Pace<'a> {
    stop: &'a StopFlag,
    orders: &'a Orders,
    drain: Duration,
    limit: u32,
    cutter: watch::Sender<bool>,
}

impl Pace<'_> {
    async fn run(self, host: &Rc<TaskHost>, mut on_window: impl FnMut(Window)) -> Health {
        let thread = ThreadMeter::of_this_thread();
        let began = thread.sample();
        let mut gaps = GapMeter::new(began, MachineSample::take());
        let mut clocks = ClockMeter::new(Clocks::read());
        let mut health = Health::default();
        let mut tasks = JoinSet::new();
        let mut drain_until = None;
        let mut beat = Timestamp::ZERO;
        loop {
            let now = host.clock.now();
            host.pool.borrow_mut().advance(now);
            while let Some(ended) = tasks.try_join_next() {
                count_panic(host, &mut health, ended.is_err());
            }
            while tasks.len() < self.limit as usize {
                let Some(user) = host.pool.borrow_mut().take(now) else { break };
                tasks.spawn_local(worker::serve(Rc::clone(host), user));
            }
            health.waited_for_fiber += host.pool.borrow().ready() as u64;
            if now.since(beat) >= GapMeter::HEARTBEAT {
                beat = now;
                gaps.refresh(thread.sample());
                host.descriptors.look();
                host.pool.borrow_mut().apply(self.orders.take(), now);
                close_windows(host, now, &mut gaps, &mut clocks, &mut on_window);
            }
            if self.is_done(host, now, &mut drain_until) {
                break;
            }
            let due = host.pool.borrow_mut().next_due().unwrap_or(Timestamp::MAX);
            let rings = due.max(now).min(now + GapMeter::HEARTBEAT);
            tokio::select! {
                () = sleep(rings.since(now)) => gaps.woke(rings, host.clock.now(), || (thread.sample(), MachineSample::take())),
                () = host.changed.notified() => {}
            }
        }
        // The last second of the plan may have ended since the last heartbeat.
        close_windows(host, host.clock.now(), &mut gaps, &mut clocks, &mut on_window);
        // Nobody listens if no task is left.
        let _ = self.cutter.send(true);
        while let Some(ended) = tasks.join_next().await {
            count_panic(host, &mut health, ended.is_err());
        }
        let ended = thread.sample();
        health.wall = host.clock.now().since(Timestamp::ZERO);
        health.sender_cpu = ended.cpu.saturating_sub(began.cpu);
        health.run_queue_delay = ended.run_queue_delay.saturating_sub(began.run_queue_delay);
        health.sender_turns = ended.turns.saturating_sub(began.turns);
        health.largest_gap = gaps.largest();
        health.gap_p999 = gaps.p999();
        clocks.look(Clocks::read());
        health.clocks = clocks.report();
        (health.stalls, health.more_stalls) = gaps.into_stalls();
        health
    }

    fn is_done(&self, host: &TaskHost, now: Timestamp, drain_until: &mut Option<Timestamp>) -> bool {
        let cut = self.stop.cut();
        let mut pool = host.pool.borrow_mut();
        if cut > Cut::RunOn {
            pool.stop(now);
        }
        if !pool.is_over() {
            return false;
        }
        let drain = if cut > Cut::RunOn { self.drain.min(STOP_DRAIN) } else { self.drain };
        let until = *drain_until.get_or_insert(now + drain);
        pool.is_drained() || now >= until || cut == Cut::Now
    }
}

/// Hands over the seconds that have ended, each with its largest gap.
fn close_windows(
    host: &TaskHost,
    now: Timestamp,
    gaps: &mut GapMeter,
    clocks: &mut ClockMeter,
    on_window: &mut impl FnMut(Window),
) {
    let next = || host.pool.borrow_mut().next_window(now);
    for window in std::iter::from_fn(next) {
        on_window(Window { loop_gap_ms: Some(gaps.take_recent().as_secs_f64() * 1e3), ..window });
        gaps.refresh_machine(MachineSample::take());
        clocks.look(Clocks::read());
    }
}

fn count_panic(host: &TaskHost, health: &mut Health, panicked: bool) {
    if panicked {
        health.fiber_panics += 1;
        host.pool.borrow_mut().lost();
    }
}
