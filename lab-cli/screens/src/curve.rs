//! Goodput and response times of an arm over time, as far as they are kept once it is over.

use analysis::{live::TimelineSecond, series::value::Value};

use super::column::Column;

/// A second, as a curve keeps it.
#[derive(Debug, Clone, Copy)]
struct CurvePoint {
    second: u32,
    goodput: f64,
    /// The 50th, 90th and 99th percentile.
    times: [Option<Value>; 3],
}

/// An arm beside the one that runs.
#[derive(Debug, Clone, Default)]
pub(super) struct ArmCurve {
    pub name: String,
    points: Vec<CurvePoint>,
}

impl ArmCurve {
    pub fn of<'a>(name: &str, seconds: impl IntoIterator<Item = &'a TimelineSecond>) -> Self {
        let point = |second: &TimelineSecond| CurvePoint {
            second: second.second,
            goodput: second.served as f64,
            times: [Column::P50, Column::P90, Column::P99].map(|percentile| percentile.at(second)),
        };
        Self { name: name.to_owned(), points: seconds.into_iter().map(point).collect() }
    }

    /// A figure over time, up to a second.
    pub fn of_column(&self, column: Column, until: u32) -> Vec<(f64, Option<Value>)> {
        let read = |point: &CurvePoint| match column {
            Column::P50 => point.times[0],
            Column::P90 => point.times[1],
            Column::P99 => point.times[2],
            _ => Some(Value::known(point.goodput)),
        };
        let shown = self.points.iter().take_while(|point| point.second <= until);
        shown.map(|point| (f64::from(point.second) + 0.5, read(point))).collect()
    }
}
