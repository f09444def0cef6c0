//! Response times by report window: of the requests that ended in it, of all and by type and class.

use std::{collections::BTreeMap, time::Duration};

use controllers::Class;
use serde::{Deserialize, Serialize};

use super::{Distribution, Times};

/// Response times of the requests that ended in a report window. Types and classes without any are left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reported {
    /// Of all.
    pub all: Times,
    /// By request type.
    pub by_type: BTreeMap<String, Times>,
    /// By class, where there are several.
    pub by_class: BTreeMap<String, Times>,
}

/// The report window that is under way. A request is counted in three distributions.
#[derive(Debug)]
pub(super) struct Reports {
    all: Distribution,
    kinds: Vec<Distribution>,
    classes: Vec<Distribution>,
}

impl Reports {
    /// Seconds of a window: the figures over time of the SEDA papers show the 90th percentile of the requests that ended in
    /// five (the report interval of their load generator).
    const SECONDS: u64 = 5;

    pub(super) fn new(most: Duration, kinds: usize, classes: usize) -> Self {
        let some = |count| (0..count).map(|_| Distribution::new(most)).collect();
        Self { all: Distribution::new(most), kinds: some(kinds), classes: some(classes) }
    }

    pub(super) fn answered(&mut self, cell: u32, response: Duration) {
        self.each(cell, |times| times.record(response));
    }

    pub(super) fn given_up(&mut self, cell: u32, waited: Duration) {
        self.each(cell, |times| times.record_censored(waited));
    }

    /// Ends this second, and its window if it is the last of it.
    pub(super) fn close(&mut self, second: u64, kinds: &[String], classes: &[Class]) -> Option<Reported> {
        if !(second + 1).is_multiple_of(Self::SECONDS) {
            return None;
        }
        let by_class = named(&mut self.classes, classes.iter().map(|class| class.0.to_string()));
        let reported = Reported {
            all: self.all.percentiles(),
            by_type: named(&mut self.kinds, kinds.iter().cloned()),
            by_class: if classes.len() > 1 { by_class } else { BTreeMap::new() },
        };
        self.all.clear();
        Some(reported)
    }

    /// Cells are ordered by phase, part, type and class, the last fastest.
    fn each(&mut self, cell: u32, mut change: impl FnMut(&mut Distribution)) {
        let (cell, classes, kinds) = (cell as usize, self.classes.len(), self.kinds.len());
        change(&mut self.all);
        change(&mut self.classes[cell % classes]);
        change(&mut self.kinds[cell / classes % kinds]);
    }
}

fn named(times: &mut [Distribution], names: impl Iterator<Item = String>) -> BTreeMap<String, Times> {
    let of = |(times, name): (&mut Distribution, String)| {
        let seen = (times.count() + times.censored() > 0).then(|| (name, times.percentiles()));
        times.clear();
        seen
    };
    times.iter_mut().zip(names).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_with_every_fifth_second_and_holds_what_ended_in_it() {
        let kinds = ["a", "b"].map(str::to_owned);
        let classes = [Class(0), Class(1)];
        let mut reports = Reports::new(Duration::from_secs(60), 2, 2);
        // Cell 3 is type b of class 1, cell 0 type a of class 0. Times of 1 to 30 ms, and one given up after 30 ms.
        (1..=30).for_each(|ms| reports.answered(3, Duration::from_millis(ms)));
        reports.given_up(0, Duration::from_millis(30));
        assert_eq!(
            (3..5).map(|second| reports.close(second, &kinds, &classes).is_some()).collect::<Vec<_>>(),
            [false, true]
        );
        (1..=30).for_each(|ms| reports.answered(3, Duration::from_millis(10 * ms)));
        let Some(second) = reports.close(9, &kinds, &classes) else { panic!("a window") };
        // The 27th of 30, within the histogram's three digits.
        let p90 = |times: &Times| times.p90.map(|ms| (ms / 10.0).round() as u32);
        assert_eq!(
            (p90(&second.all), p90(&second.by_type["b"]), p90(&second.by_class["1"])),
            (Some(27), Some(27), Some(27))
        );
        assert_eq!(
            (second.all.count, second.by_type.len(), second.by_class.len()),
            (30, 1, 1),
            "nothing of the window before"
        );
    }
}
