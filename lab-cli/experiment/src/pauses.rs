//! Laws of pauses: `20ms`, `{exponential: 5s}`.

use std::{ops::RangeInclusive, time::Duration};

use controllers::catalogue::parse_time;
use traces::Think;

use super::{
    fields::Fields,
    keys::{Case, DurationText, Either, number, one_of, read_one_of, shapes, table, time},
    raw::Value,
};

/// Pauses that are asked for.
pub(super) const PAUSES: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(3600);
const ANY_TIME: RangeInclusive<Duration> = Duration::ZERO..=Duration::MAX;

table! {
    /// Uniform pauses.
    pub(super) struct UniformKeys as "UniformPauses" {
        min: Option<Duration> = time(PAUSES).wanted("5s"), "The shortest pause";
        max: Option<Duration> = time(PAUSES).wanted("10s"), "The longest pause";
    }

    /// Lognormal pauses.
    pub(super) struct LognormalKeys as "LognormalPauses" {
        median: Option<Duration> = time(PAUSES).wanted("5s"), "The median pause";
        sigma: Option<f64> = number(0.0..=5.0).wanted("1"), "Standard deviation of the logarithm";
    }
}

/// A time with its unit; 0 has none.
pub(super) type ZeroOrTime = Either<DurationText, u8>;

shapes! {
    PauseLaw as "PauseLaw" = |generator| one_of(PAUSE_LAWS, generator);
}

const PAUSE_LAWS: &[Case<Think>] = &[
    Case::new::<DurationText>("constant", "The same pause every time", |fields, key| {
        fields.time(key, ANY_TIME).map(Think::Constant)
    }),
    Case::new::<DurationText>("exponential", "Exponential with this mean", |fields, key| {
        fields.time(key, ANY_TIME).map(|mean| Think::Exponential { mean })
    }),
    Case::new::<UniformKeys>("uniform", "Uniform between `min` and `max`", |fields, key| {
        let UniformKeys { min, max } = fields.table::<UniformKeys>(key)?;
        Some(Think::Uniform { min: min?, max: max? })
    }),
    Case::new::<LognormalKeys>("lognormal", "Lognormal with this median", |fields, key| {
        let LognormalKeys { median, sigma } = fields.table::<LognormalKeys>(key)?;
        Some(Think::Lognormal { median: median?, sigma: sigma? })
    }),
];

/// Reads `20ms`, `{exponential: 5s}`, `{uniform: {min: 5s, max: 10s}}`.
pub(super) fn law(fields: &Fields<'_>, key: &str) -> Option<Think> {
    let node = fields.node(key)?;
    let hint = "write 20ms, {exponential: 5s}, {uniform: {min: 5s, max: 10s}} or {lognormal: {median: 5s, sigma: 1}}";
    let wrong = || fields.wrong(key, format!("expected a law of pauses, got {}", node.value.shown()), hint);
    match &node.value {
        Value::Text(text) => parse_time(text).map(Think::Constant).or_else(wrong),
        Value::Number(number) if *number == 0.0 => Some(Think::Constant(Duration::ZERO)),
        _ => read_one_of(PAUSE_LAWS, fields, key).unwrap_or_else(|()| wrong()),
    }
}
