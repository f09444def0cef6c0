//! The types of parameters, each with its reader, range and default.

use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};

use super::{
    Problem, Setting, Settings,
    time::{parse_time, shown_time},
};
use crate::Class;

/// The type of a parameter, as data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamKind {
    /// A number.
    Number,
    /// A whole number.
    Count,
    /// A duration (`20ms`, `5s`).
    Time,
    /// Yes or no.
    Flag,
    /// One of several words.
    Choice,
    /// A table of durations by stage name. The host knows the stages: see [`super::Factory::stages`].
    StageTimes,
    /// A table of durations by user class, 0 to 9.
    ClassTimes,
    /// A table of numbers by customer.
    CustomerNumbers,
}

/// Type, range (both ends allowed) and default of a parameter.
pub(crate) trait ParamType {
    /// The Rust type of the struct's field.
    type Value;

    /// The tag of this type.
    const KIND: ParamKind;

    /// The unit, `""` for none.
    fn unit(&self) -> &'static str {
        ""
    }

    /// The allowed values, as text.
    fn range(&self) -> String;

    /// The default.
    fn default(&self) -> Self::Value;

    /// The default as a file would give it.
    ///
    /// # Errors
    /// If there is no default: the text in its place.
    fn written_default(&self) -> Result<Setting, &'static str>;

    /// Reads a setting.
    ///
    /// # Errors
    /// A wrong type, or a value out of range. Keys of problems are suffixes of the parameter's key: `""`, or `.search`
    /// in a table.
    fn read(&self, setting: &Setting) -> Result<Self::Value, Vec<Problem>>;
}

fn wrong<T>(message: impl Into<String>) -> Result<T, Vec<Problem>> {
    Err(vec![Problem::new("", message)])
}

/// A number; files can write it with its unit: `12.5/s`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number {
    min: f64,
    max: f64,
    default: f64,
    unit: &'static str,
}

pub(crate) const fn number(range: RangeInclusive<f64>, default: f64) -> Number {
    Number { min: *range.start(), max: *range.end(), default, unit: "" }
}

impl Number {
    pub(crate) const fn in_unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }
}

impl ParamType for Number {
    type Value = f64;
    const KIND: ParamKind = ParamKind::Number;

    fn unit(&self) -> &'static str {
        self.unit
    }

    fn range(&self) -> String {
        format!("{} to {}", self.min, self.max)
    }

    fn default(&self) -> f64 {
        self.default
    }

    fn written_default(&self) -> Result<Setting, &'static str> {
        Ok(self.default.into())
    }

    fn read(&self, setting: &Setting) -> Result<f64, Vec<Problem>> {
        number_within(setting, self.min, self.max, self.unit).or_else(wrong)
    }
}

fn number_within(setting: &Setting, min: f64, max: f64, unit: &str) -> Result<f64, String> {
    let bare = match setting {
        Setting::Text(text) if !unit.is_empty() => {
            text.strip_suffix(unit).and_then(|text| text.trim_end().parse().ok()).map(Setting::Number)
        }
        _ => None,
    };
    match bare.as_ref().unwrap_or(setting) {
        Setting::Number(number) if (min..=max).contains(number) => Ok(*number),
        Setting::Number(number) => {
            let space = if unit.is_empty() { "" } else { " " };
            Err(format!("{number} is out of range: {min} to {max}{space}{unit}"))
        }
        other => Err(format!("a number is wanted here, not {other}")),
    }
}

/// A whole number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Count {
    min: u32,
    max: u32,
    default: u32,
}

pub(crate) const fn count(range: RangeInclusive<u32>, default: u32) -> Count {
    Count { min: *range.start(), max: *range.end(), default }
}

impl ParamType for Count {
    type Value = u32;
    const KIND: ParamKind = ParamKind::Count;

    fn range(&self) -> String {
        format!("{} to {}, whole", self.min, self.max)
    }

    fn default(&self) -> u32 {
        self.default
    }

    fn written_default(&self) -> Result<Setting, &'static str> {
        Ok(self.default.into())
    }

    fn read(&self, setting: &Setting) -> Result<u32, Vec<Problem>> {
        let Self { min, max, .. } = self;
        match setting {
            Setting::Number(number)
                if number.fract() == 0.0 && (f64::from(*min)..=f64::from(*max)).contains(number) =>
            {
                Ok(*number as u32)
            }
            Setting::Number(number) => wrong(format!("{number} is not a whole number from {min} to {max}")),
            other => wrong(format!("a whole number is wanted here, not {other}")),
        }
    }
}

