//! Events of an arm in virtual time, until its turn: arms run in parallel and report in their order.
//! It waits in a file that has no name any more, so that memory does not depend on how long an arm is.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, BufWriter, Seek, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use analysis::live::LiveEvent;

use crate::run::{EventSink, RunFailure};

/// Events of one arm.
#[derive(Debug)]
pub struct EventBuffer {
    path: PathBuf,
    file: BufWriter<File>,
    failed: Option<io::Error>,
}

/// Files of one process have different names, as long as they have any.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl EventBuffer {
    /// An empty one in the results folder: on the disk where the results will need room, too.
    pub fn create(folder: &Path) -> Result<Self, RunFailure> {
        let path = folder.join(format!(".waiting-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        let open = || {
            let file = File::options().read(true).write(true).create_new(true).open(&path)?;
            fs::remove_file(&path)?;
            Ok(file)
        };
        let file = open().map_err(RunFailure::at(&path))?;
        Ok(Self { path, file: BufWriter::new(file), failed: None })
    }

    /// All events, in order.
    pub fn read(self) -> Result<impl Iterator<Item = Result<LiveEvent, RunFailure>>, RunFailure> {
        let Self { path, file, failed } = self;
        if let Some(error) = failed {
            return Err(RunFailure::at(path)(error));
        }
        let rewound = file.into_inner().map_err(io::IntoInnerError::into_error).and_then(|mut file| {
            file.rewind()?;
            Ok(file)
        });
        let file = rewound.map_err(RunFailure::at(&path))?;
        Ok(BufReader::new(file).lines().map(move |line| {
            let line = line.map_err(RunFailure::at(&path))?;
            Ok(serde_json::from_str(&line)?)
        }))
    }
}

impl EventSink for EventBuffer {
    /// Adds an event. [`EventBuffer::read`] returns a failure: the arm runs on to its end, which costs less than a way out of it.
    fn event(&mut self, event: &LiveEvent) {
        if self.failed.is_none() {
            let line = serde_json::to_writer(&mut self.file, event).map_err(io::Error::from);
            self.failed = line.and_then(|()| self.file.write_all(b"\n")).err();
        }
    }
}

#[cfg(test)]
mod tests {
    use analysis::live::TimelineSecond;

    use super::*;

    #[test]
    fn what_went_in_comes_out_to_the_last_bit_and_leaves_no_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut spool = EventBuffer::create(folder.path()).expect("made");
        // Neighbours of a number that a quick reader of decimals takes for another.
        let hard = [0.1 + 0.2, 5e-324, 1.797_693_134_862_315_7e308, 123.456_789_012_345_67, 2.0_f64.powi(-40) * 3.0];
        let events: Vec<LiveEvent> = (0..1000_u32)
            .map(|n| {
                let p50_ms = Some(hard[n as usize % hard.len()] / f64::from(1 + n % 7));
                LiveEvent::Second(Box::new(TimelineSecond { second: n, p50_ms, ..TimelineSecond::default() }))
            })
            .collect();
        events.iter().for_each(|event| spool.event(event));
        assert_eq!(fs::read_dir(folder.path()).expect("read").count(), 0);
        let read: Vec<LiveEvent> = spool.read().expect("rewound").map(|event| event.expect("whole")).collect();
        assert!(read == events);
    }
}
