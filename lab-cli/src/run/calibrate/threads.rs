//! CPU time of another process by kind of thread: how much of Arashi's work is SQLite's, and how much of that is the writer's.

use std::{collections::BTreeMap, fs, ops::Sub};

/// The prefix of the store's names for the threads of its connections.
const SQLITE: &str = "sqlite-";

/// CPU seconds used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ByThread {
    /// Threads of the connection for changes: the first that the store opens.
    pub writer_s: f64,
    /// Threads of the connections for reading.
    pub readers_s: f64,
    /// All others.
    pub others_s: f64,
}

impl ByThread {
    /// Reads a process's use so far. `None` where the kernel does not say, or it has no such threads.
    pub fn read(pid: u32) -> Option<Self> {
        let mut threads = BTreeMap::new();
        for entry in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
            let thread: u32 = entry.file_name().to_str()?.parse().ok()?;
            // A thread may have ended since.
            let Ok(name) = fs::read_to_string(entry.path().join("comm")) else { continue };
            let Ok(times) = fs::read_to_string(entry.path().join("schedstat")) else { continue };
            threads.insert(thread, (name, on_core(&times)?));
        }
        Self::of(&threads)
    }

    fn of(threads: &BTreeMap<u32, (String, f64)>) -> Option<Self> {
        let sqlite = |name: &str| name.starts_with(SQLITE);
        // Threads are numbered in the order of their beginning.
        let writer = *threads.iter().find(|(_, (name, _))| sqlite(name))?.0;
        let mut found = Self::default();
        for (&thread, (name, seconds)) in threads {
            match () {
                () if thread == writer => found.writer_s += seconds,
                () if sqlite(name) => found.readers_s += seconds,
                () => found.others_s += seconds,
            }
        }
        Some(found)
    }
}

impl Sub for ByThread {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            writer_s: self.writer_s - earlier.writer_s,
            readers_s: self.readers_s - earlier.readers_s,
            others_s: self.others_s - earlier.others_s,
        }
    }
}

/// Seconds on a core: the first number of `schedstat`, in nanoseconds.
fn on_core(times: &str) -> Option<f64> {
    times.split_ascii_whitespace().next()?.parse::<u64>().ok().map(|nanos| nanos as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sqlite_thread_is_the_writer() {
        let threads = [(10, "lab", 1.0), (12, "sqlite-0", 2.0), (13, "sqlite-1", 4.0), (99, "tokio-rt", 8.0)];
        let threads = threads.map(|(thread, name, seconds)| (thread, (name.to_owned(), seconds))).into();
        let found = ByThread::of(&threads).expect("has such threads");
        assert_eq!(found, ByThread { writer_s: 2.0, readers_s: 4.0, others_s: 9.0 });
    }

    #[test]
    fn a_process_without_a_database_says_nothing() {
        assert_eq!(ByThread::of(&[(1, ("init".to_owned(), 1.0))].into()), None);
        assert_eq!(on_core("nonsense"), None);
        assert_eq!(on_core("1500000000 7 3\n"), Some(1.5));
    }
}
