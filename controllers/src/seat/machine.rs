//! The seat of a machine that decides on no jobs.

use std::time::Duration;

use crate::{Ctx, Effects, Gauge, Machine, Next, Observer, Seeded, Seen, SiteId, Timestamp, UnixSeconds};

/// An installed machine: pool sizing, batching, a monitor. Hosts drive it like a [`crate::Seat`], with facts and polls
/// only.
pub struct MachineSeat {
    site: SiteId,
    machine: Box<dyn Machine>,
    now: Timestamp,
    wall: UnixSeconds,
    effects: Effects,
    random: Seeded,
    observer: Box<dyn Observer>,
}

impl MachineSeat {
    /// Installs a machine. `seed` should come from [`crate::seed_for`] with the names of site and machine.
    #[must_use]
    pub fn new(site: SiteId, machine: Box<dyn Machine>, seed: u64, observer: Box<dyn Observer>) -> Self {
        Self {
            site,
            machine,
            now: Timestamp::ZERO,
            wall: UnixSeconds::default(),
            effects: Effects::default(),
            random: Seeded::new(seed),
            observer,
        }
    }

    /// Passes one fact to the machine.
    pub fn observe(&mut self, now: Timestamp, seen: &Seen) {
        self.now = self.now.max(now);
        let (machine, mut cx) = self.split();
        machine.observe(seen, &mut cx);
    }

    /// Performs the work that is due, and returns the host's next action. Call until it returns [`Next::WakeAt`] or
    /// [`Next::Idle`].
    pub fn poll(&mut self, now: Timestamp) -> Next {
        self.now = self.now.max(now);
        if self.effects.is_empty() && self.machine.next_wake().is_some_and(|at| at <= self.now) {
            let (machine, mut cx) = self.split();
            machine.wake(&mut cx);
        }
        if let Some(effect) = self.effects.pop() {
            return Next::Do(effect);
        }
        match self.machine.next_wake() {
            Some(at) => Next::WakeAt(at.max(self.now + Duration::from_nanos(1))),
            None => Next::Idle,
        }
    }

    /// Replaces the machine. Effects of the old machine that were not polled are dropped.
    pub fn replace(&mut self, machine: Box<dyn Machine>) {
        self.machine = machine;
        self.effects = Effects::default();
    }

    /// The machine's gauges.
    pub fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        self.machine.gauges(visit);
    }

    /// Sets the wall clock that the machine sees.
    pub fn set_wall(&mut self, wall: UnixSeconds) {
        self.wall = wall;
    }

    fn split(&mut self) -> (&mut dyn Machine, Ctx<'_>) {
        let cx = Ctx {
            now: self.now,
            wall: self.wall,
            in_flight: 0,
            held: 0,
            random: &mut self.random,
            effects: &mut self.effects,
            observer: &mut *self.observer,
            site: self.site,
        };
        (&mut *self.machine, cx)
    }
}

impl std::fmt::Debug for MachineSeat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MachineSeat").field("site", &self.site).field("machine", &self.machine).finish_non_exhaustive()
    }
}
