//! Reads the kernel's counters (proc(5), getrusage(2)). A counter that cannot be read is zero: such a machine is
//! measured less completely.

use std::{fs, os::unix::fs::FileExt as _, time::Duration};

use nix::sys::{
    resource::{Resource, UsageWho, getrlimit, getrusage},
    time::TimeValLike,
};

/// CPU time and waits of a thread since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadSample {
    /// Time on a core.
    pub cpu: Duration,
    /// Time ready to run, in wait for a core.
    pub run_queue_delay: Duration,
    /// The number of times that it was given a core.
    pub turns: u64,
}

impl ThreadSample {
    /// The sample of the thread with this id in this process.
    #[must_use]
    pub fn of(thread: i32) -> Self {
        Self::parse(&fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).unwrap_or_default())
    }

    /// The samples of all threads of a process, by their ids. Empty: it has ended, or the kernel does not tell.
    #[must_use]
    pub fn of_process(pid: u32) -> Vec<(i32, Self)> {
        let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
        let sample = |task: fs::DirEntry| {
            let text = fs::read_to_string(task.path().join("schedstat")).ok().filter(|text| !text.trim().is_empty())?;
            Some((task.file_name().to_str()?.parse().ok()?, Self::parse(&text)))
        };
        tasks.flatten().filter_map(sample).collect()
    }

    /// What was added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(earlier.cpu),
            run_queue_delay: self.run_queue_delay.saturating_sub(earlier.run_queue_delay),
            turns: self.turns.saturating_sub(earlier.turns),
        }
    }

    fn parse(text: &str) -> Self {
        let mut numbers = text.split_ascii_whitespace().map(|n| n.parse::<u64>().unwrap_or_default());
        let mut next = || numbers.next().unwrap_or_default();
        Self { cpu: Duration::from_nanos(next()), run_queue_delay: Duration::from_nanos(next()), turns: next() }
    }
}

/// Reads [`ThreadSample`]s of one thread repeatedly, with one system call each, where opening the file takes five.
#[derive(Debug)]
pub struct ThreadMeter(Option<fs::File>);

impl ThreadMeter {
    /// A meter of the calling thread; any thread may read it later.
    #[must_use]
    pub fn of_this_thread() -> Self {
        Self(fs::File::open(format!("/proc/self/task/{}/schedstat", thread_id())).ok())
    }

    /// Reads a sample.
    #[must_use]
    pub fn sample(&self) -> ThreadSample {
        let mut text = [0; 64];
        let read = self.0.as_ref().and_then(|file| file.read_at(&mut text, 0).ok()).unwrap_or_default();
        ThreadSample::parse(std::str::from_utf8(&text[..read]).unwrap_or_default())
    }
}

/// CPU time, memory and faults of the process, and CPU time of the machine, since their starts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ProcessSample {
    /// CPU time of the process.
    pub cpu: Duration,
    /// Page faults of the process that waited for a disk.
    pub major_faults: u64,
    /// The peak of its resident memory, in bytes.
    pub resident_peak: u64,
    /// CPU time of the machine.
    pub machine: MachineSample,
}

/// CPU time of the machine, over all its cores, in ticks of 10 ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MachineSample {
    /// All ticks, in all states.
    pub ticks: u64,
    /// Ticks stolen by its host.
    pub stolen_ticks: u64,
}

impl MachineSample {
    /// Milliseconds of a tick.
    pub(super) const TICK_MS: u64 = 10;

    /// Reads the first line of /proc/stat. Stolen time is its eighth number; guest time, the ninth and tenth, is part
    /// of user time already.
    #[must_use]
    pub fn take() -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        let numbers = line.split_ascii_whitespace().skip(1).take(8).map(|n| n.parse().unwrap_or_default());
        let mut sample = Self::default();
        for (position, ticks) in numbers.enumerate() {
            sample.ticks += ticks;
            if position == 7 {
                sample.stolen_ticks = ticks;
            }
        }
        sample
    }

    /// CPU time stolen since `earlier`.
    #[must_use]
    pub fn stolen_since(&self, earlier: &Self) -> Duration {
        Duration::from_millis(self.stolen_ticks.saturating_sub(earlier.stolen_ticks) * Self::TICK_MS)
    }
}

