//! `limit_min=2..50`: a range of values, and the grid over it.

use controllers::catalogue::parse_time;
use serde::Serialize;

/// The ratio of its ends from which a range is gone through by factors instead of differences.
const WIDE: f64 = 20.0;
/// Digits of a value that is no whole number: more make no difference to a policy, and cannot be read.
const DIGITS: i32 = 4;

/// The values between two ends, and how each is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// The least; of times, in seconds.
    pub from: f64,
    /// The greatest.
    pub to: f64,
    /// Whole numbers alone.
    pub whole: bool,
    /// The unit behind a value's number; `None`: it is a time.
    suffix: Option<String>,
}

/// A key and the values that it is set to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grid {
    /// The key that is set.
    pub key: String,
    /// Its values, as written.
    pub values: Vec<String>,
    /// The same as numbers; times in seconds.
    #[serde(skip)]
    pub at: Vec<f64>,
    /// The axis is logarithmic: values go by factors.
    pub log: bool,
}

/// Reads `KEY=A..B`: the key and the range; `None`: it sets a single value.
///
/// # Errors
/// It has two ends, and is no range.
pub fn spread(assignment: &str) -> Result<Option<(String, Spread)>, String> {
    let Some((key, value)) = assignment.split_once('=') else { return Ok(None) };
    let Some((from, to)) = value.split_once("..") else { return Ok(None) };
    let bad =
        |why: &str| format!("--set {assignment}: {why}; write a range as 2..50, 0.1..0.9, 10ms..2s or 50/s..200/s");
    let [(from, of_from), (to, of_to)] = match [end(from), end(to)] {
        [Some(from), Some(to)] => [from, to],
        // A path, or another text with dots in it.
        [None, None] => return Ok(None),
        _ => return Err(bad("its ends are no numbers")),
    };
    // `10..50ms` is meant as it would be read aloud.
    let is_same = of_from == of_to;
    let spread = match (parse_time(&format!("1{of_from}")), parse_time(&format!("1{of_to}"))) {
        (Some(a), Some(b)) => {
            let (from, to) = (from * a.as_secs_f64(), to * b.as_secs_f64());
            Spread { from, to, whole: false, suffix: None }
        }
        _ if is_same => {
            let whole = of_from.is_empty() && !value.replace("..", " ").contains('.');
            Spread { from, to, whole, suffix: Some(of_to) }
        }
        _ => return Err(bad("its ends have different units")),
    };
    let is_range = spread.from < spread.to && spread.to.is_finite();
    if is_range { Ok(Some((key.to_owned(), spread))) } else { Err(bad("the first end must be less than the second")) }
}

/// A number and what stands behind it.
fn end(text: &str) -> Option<(f64, String)> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    Some((number, text[digits..].trim().to_owned()))
}

impl Spread {
    /// Makes a range of numbers without a suffix.
    pub fn of_numbers(from: f64, to: f64, whole: bool) -> Self {
        Self { from, to, whole, suffix: Some(String::new()) }
    }

    /// Makes a range of times, in seconds.
    pub fn of_times(from: f64, to: f64) -> Self {
        Self { from, to, whole: false, suffix: None }
    }

    /// The same with other ends.
    #[must_use]
    pub fn narrowed(self, from: f64, to: f64) -> Self {
        Self { from, to, ..self }
    }

    /// It is gone through by factors.
    pub fn is_log(&self) -> bool {
        self.from > 0.0 && self.to / self.from >= WIDE
    }

    /// The value at a share of the way from one end to the other.
    pub fn at(&self, share: f64) -> f64 {
        let share = share.clamp(0.0, 1.0);
        let value = if self.is_log() {
            self.from * libm::pow(self.to / self.from, share)
        } else {
            self.from + (self.to - self.from) * share
        };
        let value = if self.whole { value.round() } else { rounded(value) };
        value.clamp(self.from, self.to)
    }

    /// The position of a value, as a share of the way.
    pub fn share(&self, value: f64) -> f64 {
        let value = value.clamp(self.from, self.to);
        if self.is_log() {
            libm::log(value / self.from) / libm::log(self.to / self.from)
        } else {
            (value - self.from) / (self.to - self.from)
        }
    }

