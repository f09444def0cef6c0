//! Goodput and response times of an arm over time, as far as they are kept once it is over.

use analysis::{chart::Point, live::TimelineSecond, series::value::Value};

use super::column::Column;

/// Figures that a curve keeps of each second; the first stands for all others.
const KEPT: [Column; 4] = [Column::Goodput, Column::P50, Column::P90, Column::P99];

/// An arm beside the one that runs.
#[derive(Debug, Clone, Default)]
pub(super) struct ArmCurve {
    pub name: String,
    points: Vec<(u32, [Option<Value>; KEPT.len()])>,
}

impl ArmCurve {
    pub fn of<'a>(name: &str, seconds: impl IntoIterator<Item = &'a TimelineSecond>) -> Self {
        let point = |second: &TimelineSecond| (second.second, KEPT.map(|column| column.at(second)));
        Self { name: name.to_owned(), points: seconds.into_iter().map(point).collect() }
    }

    /// A figure over time, up to a second.
    pub fn of_column(&self, column: Column, until: u32) -> Vec<Point> {
        let at = KEPT.iter().position(|kept| *kept == column).unwrap_or(0);
        let shown = self.points.iter().take_while(|(second, _)| *second <= until);
        shown.map(|(second, values)| (f64::from(*second) + 0.5, values[at])).collect()
    }
}
