//! Ranks of arms: order, and what can be told of two arms whose blocks had the same load.

use std::cmp::Ordering;

use analysis::series::value::Value;

use super::{ArmSeries, Compare};
use crate::column::{Better, Column};

/// Share of the best goodput below which an arm's response times are those of a few survivors.
const SURVIVORS: f64 = 0.5;

/// The rank of an arm in the figure that rows are in the order of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rank {
    /// Better than all others.
    Best,
    /// Better than the first in some blocks, worse in others.
    WithinNoise,
    /// From 1 on; equal figures share one.
    Place(usize),
    /// Nobody can choose it, or its times are those of survivors.
    Out,
}

impl Compare {
    /// The figure that rows are in the order of.
    pub fn ranked_by(&self) -> Column {
        if self.look.sorted { self.column() } else { Column::Goodput }
    }

    /// Rows in the order of the table: best first; of equal goodput the one with the shorter response time.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.all_series.len()).collect();
        if self.look.across && !self.look.sorted {
            order.sort_by_key(|at| self.beside_its_like(self.all_series[*at]));
            return order;
        }
        let out = self.out();
        let columns = [self.ranked_by(), Column::Goodput, self.time()];
        let key = |at: &usize| {
            let [first, second, third] = columns.map(|column| {
                let sign = if column.better() == Some(Better::Lower) { 1.0 } else { -1.0 };
                // What is not known comes last.
                self.figure(self.all_series[*at], column).map_or(f64::INFINITY, |value| sign * value.at)
            });
            [f64::from(u8::from(out[*at])), first, second, third]
        };
        let keys: Vec<[f64; 4]> = order.iter().map(key).collect();
        order.sort_by(|a, b| keys[*a].partial_cmp(&keys[*b]).unwrap_or(Ordering::Equal));
        order
    }

    /// Arms without a rank, by their numbers.
    fn out(&self) -> Vec<bool> {
        let hindsight: Vec<bool> = self.all_series.iter().map(|arm_series| self.is_hindsight(*arm_series)).collect();
        let served = |at: usize| self.figure(self.all_series[at], Column::Goodput).map_or(0.0, |value| value.at);
        let best = (0..hindsight.len()).filter(|at| !hindsight[*at]).map(served).fold(0.0, f64::max);
        let shorter = self.ranked_by().better() == Some(Better::Lower);
        (0..hindsight.len()).map(|at| hindsight[at] || shorter && served(at) < SURVIVORS * best).collect()
    }

    /// Ranks by the arms' numbers; none of a single second, of runs that are held against each other, or of a figure that is
    /// neither good nor bad.
    pub fn ranks(&self) -> Vec<Option<Rank>> {
        let (column, out) = (self.ranked_by(), self.out());
        let mut ranks = vec![None; out.len()];
        let is_asked = self.look.moment.is_none() && !self.look.across;
        let Some(better) = column.better().filter(|_| is_asked) else { return ranks };
        let known = |at: usize| Some((at, self.figure(self.all_series[at], column)?));
        let ranked: Vec<(usize, Value)> = self.order().into_iter().filter(|at| !out[*at]).filter_map(known).collect();
        // A bound from below is not known to be small.
        let is_alone = |(_, best): &(usize, Value), next: Option<&(usize, Value)>| {
            let is_ahead = next.map_or(out.len() > 1, |(_, next)| better.is(best.at, next.at));
            is_ahead && !(best.at_least && better == Better::Lower)
        };
        for (n, (at, value)) in ranked.iter().enumerate() {
            let place = 1 + ranked.iter().position(|(_, other)| other.at == value.at).unwrap_or(n);
            ranks[*at] = Some(match (n, &ranked[..]) {
                (0, [first, ..]) if is_alone(first, ranked.get(1)) => Rank::Best,
                (1.., [first, ..]) if self.is_within_noise(first.0, *at, better) => Rank::WithinNoise,
                _ => Rank::Place(place),
            });
        }
        (0..out.len()).filter(|at| out[*at]).for_each(|at| ranks[at] = Some(Rank::Out));
        ranks
    }

    /// True if the first arm was not ahead of this one in every block.
    fn is_within_noise(&self, first: usize, at: usize, better: Better) -> bool {
        let pairs = self.pairs(self.all_series[first], self.all_series[at], self.ranked_by());
        let ahead = pairs.iter().filter(|(best, own)| better.is(own.at, best.at)).count();
        let level = pairs.iter().filter(|(best, own)| own.at == best.at).count();
        pairs.len() > 1 && (ahead > 0 || level == pairs.len())
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
        let one = |value: f64| if points { format!("{value:+.1}") } else { format!("x{value:.2}") };
        let spread = match &effects[..] {
            [first, .., last] => format!(" ({} to {})", one(*first), one(*last)),
            _ => String::new(),
        };
        let unit = if points { " points" } else { "" };
        Some(format!("{}{}{unit}{spread}", if is_bound { "about " } else { "" }, one(*median)))
    }
}
