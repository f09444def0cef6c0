//! Hand-worked decisions of policies that proxies and clients run.

mod breakers;
mod gates;
mod retries;

use std::{collections::BTreeMap, time::Duration};

use crate::{
    Grant, JobId, LoadSample, Next, Offer, Outcome, Seat, Seen, Settings, SiteId, Tags, Timestamp, Timing, Verdict,
    testing,
};

/// A seat whose jobs are numbered; times are in milliseconds.
struct Door {
    seat: Seat<()>,
    inside: BTreeMap<u64, (Grant, Tags, u64)>,
}

fn at(ms: u64) -> Timestamp {
    Timestamp::from_millis(ms)
}

impl Door {
    fn of(policy: &str, settings: &Settings) -> Self {
        let policy = testing::policy(policy, settings, Duration::from_secs(1));
        Self { seat: Seat::new(SiteId(1), policy, 1, Box::new(())), inside: BTreeMap::new() }
    }

    /// What becomes of a job: `in`, `out` or `held`.
    fn offer(&mut self, ms: u64, id: u64, tags: Tags) -> &'static str {
        let job = Offer { id: JobId(id), tags, entered: at(ms), note: None };
        match self.seat.offer(at(ms), &job) {
            Verdict::Admit(grant) => {
                self.inside.insert(id, (grant, tags, ms));
                "in"
            }
            Verdict::Refuse(_) => "out",
            Verdict::Hold => "held",
            Verdict::ComeBack(_) => "back",
        }
    }

    fn first(&mut self, ms: u64, id: u64) -> &'static str {
        self.offer(ms, id, Tags::default())
    }

    fn retry(&mut self, ms: u64, id: u64) -> &'static str {
        self.offer(ms, id, Tags { attempt: 1, ..Tags::default() })
    }

    fn end(&mut self, ms: u64, id: u64, outcome: Outcome) {
        let (grant, tags, offered) = self.inside.remove(&id).expect("it is inside");
        let [offered, ended] = [offered, ms].map(at);
        let timing = Timing { entered: offered, offered, started: offered, ended };
        let seen = Seen::Ended { id: JobId(id), grant, tags, outcome, timing, cost: None, note: None };
        self.seat.observe(ended, &seen);
    }

    /// A job that comes and ends at once.
    fn through(&mut self, ms: u64, id: u64, outcome: Outcome) -> &'static str {
        let became = self.first(ms, id);
        if became == "in" {
            self.end(ms, id, outcome);
        }
        became
    }

    fn cpu(&mut self, ms: u64, share: f64) {
        self.seat.observe(at(ms), &Seen::Load(LoadSample::Cpu(share)));
    }

    /// Held jobs that are let in or refused by then.
    fn poll(&mut self, ms: u64) -> Vec<(&'static str, u64)> {
        let mut told = Vec::new();
        loop {
            match self.seat.poll(at(ms)) {
                Next::Release(held, grant) => {
                    self.inside.insert(held.offer.id.0, (grant, Tags::default(), ms));
                    told.push(("in", held.offer.id.0));
                }
                Next::Refuse(held, _) => told.push(("out", held.offer.id.0)),
                Next::Do(_) => {}
                Next::WakeAt(_) | Next::Idle => return told,
            }
        }
    }

    fn gauge(&self, wanted: &str) -> f64 {
        let mut found = f64::NAN;
        self.seat.gauges(&mut |gauge, value| {
            if gauge.name == wanted {
                found = value;
            }
        });
        found
    }
}
