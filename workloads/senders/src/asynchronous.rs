//! The host on tasks (`tokio`): TLS and HTTP/2 as well.
//!
//! The users, the ledgers and the codec of HTTP/1.1 are those of the fiber host, at about twice the cost of a request. With
//! HTTP/2 a user that has a connection of its own has one request at a time on it; connections that users share (`lanes`)
//! carry as many as the service allows.

mod alarm;
mod connect;
mod desk;
mod http1;
mod http2;
mod lanes;
mod lost;
mod opening;
mod request;
mod task_host;
mod wire;
mod worker;

use std::{cell::RefCell, rc::Rc};

use controllers::Timestamp;
use health::{
    DescriptorMeter, GapMeter, ProcessSample,
    clock::{RunClock, wall},
};
use measure::{Health, Report, Window};
use tokio::{
    sync::{Notify, watch},
    task::{JoinSet, LocalSet},
};
use workloads::{
    StopFlag,
    background::BackgroundRole,
    crowd::Crowd,
    host::UserPool,
    plan::{ConnectionHabit, Load, LoadPlan},
};

use crate::{
    driver::Driver,
    options::{RunError, RunOptions},
    resource_limits::check,
};
use alarm::Alarm;
pub use http1::Http1Connection;
use lanes::Lanes;
use task_host::{Network, TaskHost};

/// The largest number of tasks that begin before answers are read.
const AT_ONCE: usize = 256;

/// Runs a plan on tasks. See [`crate::run()`].
pub(crate) fn run(
    plan: &LoadPlan,
    options: &RunOptions,
    on_window: impl FnMut(Window),
    stop: &StopFlag,
) -> Result<Report, RunError> {
    let allowance = check(plan, options)?;
    let opens_only =
        |load: &Load| matches!(load, Load::Present { role: BackgroundRole::Idle, .. } | Load::Churn { ask: false, .. });
    if plan.phases.iter().flat_map(|phase| &phase.loads).any(opens_only) {
        let problem = "connections without a request (idle, churn) go to plain HTTP/1.1 alone: name an http:// target";
        return Err(RunError::Client(problem.to_owned()));
    }
    let network = Network::new(plan, options)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| RunError::Setup { what: "an async runtime", cause })?;
    let mut pool =
        UserPool::new(plan, Crowd::new(plan)?, options.requests_limit, false).keeping_times(options.second_times);
    let lanes = match plan.connections() {
        ConnectionHabit::Shared { most } if network.connector.may_multiplex() => Some(Lanes::new(most)),
        _ => None,
    };
    lanes.iter().for_each(|lanes| pool.set_places(lanes.places()));
    let pool = pool.watching_the_generator();
    let (cutter, cut) = watch::channel(false);
    let host = Rc::new(TaskHost {
        clock: RunClock::starting_at(options.begins, || stop.is_stopped()),
        network,
        pool: RefCell::new(pool),
        lanes,
        desks: RefCell::default(),
        changed: Notify::new(),
        cut,
        descriptors: DescriptorMeter::new(),
    });
    let alarm = {
        let _inside = runtime.enter();
        Alarm::new().map_err(|cause| RunError::Setup { what: "a timer", cause })?
    };
    let before = ProcessSample::take();
    let driver = Driver::new(plan.drain, options.commands.clone(), stop.clone());
    let sender = LocalSet::new().block_on(&runtime, host.run(driver, &alarm, allowance.in_flight, &cutter, on_window));
    // Connections have ended with their tasks, and with them the last references to the host.
    drop(alarm);
    drop(runtime);

    let now = host.clock.now();
    let host = Rc::into_inner(host).expect("every task has ended");
    let health = Health { descriptors_peak: host.descriptors.peak(), ..allowance.judge(sender, &before) };
    Ok(host.pool.into_inner().finish(now, health))
}

impl TaskHost {
    /// The pacer: sends for users that are due, and runs the heartbeat.
    async fn run(
        self: &Rc<Self>,
        mut driver: Driver,
        alarm: &Alarm,
        limit: u32,
        cutter: &watch::Sender<bool>,
        mut on_window: impl FnMut(Window),
    ) -> Health {
        let mut tasks = JoinSet::new();
        let mut waited_for_fiber = 0;
        loop {
            let now = self.clock.now();
            self.pool.borrow_mut().set_wall(wall());
            self.pool.borrow_mut().advance(now);
            while let Some(ended) = tasks.try_join_next() {
                self.count_panic(&ended);
            }
            let room = (limit as usize).saturating_sub(tasks.len());
            for _ in 0..room.min(AT_ONCE) {
                let Some(user) = self.pool.borrow_mut().take(now) else { break };
                tasks.spawn_local(worker::serve(Rc::clone(self), user));
            }
            let ready = self.pool.borrow().ready();
            let more = ready > 0 && room > AT_ONCE;
            waited_for_fiber += if more { 0 } else { ready as u64 };
            if driver.beats(now) {
                self.descriptors.look();
                driver.heartbeat(&mut self.pool.borrow_mut(), now, &mut on_window);
            }
            if driver.is_done(&mut self.pool.borrow_mut(), now) {
                break;
            }
            let due = if more { now } else { self.pool.borrow_mut().next_due().unwrap_or(Timestamp::MAX) };
            let rings = due.max(now).min(now + GapMeter::HEARTBEAT);
            tokio::select! {
                rang = alarm.wait(rings.since(now)) => {
                    // As for the fiber host: the kernel knows no reason to refuse.
                    rang.expect("a timer can be set");
                }
                () = self.changed.notified() => {}
            }
            let (slept, now) = (now, self.clock.now());
            driver.woke(&mut self.pool.borrow_mut(), slept, (now >= rings).then_some(rings), now);
        }
        // The last second of the plan may have ended since the last heartbeat.
        driver.close_seconds(&mut self.pool.borrow_mut(), self.clock.now(), on_window);
        // Sending fails only if no task is left to receive.
        let _ = cutter.send(true);
        while let Some(ended) = tasks.join_next().await {
            self.count_panic(&ended);
        }
        Health { wall: self.clock.now().since(Timestamp::ZERO), waited_for_fiber, ..driver.finish() }
    }
}
