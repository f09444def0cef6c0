//! Shares of a capacity that classes are entitled to: the important ones first, equals alike.

use std::collections::BTreeMap;

use controllers::{Class, Criticality};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PhaseSummary;

/// Classes by what they are entitled to: a group comes before the next, and within a group nobody gets more as long as another
/// wants it (max-min fairness: Bertsekas and Gallager, "Data Networks", section 6.5.2). Empty: nothing is known of any.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Entitled {
    /// Names of classes, the most important group first.
    pub groups: Vec<Vec<String>>,
}

/// Least share of a capacity that is asked after: what is left for a class beyond it is chance.
const WORTH_ASKING: f64 = 0.01;

impl Entitled {
    /// By importance: what requests state, or else what their target takes them for. Where nothing is said of it, customers are equal.
    pub fn of<'a>(criticality: [&BTreeMap<Class, Criticality>; 2], customers: impl Iterator<Item = &'a Class>) -> Self {
        let [stated, taken_for] = criticality;
        let criticality = if stated.is_empty() { taken_for } else { stated };
        let name = |class: &Class| class.0.to_string();
        let of_level = |level: Criticality| -> Vec<String> {
            criticality.iter().filter(|(_, of)| **of == level).map(|(class, _)| name(class)).collect()
        };
        let mut groups: Vec<Vec<String>> = Criticality::ALL.into_iter().rev().map(of_level).collect();
        if criticality.is_empty() {
            groups.push(customers.map(name).collect());
        }
        groups.retain(|group| !group.is_empty());
        Self { groups }
    }

    /// Nothing is known of any class.
    pub const fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Share of its due that each class is given in a phase, 1 at most. `capacity`: requests per second that there are to share.
    pub(crate) fn given(&self, phase: &PhaseSummary, capacity: f64) -> BTreeMap<String, f64> {
        let wanted = phase.by_class.iter().map(|(class, of)| (class.as_str(), of.offered_per_s)).collect();
        let due = self.shares(&wanted, capacity).into_iter().filter(|(_, due)| *due >= WORTH_ASKING * capacity);
        due.map(|(class, due)| {
            let share = (phase.by_class[&class].goodput_per_s / due).min(1.0);
            (class, share)
        })
        .collect()
    }

    /// Amount of a capacity for each class that wants as much as this.
    fn shares(&self, wanted: &BTreeMap<&str, f64>, capacity: f64) -> BTreeMap<String, f64> {
        let mut left = capacity;
        let mut shares = BTreeMap::new();
        for group in &self.groups {
            let mut of_group: Vec<(&String, f64)> =
                group.iter().filter_map(|class| Some((class, *wanted.get(class.as_str())?))).collect();
            of_group.sort_by(|a, b| a.1.total_cmp(&b.1));
            for (place, (class, wants)) in of_group.iter().enumerate() {
                let share = wants.min(left / (of_group.len() - place) as f64);
                left -= share;
                shares.insert((*class).clone(), share);
            }
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(groups: &[&[&str]], wanted: &[(&str, f64)]) -> Vec<f64> {
        let groups = groups.iter().map(|group| group.iter().map(|class| (*class).to_owned()).collect()).collect();
        Entitled { groups }.shares(&wanted.iter().copied().collect(), 200.0).into_values().collect()
    }

    #[test]
    fn the_modest_get_what_they_want_and_the_greedy_what_is_left() {
        let wanted = [("1", 40.0), ("2", 40.0), ("3", 40.0), ("4", 400.0)];
        assert_eq!(shares(&[&["1", "2", "3", "4"]], &wanted), [40.0, 40.0, 40.0, 80.0]);
        assert_eq!(shares(&[&["1", "2"]], &[("1", 90.0), ("2", 150.0)]), [90.0, 110.0]);
    }

    #[test]
    fn the_important_come_before_the_rest() {
        let wanted = [("0", 120.0), ("1", 120.0), ("2", 80.0), ("3", 80.0)];
        assert_eq!(shares(&[&["3"], &["2"], &["1"], &["0"]], &wanted), [0.0, 40.0, 80.0, 80.0]);
    }
}