/// A duration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Time {
    min: Duration,
    max: Duration,
    default: Duration,
}

pub(crate) const fn time(range: RangeInclusive<Duration>, default: Duration) -> Time {
    Time { min: *range.start(), max: *range.end(), default }
}

impl ParamType for Time {
    type Value = Duration;
    const KIND: ParamKind = ParamKind::Time;

    fn range(&self) -> String {
        format!("{} to {}", shown_time(self.min), shown_time(self.max))
    }

    fn default(&self) -> Duration {
        self.default
    }

    fn written_default(&self) -> Result<Setting, &'static str> {
        Ok(Setting::Text(shown_time(self.default)))
    }

    fn read(&self, setting: &Setting) -> Result<Duration, Vec<Problem>> {
        time_within(setting, self.min, self.max).or_else(wrong)
    }
}

/// A duration that need not be given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OptionalTime {
    time: Time,
    /// The text in place of a default.
    otherwise: &'static str,
}

pub(crate) const fn time_or(range: RangeInclusive<Duration>, otherwise: &'static str) -> OptionalTime {
    OptionalTime { time: time(range, Duration::ZERO), otherwise }
}

impl ParamType for OptionalTime {
    type Value = Option<Duration>;
    const KIND: ParamKind = ParamKind::Time;

    fn range(&self) -> String {
        self.time.range()
    }

    fn default(&self) -> Option<Duration> {
        None
    }

    fn written_default(&self) -> Result<Setting, &'static str> {
        Err(self.otherwise)
    }

    fn read(&self, setting: &Setting) -> Result<Option<Duration>, Vec<Problem>> {
        self.time.read(setting).map(Some)
    }
}

fn time_within(setting: &Setting, min: Duration, max: Duration) -> Result<Duration, String> {
    let Setting::Text(text) = setting else {
        return Err(format!("a time with its unit is wanted here (20ms, 5s, 15m), not {setting}"));
    };
    let time = parse_time(text).ok_or_else(|| format!("{text:?} is not a time: write 20ms, 5s or 15m"))?;
    if time < min || time > max {
        return Err(format!("{text} is out of range: {} to {}", shown_time(min), shown_time(max)));
    }
    Ok(time)
}

/// Yes or no.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flag {
    default: bool,
}

pub(crate) const fn flag(default: bool) -> Flag {
    Flag { default }
}

impl ParamType for Flag {
    type Value = bool;
    const KIND: ParamKind = ParamKind::Flag;

    fn range(&self) -> String {
        "true, false".to_owned()
    }

    fn default(&self) -> bool {
        self.default
    }

    fn written_default(&self) -> Result<Setting, &'static str> {
        Ok(self.default.into())
    }

    fn read(&self, setting: &Setting) -> Result<bool, Vec<Problem>> {
        match setting {
            Setting::Flag(flag) => Ok(*flag),
            other => wrong(format!("true or false is wanted here, not {other}")),
        }
    }
}

/// One of several words, each with its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choice<T: 'static> {
    default: (&'static str, T),
    others: &'static [(&'static str, T)],
}

