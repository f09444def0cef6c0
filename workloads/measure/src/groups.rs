//! A second by request type and by class.

use std::{collections::BTreeMap, time::Duration};

use controllers::Class;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counts of the requests of one type, or of one class, in a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Group {
    /// Intended starts, retries included.
    pub planned: u64,
    /// Answered as requested within the objective.
    pub served: u64,
    /// Answered as requested, late.
    pub late: u64,
    /// Refused, by the service or by a client-side policy.
    pub rejected: u64,
    /// Without the requested answer: timed out, abandoned, failed, or without a connection.
    pub lost: u64,
    /// Mean response time of the requests answered as requested, milliseconds.
    pub mean_ms: Option<f64>,
}

impl Group {
    /// Adds the counts of others.
    pub fn add(&mut self, other: &Self) {
        let answered = |group: &Self| (group.served + group.late) as f64;
        let sum = |group: &Self| group.mean_ms.map(|mean| mean * answered(group));
        let total = sum(self).into_iter().chain(sum(other)).reduce(|a, b| a + b);
        self.planned += other.planned;
        self.served += other.served;
        self.late += other.late;
        self.rejected += other.rejected;
        self.lost += other.lost;
        self.mean_ms = total.map(|total| total / answered(self).max(1.0));
    }

    fn is_nothing(&self) -> bool {
        self.planned + self.served + self.late + self.rejected + self.lost == 0
    }
}

/// Counts of the current second, by type and by class. A request is counted in both.
#[derive(Debug)]
pub(super) struct Groups {
    kinds: Vec<Sums>,
    classes: Vec<Sums>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    counts: Group,
    response: Duration,
}

/// The end of a request, as far as groups distinguish it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ended {
    Served { late: bool, response: Duration },
    Rejected,
    Lost,
}

impl Groups {
    pub(super) fn new(kinds: usize, classes: usize) -> Self {
        Self { kinds: vec![Sums::default(); kinds], classes: vec![Sums::default(); classes] }
    }

    pub(super) fn planned(&mut self, cell: u32) {
        self.both(cell, |sums| sums.counts.planned += 1);
    }

    pub(super) fn ended(&mut self, cell: u32, how: Ended) {
        self.both(cell, |Sums { counts, response: sum }| match how {
            Ended::Served { late, response } => {
                *(if late { &mut counts.late } else { &mut counts.served }) += 1;
                *sum += response;
            }
            Ended::Rejected => counts.rejected += 1,
            Ended::Lost => counts.lost += 1,
        });
    }

    /// Ends the second: the types that had any requests, and the classes if there are several.
    pub(super) fn close(
        &mut self,
        kinds: &[String],
        classes: &[Class],
    ) -> (BTreeMap<String, Group>, BTreeMap<String, Group>) {
        let by_type = named(&mut self.kinds, kinds.iter().cloned());
        let by_class = named(&mut self.classes, classes.iter().map(|class| class.0.to_string()));
        (by_type, if classes.len() > 1 { by_class } else { BTreeMap::new() })
    }

    /// Cells are ordered by phase, part, type and class, the last fastest.
    fn both(&mut self, cell: u32, mut change: impl FnMut(&mut Sums)) {
        let (cell, classes, kinds) = (cell as usize, self.classes.len(), self.kinds.len());
        change(&mut self.classes[cell % classes]);
        change(&mut self.kinds[cell / classes % kinds]);
    }
}

fn named(sums: &mut [Sums], names: impl Iterator<Item = String>) -> BTreeMap<String, Group> {
    let of = |(sums, name): (&mut Sums, String)| {
        let Sums { mut counts, response } = std::mem::take(sums);
        let answered = counts.served + counts.late;
        counts.mean_ms = (answered > 0).then(|| response.as_secs_f64() * 1e3 / answered as f64);
        (!counts.is_nothing()).then_some((name, counts))
    };
    sums.iter_mut().zip(names).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_in_its_type_and_in_its_class() {
        // Three types, two classes: cell 9 is type 1 (9 / 2 % 3) of class 1.
        let mut groups = Groups::new(3, 2);
        groups.planned(9);
        groups.planned(9);
        groups.planned(6);
        groups.ended(9, Ended::Served { late: false, response: Duration::from_millis(10) });
        groups.ended(9, Ended::Served { late: true, response: Duration::from_millis(30) });
        groups.ended(6, Ended::Rejected);
        groups.ended(6, Ended::Lost);
        let kinds = ["a", "b", "c"].map(str::to_owned);
        let (by_type, by_class) = groups.close(&kinds, &[Class(0), Class(4)]);
        let b = Group { planned: 2, served: 1, late: 1, mean_ms: Some(20.0), ..Group::default() };
        let a = Group { planned: 1, rejected: 1, lost: 1, ..Group::default() };
        assert_eq!(by_type, [("a".to_owned(), a), ("b".to_owned(), b)].into(), "and nothing of c");
        assert_eq!(by_class, [("0".to_owned(), a), ("4".to_owned(), b)].into());
        // The next second begins empty, and a single class is no group.
        assert_eq!(groups.close(&kinds, &[Class(0), Class(4)]), (BTreeMap::new(), BTreeMap::new()));
        let mut alone = Groups::new(1, 1);
        alone.planned(0);
        assert_eq!(alone.close(&kinds[..1], &[Class(0)]).1, BTreeMap::new());
    }
}