impl ProcessSample {
    /// Reads the sample of this process.
    #[must_use]
    pub fn take() -> Self {
        let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Self::default() };
        let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        Self {
            cpu: Duration::from_micros(u64::try_from(micros).unwrap_or_default()),
            major_faults: u64::try_from(usage.major_page_faults()).unwrap_or_default(),
            // Linux gives kilobytes.
            resident_peak: u64::try_from(usage.max_rss()).unwrap_or_default() * 1024,
            machine: MachineSample::take(),
        }
    }

    /// The share of the machine's CPU time that its host stole since `earlier`.
    #[must_use]
    pub fn steal_since(&self, earlier: &Self) -> f64 {
        let ticks = self.machine.ticks.saturating_sub(earlier.machine.ticks);
        let stolen = self.machine.stolen_ticks.saturating_sub(earlier.machine.stolen_ticks);
        if ticks == 0 { 0.0 } else { stolen as f64 / ticks as f64 }
    }
}

/// The calling thread's id.
#[must_use]
pub fn thread_id() -> i32 {
    nix::unistd::gettid().as_raw()
}

/// The number of files and sockets that the process may have open (soft `RLIMIT_NOFILE`).
#[must_use]
pub fn descriptor_limit() -> u64 {
    getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft)
}

/// The number of descriptors that it has open.
#[must_use]
pub fn open_descriptors() -> u64 {
    fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64)
}

/// Threads and memory of the process at a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessSize {
    /// Its threads, those that wait too.
    pub threads: u64,
    /// Its resident memory, in bytes.
    pub resident: u64,
}

impl ProcessSize {
    /// Reads that of this process; `None`: the kernel does not say.
    #[must_use]
    pub fn take() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/self/status").ok()?)
    }

    fn parse(status: &str) -> Option<Self> {
        let number = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name))?;
            value.trim_start_matches(':').split_ascii_whitespace().next()?.parse::<u64>().ok()
        };
        Some(Self { threads: number("Threads")?, resident: number("VmRSS")? * 1024 })
    }
}

/// The number of memory maps that the process may have (`vm.max_map_count`): a fiber's stack takes two.
#[must_use]
pub fn max_map_count() -> u64 {
    let text = fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
    text.trim().parse().unwrap_or(65_530)
}

/// The number of local ports for connections (`net.ipv4.ip_local_port_range`), for each pair of addresses.
#[must_use]
pub fn local_ports() -> u64 {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut ends = text.split_ascii_whitespace().filter_map(|end| end.parse::<u64>().ok());
    match (ends.next(), ends.next()) {
        (Some(first), Some(last)) if last >= first => last - first + 1,
        _ => 28_232,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_line_has_three_numbers() {
        let sample = ThreadSample::parse("341936649 36032363 438\n");
        assert_eq!(
            (sample.cpu.as_nanos(), sample.run_queue_delay.as_nanos(), sample.turns),
            (341_936_649, 36_032_363, 438)
        );
        assert_eq!(ThreadSample::parse(""), ThreadSample::default());
    }

    #[test]
    fn a_status_has_threads_and_resident_memory() {
        let status = "Name:\tlab\nVmRSS:\t   11840 kB\nRssAnon:\t 1 kB\nThreads:\t7\n";
        assert_eq!(ProcessSize::parse(status), Some(ProcessSize { threads: 7, resident: 11840 * 1024 }));
        assert_eq!(ProcessSize::parse("Threads:\t7\n"), None);
        assert!(ProcessSize::take().is_some_and(|size| size.threads >= 1 && size.resident > 1 << 20));
    }

    #[test]
    fn the_kernel_answers() {
        let before = ThreadSample::of(thread_id());
        let meter = ThreadMeter::of_this_thread();
        let process = ProcessSample::take();
        let mut work = 0_u64;
        for n in 0..20_000_000_u64 {
            work = std::hint::black_box(work.wrapping_add(n));
        }
        assert!(ThreadSample::of(thread_id()).cpu > before.cpu, "{work}");
        assert!(meter.sample().cpu > before.cpu);
        let all = ThreadSample::of_process(std::process::id());
        assert!(all.iter().any(|(thread, sample)| *thread == thread_id() && sample.cpu > before.cpu), "{all:?}");
        assert_eq!(ThreadSample::of_process(0), []);
        assert!(ProcessSample::take().cpu > process.cpu);
        assert!(process.resident_peak > 0 && process.machine.ticks > 0);
        assert!(open_descriptors() >= 3 && descriptor_limit() >= open_descriptors());
        assert!(max_map_count() > 0 && local_ports() > 0);
    }
}
