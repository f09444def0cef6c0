//! What parts decide together, by hand; what cannot go together; and the operation model over compositions.

mod by_hand;
mod model;
mod problems;
mod shares;

use std::time::Duration;

use crate::{
    Catalogue, Class, Criticality, Effect, Grant, JobId, Offer, Outcome, Place, Policy, Seat, Seen, Settings, SiteId,
    Tags, Timestamp, Timing, Verdict,
    entry::{Problem, Setting},
    testing::{settings, site},
};

const TARGET: Duration = Duration::from_secs(1);

/// The settings of a composition, from names or names with settings.
fn composition(parts: &[(&'static str, Setting)]) -> Settings {
    settings(parts.iter().cloned())
}

/// A part with settings.
fn part(name: &'static str, of: impl IntoIterator<Item = (&'static str, Setting)>) -> Setting {
    Setting::Map(settings([(name, Setting::Map(settings(of)))]))
}

fn policy_at(place: Place, parts: &[(&'static str, Setting)]) -> Result<Box<dyn Policy>, Vec<Problem>> {
    let catalogue = Catalogue::built_in();
    let entry = catalogue.find("compose").expect("it is there");
    let factory = catalogue.check(entry, Some(place), &composition(parts))?;
    Ok(factory.policy(&site(place, TARGET)).expect("a policy"))
}

/// Seat with a composition.
struct Bench {
    seat: Seat,
    now: Timestamp,
}

impl Bench {
    fn new(parts: &[(&'static str, Setting)]) -> Self {
        Self::at_place(Place::Stage, parts)
    }

    fn at_place(place: Place, parts: &[(&'static str, Setting)]) -> Self {
        let policy = policy_at(place, parts).unwrap_or_else(|problems| panic!("{problems:?}"));
        Self { seat: Seat::new(SiteId(1), policy, 1, Box::new(())), now: Timestamp::ZERO }
    }

    fn at(&mut self, ms: u64) -> &mut Self {
        self.now = Timestamp::from_millis(ms);
        self
    }

    fn offer(&mut self, id: u64, criticality: Criticality) -> Verdict {
        self.offer_tagged(id, Tags { criticality, class: Class(1), ..Tags::default() })
    }

    fn offer_tagged(&mut self, id: u64, tags: Tags) -> Verdict {
        self.seat.offer(self.now, &Offer { id: JobId(id), tags, entered: self.now, note: None })
    }

    fn room(&mut self, free: u32) -> Vec<(&'static str, u64)> {
        self.seat.observe(self.now, &Seen::Room(free));
        self.effects()
    }

    fn start(&mut self, id: u64, waited: Duration) {
        self.seat.observe(self.now, &Seen::Started { id: JobId(id), waited });
    }

    fn end(&mut self, id: u64, offered_ms: u64) {
        self.end_tagged(id, offered_ms, Tags::default());
    }

    fn end_tagged(&mut self, id: u64, offered_ms: u64, tags: Tags) {
        let offered = Timestamp::from_millis(offered_ms);
        let timing = Timing { entered: offered, offered, started: offered, ended: self.now };
        let seen = Seen::Ended {
            id: JobId(id),
            grant: Grant::default(),
            tags,
            outcome: Outcome::Served,
            timing,
            cost: None,
            note: None,
        };
        self.seat.observe(self.now, &seen);
    }

    /// Releases and refusals, in order.
    fn effects(&mut self) -> Vec<(&'static str, u64)> {
        let mut found = Vec::new();
        while let Some(effect) = self.seat.poll(self.now).effect() {
            match effect {
                Effect::Release(id, _) => found.push(("in", id.0)),
                Effect::Refuse(id, _) => found.push(("out", id.0)),
                _ => {}
            }
        }
        found
    }

    fn gauge(&self, name: &str) -> Option<f64> {
        let mut found = None;
        self.seat.gauges(&mut |gauge, value| {
            if gauge.name == name {
                found = Some(value);
            }
        });
        found
    }
}
