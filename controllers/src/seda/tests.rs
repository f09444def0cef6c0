//! The controllers against numbers worked by hand, and in a closed loop.

mod classes;
mod degrading;
mod older;
mod order;
mod pressure;
mod response_time;
mod series;

use crate::{Settings, catalogue::Setting, testing::settings};

/// Settings under which every response time is a run of its own, and is the estimate.
fn each_sample_counts<'a>(pairs: impl IntoIterator<Item = (&'a str, Setting)>) -> Settings {
    let each =
        settings([("samples", 1_u32.into()), ("smoothing", 0.0.into()), ("estimate_from", "first-sample".into())]);
    each.into_iter().chain(settings(pairs)).collect()
}

#[track_caller]
fn assert_close(left: Option<f64>, right: f64) {
    let left = left.expect("there is such a gauge");
    assert!((left - right).abs() < 1e-6, "{left} is not {right}");
}
