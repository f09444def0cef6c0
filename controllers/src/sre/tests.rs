//! Vectors worked by hand from the chapter's formulae and sentences.

mod client;
mod closed_form;
mod plant;
mod quotas;
mod server;

use std::time::Duration;

use crate::{
    Criticality, Gauge, Grant, JobId, Offer, Outcome, Random, Reason, Seat, Seeded, Seen, SiteId, Tags, Timestamp,
    Timing, Verdict,
    catalogue::{Catalogue, Setting},
    testing::{self, settings},
};

/// A policy in a seat, fed by hand.
struct Bench {
    seat: Seat,
    now: Timestamp,
    next_id: u64,
    draws: Seeded,
}

impl Bench {
    fn new<'a>(name: &str, given: impl IntoIterator<Item = (&'a str, Setting)>) -> Self {
        let policy = testing::policy(name, &settings(given), Duration::from_secs(1));
        Self {
            seat: Seat::new(SiteId(1), policy, 1, Box::new(())),
            now: Timestamp::ZERO,
            next_id: 0,
            draws: Seeded::new(7),
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
    }

    fn offer(&mut self, tags: Tags) -> Result<(JobId, Grant), Reason> {
        self.next_id += 1;
        let id = JobId(self.next_id);
        match self.seat.offer(self.now, &Offer { id, tags, entered: self.now, note: None }) {
            Verdict::Admit(grant) => Ok((id, grant)),
            Verdict::Refuse(refusal) => Err(refusal.reason),
            other => panic!("neither yes nor no: {other:?}"),
        }
    }

    fn end(&mut self, admitted: (JobId, Grant), tags: Tags, outcome: Outcome) {
        self.end_after(admitted, tags, outcome, Duration::ZERO, None);
    }

    /// Ends after work on it took so long, with a cost if one was measured.
    fn end_after(
        &mut self,
        (id, grant): (JobId, Grant),
        tags: Tags,
        outcome: Outcome,
        worked: Duration,
        cost: Option<Duration>,
    ) {
        let started = self.now;
        self.pass(worked);
        let timing = Timing { entered: started, offered: started, started, ended: self.now };
        self.seat.observe(self.now, &Seen::Ended { id, grant, tags, outcome, timing, cost, note: None });
    }

    /// A request that, if it is let go, ends like this at once; true if it was let go.
    fn request(&mut self, tags: Tags, outcome: Outcome) -> bool {
        let Ok(admitted) = self.offer(tags) else { return false };
        self.end(admitted, tags, outcome);
        true
    }

    fn gauge(&self, name: &'static str) -> f64 {
        let mut found = None;
        self.seat.gauges(&mut |gauge, value| {
            if gauge == Gauge::of(name) {
                found = Some(value);
            }
        });
        found.unwrap_or_else(|| panic!("no gauge {name}"))
    }
}

fn attempt(attempt: u8) -> Tags {
    Tags { attempt, ..Tags::default() }
}

fn of(criticality: Criticality) -> Tags {
    Tags { criticality, ..Tags::default() }
}

const REFUSED: Outcome = Outcome::Overloaded { retry: true };

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}
