//! Parameters: declared once, from which keys, help, defaults, ranges and checks all follow.

use std::{collections::BTreeMap, time::Duration};

use super::{Problem, Setting, Settings};

/// One parameter of a policy.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// The key in files.
    pub name: &'static str,
    /// What it does, one line, with its unit.
    pub about: &'static str,
    /// Type, range and default.
    pub kind: ParamKind,
    /// The symbol and place in the source (`adj_d, USITS'03 fig. 4`), or why we chose the default.
    pub source: &'static str,
}

/// Parameters of several mechanisms in one table of `N`.
pub(crate) const fn joined<const N: usize>(parts: &[&[Param]]) -> [Param; N] {
    const EMPTY: Param = Param { name: "", about: "", kind: ParamKind::Flag { default: false }, source: "" };
    let mut all = [EMPTY; N];
    let (mut n, mut part) = (0, 0);
    while part < parts.len() {
        let mut i = 0;
        while i < parts[part].len() {
            all[n] = parts[part][i];
            n += 1;
            i += 1;
        }
        part += 1;
    }
    assert!(n == N, "the table has as many places as there are parameters");
    all
}

/// Type, range (both ends allowed) and default of a parameter.
#[derive(Debug, Clone, Copy)]
pub enum ParamKind {
    /// A number.
    Number {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
        /// Default.
        default: f64,
        /// Unit, `""` for none.
        unit: &'static str,
    },
    /// A whole number.
    Count {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
        /// Default.
        default: u64,
    },
    /// A duration (`20ms`, `5s`).
    Time {
        /// Smallest.
        min: Duration,
        /// Largest.
        max: Duration,
        /// Default; `None`: taken from the run's objective.
        default: Option<Duration>,
    },
    /// Yes or no.
    Flag {
        /// Default.
        default: bool,
    },
    /// One of a few words.
    Choice {
        /// The words; the first is the default.
        words: &'static [&'static str],
    },
    /// A table of durations, empty by default.
    Times {
        /// What its keys are.
        by: TimesBy,
    },
    /// A table of numbers by customer, empty by default.
    Customers {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
        /// Unit, `""` for none.
        unit: &'static str,
    },
}

/// What the keys of a table of durations are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimesBy {
    /// Names of stages. The host knows them: see [`Values::stages`].
    Stage,
    /// User classes, 0 to 9.
    Class,
}

/// Checked values: every declared parameter has one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Values {
    numbers: BTreeMap<&'static str, f64>,
    counts: BTreeMap<&'static str, u64>,
    times: BTreeMap<&'static str, Option<Duration>>,
    flags: BTreeMap<&'static str, bool>,
    words: BTreeMap<&'static str, &'static str>,
    maps: BTreeMap<&'static str, BTreeMap<String, Duration>>,
    stages: Vec<(&'static str, String)>,
    customers: BTreeMap<&'static str, BTreeMap<u32, f64>>,
}

impl Values {
    /// Checks what was written against what is declared.
    ///
    /// # Errors
    /// Every problem at once: unknown keys (with a suggestion), wrong types, values out of range.
    pub fn check(params: &'static [Param], settings: &Settings) -> Result<Self, Vec<Problem>> {
        let mut values = Self::default();
        let mut problems = Vec::new();
        for key in settings.keys() {
            if !params.iter().any(|param| param.name == key) {
                problems.push(unknown(key, params));
            }
        }
        for param in params {
            if let Err(found) = values.take(param, settings.get(param.name)) {
                problems.extend(found);
            }
        }
        if problems.is_empty() { Ok(values) } else { Err(problems) }
    }

    /// A declared number. Panics if it was not declared: a bug in the entry, caught by the catalogue's tests.
    #[must_use]
    pub fn number(&self, name: &str) -> f64 {
        self.numbers[name]
    }

