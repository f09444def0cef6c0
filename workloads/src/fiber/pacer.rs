use std::{
    sync::{Arc, mpsc::Sender},
    time::Duration,
};

use controllers::Timestamp;
use nix::sys::epoll::EpollEvent;

use super::{News, Watched, pool::FiberPool};
use crate::{
    clock::Clocks,
    health::{ClockMeter, GapMeter, MachineSample, ThreadMeter},
    host::{Cut, Options, Orders, StopFlag, UserPool},
    plan::LoadPlan,
};

/// Wake-ups are gathered to multiples of this: one for each of 70 000 requests a second would take a core by itself.
const QUANTUM: Duration = Duration::from_micros(100);

/// The same while more than [`MANY`] users are due a heartbeat. At 10 000 requests a second, setting the alarm for each
/// tenth of a millisecond took a tenth of the core.
const QUANTUM_OF_MANY: Duration = Duration::from_micros(400);

/// Users due in one heartbeat (5 ms) from which on wake-ups are gathered more: 2400 a second.
const MANY: u64 = 12;

/// Events fetched from the kernel at a time.
const EVENTS: usize = 256;

/// A run that is stopped from outside drains for at most this long.
const STOP_DRAIN: Duration = Duration::from_secs(10);

/// The fiber that makes things happen when they are due.
#[derive(Debug)]
pub(super) struct Pacer {
    fibers: Arc<FiberPool>,
    stop: StopFlag,
    orders: Orders,
    tell: Sender<News>,
    drain: Duration,
}

impl Pacer {
    pub(super) fn new(
        fibers: Arc<FiberPool>,
        plan: &LoadPlan,
        options: &Options,
        stop: StopFlag,
        tell: Sender<News>,
    ) -> Self {
        Self { fibers, stop, orders: options.orders.clone(), tell, drain: plan.drain }
    }

    pub(super) fn run(self) {
        let thread = ThreadMeter::of_this_thread();
        let began = thread.sample();
        let mut gaps = GapMeter::new(began, MachineSample::take());
        let mut clocks = ClockMeter::new(Clocks::read());
        let mut drain_until = None;
        let mut swept = Timestamp::ZERO;
        let mut room = vec![EpollEvent::empty(); EVENTS];
        let mut due = 0;
        self.fibers.gather_to(QUANTUM);
        loop {
            let now = self.fibers.clock.now();
            due += self.fibers.users(|pool| {
                pool.advance(now);
                pool.ready() as u64
            });
            self.fibers.assign();
            if now.since(swept) >= GapMeter::HEARTBEAT {
                swept = now;
                let many = std::mem::take(&mut due) > MANY;
                self.fibers.gather_to(if many { QUANTUM_OF_MANY } else { QUANTUM });
                self.fibers.sweep(now);
                self.apply(now);
                if self.close_windows(now, &mut gaps) {
                    gaps.refresh_machine(MachineSample::take());
                    clocks.look(Clocks::read());
                }
                gaps.refresh(thread.sample());
            }
            if self.is_done(now, &mut drain_until) {
                break;
            }
            self.sleep(now, &mut room);
            let now = self.fibers.clock.now();
            if let Some(due) = self.fibers.rang(now) {
                gaps.woke(due, now, || (thread.sample(), MachineSample::take()));
            }
        }
        // The last second of the plan may have ended since the last heartbeat.
        self.close_windows(self.fibers.clock.now(), &mut gaps);
        self.shut_down(&mut room);
        clocks.look(Clocks::read());
        // The caller may have gone; then nobody wants to know.
        let _ = self.tell.send(News::Done(Watched { began, ended: thread.sample(), gaps, clocks: clocks.report() }));
    }

    /// Does what was asked for since the last heartbeat.
    fn apply(&self, now: Timestamp) {
        let orders = self.orders.take();
        if !orders.is_empty() {
            self.fibers.users(|users| users.apply(orders, now));
        }
    }

    /// Sleeps until something is due or a socket has news. An alarm that is set for an earlier moment is left: it costs
    /// less to wake for nothing than to set it anew.
    fn sleep(&self, now: Timestamp, room: &mut [EpollEvent]) {
        let heartbeat = now + GapMeter::HEARTBEAT;
        let due = self.fibers.users(UserPool::next_due).unwrap_or(heartbeat);
        self.fibers.ring_by(self.fibers.gathered(due.max(now)).min(heartbeat), now);
        self.look(room);
    }

    /// The kernel knows no reason to refuse; should it all the same, that is a panic, which the run reports.
    fn look(&self, room: &mut [EpollEvent]) {
        self.fibers.network.watch.look(room).expect("events can be fetched");
        self.fibers.let_go_on();
    }

    /// Whether all is over: arrivals stop with the plan or the stop flag, then what is in flight may drain, then it is cut.
    fn is_done(&self, now: Timestamp, drain_until: &mut Option<Timestamp>) -> bool {
        let cut = self.stop.cut();
        if cut > Cut::RunOn {
            self.fibers.users(|users| users.stop(now));
        }
        if !self.fibers.users(|users| users.is_over()) {
            return false;
        }
        let drain = if cut > Cut::RunOn { self.drain.min(STOP_DRAIN) } else { self.drain };
        let until = *drain_until.get_or_insert(now + drain);
        self.fibers.users(|users| users.is_drained()) || now >= until || cut == Cut::Now
    }

    /// True if a second has ended.
    fn close_windows(&self, now: Timestamp, gaps: &mut GapMeter) -> bool {
        let mut any = false;
        while let Some(mut window) = self.fibers.users(|users| users.next_window(now)) {
            any = true;
            window.loop_gap_ms = Some(gaps.take_recent().as_secs_f64() * 1e3);
            // The caller may have gone, as above.
            let _ = self.tell.send(News::Window(window));
        }
        any
    }

    /// Cuts off what is left in flight, and waits until every fiber has gone.
    fn shut_down(&self, room: &mut [EpollEvent]) {
        self.fibers.cut();
        self.fibers.close();
        while self.fibers.workers() > 0 {
            let now = self.fibers.clock.now();
            self.fibers.ring_at(now + Duration::from_millis(1), now);
            self.look(room);
            // A fiber may have begun a new wait between the cut and its end.
            self.fibers.cut();
        }
    }
}
