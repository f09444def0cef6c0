//! The types of parameters, each with its reader, range and default.

use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};

use super::{
    Problem, Setting, Settings,
    time::{parse_time, shown_time},
};
use crate::{Class, flow::FlowKey};

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
    /// A table of numbers by user class, 0 to 9.
    ClassNumbers,
    /// A table of numbers by customer.
    CustomerNumbers,
    /// Numbers by class, customer, level of criticality or the like: another parameter says which.
    FlowNumbers,
    /// Another policy: its name, or its name with settings.
    Part,
}

/// Type, range (both ends allowed) and default of a parameter.
pub trait ParamType {
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

    /// The least and the greatest value, as in [`Param`](super::Param).
    fn bounds(&self) -> Option<[f64; 2]> {
        None
    }

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
pub struct Number {
    min: f64,
    max: f64,
    default: f64,
    unit: &'static str,
}

/// A number within this range (both ends allowed), with this default.
pub const fn number(range: RangeInclusive<f64>, default: f64) -> Number {
    Number { min: *range.start(), max: *range.end(), default, unit: "" }
}

impl Number {
    /// The same in a unit, which files can write: `/s`, `ms`.
    #[must_use]
    pub const fn in_unit(self, unit: &'static str) -> Self {
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

    fn bounds(&self) -> Option<[f64; 2]> {
        Some([self.min, self.max])
    }

    fn default(&self) -> f64 {
        self.default
    }

    fn written_default(&self) -> Result<Setting, &'static str> {
        Ok(self.default.into())
    }

    fn read(&self, setting: &Setting) -> Result<f64, Vec<Problem>> {
        let Self { min, max, unit, .. } = *self;
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
                wrong(format!("{number} is out of range: {min} to {max}{space}{unit}"))
            }
            other => wrong(format!("expected a number, got {other}")),
        }
    }
}

/// A whole number.
#[derive(Debug, Clone, Copy)]
pub struct Count {
    min: u32,
    max: u32,
    default: u32,
}

/// A whole number within this range, with this default.
pub const fn count(range: RangeInclusive<u32>, default: u32) -> Count {
    Count { min: *range.start(), max: *range.end(), default }
}

impl ParamType for Count {
    type Value = u32;
    const KIND: ParamKind = ParamKind::Count;

    fn range(&self) -> String {
        format!("{} to {}, whole", self.min, self.max)
    }

    fn bounds(&self) -> Option<[f64; 2]> {
        Some([self.min.into(), self.max.into()])
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
            other => wrong(format!("expected a whole number, got {other}")),
        }
    }
}

/// A duration.
#[derive(Debug, Clone, Copy)]
pub struct Time {
    min: Duration,
    max: Duration,
    default: Duration,
}

/// A duration within this range, with this default.
pub const fn time(range: RangeInclusive<Duration>, default: Duration) -> Time {
    Time { min: *range.start(), max: *range.end(), default }
}

impl ParamType for Time {
    type Value = Duration;
    const KIND: ParamKind = ParamKind::Time;

    fn range(&self) -> String {
        format!("{} to {}", shown_time(self.min), shown_time(self.max))
    }

    fn bounds(&self) -> Option<[f64; 2]> {
        Some([self.min, self.max].map(|end| end.as_secs_f64()))
    }

    fn default(&self) -> Duration {
        self.default
    }

    fn written_default(&self) -> Result<Setting, &'static str> {
        Ok(Setting::Text(shown_time(self.default)))
    }

    fn read(&self, setting: &Setting) -> Result<Duration, Vec<Problem>> {
        let Self { min, max, .. } = *self;
        let Setting::Text(text) = setting else {
            return wrong(format!("expected a duration with its unit (20ms, 5s, 15m), got {setting}"));
        };
        match parse_time(text) {
            Some(time) if (min..=max).contains(&time) => Ok(time),
            Some(_) => wrong(format!("{text} is out of range: {} to {}", shown_time(min), shown_time(max))),
            None => wrong(format!("{text:?} is not a time: write 20ms, 5s or 15m")),
        }
    }
}

/// A duration that need not be given.
#[derive(Debug, Clone, Copy)]
pub struct OptionalTime {
    time: Time,
    /// The text in place of a default.
    otherwise: &'static str,
}

/// A duration within this range that need not be given; `otherwise` says in words what stands in its place.
pub const fn time_or(range: RangeInclusive<Duration>, otherwise: &'static str) -> OptionalTime {
    OptionalTime { time: time(range, Duration::ZERO), otherwise }
}

impl ParamType for OptionalTime {
    type Value = Option<Duration>;
    const KIND: ParamKind = ParamKind::Time;

    fn range(&self) -> String {
        self.time.range()
    }

    fn bounds(&self) -> Option<[f64; 2]> {
        self.time.bounds()
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

/// Yes or no.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    default: bool,
}

/// Yes or no, with this default.
pub const fn flag(default: bool) -> Flag {
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
            other => wrong(format!("expected true or false, got {other}")),
        }
    }
}

/// One of several words, each with its value.
#[derive(Debug, Clone, Copy)]
pub struct Choice<T: 'static> {
    default: (&'static str, T),
    others: &'static [(&'static str, T)],
}