    /// A declared count.
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        self.counts[name]
    }

    /// A declared duration, or `otherwise` where none was given and none is the default.
    #[must_use]
    pub fn time_or(&self, name: &str, otherwise: Duration) -> Duration {
        self.times[name].unwrap_or(otherwise)
    }

    /// A declared duration that has a default.
    #[must_use]
    pub fn time(&self, name: &str) -> Duration {
        self.times[name].unwrap_or_default()
    }

    /// A declared flag.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        self.flags[name]
    }

    /// A declared choice.
    #[must_use]
    pub fn word(&self, name: &str) -> &'static str {
        self.words[name]
    }

    /// A declared table of durations by name.
    #[must_use]
    pub fn times(&self, name: &str) -> &BTreeMap<String, Duration> {
        &self.maps[name]
    }

    /// A declared table of numbers by customer.
    #[must_use]
    pub fn customers(&self, name: &str) -> &BTreeMap<u32, f64> {
        &self.customers[name]
    }

    /// Stages that were named, each with its parameter, for a host that knows whether there are such stages.
    pub fn stages(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.stages.iter().map(|(param, stage)| (*param, stage.as_str()))
    }

    fn take(&mut self, param: &Param, setting: Option<&Setting>) -> Result<(), Vec<Problem>> {
        let problem = |message: String| vec![Problem { key: param.name.to_owned(), message }];
        match param.kind {
            ParamKind::Number { min, max, default, unit } => {
                let number = match setting {
                    None => default,
                    Some(setting) => number_within(setting, min, max, unit).map_err(problem)?,
                };
                self.numbers.insert(param.name, number);
            }
            ParamKind::Count { min, max, default } => {
                let count = match setting {
                    None => default,
                    Some(Setting::Number(number))
                        if number.fract() == 0.0 && (min as f64..=max as f64).contains(number) =>
                    {
                        *number as u64
                    }
                    Some(Setting::Number(number)) => {
                        return Err(problem(format!("{number} is not a whole number from {min} to {max}")));
                    }
                    Some(other) => return Err(problem(format!("a whole number is wanted here, not {}", shown(other)))),
                };
                self.counts.insert(param.name, count);
            }
            ParamKind::Time { min, max, default } => {
                let time = match setting {
                    None => default,
                    Some(setting) => Some(time_within(setting, min, max).map_err(problem)?),
                };
                self.times.insert(param.name, time);
            }
            ParamKind::Flag { default } => {
                let flag = match setting {
                    None => default,
                    Some(Setting::Flag(flag)) => *flag,
                    Some(other) => return Err(problem(format!("true or false is wanted here, not {}", shown(other)))),
                };
                self.flags.insert(param.name, flag);
            }
            ParamKind::Choice { words } => {
                let word = match setting {
                    None => words[0],
                    Some(Setting::Text(text)) => match words.iter().find(|word| *word == text) {
                        Some(word) => word,
                        None => return Err(problem(format!("{text:?} is not one of: {}", words.join(", ")))),
                    },
                    Some(other) => {
                        return Err(problem(format!("{} is not one of: {}", shown(other), words.join(", "))));
                    }
                };
                self.words.insert(param.name, word);
            }
            ParamKind::Times { by } => {
                let mut times = BTreeMap::new();
                let mut problems = Vec::new();
                match setting {
                    None => {}
                    Some(Setting::Map(map)) => {
                        for (key, value) in map {
                            let class = key.parse::<u8>().ok().filter(|class| *class <= 9);
                            if by == TimesBy::Class && class.is_none() {
                                let message = "a user class is wanted here, 0 to 9".to_owned();
                                problems.push(Problem { key: format!("{}.{key}", param.name), message });
                                continue;
                            }
                            match time_within(value, Duration::from_millis(1), Duration::from_secs(3600)) {
                                Ok(time) => drop(times.insert(key.clone(), time)),
                                Err(message) => {
                                    problems.push(Problem { key: format!("{}.{key}", param.name), message });
                                }
                            }
                        }
                    }
                    Some(other) => {
                        return Err(problem(format!(
                            "a table like {{{}: 5s}} is wanted here, not {}",
                            if by == TimesBy::Class { "1" } else { "search" },
                            shown(other)
                        )));
                    }
                }
                if !problems.is_empty() {
                    return Err(problems);
                }
                if by == TimesBy::Stage {
                    self.stages.extend(times.keys().map(|stage| (param.name, stage.clone())));
                }
                self.maps.insert(param.name, times);
            }
            ParamKind::Customers { min, max, unit } => {
                let written = match setting {
                    None => &Settings::new(),
                    Some(Setting::Map(map)) => map,
                    Some(other) => {
                        return Err(problem(format!("a table like {{1: 0.5}} is wanted here, not {}", shown(other))));
                    }
                };
                let mut problems = Vec::new();
                let mut numbers = BTreeMap::new();
                for (key, value) in written {
                    let mut wrong = |message| {
                        problems.push(Problem { key: format!("{}.{key}", param.name), message });
                    };
                    let Ok(customer) = key.parse() else {
                        wrong(format!("a customer is a whole number from 0 to {}", u32::MAX));
                        continue;
                    };
                    match number_within(value, min, max, unit) {
                        Ok(number) => drop(numbers.insert(customer, number)),
                        Err(message) => wrong(message),
                    }
                }
                if !problems.is_empty() {
                    return Err(problems);
                }
                self.customers.insert(param.name, numbers);
            }
        }
        Ok(())
    }
}

