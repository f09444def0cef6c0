//! Writes a run's folder: append-only and whole at any moment, however the run ends.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use analysis::{FolderError, live::LiveEvent};
use serde::Serialize;

/// An open folder.
#[derive(Debug)]
pub struct ResultsFolder {
    path: PathBuf,
    timeline: Lines,
    events: Lines,
}

impl ResultsFolder {
    /// Makes it: `--out DIR`, or `runs/<name>-<UTC time>`.
    pub fn create(out: Option<&Path>, name: &str) -> Result<Self, FolderError> {
        let path = match out {
            Some(path) => path.to_owned(),
            None => unused(Path::new("runs"), &format!("{name}-{}", utc(SystemTime::now()))),
        };
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(FolderError::at(parent))?;
        }
        fs::create_dir(&path).map_err(FolderError::at(&path))?;
        let timeline = Lines::create(&path.join("timeline.jsonl"))?;
        let events = Lines::create(&path.join("events.jsonl"))?;
        Ok(Self { path, timeline, events })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes one event: seconds to the timeline, all others to the events.
    pub fn event(&mut self, event: &LiveEvent) -> Result<(), FolderError> {
        match event {
            LiveEvent::Second(second) => self.timeline.write(second),
            // The summary has these.
            LiveEvent::ArmFinished(_) | LiveEvent::RunFinished(_) | LiveEvent::Computing { .. } => Ok(()),
            other => self.events.write(other),
        }
    }

    /// Everything so far is on the disk when this returns.
    pub fn sync(&mut self) -> Result<(), FolderError> {
        self.timeline.sync()?;
        self.events.sync()
    }

    /// Puts a whole file in its place, or leaves what was there.
    pub fn replace(&self, name: &str, value: &impl Serialize) -> Result<(), FolderError> {
        self.in_place(name, serde_json::to_vec_pretty(value)?)
    }

    /// The same for a file that is long and for programs: on one line.
    pub fn put(&self, name: &str, value: &impl Serialize) -> Result<(), FolderError> {
        self.in_place(name, serde_json::to_vec(value)?)
    }

    fn in_place(&self, name: &str, mut text: Vec<u8>) -> Result<(), FolderError> {
        let path = self.path.join(name);
        text.push(b'\n');
        put_in_place(&path, &text).and_then(|()| File::open(&self.path)?.sync_all()).map_err(FolderError::at(&path))
    }
}

/// Puts a whole file in its place, or leaves what was there. A link that stands there goes, and what it points to stays as it is.
///
/// # Errors
/// If it cannot be written.
pub fn put_in_place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = Path::new(&unfinished);
    // Of a run that was killed; if it cannot be removed, the next line says so.
    let _ = fs::remove_file(unfinished);
    let mut file = File::create_new(unfinished)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(unfinished, path)
}

/// The name, or with a number after it where two runs begin in one second.
fn unused(parent: &Path, name: &str) -> PathBuf {
    let numbered = (2..100).map(|n| parent.join(format!("{name}-{n}")));
    let mut paths = std::iter::once(parent.join(name)).chain(numbered);
    paths.find(|path| !path.exists()).unwrap_or_else(|| parent.join(name))
}

/// One file of JSON Lines.
#[derive(Debug)]
struct Lines {
    path: PathBuf,
    file: File,
}

impl Lines {
    fn create(path: &Path) -> Result<Self, FolderError> {
        let file = File::options().create_new(true).append(true).open(path).map_err(FolderError::at(path))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// A line goes out in one write: a kill leaves whole lines, and at most one torn one at the end.
    fn write(&mut self, value: &impl Serialize) -> Result<(), FolderError> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(FolderError::at(&self.path))
    }

    fn sync(&mut self) -> Result<(), FolderError> {
        self.file.sync_data().map_err(FolderError::at(&self.path))
    }
}

/// A new folder for a search of settings, which is no run: `sweeps/<name>-<UTC time>`.
pub fn new_search(name: &str) -> PathBuf {
    unused(Path::new("sweeps"), &format!("{name}-{}", utc(SystemTime::now())))
}

/// A new folder for the runs of a suite: `suites/<UTC time>`.
pub fn new_suite() -> PathBuf {
    unused(Path::new("suites"), &utc(SystemTime::now()))
}

/// `20261121T025303Z`.
pub fn utc(time: SystemTime) -> String {
    written(time, "%Y%m%dT%H%M%SZ")
}

/// `2026-11-21T02:53:03.250Z`.
pub fn rfc3339(time: SystemTime) -> String {
    written(time, "%Y-%m-%dT%H:%M:%S%.3fZ")
}

fn written(time: SystemTime, form: &str) -> String {
    jiff::Timestamp::try_from(time).unwrap_or_default().strftime(form).to_string()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn times_are_written_in_utc() {
        // By hand: 2024-02-29 is day 19 782 since 1970 (54 years with 13 leap days make 19 723, and 59 more).
        assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(19_782 * 86_400 + 3661)), "20240229T010101Z");
        assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_millis(86_400_250)), "1970-01-02T00:00:00.250Z");
        assert_eq!(utc(UNIX_EPOCH), "19700101T000000Z");
    }

    #[test]
    fn a_folder_is_never_written_over() {
        let parent = tempfile::tempdir().expect("a folder");
        let out = parent.path().join("run");
        ResultsFolder::create(Some(&out), "x").expect("made");
        let again = ResultsFolder::create(Some(&out), "x").expect_err("it is there");
        assert!(matches!(again, FolderError::File { source, .. } if source.kind() == io::ErrorKind::AlreadyExists));
    }

    #[test]
    fn two_runs_of_one_second_have_folders_of_their_own() {
        let parent = tempfile::tempdir().expect("a folder");
        let mut made = Vec::new();
        for _ in 0..3 {
            let path = unused(parent.path(), "x-1");
            fs::create_dir(&path).expect("made");
            made.push(path.file_name().expect("a name").to_owned());
        }
        assert_eq!(made, ["x-1", "x-1-2", "x-1-3"]);
    }
}
