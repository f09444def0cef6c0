//! Readings of gates, also where there was no reason to speak: the worst of a run's arms, in words.

use crate::summary::{Arm, Comparison, Mode, RunSummary};

/// The run that is read.
pub(super) struct Readings<'a>(pub &'a RunSummary);

impl Readings<'_> {
    /// `None` in virtual time, where generator and machine play no part.
    pub fn live(&self) -> Option<&Self> {
        (self.0.mode == Mode::Live).then_some(self)
    }

    /// The arm with the most of something.
    pub fn most(&self, read: impl Fn(&Arm) -> Option<f64>, words: impl Fn(f64, &Arm) -> String) -> Option<String> {
        self.found(&read, &words)
    }

    /// `most`, compiled once and not for each of dozens of gates.
    fn found(&self, read: &dyn Fn(&Arm) -> Option<f64>, words: &dyn Fn(f64, &Arm) -> String) -> Option<String> {
        let arms = self.0.arms.iter().filter(|arm| !arm.bound);
        let all = arms.filter_map(|arm| Some((read(arm)?, arm)));
        let (value, arm) = all.max_by(|a, b| a.0.total_cmp(&b.0))?;
        // Nothing at all is so in every arm.
        let place = if value == 0.0 { String::new() } else { format!(" ({})", label(arm)) };
        Some(words(value, arm) + &place)
    }

    /// The one with the least.
    pub fn least(&self, read: impl Fn(&Arm) -> Option<u64>, words: impl Fn(f64, &Arm) -> String) -> Option<String> {
        self.most(|arm| read(arm).map(|count| -(count as f64)), |value, arm| words(-value, arm))
    }

    /// The one with the highest count.
    pub fn count(&self, read: impl Fn(&Arm) -> u64) -> Option<String> {
        self.most(|arm| Some(read(arm) as f64), |count, _| format!("{count:.0}"))
    }

    /// Arms that are the same but for their names.
    pub fn twins(&self, words: impl Fn(&Comparison) -> String) -> Option<String> {
        if !self.0.void_twins.is_empty() {
            return Some("void: in virtual time they are the same bits".to_owned());
        }
        let deciding = self.0.noise_floor.iter().filter(|found| found.primary);
        let all: Vec<String> =
            deciding.map(|found| format!("{} and {}: {}", found.baseline, found.policy, words(found))).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

pub(super) fn greatest(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.max_by(f64::total_cmp)
}

pub(super) fn fraction(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The arm's name, with its block where there are several.
pub(super) fn label(arm: &Arm) -> String {
    let name = arm.shown_name();
    if arm.block > 1 { format!("{name} (block {})", arm.block) } else { name.to_owned() }
}