/// A number, which may carry its parameter's unit: `12.5/s`.
fn number_within(setting: &Setting, min: f64, max: f64, unit: &str) -> Result<f64, String> {
    let bare = match setting {
        Setting::Text(text) if !unit.is_empty() => {
            text.strip_suffix(unit).and_then(|text| text.trim_end().parse().ok()).map(Setting::Number)
        }
        _ => None,
    };
    match bare.as_ref().unwrap_or(setting) {
        Setting::Number(number) if (min..=max).contains(number) => Ok(*number),
        Setting::Number(number) => Err(format!("{number} is out of range: {min} to {max}{}", spaced(unit))),
        other => Err(format!("a number is wanted here, not {}", shown(other))),
    }
}

fn time_within(setting: &Setting, min: Duration, max: Duration) -> Result<Duration, String> {
    let Setting::Text(text) = setting else {
        return Err(format!("a time with its unit is wanted here (20ms, 5s, 15m), not {}", shown(setting)));
    };
    let time = parse_time(text).ok_or_else(|| format!("{text:?} is not a time: write 20ms, 5s or 15m"))?;
    if time < min || time > max {
        return Err(format!("{text} is out of range: {} to {}", shown_time(min), shown_time(max)));
    }
    Ok(time)
}

/// Reads a time as it is written in files and flags: a number and one of `us`, `ms`, `s`, `m`, `h`.
#[must_use]
pub fn parse_time(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim_start() {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number * unit).ok()
}

/// A time as a person would write it.
pub(super) fn shown_time(time: Duration) -> String {
    let micros = time.as_micros();
    let (unit, name) = [(3_600_000_000, "h"), (60_000_000, "m"), (1_000_000, "s"), (1000, "ms")]
        .into_iter()
        .find(|(unit, _)| micros > 0 && micros.is_multiple_of(*unit))
        .unwrap_or((1, "us"));
    format!("{}{name}", micros / unit)
}

fn unknown(key: &str, params: &[Param]) -> Problem {
    let known: Vec<_> = params.iter().map(|param| param.name).collect();
    let message = match nearest(key, &known) {
        Some(near) => format!("there is no such parameter; did you mean {near}?"),
        None if known.is_empty() => "this policy has no parameters".to_owned(),
        None => format!("there is no such parameter; there are: {}", known.join(", ")),
    };
    Problem { key: key.to_owned(), message }
}

/// The known word that differs from `word` in the fewest letters, if in few enough to be a slip.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    known.iter().map(|k| (edits(word, k), *k)).filter(|(d, k)| *d <= 1 + k.len() / 4).min().map(|(_, k)| k)
}

fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let best = (corner + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            corner = row[j + 1];
            row[j + 1] = best;
        }
    }
    row[b.len()]
}

pub(super) fn shown(setting: &Setting) -> String {
    match setting {
        Setting::Flag(flag) => flag.to_string(),
        Setting::Number(number) => number.to_string(),
        Setting::Text(text) => format!("{text:?}"),
        Setting::Map(_) => "a table".to_owned(),
    }
}

fn spaced(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" {unit}") }
}
