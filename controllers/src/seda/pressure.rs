//! Reports of overload from other sites.

use std::{collections::BTreeMap, time::Duration};

use crate::{SiteId, Timestamp};

/// The sites under pressure. A report expires after a while; a site that is still overloaded repeats it.
#[derive(Debug)]
pub(super) struct Pressure {
    hold: Duration,
    least_between_cuts: Duration,
    until: BTreeMap<SiteId, Timestamp>,
    last_cut: Option<Timestamp>,
}

impl Pressure {
    /// Reports hold for `hold`; cuts are at least `least_between_cuts` apart.
    pub(super) const fn new(hold: Duration, least_between_cuts: Duration) -> Self {
        Self { hold, least_between_cuts, until: BTreeMap::new(), last_cut: None }
    }

    /// Adds a report. True: cut now.
    pub(super) fn hear(&mut self, now: Timestamp, from: SiteId, level: f64) -> bool {
        if level <= 0.0 {
            self.until.remove(&from);
            return false;
        }
        self.until.insert(from, now + self.hold);
        let due = self.last_cut.is_none_or(|last| now.since(last) >= self.least_between_cuts);
        if due {
            self.last_cut = Some(now);
        }
        due
    }

    /// True while a site is overloaded: rates must not rise.
    pub(super) fn is_on(&self, now: Timestamp) -> bool {
        self.until.values().any(|until| *until > now)
    }
}
