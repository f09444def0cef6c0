//! The host on tasks (`tokio`, reqwest): TLS, HTTP/2, any URL.
//!
//! The users and the ledgers are those of the fiber host, at about twice the cost of a request, and with two limits of
//! the client library. Its timers have a resolution of 1 ms, so sends are up to 1 ms late (the send lag shows it). And
//! it does not report when a request is written: the ledger counts the request as sent, from the moment it was begun,
//! once it has had any result but a failed connection; until then a window counts it as connecting.

mod client;
mod worker;

use std::{cell::RefCell, rc::Rc, time::Duration};

use controllers::Timestamp;
use tokio::{
    sync::{Notify, watch},
    task::{JoinError, JoinSet, LocalSet},
    time::sleep,
};

use crate::{
    background::BackgroundRole,
    clock::{RunClock, wall},
    crowd::Crowd,
    health::{DescriptorMeter, GapMeter, Health, ProcessSample},
    host::{Driver, RunError, RunOptions, StopFlag, UserPool, check},
    measure::{Report, Window},
    plan::{Load, LoadPlan},
};
use client::{Client, ClientFactory};

/// The state that the tasks of one run share, on one thread.
#[derive(Debug)]
struct TaskHost {
    clock: RunClock,
    factory: ClientFactory,
    pool: RefCell<UserPool<Client>>,
    /// Notified when a user went to sleep, which may be due before the pacer wakes.
    changed: Notify,
    cut: watch::Receiver<bool>,
    timeout: Duration,
    descriptors: DescriptorMeter,
}

/// Runs a plan on tasks. See [`crate::host::run`].
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
    let factory = ClientFactory::new(plan, options)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| RunError::Setup { what: "an async runtime", cause })?;
    let pool =
        UserPool::new(plan, Crowd::new(plan)?, options.requests_limit, false).keeping_times(options.second_times);
    let (cutter, cut) = watch::channel(false);
    let host = Rc::new(TaskHost {
        clock: RunClock::start(),
        factory,
        pool: RefCell::new(pool),
        changed: Notify::new(),
        cut,
        timeout: plan.timeout,
        descriptors: DescriptorMeter::new(),
    });
    let before = ProcessSample::take();
    let driver = Driver::new(plan.drain, options.commands.clone(), stop.clone());
    let sender = LocalSet::new().block_on(&runtime, host.run(driver, allowance.in_flight, &cutter, on_window));
    // Connections end with the runtime, and with them the last references to the host.
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
            while tasks.len() < limit as usize {
                let Some(user) = self.pool.borrow_mut().take(now) else { break };
                tasks.spawn_local(worker::serve(Rc::clone(self), user));
            }
            waited_for_fiber += self.pool.borrow().ready() as u64;
            if driver.beats(now) {
                self.descriptors.look();
                driver.heartbeat(&mut self.pool.borrow_mut(), now, &mut on_window);
            }
            if driver.is_done(&mut self.pool.borrow_mut(), now) {
                break;
            }
            let due = self.pool.borrow_mut().next_due().unwrap_or(Timestamp::MAX);
            let rings = due.max(now).min(now + GapMeter::HEARTBEAT);
            tokio::select! {
                () = sleep(rings.since(now)) => driver.woke(rings, self.clock.now()),
                () = self.changed.notified() => {}
            }
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

    fn count_panic(&self, ended: &Result<(), JoinError>) {
        if ended.is_err() {
            self.pool.borrow_mut().lost();
        }
    }
}
