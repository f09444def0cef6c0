use std::{
    sync::{Arc, mpsc::Sender},
    time::Duration,
};

use controllers::Timestamp;
use nix::sys::epoll::EpollEvent;

use super::{News, pool::FiberPool, worker::Worker};
use crate::{clock::wall, health::GapMeter, host::Driver, measure::Window};

/// Wake-ups are rounded up to multiples of this: one wake-up for each of 70 000 requests a second would take a core by
/// itself.
const QUANTUM: Duration = Duration::from_micros(100);

/// The quantum while more than [`MANY`] users are due in a heartbeat. At 10 000 requests a second, setting the alarm
/// for each tenth of a millisecond took a tenth of the core.
const QUANTUM_OF_MANY: Duration = Duration::from_micros(400);

/// The number of users due in one heartbeat (5 ms) above which the larger quantum is used: 2400 a second.
const MANY: u64 = 12;

/// The number of events fetched from the kernel at a time.
const EVENTS: usize = 256;

/// The fiber that starts users that are due.
#[derive(Debug)]
pub(super) struct Pacer {
    fibers: Arc<FiberPool>,
    driver: Driver,
    tell: Sender<News>,
    room: Vec<EpollEvent>,
}

impl Pacer {
    pub(super) fn new(fibers: Arc<FiberPool>, driver: Driver, tell: Sender<News>) -> Self {
        Self { fibers, driver, tell, room: vec![EpollEvent::empty(); EVENTS] }
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
                let many = std::mem::take(&mut due) > MANY;
                self.fibers.set_quantum(if many { QUANTUM_OF_MANY } else { QUANTUM });
                self.fibers.sweep(now);
                let window = tell_windows(&self.tell);
                self.fibers.users(|users| self.driver.heartbeat(users, now, window));
            }
            if self.fibers.users(|users| self.driver.is_done(users, now)) {
                break;
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

    /// Sleeps until something is due or a socket has an event. An alarm that is set for an earlier moment is left: it
    /// costs less to wake for nothing than to set it again. `more`: users are ready now.
    fn sleep(&mut self, now: Timestamp, more: bool) {
        let heartbeat = now + GapMeter::HEARTBEAT;
        let due = if more { now } else { self.fibers.users(|pool| pool.next_due()).unwrap_or(heartbeat) };
        self.fibers.ring_by(self.fibers.rounded_up(due.max(now)).min(heartbeat), now);
        self.look();
    }

    /// Fetches events. The kernel knows no reason to refuse; if it did, the panic here would show in the run's report.
    fn look(&mut self) {
        self.fibers.network.watch.look(&mut self.room).expect("events can be fetched");
        self.fibers.resume_yielded();
    }

    /// Cuts off requests in flight, and waits until every fiber has ended.
    fn shut_down(&mut self) {
        self.fibers.cut();
        self.fibers.close();
        while self.fibers.workers() > 0 {
            let now = self.fibers.clock.now();
            self.fibers.ring_at(now + Duration::from_millis(1), now);
            self.look();
            // A fiber may have begun a new wait between the cut and its end.
            self.fibers.cut();
        }
    }
}

/// Passes windows on to the caller, which may be gone.
fn tell_windows(tell: &Sender<News>) -> impl FnMut(Window) {
    |window| _ = tell.send(News::Window(window))
}
