//! The distance of a figure from what its paper prints: a figure of merit.

use serde::{Deserialize, Serialize};

use crate::{
    chart::{Chart, ChartLine, ChartPanel, PaperNumber, Point},
    series::value::Value,
    text::{counted, digits, table::Table},
};

/// Values of a paper that lie closer together than this share are not in an order.
const APART: f64 = 0.1;

/// Distance of a figure from the paper's numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Merit {
    /// Each number of the paper, beside ours.
    pub numbers: Vec<PaperNumber>,
    /// Median of |ours - paper| / paper. `None`: of half of them ours is not known, or the paper has 0 and ours is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_distance: Option<f64>,
    /// Pairs of numbers of one panel, over 10 % apart in the paper.
    pub pairs: usize,
    /// Pairs among them in the same order here.
    pub ordered_alike: usize,
}

/// |ours - paper| / paper; infinite where it is not known, or where the paper has 0 and ours is not.
fn distance(of: &PaperNumber) -> f64 {
    match of.ours {
        Some(ours) if ours.at == of.paper && !ours.at_least => 0.0,
        // A bound under the paper's number may lie anywhere.
        Some(ours) if !ours.at_least || ours.at >= of.paper => (ours.at - of.paper).abs() / of.paper.abs(),
        _ => f64::INFINITY,
    }
}

impl Merit {
    /// Merit of a figure; `None` if its paper has no number to hold it against.
    #[must_use]
    pub fn of(figure: &Chart) -> Option<Self> {
        let panels: Vec<Vec<PaperNumber>> = figure.panels.iter().map(|panel| beside(figure, panel)).collect();
        let mut distances: Vec<f64> = panels.iter().flatten().map(distance).collect();
        distances.sort_by(f64::total_cmp);
        // Of an even number the greater one in the middle.
        let median = *distances.get(distances.len() / 2)?;
        let (pairs, ordered_alike) =
            panels.iter().map(|panel| orders(panel)).fold((0, 0), |(all, alike), of| (all + of.0, alike + of.1));
        let median_distance = Some(median).filter(|distance| distance.is_finite());
        Some(Self { numbers: panels.into_iter().flatten().collect(), median_distance, pairs, ordered_alike })
    }

    /// Panel, number, the paper's and ours.
    #[must_use]
    pub fn table(&self) -> Table {
        let mut table = Table::new(&["", "number", "paper", "here"], 2..4);
        for PaperNumber { panel, name, paper, ours } in &self.numbers {
            let ours = ours.map_or_else(|| "not known".to_owned(), |ours| ours.shown(digits));
            table.row([panel.clone(), name.clone(), digits(*paper), ours]);
        }
        table
    }

    /// `28 numbers of the paper: half within 42 %; 61 of 78 pairs in the same order`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let within = match self.median_distance {
            Some(distance) => format!("half within {:.0} %", distance * 100.0),
            None => "half are not near, or not known".to_owned(),
        };
        let order = match self.pairs {
            0 => String::new(),
            pairs => format!("; {} of {} in the same order", self.ordered_alike, counted(pairs, "pair")),
        };
        format!("{} of the paper: {within}{order}", counted(self.numbers.len(), "number"))
    }
}

/// Every number of the paper in a panel, beside ours.
fn beside(figure: &Chart, panel: &ChartPanel) -> Vec<PaperNumber> {
    let groups = figure.across.scale.groups();
    let of_curve = |curve: &ChartLine| -> Vec<PaperNumber> {
        let same = |line: &&ChartLine| !line.paper && !line.fitted && line.colour == curve.colour;
        let Some(line) = curve.colour.and_then(|_| panel.lines.iter().find(same)) else { return Vec::new() };
        let one = |(at, paper): &Point| {
            let place = groups.get(*at as usize).cloned().unwrap_or_else(|| at.to_string());
            let (panel, name) = (panel.with_unit(), format!("{} at {place}", curve.name));
            Some(PaperNumber { panel, name, paper: (*paper)?.at, ours: value_at(line, *at) })
        };
        curve.points.iter().filter_map(one).collect()
    };
    let curves = panel.lines.iter().filter(|line| line.paper).flat_map(of_curve);
    curves.chain(panel.printed.iter().cloned()).collect()
}

