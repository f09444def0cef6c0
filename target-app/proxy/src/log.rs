//! The log on standard error: JSON, one value a line. Writing never waits for a request: lines beyond the queue are
//! counted and lost.

use std::{
    io::{self, BufWriter, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::Serialize;

/// Lines that wait to be written.
const QUEUE: usize = 8192;

/// The longest time that a flush waits for a slow reader.
const FLUSH: Duration = Duration::from_secs(1);

/// The log.
#[derive(Debug)]
pub(super) struct Log {
    lines: SyncSender<Queued>,
    lost: Arc<AtomicU64>,
}

/// Messages to the writer.
#[derive(Debug)]
enum Queued {
    Line(Vec<u8>),
    /// All lines before this one are written: say so.
    Flush(SyncSender<()>),
}

/// A line: the wall clock, its kind, and what it says.
#[derive(Serialize)]
struct Line<'a, T> {
    /// Seconds since 1970.
    unix_s: f64,
    event: &'a str,
    #[serde(flatten)]
    says: &'a T,
}

impl Log {
    /// Begins to write, on a thread of its own.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub(super) fn start() -> io::Result<Self> {
        let (lines, waiting) = sync_channel(QUEUE);
        let lost = Arc::<AtomicU64>::default();
        let unwritten = Arc::clone(&lost);
        thread::Builder::new().name("log".to_owned()).spawn(move || write(&waiting, &unwritten))?;
        Ok(Self { lines, lost })
    }

    /// Writes one value.
    pub(super) fn line(&self, event: &str, says: &impl Serialize) {
        let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let Ok(mut line) = serde_json::to_vec(&Line { unix_s, event, says }) else { return };
        line.push(b'\n');
        if self.lines.try_send(Queued::Line(line)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until the lines so far are written, for a second at most.
    pub(super) fn flush(&self) {
        let (written, told) = sync_channel(1);
        if self.lines.try_send(Queued::Flush(written)).is_ok() {
            let _ = told.recv_timeout(FLUSH);
        }
    }

    /// Lines that were lost, since the reader of standard error was too slow, or what it is written to is full or closed.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// Writes until the log is dropped. Lines reach the reader once none waits, or in blocks; what cannot be written stays in the buffer, and
/// what finds no room there is counted and lost.
fn write(waiting: &Receiver<Queued>, lost: &AtomicU64) {
    let mut out = BufWriter::with_capacity(64 * 1024, io::stderr());
    while let Ok(first) = waiting.recv() {
        let mut next = Some(first);
        while let Some(queued) = next {
            match queued {
                // A full disk or a closed pipe is no reason to stop serving.
                Queued::Line(line) if out.write_all(&line).is_err() => _ = lost.fetch_add(1, Ordering::Relaxed),
                Queued::Line(_) => {}
                Queued::Flush(written) => {
                    let _ = out.flush();
                    let _ = written.try_send(());
                }
            }
            next = waiting.try_recv().ok();
        }
        let _ = out.flush();
    }
}
