//! The response times of a block, from its logs of histograms: by phase, and of live runs by second.

use std::{collections::BTreeMap, path::Path};

use measure::least_samples;

use crate::{histograms, interval_log, run_file, seconds_log, series::value::Value};

/// Steps of a spectrum in each factor of ten of 1 / (1 - p).
const STEPS: u32 = 20;
/// Factors of ten: up to 99.99 %.
const DECADES: u32 = 4;

/// Times in microseconds, and how many lie there.
type Counts = Vec<(u64, u64)>;

/// Response times of some requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimeCounts {
    /// Times of requests that were answered as asked.
    pub known: Counts,
    /// Waits of those that were given up: at least that long.
    pub censored: Counts,
}

/// Response times of an arm in the block that is drawn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArmTimes {
    /// The arm.
    pub arm: String,
    /// Times by the phase of the intended start.
    pub phases: Vec<(String, TimeCounts)>,
    /// Times by the second in which requests ended; empty of a run in virtual time.
    pub seconds: Vec<(u32, TimeCounts)>,
}

impl ArmTimes {
    /// Reads the times of this arm and block. What cannot be read is left out: a report tells what there is.
    pub fn read(folder: &Path, arm: &str, block: u32) -> Self {
        let mut found = Self { arm: arm.to_owned(), ..Self::default() };
        for (tag, _, counts) in lines(&folder.join(histograms::file_name(arm, block))) {
            let (name, censored) = stem(&tag);
            if let Some(phase) = name.strip_suffix("/response") {
                place(&mut found.phases, phase.to_owned(), censored, counts);
            }
        }
        for (tag, begins, counts) in lines(&folder.join(seconds_log::file_name(arm, block))) {
            let (name, censored) = stem(&tag);
            if let (true, Ok(second)) = (name == "response", u32::try_from(begins / 1000)) {
                place(&mut found.seconds, second, censored, counts);
            }
        }
        found
    }
}

fn stem(tag: &str) -> (&str, bool) {
    tag.strip_suffix("/censored").map_or((tag, false), |name| (name, true))
}

fn place<K: PartialEq>(all: &mut Vec<(K, TimeCounts)>, key: K, censored: bool, counts: Counts) {
    let at = all.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
        all.push((key, TimeCounts::default()));
        all.len() - 1
    });
    let of = &mut all[at].1;
    if censored { of.censored = counts } else { of.known = counts }
}

/// A line of a log: tag, beginning in milliseconds, and counts.
type LogLine = (String, u128, Counts);

/// The lines of a log: of one that is torn its whole ones, of one that cannot be read none.
fn lines(path: &Path) -> Vec<LogLine> {
    let Ok(Some(log)) = run_file::find(path) else { return Vec::new() };
    let whole = log.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let entries = interval_log::entries(&log[..whole]).unwrap_or_default();
    entries.into_iter().filter_map(|line| Some((line.tag?, line.begins, line.counts))).collect()
}

impl TimeCounts {
    /// Counts of requests by row of their time, answered and given up. `row`: of a time in seconds.
    pub fn by_row(&self, row: impl Fn(f64) -> i32) -> BTreeMap<i32, [u64; 2]> {
        let mut rows: BTreeMap<i32, [u64; 2]> = BTreeMap::new();
        for (at, counts) in [&self.known, &self.censored].into_iter().enumerate() {
            for &(micros, count) in counts {
                rows.entry(row(micros.max(1) as f64 / 1e6)).or_default()[at] += count;
            }
        }
        rows
    }

    /// The percentile spectrum: seconds over log10 of 1 / (1 - p), as far as there are enough samples; from where time-outs hide
    /// it on, bounds.
    pub(super) fn spectrum(&self) -> Vec<(f64, Option<Value>)> {
        let marked = |counts: &Counts, censored| counts.iter().map(|&(at, n)| (at, n, censored)).collect::<Vec<_>>();
        let mut all = [marked(&self.known, false), marked(&self.censored, true)].concat();
        all.sort_unstable();
        let count: u64 = all.iter().map(|(_, n, _)| n).sum();
        let mut points = Vec::new();
        let (mut below, mut hidden, mut next) = (0, false, all.iter().peekable());
        for step in 0..=STEPS * DECADES {
            let x = f64::from(step) / f64::from(STEPS);
            let share = 1.0 - libm::exp10(-x);
            if count < least_samples(share * 100.0) {
                break;
            }
            // The smallest time that this share of all does not exceed.
            let rank = libm::ceil(share * count as f64).max(1.0) as u64;
            let mut at = 0;
            while let Some((time, n, censored)) = next.peek() {
                at = *time;
                hidden |= *censored;
                if below + n >= rank {
                    break;
                }
                below += n;
                next.next();
            }
            points.push((x, Some(Value { at: at as f64 / 1e6, at_least: hidden })));
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::testing::put;

    /// A log of three seconds.
    fn log() -> Vec<u8> {
        let second = |begins: u64| interval_log::Interval {
            tag: "response".to_owned(),
            begins: Duration::from_secs(begins),
            lasts: Duration::from_secs(1),
            histogram: interval_log::of_buckets(&[[1000, 3], [20_000, 1]]).expect("a histogram"),
        };
        interval_log::whole((0..3).map(second)).expect("a log")
    }

    #[test]
    fn of_a_log_that_is_missing_torn_or_senseless_there_is_what_can_be_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let read = || ArmTimes::read(folder.path(), "none", 1).seconds.len();
        assert_eq!(read(), 0);
        let file = folder.path().join(seconds_log::file_name("none", 1));
        put(&file, log());
        assert_eq!(read(), 3);
        // Wherever it is cut, there is no panic, and its whole lines are read.
        for length in 0..log().len() {
            put(&file, &log()[..length]);
            let is_line = length > 0 && log()[length - 1] == b'\n';
            assert!(read() < 3 || is_line, "{length}");
        }
        put(&file, b"Tag=response,0.000,1.000,20.000,HISTFAAAA\n");
        assert_eq!(read(), 0);
        put(&file, [0xff, 0xfe, b'\n']);
        assert_eq!(read(), 0);
    }

    #[test]
    fn requests_that_were_given_up_are_counted_beside_those_that_were_answered() {
        let counts = TimeCounts { known: vec![(900, 2), (1_000, 1), (0, 1)], censored: vec![(1_500, 4)] };
        let found = counts.by_row(|seconds| (seconds * 1e3) as i32);
        assert_eq!(found, [(0, [3, 0]), (1, [1, 4])].into());
    }

    #[test]
    fn a_spectrum_goes_as_far_as_its_samples_and_is_a_bound_behind_the_first_time_out() {
        // 100 ms, 200 ms, …, 100 s by tenths of a second, of which the last tenth of all was given up after 90 s.
        let known = (1..=900).map(|n| (n * 100_000, 1)).collect();
        let found = TimeCounts { known, censored: vec![(90_000_000, 100)] }.spectrum();
        let at = |x: f64| found.iter().find(|(at, _)| (at - x).abs() < 1e-9).and_then(|(_, value)| *value);
        assert_eq!(at(0.0), Some(Value::known(0.1)), "the least");
        let median = at(0.3).expect("half, nearly");
        assert!((median.at - 49.9).abs() < 0.2 && !median.at_least, "{median:?}");
        assert_eq!(at(1.5), Some(Value { at: 90.0, at_least: true }));
        assert!(at(2.0).is_some() && at(3.0).is_none(), "p99 needs 299 samples, p99.9 2995");
        assert_eq!(TimeCounts::default().spectrum(), []);
    }
}
