//! `*.seconds.hlog`: the times of a live arm second by second, written as they come. A kill at any moment leaves the times of
//! every second that was over; their sum over a phase gives its percentiles, where the arm did not live to write its own.

use std::{
    fs::File,
    io::Write as _,
    path::{Path, PathBuf},
};

use analysis::{
    FolderError, interval_log,
    seconds_log::{file_name, lines},
};
use measure::Window;

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
    pub fn create(folder: &Path, arm: &str, block: u32) -> Result<Self, FolderError> {
        let path = folder.join(file_name(arm, block));
        let file = File::options().create_new(true).append(true).open(&path).map_err(FolderError::at(&path))?;
        let mut log = Self { path, file };
        log.write(interval_log::whole([]))?;
        Ok(log)
    }

    /// Adds a second: in one write, so that a kill leaves whole lines, and at most one that is torn.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, window: &Window) -> Result<(), FolderError> {
        let Some(times) = &window.times else { return Ok(()) };
        let lines = lines(window.second, times).and_then(interval_log::more);
        self.write(lines)
    }

    fn write(&mut self, bytes: Result<Vec<u8>, String>) -> Result<(), FolderError> {
        let bytes = bytes.map_err(std::io::Error::other);
        bytes.and_then(|bytes| self.file.write_all(&bytes)).map_err(FolderError::at(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use analysis::{live::TimelineSecond, seconds_log::differs};
    use measure::SecondTimes;

    use super::*;

    fn window(second: u64) -> Window {
        let times = SecondTimes {
            response: vec![[1000, 3], [20_000, 1]],
            response_censored: vec![[500_000, 2]],
            reject: if second == 1 { vec![[200, 5]] } else { Vec::new() },
        };
        Window { second, times: Some(Box::new(times)), ..Window::default() }
    }

    fn second(second: u32) -> TimelineSecond {
        TimelineSecond {
            second,
            served: 3,
            served_late: 1,
            rejected: if second == 1 { 5 } else { 0 },
            ..TimelineSecond::default()
        }
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
        let interval_log::LoggedInterval { tag, begins, lasts, counts, .. } = &entries[1];
        assert_eq!(
            (tag.as_deref(), *begins, *lasts, &counts[..]),
            (Some("response/censored"), 0, 1000, &[(500_223, 2)][..])
        );
        // Cut in the last line.
        let torn = &read()[..lengths[2] - 5];
        assert_eq!(differs(torn, all[..2].iter()), Ok(None));
        // Cut before the last second: it is missing.
        assert_eq!(differs(&read()[..lengths[1]], all.iter()), Ok(Some((2, 0, 4))));
        // Another count.
        let other = TimelineSecond { served: 4, ..second(0) };
        assert_eq!(differs(&read(), [other].iter()), Ok(Some((0, 4, 5))));
    }
}