pub(crate) const fn choice<T: Copy>(default: (&'static str, T), others: &'static [(&'static str, T)]) -> Choice<T> {
    Choice { default, others }
}

impl<T: Copy> Choice<T> {
    fn all(&self) -> impl Iterator<Item = (&'static str, T)> {
        std::iter::once(self.default).chain(self.others.iter().copied())
    }
}

impl<T: Copy> ParamType for Choice<T> {
    type Value = T;
    const KIND: ParamKind = ParamKind::Choice;

    fn range(&self) -> String {
        self.all().map(|(word, _)| word).collect::<Vec<_>>().join(", ")
    }

    fn default(&self) -> T {
        self.default.1
    }

    fn written_default(&self) -> Result<Setting, &'static str> {
        Ok(self.default.0.into())
    }

    fn read(&self, setting: &Setting) -> Result<T, Vec<Problem>> {
        let found = match setting {
            Setting::Text(text) => self.all().find(|(word, _)| word == text),
            _ => None,
        };
        found.map_or_else(|| wrong(format!("{setting} is not one of: {}", self.range())), |(_, value)| Ok(value))
    }
}

/// The range of durations in tables.
const TABLE_TIMES: RangeInclusive<Duration> = ms(1)..=s(3600);

fn time_in_table(setting: &Setting) -> Result<Duration, String> {
    time_within(setting, *TABLE_TIMES.start(), *TABLE_TIMES.end())
}

/// Durations by stage name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StageTimes;

impl ParamType for StageTimes {
    type Value = BTreeMap<String, Duration>;
    const KIND: ParamKind = ParamKind::StageTimes;

    fn range(&self) -> String {
        format!("a table of times to {}", shown_time(*TABLE_TIMES.end()))
    }

    fn default(&self) -> Self::Value {
        BTreeMap::new()
    }

    fn written_default(&self) -> Result<Setting, &'static str> {
        Ok(Setting::Map(Settings::new()))
    }

    fn read(&self, setting: &Setting) -> Result<Self::Value, Vec<Problem>> {
        table(setting, "{search: 5s}", |stage| Ok(stage.to_owned()), time_in_table)
    }
}

/// Durations by user class.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClassTimes;

impl ParamType for ClassTimes {
    type Value = BTreeMap<Class, Duration>;
    const KIND: ParamKind = ParamKind::ClassTimes;

    fn range(&self) -> String {
        StageTimes.range()
    }

    fn default(&self) -> Self::Value {
        BTreeMap::new()
    }

    fn written_default(&self) -> Result<Setting, &'static str> {
        StageTimes.written_default()
    }

    fn read(&self, setting: &Setting) -> Result<Self::Value, Vec<Problem>> {
        let class = |key: &str| match key.parse() {
            Ok(class @ 0..=9) => Ok(Class(class)),
            _ => Err("a user class is wanted here, 0 to 9".to_owned()),
        };
        table(setting, "{1: 5s}", class, time_in_table)
    }
}

/// Numbers by customer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CustomerNumbers {
    number: Number,
}

pub(crate) const fn customer_numbers(range: RangeInclusive<f64>, unit: &'static str) -> CustomerNumbers {
    CustomerNumbers { number: number(range, 0.0).in_unit(unit) }
}

impl ParamType for CustomerNumbers {
    type Value = BTreeMap<u32, f64>;
    const KIND: ParamKind = ParamKind::CustomerNumbers;

    fn unit(&self) -> &'static str {
        self.number.unit
    }

    fn range(&self) -> String {
        format!("a table of numbers by customer, {}", self.number.range())
    }

    fn default(&self) -> Self::Value {
        BTreeMap::new()
    }

    fn written_default(&self) -> Result<Setting, &'static str> {
        StageTimes.written_default()
    }

    fn read(&self, setting: &Setting) -> Result<Self::Value, Vec<Problem>> {
        let Number { min, max, unit, .. } = self.number;
        let customer =
            |key: &str| key.parse().map_err(|_| format!("a customer is a whole number from 0 to {}", u32::MAX));
        table(setting, "{1: 0.5}", customer, |value| number_within(value, min, max, unit))
    }
}

/// Reads a table and collects every problem.
fn table<K: Ord, V>(
    setting: &Setting,
    example: &str,
    key: impl Fn(&str) -> Result<K, String>,
    value: impl Fn(&Setting) -> Result<V, String>,
) -> Result<BTreeMap<K, V>, Vec<Problem>> {
    let Setting::Map(written) = setting else {
        return wrong(format!("a table like {example} is wanted here, not {setting}"));
    };
    let (mut entries, mut problems) = (BTreeMap::new(), Vec::new());
    for (name, setting) in written {
        match key(name).and_then(|key| Ok((key, value(setting)?))) {
            Ok((key, value)) => drop(entries.insert(key, value)),
            Err(message) => problems.push(Problem::new(format!(".{name}"), message)),
        }
    }
    if problems.is_empty() { Ok(entries) } else { Err(problems) }
}

/// Microseconds.
pub(crate) const fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

/// Milliseconds.
pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Seconds.
pub(crate) const fn s(n: u64) -> Duration {
    Duration::from_secs(n)
}
