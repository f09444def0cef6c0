//! The load of this process, for policies that watch it.

use std::{fs, time::Duration};

use controllers::site::Probe;

/// This process: the CPU time that it uses, and the share of the memory that it may have. Elsewhere than on Linux it
/// shows no memory, and elsewhere than on Unix
/// no load at all: give the layer a probe of your own.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThisProcessProbe;

impl Probe for ThisProcessProbe {
    fn cpu_time(&self) -> Duration {
        #[cfg(unix)]
        return nix::time::clock_gettime(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID)
            .map_or(Duration::ZERO, Duration::from);
        #[cfg(not(unix))]
        Duration::ZERO
    }

    fn cpus(&self) -> f64 {
        std::thread::available_parallelism().map_or(1.0, |cpus| cpus.get() as f64)
    }

    fn memory_share(&self) -> f64 {
        resident_kib().zip(limit_kib()).map_or(0.0, |(resident, limit)| (resident / limit.max(1.0)).clamp(0.0, 1.0))
    }
}

/// Resident memory, KiB.
fn resident_kib() -> Option<f64> {
    line_kib("/proc/self/status", "VmRSS:")
}

/// The memory that the process may have, KiB: the limit of its control group if it has one, else the machine's memory.
fn limit_kib() -> Option<f64> {
    let bytes = |file| fs::read_to_string(file).ok()?.trim().parse::<f64>().ok();
    let group =
        ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"].into_iter().find_map(bytes);
    let machine = line_kib("/proc/meminfo", "MemTotal:");
    match (group.map(|bytes| bytes / 1024.0), machine) {
        (Some(group), Some(machine)) => Some(group.min(machine)),
        (one, other) => one.or(other),
    }
}

fn line_kib(file: &str, name: &str) -> Option<f64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_time_and_memory() {
        let before = ThisProcessProbe.cpu_time();
        let end = std::time::Instant::now() + Duration::from_millis(30);
        while std::time::Instant::now() < end {
            std::hint::black_box(0);
        }
        assert!(ThisProcessProbe.cpu_time() > before && ThisProcessProbe.cpus() >= 1.0);
        if cfg!(target_os = "linux") {
            assert!((1e-6..1.0).contains(&ThisProcessProbe.memory_share()), "{}", ThisProcessProbe.memory_share());
        }
    }
}
