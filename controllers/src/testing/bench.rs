//! A bench for one machine: passes facts, and returns effects, gauges and events.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::{
    Class, Effect, Gauge, Grant, JobId, LoadSample, MachineSeat, Next, Observer, Outcome, PolicyEvent, Seen, Settings,
    SiteId, Tags, Timestamp, Timing,
};

/// Drives one machine, or the machine side of a policy, without the counts of a [`crate::Seat`].
#[derive(Debug)]
pub struct MachineBench {
    seat: MachineSeat,
    events: Recorder,
    next_id: u64,
}

/// Milliseconds on the bench count from the first hour of the run, so that a response time can start before zero.
fn time(at_ms: u64) -> Timestamp {
    Timestamp::from_secs(3600) + Duration::from_millis(at_ms)
}

/// Stores events.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<Vec<PolicyEvent>>>);

impl Recorder {
    pub(crate) fn take(&self) -> Vec<PolicyEvent> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for Recorder {
    fn event(&mut self, _: Timestamp, _: SiteId, event: &PolicyEvent) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
    }
}

impl MachineBench {
    /// Creates a machine of the catalogue, with a target of one second. Panics on unknown names and wrong settings.
    #[must_use]
    pub fn new(name: &str, settings: &Settings) -> Self {
        let events = Recorder::default();
        let machine = super::machine(name, settings, Duration::from_secs(1));
        Self { seat: MachineSeat::new(SiteId(1), machine, 1, Box::new(events.clone())), events, next_id: 0 }
    }

    /// Passes a fact at a time in milliseconds, and returns the effects.
    pub fn see(&mut self, at_ms: u64, seen: &Seen) -> Vec<Effect> {
        self.seat.observe(time(at_ms), seen);
        self.poll(at_ms)
    }

    /// Passes a load sample.
    pub fn load(&mut self, at_ms: u64, sample: LoadSample) -> Vec<Effect> {
        self.see(at_ms, &Seen::Load(sample))
    }

    /// Ends a job of a class with a response time.
    pub fn respond(&mut self, at_ms: u64, class: u8, response_ms: u64) -> Vec<Effect> {
        self.next_id += 1;
        let ended = time(at_ms);
        let entered = ended - Duration::from_millis(response_ms);
        self.see(
            at_ms,
            &Seen::Ended {
                id: JobId(self.next_id),
                grant: Grant::default(),
                tags: Tags { class: Class(class), ..Tags::default() },
                outcome: Outcome::Served,
                timing: Timing { entered, offered: entered, started: entered, ended },
                cost: None,
                note: None,
            },
        )
    }

    /// Polls the machine, which wakes it if that is due.
    pub fn poll(&mut self, at_ms: u64) -> Vec<Effect> {
        let mut effects = Vec::new();
        while let Some(effect) = self.seat.poll(time(at_ms)).effect() {
            effects.push(effect);
        }
        effects
    }

    /// The next wake-up, seen at a time, both in milliseconds.
    pub fn wakes_at(&mut self, at_ms: u64) -> Option<u64> {
        match self.seat.poll(time(at_ms)) {
            Next::WakeAt(at) => u64::try_from(at.since(time(0)).as_millis()).ok(),
            _ => None,
        }
    }

    /// A gauge over all classes.
    #[must_use]
    pub fn gauge(&self, name: &'static str) -> Option<f64> {
        self.find(Gauge::of(name))
    }

    /// A gauge of one class.
    #[must_use]
    pub fn gauge_of(&self, name: &'static str, class: u8) -> Option<f64> {
        self.find(Gauge::of_class(name, Class(class)))
    }

    /// Events since the last call.
    #[must_use]
    pub fn events(&self) -> Vec<PolicyEvent> {
        self.events.take()
    }

    fn find(&self, wanted: Gauge) -> Option<f64> {
        let mut found = None;
        self.seat.gauges(&mut |gauge, value| {
            if gauge == wanted {
                found = Some(value);
            }
        });
        found
    }
}