/// One of several words, each with its value; the first is the default.
pub const fn choice<T: Copy>(default: (&'static str, T), others: &'static [(&'static str, T)]) -> Choice<T> {
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
const TABLE_TIMES: Time = time(ms(1)..=s(3600), Duration::ZERO);

/// Durations by stage name.
pub const STAGE_TIMES: ParamTable<String, Time> = ParamTable { value: TABLE_TIMES, key: |stage| Ok(stage.to_owned()) };

/// Durations by user class.
pub const CLASS_TIMES: ParamTable<Class, Time> = ParamTable { value: TABLE_TIMES, key: user_class };

/// Numbers by user class.
pub const fn class_numbers(range: RangeInclusive<f64>, unit: &'static str) -> ParamTable<Class, Number> {
    ParamTable { value: number(range, 0.0).in_unit(unit), key: user_class }
}

fn user_class(key: &str) -> Result<Class, String> {
    match key.parse() {
        Ok(class @ 0..=9) => Ok(Class(class)),
        _ => Err("expected a user class, 0 to 9".to_owned()),
    }
}

/// Numbers by customer.
pub const fn customer_numbers(range: RangeInclusive<f64>, unit: &'static str) -> ParamTable<u32, Number> {
    ParamTable {
        value: number(range, 0.0).in_unit(unit),
        key: |key| key.parse().map_err(|_| format!("a customer is a whole number from 0 to {}", u32::MAX)),
    }
}

/// Numbers by what another parameter names: class, customer, level of criticality.
pub(crate) const fn flow_numbers(range: RangeInclusive<f64>) -> ParamTable<FlowKey, Number> {
    ParamTable {
        value: number(range, 0.0),
        key: |key| FlowKey::named(key).ok_or_else(|| "expected a number, or a level of criticality".to_owned()),
    }
}

/// Values of one type by keys of another.
#[derive(Debug, Clone, Copy)]
pub struct ParamTable<K, V> {
    value: V,
    key: fn(&str) -> Result<K, String>,
}

/// The kind of a table, an example, and its range in words.
trait TableKind {
    const KIND: ParamKind;
    const EXAMPLE: &str;

    fn range(&self) -> String;
}

impl TableKind for ParamTable<String, Time> {
    const KIND: ParamKind = ParamKind::StageTimes;
    const EXAMPLE: &str = "{search: 5s}";

    fn range(&self) -> String {
        format!("a table of times to {}", shown_time(self.value.max))
    }
}

impl TableKind for ParamTable<Class, Time> {
    const KIND: ParamKind = ParamKind::ClassTimes;
    const EXAMPLE: &str = "{1: 5s}";

    fn range(&self) -> String {
        format!("a table of times to {}", shown_time(self.value.max))
    }
}

impl TableKind for ParamTable<Class, Number> {
    const KIND: ParamKind = ParamKind::ClassNumbers;
    const EXAMPLE: &str = "{1: 10}";

    fn range(&self) -> String {
        format!("a table of numbers by class, {}", self.value.range())
    }
}

impl TableKind for ParamTable<u32, Number> {
    const KIND: ParamKind = ParamKind::CustomerNumbers;
    const EXAMPLE: &str = "{1: 0.5}";

    fn range(&self) -> String {
        format!("a table of numbers by customer, {}", self.value.range())
    }
}

impl TableKind for ParamTable<FlowKey, Number> {
    const KIND: ParamKind = ParamKind::FlowNumbers;
    const EXAMPLE: &str = "{1: 0.8}";

    fn range(&self) -> String {
        format!("a table of numbers, {}", self.value.range())
    }
}

impl<K: Ord, V: ParamType> ParamType for ParamTable<K, V>
where
    Self: TableKind,
{
    type Value = BTreeMap<K, V::Value>;
    const KIND: ParamKind = <Self as TableKind>::KIND;

    fn unit(&self) -> &'static str {
        self.value.unit()
    }

    fn range(&self) -> String {
        TableKind::range(self)
    }

    fn default(&self) -> Self::Value {
        BTreeMap::new()
    }

    fn written_default(&self) -> Result<Setting, &'static str> {
        Ok(Setting::Map(Settings::new()))
    }

    /// Collects every problem.
    fn read(&self, setting: &Setting) -> Result<Self::Value, Vec<Problem>> {
        let Setting::Map(written) = setting else {
            return wrong(format!("expected a table like {}, got {setting}", Self::EXAMPLE));
        };
        let (mut entries, mut problems) = (BTreeMap::new(), Vec::new());
        for (name, setting) in written {
            match (self.key)(name).or_else(wrong).and_then(|key| Ok((key, self.value.read(setting)?))) {
                Ok((key, value)) => drop(entries.insert(key, value)),
                Err(wrong) => {
                    problems.extend(wrong.into_iter().map(|problem| Problem { key: format!(".{name}"), ..problem }));
                }
            }
        }
        if problems.is_empty() { Ok(entries) } else { Err(problems) }
    }
}

/// Microseconds.
pub const fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

/// Milliseconds.
pub const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Seconds.
pub const fn s(n: u64) -> Duration {
    Duration::from_secs(n)
}
