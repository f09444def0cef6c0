//! Ranks of arms: order, and what can be told of two arms whose blocks had the same load.

use analysis::series::value::Value;

use super::{ArmSeries, Compare};
use crate::column::{Better, Column};

/// The rank of an arm in a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rank {
    Best,
    /// Better than the best in some blocks, worse in others.
    WithinNoise,
    Behind,
}

impl Compare {
    /// Rows in the order of the table.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.all_series.len()).collect();
        if self.look.sorted {
            let column = self.column();
            let key = |at: &usize| {
                let value = self.figure(self.all_series[*at], column).map(|value| value.at);
                // What is not known comes last.
                let sign = if column.better() == Some(Better::Lower) { 1.0 } else { -1.0 };
                value.map_or(f64::INFINITY, |value| sign * value)
            };
            order.sort_by(|a, b| key(a).total_cmp(&key(b)));
        } else if self.look.across {
            order.sort_by_key(|at| self.beside_its_like(self.all_series[*at]));
        }
        order
    }

    /// The arm whose figure is the best one; `None`: nobody's is better than another's, or that is no question of this figure.
    fn best(&self, column: Column) -> Option<usize> {
        let better = column.better()?;
        let known: Vec<(usize, Value)> = self
            .all_series
            .iter()
            .enumerate()
            .filter_map(|(n, arm_series)| Some((n, self.figure(*arm_series, column)?)))
            .collect();
        let (best, value) = known.iter().copied().reduce(|a, b| if better.is(b.1.at, a.1.at) { b } else { a })?;
        let is_alone = known.iter().any(|(_, other)| better.is(value.at, other.at));
        // A bound from below is not known to be small.
        (is_alone && !(value.at_least && better == Better::Lower)).then_some(best)
    }

    pub fn rank(&self, at: usize, column: Column) -> Option<Rank> {
        let best = self.best(column)?;
        if at == best {
            return Some(Rank::Best);
        }
        let (better, arm_series) = (column.better()?, *self.all_series.get(at)?);
        let pairs = self.pairs(self.all_series[best], arm_series, column);
        let ahead = pairs.iter().filter(|(best, own)| better.is(own.at, best.at)).count();
        let level = pairs.iter().filter(|(best, own)| own.at == best.at).count();
        Some(if pairs.len() > 1 && (ahead > 0 || level == pairs.len()) { Rank::WithinNoise } else { Rank::Behind })
    }

    /// Figures of two arms in the same blocks.
    fn pairs(&self, one: ArmSeries, other: ArmSeries, column: Column) -> Vec<(Value, Value)> {
        let of_other = self.by_block(other, column);
        let of_one = self.by_block(one, column);
        of_one.iter().filter_map(|(block, value)| Some((*value, *of_other.get(block)?))).collect()
    }

    /// Comparison of an arm's figure with that of the baseline that was chosen, over blocks: the median, and from where
    /// to where. It describes, and decides nothing.
    pub fn against_chosen(&self, arm_series: ArmSeries) -> Option<String> {
        let (baseline, column) = (*self.all_series.get(self.look.baseline?)?, self.column());
        if baseline == arm_series || column.is_of_policies() {
            return None;
        }
        let points = column == Column::Rejected;
        let effect = |(base, own): &(Value, Value)| {
            if points { Some((own.at - base.at) * 100.0) } else { (base.at > 0.0).then(|| own.at / base.at) }
        };
        let pairs = self.pairs(baseline, arm_series, column);
        let is_bound = pairs.iter().any(|(base, own)| base.at_least || own.at_least);
        let mut effects: Vec<f64> = pairs.iter().filter_map(effect).collect();
        effects.sort_by(f64::total_cmp);
        let median = effects.get(effects.len() / 2)?;
        let one = |value: f64| if points { format!("{value:+.1}") } else { format!("x{}", two(value)) };
        let spread = match &effects[..] {
            [first, .., last] => format!(" ({} to {})", one(*first), one(*last)),
            _ => String::new(),
        };
        let unit = if points { " points" } else { "" };
        Some(format!("{}{}{unit}{spread}", if is_bound { "about " } else { "" }, one(*median)))
    }
}

/// Two decimals say what there is to be said.
fn two(ratio: f64) -> String {
    format!("{ratio:.2}")
}
