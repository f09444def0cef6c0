use std::{
    io,
    sync::{Arc, mpsc::Sender},
    time::Duration,
};

use controllers::Timestamp;
use health::{GapMeter, clock::wall};
use may::coroutine;
use measure::{Health, Window};
use nix::sys::epoll::EpollEvent;

use super::{pool::FiberPool, watch::Watch, worker::Worker};
use crate::driver::Driver;

/// Wake-ups are rounded up to multiples of this: one wake-up for each of 70 000 requests a second would take a core by
/// itself.
const QUANTUM: Duration = Duration::from_micros(100);

/// The quantum while more than [`MANY`] users are due in a heartbeat. At 10 000 requests a second, setting the alarm
/// for each tenth of a millisecond took a tenth of the core.
const QUANTUM_OF_MANY: Duration = Duration::from_micros(400);

/// The number of users due in one heartbeat (5 ms) above which the larger quantum is used: 2400 a second.
const MANY: u64 = 12;

/// A processor that sleeps wakes a third of a millisecond late, once in a hundred times: so the pacer stays awake for a moment before a
/// user is due, for this share of the time at most.
const AWAKE: f64 = 0.05;

/// The longest of these moments, and the shortest that is worth it.
const LONGEST_LEAD: Duration = Duration::from_micros(500);
const SHORTEST_LEAD: Duration = Duration::from_micros(20);

/// The weight of a heartbeat in the mean number of users due.
const SMOOTHING: f64 = 0.02;

/// The number of events fetched from the kernel at a time.
const EVENTS: usize = 256;

/// A message of the pacer to the thread that called [`run`](super::run).
#[derive(Debug)]
pub(super) enum News {
    Window(Window),
    /// The health of the worker thread, which only that thread can measure.
    Done(Health),
}

/// The fiber that starts users that are due.
#[derive(Debug)]
pub(super) struct Pacer {
    fibers: Arc<FiberPool>,
    driver: Driver,
    tell: Sender<News>,
    room: Vec<EpollEvent>,
    /// The mean number of users due in a heartbeat.
    mean_due: f64,
    /// For so long before a user is due it stays awake.
    lead: Duration,
}

impl Pacer {
    pub(super) fn new(fibers: Arc<FiberPool>, driver: Driver, tell: Sender<News>) -> Self {
        let room = vec![EpollEvent::empty(); EVENTS];
        Self { fibers, driver, tell, room, mean_due: 0.0, lead: Duration::ZERO }
    }

    pub(super) fn run(mut self) {
        let mut due = 0;
        self.fibers.set_quantum(QUANTUM);
        loop {
            let now = self.fibers.clock.now();
            due += self.fibers.users(|users| {
                users.set_wall(wall());
                users.advance(now);
                users.ready() as u64
            });
            let more = self.fibers.assign(Worker::run);
            if self.driver.beats(now) {
                self.paces(std::mem::take(&mut due));
                self.fibers.sweep(now);
                let window = tell_windows(&self.tell);
                let shared = self.fibers.users(|users| {
                    self.driver.heartbeat(users, now, window);
                    users.is_shared()
                });
                self.fibers.set_shared(shared);
            }
            if self.fibers.users(|users| self.driver.is_done(users, now)) {
                break;
            }
            if self.stays_awake(now, more) {
                continue;
            }
            self.sleep(now, more);
            let (slept, now) = (now, self.fibers.clock.now());
            let due = self.fibers.take_alarm(now);
            self.fibers.users(|users| self.driver.woke(users, slept, due, now));
        }
        // The last second of the plan may have ended since the last heartbeat.
        let (now, window) = (self.fibers.clock.now(), tell_windows(&self.tell));
        self.fibers.users(|users| self.driver.close_seconds(users, now, window));
        self.shut_down();
        // A send fails only if the caller is gone, and then nobody needs the answer.
        let _ = self.tell.send(News::Done(self.driver.finish()));
    }

    /// Sets how exactly users are started, after a heartbeat in which so many were due.
    fn paces(&mut self, due: u64) {
        self.fibers.set_quantum(if due > MANY { QUANTUM_OF_MANY } else { QUANTUM });
        self.mean_due += (due as f64 - self.mean_due) * SMOOTHING;
        let lead = GapMeter::HEARTBEAT.as_secs_f64() * AWAKE / self.mean_due.max(1e-6);
        let lead = Duration::from_secs_f64(lead.min(LONGEST_LEAD.as_secs_f64()));
        self.lead = if lead < SHORTEST_LEAD { Duration::ZERO } else { lead };
        self.fibers.set_lead(self.lead);
    }

    /// Where a user is due within the lead, looks for events without sleeping, and lets the fibers run.
    fn stays_awake(&mut self, now: Timestamp, more: bool) -> bool {
        let due = self.fibers.users(|pool| pool.next_due());
        let is_near = !more && due.is_some_and(|due| due > now && due.since(now) <= self.lead);
        if is_near {
            self.fetch(Watch::fetch);
            coroutine::yield_now();
            let after = self.fibers.clock.now();
            // An alarm that rang meanwhile was fetched with the events: it is to be set anew.
            self.fibers.take_alarm(after);
            if after.since(now) >= GapMeter::GAP {
                self.fibers.users(|users| self.driver.woke(users, now, Some(now), after));
            }
        }
        is_near
    }

    /// Sleeps until something is due or a socket has an event. An alarm that is set for an earlier moment is left: it
    /// costs less to wake for nothing than to set it again. `more`: users are ready now.
    fn sleep(&mut self, now: Timestamp, more: bool) {
        let heartbeat = now + GapMeter::HEARTBEAT;
        let due = if more { now } else { self.fibers.users(|pool| pool.next_due()).unwrap_or(heartbeat) };
        self.fibers.ring_by(self.fibers.alarm_for(due.max(now)).min(heartbeat), now);
        self.fetch(Watch::look);
    }

    /// Fetches events. The kernel knows no reason to refuse; if it did, the panic here would show in the run's report.
    fn fetch(&mut self, look: fn(&Watch, &mut [EpollEvent]) -> io::Result<()>) {
        look(&self.fibers.network.watch, &mut self.room).expect("events can be fetched");
        self.fibers.resume_yielded();
    }

    /// Cuts off requests in flight, and waits until every fiber has ended.
    fn shut_down(&mut self) {
        self.fibers.cut();
        self.fibers.close();
        while self.fibers.workers() > 0 {
            let now = self.fibers.clock.now();
            self.fibers.ring_at(now + Duration::from_millis(1), now);
            self.fetch(Watch::look);
            // A fiber may have begun a new wait between the cut and its end.
            self.fibers.cut();
        }
    }
}

/// Passes windows on to the caller, which may be gone.
fn tell_windows(tell: &Sender<News>) -> impl FnMut(Window) {
    |window| _ = tell.send(News::Window(window))
}
