//! Measures of this process and its machine: CPU, memory, descriptors. They feed monitors and gauges.

use std::{fs, time::Duration};

pub use controllers::site::Probe;
use nix::{
    time::{ClockId, clock_gettime},
    unistd::{SysconfVar, sysconf},
};

/// The CPU time that this process has used.
#[must_use]
pub fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// The probe of this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThisProcess {
    /// The processors that its CPU time is a share of; `None`: those that it may use.
    pub allotted: Option<f64>,
}

impl Probe for ThisProcess {
    fn cpu_time(&self) -> Duration {
        cpu_time()
    }

    fn cpus(&self) -> f64 {
        let usable = || std::thread::available_parallelism().map_or(1, usize::from);
        self.allotted.unwrap_or_else(|| f64::from(u32::try_from(usable()).unwrap_or(1)))
    }

    fn memory_share(&self) -> f64 {
        memory_share()
    }
}

/// Resident memory, bytes; 0 if procfs does not tell.
#[must_use]
pub fn resident_bytes() -> u64 {
    let page = sysconf(SysconfVar::PAGE_SIZE).ok().flatten().and_then(|size| u64::try_from(size).ok()).unwrap_or(4096);
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).map_or(0, |pages| pages * page)
}

/// The memory that this process may use, bytes: the limit of its control group if there is one, else the machine's
/// memory.
#[must_use]
pub fn memory_limit() -> u64 {
    let files = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let group = files.iter().find_map(|file| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok());
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = |line: &str| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok();
    let machine = meminfo.lines().find_map(kib).map_or(u64::MAX, |kib| kib * 1024);
    group.unwrap_or(u64::MAX).min(machine)
}

/// The share of its memory limit that this process uses, 0 to 1.
#[must_use]
pub fn memory_share() -> f64 {
    (resident_bytes() as f64 / memory_limit().max(1) as f64).clamp(0.0, 1.0)
}

/// The number of open descriptors of this process.
#[must_use]
pub fn open_files() -> u32 {
    fs::read_dir("/proc/self/fd").map_or(0, |files| u32::try_from(files.count().saturating_sub(1)).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_memory_descriptors_and_time() {
        assert!(resident_bytes() > 100_000);
        assert!(memory_limit() > resident_bytes());
        assert!((0.0..1.0).contains(&memory_share()));
        assert!(open_files() >= 3);
    }

    #[test]
    fn a_busy_loop_is_seen_as_cpu_time() {
        let before = ThisProcess::default().cpu_time();
        let clock = crate::clock::ServiceClock::start();
        while clock.now() < controllers::Timestamp::from_millis(50) {
            std::hint::black_box(0);
        }
        assert!(ThisProcess::default().cpu_time() > before && ThisProcess::default().cpus() >= 1.0);
        assert!(
            ThisProcess { allotted: Some(0.2) }.cpu_time() > before
                && ThisProcess { allotted: Some(0.2) }.cpus() == 0.2
        );
    }
}
