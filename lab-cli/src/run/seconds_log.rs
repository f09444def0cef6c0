//! `*.seconds.hlog`: the times of a live arm second by second, written as they come. A kill at any moment leaves the times of
//! every second that was over; their sum over a phase gives its percentiles, where the arm did not live to write its own.

use std::{
    fs::File,
    io::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use measure::{SecondTimes, Window};

use super::{
    RunFailure,
    interval_log::{self, Entry, Interval},
};
use crate::live::Second;

const SECOND: Duration = Duration::from_secs(1);
/// Answers as asked.
const RESPONSE: &str = "response";
/// What was given up had waited for so long.
const CENSORED: &str = "response/censored";
const REJECT: &str = "reject";

/// The name of an arm's log.
pub fn file_name(arm: &str, block: u32) -> String {
    format!("{arm}-{block}.seconds.hlog")
}

/// A log that is being written.
#[derive(Debug)]
pub struct SecondsLog {
    path: PathBuf,
    file: File,
}

impl SecondsLog {
    /// Begins an arm's.
    ///
    /// # Errors
    /// If the file is there, or cannot be made.
    pub fn create(folder: &Path, arm: &str, block: u32) -> Result<Self, RunFailure> {
        let path = folder.join(file_name(arm, block));
        let file = File::options().create_new(true).append(true).open(&path).map_err(RunFailure::at(&path))?;
        let mut log = Self { path, file };
        log.write(interval_log::whole([]))?;
        Ok(log)
    }

    /// Adds a second: in one write, so that a kill leaves whole lines, and at most one that is torn.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, window: &Window) -> Result<(), RunFailure> {
        let Some(times) = &window.times else { return Ok(()) };
        let lines = lines(window.second, times).and_then(interval_log::more);
        self.write(lines)
    }

    fn write(&mut self, bytes: Result<Vec<u8>, String>) -> Result<(), RunFailure> {
        let bytes = bytes.map_err(std::io::Error::other);
        bytes.and_then(|bytes| self.file.write_all(&bytes)).map_err(RunFailure::at(&self.path))
    }
}

/// The first line of each second is there whatever came of it.
fn lines(second: u64, times: &SecondTimes) -> Result<Vec<Interval>, String> {
    let all = [(RESPONSE, &times.response), (CENSORED, &times.response_censored), (REJECT, &times.reject)];
    let told = all.into_iter().filter(|(tag, buckets)| *tag == RESPONSE || !buckets.is_empty());
    let interval = |(tag, buckets): (&str, &Vec<[u64; 2]>)| {
        let histogram = interval_log::of_buckets(buckets)?;
        Ok(Interval { tag: tag.to_owned(), begins: Duration::from_secs(second), lasts: SECOND, histogram })
    };
    told.map(interval).collect()
}

/// The first of an arm's seconds whose times are not as many as its counts in the timeline, with both numbers: a log that was torn
/// in its last line counts to there. `None`: all agree, and no second is missing.
///
/// # Errors
/// If it cannot be read as a log.
pub fn differs<'a>(log: &[u8], seconds: impl Iterator<Item = &'a Second>) -> Result<Option<(u32, u64, u64)>, String> {
    let whole = log.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let entries = interval_log::entries(&log[..whole])?;
    let times = |second: &Second, tag: &str| -> Option<u64> {
        let begins = u128::from(second.second) * 1000;
        let of = |(found, at, _, _): &&Entry| found.as_deref() == Some(tag) && *at == begins;
        entries.iter().find(of).map(|(_, _, _, counts)| counts.iter().map(|(_, count)| count).sum())
    };
    for second in seconds {
        let found = times(second, RESPONSE);
        let answered = second.served + second.served_late;
        let rejects = times(second, REJECT).unwrap_or(0);
        if found != Some(answered) || rejects != second.rejected {
            return Ok(Some((second.second, found.unwrap_or(0) + rejects, answered + second.rejected)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(second: u64) -> Window {
        let times = SecondTimes {
            response: vec![[1000, 3], [20_000, 1]],
            response_censored: vec![[500_000, 2]],
            reject: if second == 1 { vec![[200, 5]] } else { Vec::new() },
        };
        Window { second, times: Some(Box::new(times)), ..Window::default() }
    }

    fn second(second: u32) -> Second {
        Second { second, served: 3, served_late: 1, rejected: if second == 1 { 5 } else { 0 }, ..Second::default() }
    }

    #[test]
    fn seconds_are_there_as_they_come_and_a_torn_line_hides_no_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut log = SecondsLog::create(folder.path(), "none", 1).expect("made");
        let read = || std::fs::read(folder.path().join("none-1.seconds.hlog")).expect("there");
        assert_eq!(differs(&read(), std::iter::empty()), Ok(None));
        let mut lengths = Vec::new();
        for second in 0..3 {
            log.add(&window(second)).expect("written");
            lengths.push(read().len());
        }
        let all = [second(0), second(1), second(2)];
        assert_eq!(differs(&read(), all.iter()), Ok(None));
        let entries = interval_log::entries(&read()).expect("a log");
        assert_eq!(entries.len(), 7, "two lines a second, and one of rejects");
        assert_eq!(entries[1], (Some("response/censored".to_owned()), 0, 1000, vec![(500_223, 2)]));
        // Cut in the last line.
        let torn = &read()[..lengths[2] - 5];
        assert_eq!(differs(torn, all[..2].iter()), Ok(None));
        // Cut before the last second: it is missing.
        assert_eq!(differs(&read()[..lengths[1]], all.iter()), Ok(Some((2, 0, 4))));
        // Another count.
        let other = Second { served: 4, ..second(0) };
        assert_eq!(differs(&read(), [other].iter()), Ok(Some((0, 4, 5))));
    }
}