/// Ours at a place: on the straight line between the points beside it.
fn value_at(line: &ChartLine, at: f64) -> Option<Value> {
    let known = || line.points.iter().filter_map(|(x, value)| Some((*x, (*value)?)));
    let left = known().filter(|(x, _)| *x <= at).max_by(|a, b| a.0.total_cmp(&b.0));
    let right = known().filter(|(x, _)| *x >= at).min_by(|a, b| a.0.total_cmp(&b.0));
    match (left?, right?) {
        ((from, value), (to, _)) if from == to => Some(value),
        ((from, low), (to, high)) => {
            let share = (at - from) / (to - from);
            Some(Value { at: low.at + (high.at - low.at) * share, at_least: low.at_least || high.at_least })
        }
    }
}

/// Pairs that the paper has in an order, and those that ours are in the same.
fn orders(panel: &[PaperNumber]) -> (usize, usize) {
    let (mut pairs, mut alike) = (0, 0);
    for (n, one) in panel.iter().enumerate() {
        for other in &panel[n + 1..] {
            let apart = (one.paper - other.paper).abs();
            if apart <= APART * one.paper.abs().max(other.paper.abs()) {
                continue;
            }
            pairs += 1;
            let rises = |low: f64, high: f64| low < high;
            let ours = one.ours.zip(other.ours).is_some_and(|(ours, others)| {
                // A bound is certainly above what it exceeds, and nothing else is known of it.
                let (low, high) = if rises(one.paper, other.paper) { (ours, others) } else { (others, ours) };
                !low.at_least && rises(low.at, high.at)
            });
            alike += usize::from(ours);
        }
    }
    (pairs, alike)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{ChartAxis, Scale};

    fn line(colour: usize, paper: bool, points: &[(f64, f64)]) -> ChartLine {
        let points = points.iter().map(|(x, y)| (*x, Some(Value::known(*y)))).collect();
        ChartLine { name: format!("{colour}"), colour: Some(colour), paper, points, ..ChartLine::default() }
    }

    fn figure(panels: Vec<ChartPanel>) -> Chart {
        let across = ChartAxis { scale: Scale::Linear([0.0, 4.0]), ..ChartAxis::default() };
        Chart { across, panels, ..Chart::default() }
    }

    fn merit(lines: Vec<ChartLine>, printed: Vec<PaperNumber>) -> Option<Merit> {
        Merit::of(&figure(vec![ChartPanel { lines, printed, ..ChartPanel::default() }]))
    }

    #[test]
    fn it_is_the_median_of_relative_distances_between_our_points_too() {
        let ours = line(0, false, &[(0.0, 1.0), (2.0, 3.0), (4.0, 3.0)]);
        // At 1 ours is 2, at 2 it is 3, at 4 it is 3: 0, 0.25 and 0.5 away.
        let paper = line(0, true, &[(1.0, 2.0), (2.0, 4.0), (4.0, 6.0)]);
        let found = merit(vec![ours, paper], Vec::new()).expect("three numbers");
        assert_eq!((found.numbers.len(), found.median_distance), (3, Some(0.25)));
        // Of the three pairs 4 and 6 are in no order of ours.
        assert_eq!((found.pairs, found.ordered_alike), (3, 2));
        assert_eq!(found.in_words(), "3 numbers of the paper: half within 25 %; 2 of 3 pairs in the same order");
    }

    #[test]
    fn what_is_not_known_is_far_and_in_no_order() {
        let beside = |paper: f64, ours: Option<Value>| PaperNumber { paper, ours, ..PaperNumber::default() };
        let bound = Value { at: 5.0, at_least: true };
        let printed = vec![beside(1.0, None), beside(10.0, Some(bound)), beside(0.0, Some(Value::known(0.0)))];
        let found = merit(Vec::new(), printed).expect("three numbers");
        assert_eq!((found.median_distance, found.pairs, found.ordered_alike), (None, 3, 1));
        assert_eq!(distance(&beside(4.0, Some(bound))), 0.25, "at least so far");
        assert_eq!(distance(&beside(0.0, Some(Value::known(0.1)))), f64::INFINITY);
        assert_eq!(merit(vec![line(0, false, &[(1.0, 1.0)])], Vec::new()), None, "the paper has no number");
    }
}