    /// The value as files have it.
    pub fn written(&self, value: f64) -> String {
        match &self.suffix {
            Some(suffix) => format!("{value}{suffix}"),
            None if value >= 1.0 => format!("{}s", rounded(value)),
            None if value >= 1e-3 => format!("{}ms", rounded(value * 1e3)),
            None => format!("{}us", rounded(value * 1e6)),
        }
    }

    /// A number as files have it, read back; of times, seconds.
    pub fn read(&self, text: &str) -> Option<f64> {
        match &self.suffix {
            None => parse_time(text).map(|time| time.as_secs_f64()),
            Some(_) => end(text).map(|(number, _)| number),
        }
    }

    /// So many values from end to end, or all whole numbers if there are fewer.
    pub fn grid(&self, key: &str, points: usize) -> Grid {
        let all = self.to - self.from + 1.0;
        let at: Vec<f64> = if self.whole && all <= points as f64 {
            (0..all as usize).map(|step| self.from + step as f64).collect()
        } else {
            let last = points.max(2) - 1;
            (0..=last).map(|step| self.at(step as f64 / last as f64)).collect()
        };
        let mut axis = Grid { key: key.to_owned(), values: Vec::new(), at: Vec::new(), log: self.is_log() };
        for value in at {
            let written = self.written(value);
            if axis.values.last() != Some(&written) {
                axis.values.push(written);
                axis.at.push(value);
            }
        }
        axis
    }
}

/// Rounds to the digits that matter.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let places = DIGITS - 1 - libm::floor(libm::log10(value.abs())) as i32;
    // By a whole power, so that 0.3 stays 0.3.
    let factor = libm::pow(10.0, f64::from(places.abs()));
    if places >= 0 { libm::round(value * factor) / factor } else { libm::round(value / factor) * factor }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Spread {
        spread(text).expect("it is sound").expect("it is a range").1
    }

    #[test]
    fn a_wide_range_is_gone_through_by_factors_and_whole_numbers_once_each() {
        let axis = range("arms.gradient2.limit_min=2..50").grid("limit_min", 8);
        assert_eq!(axis.values, ["2", "3", "5", "8", "13", "20", "32", "50"]);
        assert!(axis.log);
        let few = range("x=1..4").grid("x", 12);
        assert_eq!((few.values.join(" "), few.log), ("1 2 3 4".to_owned(), false));
        assert_eq!(range("x=0..1000").grid("x", 3).values, ["0", "500", "1000"], "from zero there are no factors");
    }

    #[test]
    fn units_are_kept() {
        assert_eq!(range("codel.target=1ms..1s").grid("x", 4).values, ["1ms", "10ms", "100ms", "1s"]);
        assert_eq!(range("target.capacity=50/s..100/s").grid("x", 3).values, ["50/s", "75/s", "100/s"]);
        assert_eq!(range("tolerance=1.0..2.0").grid("x", 3).values, ["1", "1.5", "2"]);
        assert_eq!(range("load=0.5x..1.5x").grid("x", 3).values, ["0.5x", "1x", "1.5x"]);
        // 0.3 is 0.30000000000000004 a tenth further.
        assert_eq!(range("gain=0.1..0.5").grid("x", 5).values, ["0.1", "0.2", "0.3", "0.4", "0.5"]);
    }

    #[test]
    fn what_is_no_range_is_a_value_and_what_is_a_bad_one_says_so() {
        assert_eq!(spread("users.think=20ms"), Ok(None));
        assert_eq!(spread("users.think"), Ok(None));
        assert_eq!(spread("users.trace.file=../mine.jsonl"), Ok(None));
        for bad in ["x=2..", "x=5..2", "x=a..2", "x=1ms..2/s"] {
            assert!(spread(bad).is_err_and(|why| why.contains("write a range as")), "{bad}");
        }
    }

    #[test]
    fn a_value_is_found_again_on_the_way() {
        for range in [range("x=2..50"), range("x=1ms..10s"), range("x=0.5..1.5")] {
            for share in [0.0, 0.25, 0.5, 1.0] {
                let value = range.at(share);
                assert!((range.share(value) - share).abs() < 0.05, "{range:?} {share}");
                assert!(range.read(&range.written(value)).is_some_and(|read| (read - value).abs() < 1e-9 * value));
            }
        }
    }
}
