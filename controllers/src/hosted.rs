//! What a [`crate::Seat`] is for a policy, for machines that decide nothing: pool sizing, batching, monitors.

use crate::{Ctx, Effect, Effects, Gauge, Machine, Next, Observer, Seeded, Seen, SiteId, Timestamp, UnixSeconds};

/// A machine in its place. Call [`Hosted::observe`], and after it (and when a wake-up is due) [`Hosted::poll`] until it
/// has nothing more to do.
pub struct Hosted {
    site: SiteId,
    machine: Box<dyn Machine>,
    now: Timestamp,
    effects: Effects,
    random: Seeded,
    observer: Box<dyn Observer>,
}

impl Hosted {
    /// Puts a machine in a place. `seed` should come from [`crate::seed_for`] with the site's and the machine's name.
    #[must_use]
    pub fn new(site: SiteId, machine: Box<dyn Machine>, seed: u64, observer: Box<dyn Observer>) -> Self {
        Self { site, machine, now: Timestamp::ZERO, effects: Effects::default(), random: Seeded::new(seed), observer }
    }

    /// Tells the machine one fact. `in_flight` and `parked` are what the seat beside it counts; zero without one.
    pub fn observe(&mut self, now: Timestamp, seen: &Seen, in_flight: u32, parked: u32) {
        let (machine, mut cx) = self.split(now, in_flight, parked);
        machine.observe(seen, &mut cx);
    }

    /// Does what is due and says what the host has to do. Call until it returns [`Next::WakeAt`] or [`Next::Idle`].
    pub fn poll(&mut self, now: Timestamp, in_flight: u32, parked: u32) -> Next {
        if self.effects.is_empty() && self.machine.next_wake().is_some_and(|at| at <= now) {
            let (machine, mut cx) = self.split(now, in_flight, parked);
            machine.wake(&mut cx);
        }
        if let Some(effect) = self.effects.pop() {
            return Next::Do(effect);
        }
        match self.machine.next_wake() {
            Some(at) => Next::WakeAt(at.max(self.now + std::time::Duration::from_nanos(1))),
            None => Next::Idle,
        }
    }

    /// What the machine sees of itself.
    pub fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        self.machine.gauges(visit);
    }

    /// Order in time is kept here as in a seat: a time that goes back is clamped.
    fn split(&mut self, now: Timestamp, in_flight: u32, parked: u32) -> (&mut dyn Machine, Ctx<'_>) {
        self.now = self.now.max(now);
        let cx = Ctx {
            now: self.now,
            wall: UnixSeconds::default(),
            in_flight,
            parked,
            random: &mut self.random,
            effects: &mut self.effects,
            observer: &mut *self.observer,
            site: self.site,
        };
        (&mut *self.machine, cx)
    }
}

impl std::fmt::Debug for Hosted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hosted").field("site", &self.site).field("machine", &self.machine).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Resize;

    /// Asks for one worker more each second.
    #[derive(Debug)]
    struct Grow(Timestamp, u32);

    impl Machine for Grow {
        fn observe(&mut self, _: &Seen, _: &mut Ctx<'_>) {}

        fn next_wake(&self) -> Option<Timestamp> {
            Some(self.0)
        }

        fn wake(&mut self, cx: &mut Ctx<'_>) {
            self.0 = cx.now + Duration::from_secs(1);
            self.1 += 1;
            cx.effects.push(Effect::Resize(Resize::Workers(self.1)));
        }

        fn gauges(&self, _: &mut dyn FnMut(Gauge, f64)) {}
    }

    #[test]
    fn a_late_wake_is_one_wake() {
        let mut hosted = Hosted::new(SiteId(1), Box::new(Grow(Timestamp::from_secs(1), 0)), 7, Box::new(()));
        assert_eq!(hosted.poll(Timestamp::ZERO, 0, 0), Next::WakeAt(Timestamp::from_secs(1)));
        let late = Timestamp::from_millis(3500);
        assert_eq!(hosted.poll(late, 0, 0), Next::Do(Effect::Resize(Resize::Workers(1))));
        assert_eq!(hosted.poll(late, 0, 0), Next::WakeAt(Timestamp::from_millis(4500)));
    }
}
