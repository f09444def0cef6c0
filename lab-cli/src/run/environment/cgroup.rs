//! Limits on CPU time (CFS bandwidth control of control groups), as far as they have stopped a process.

use std::{
    fs,
    path::{Path, PathBuf},
};

use analysis::summary::Throttled;

/// Roots of the CPU controller's groups: of version 2 alone, beside version 1, and of version 1.
const V2: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
const V1: [&str; 2] = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"];

/// Stops of a process's group, and of those above it, by their limits so far: number and duration. `None`: the kernel
/// does not say.
pub fn throttled(pid: u32) -> Option<Throttled> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let found: Vec<Throttled> =
        files(&groups).iter().filter_map(|file| parse(&fs::read_to_string(file).ok()?)).collect();
    let sum = |all: Throttled, one: &Throttled| Throttled {
        periods: all.periods + one.periods,
        seconds: all.seconds + one.seconds,
    };
    (!found.is_empty()).then(|| found.iter().fold(Throttled::default(), sum))
}

/// The difference of two readings.
pub fn since(earlier: Option<Throttled>, now: Option<Throttled>) -> Option<Throttled> {
    let (earlier, now) = (earlier?, now?);
    Some(Throttled {
        periods: now.periods.saturating_sub(earlier.periods),
        seconds: (now.seconds - earlier.seconds).max(0.0),
    })
}

/// The `cpu.stat` of the groups in `/proc/[pid]/cgroup` (cgroups(7)), and of those above them: a limit of any of them stops the process. In a
/// container without a namespace for groups the path is the host's, and what is mounted is the container's own.
fn files(groups: &str) -> Vec<PathBuf> {
    let of_line = |line: &str| -> Option<(&[&'static str], String)> {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let roots: &[&'static str] = match controllers {
            "" => &V2,
            named if named.split(',').any(|name| name == "cpu") => &V1,
            _ => return None,
        };
        Some((roots, path.trim_start_matches('/').to_owned()))
    };
    let mut files = Vec::new();
    for (roots, path) in groups.lines().filter_map(of_line) {
        for root in roots {
            files.extend(Path::new(&path).ancestors().map(|group| Path::new(root).join(group).join("cpu.stat")));
        }
    }
    files
}

/// `nr_throttled`, and `throttled_usec` in version 2 or `throttled_time` in nanoseconds in version 1. `None`: the group has no limit that
/// it could reach.
fn parse(stat: &str) -> Option<Throttled> {
    let number = |name: &str| {
        let line = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.trim().parse::<u64>().ok()
    };
    let micros = number("throttled_usec").map(|micros| micros as f64 / 1e6);
    let seconds = micros.or_else(|| number("throttled_time").map(|nanos| nanos as f64 / 1e9))?;
    Some(Throttled { periods: number("nr_throttled")?, seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `cpu.stat` of Linux 6.18.
    const OF_V2: &str = "usage_usec 9021733\nuser_usec 8000000\nsystem_usec 1021733\nnice_usec 0\nnr_periods 120\nnr_throttled 97\n\
                         throttled_usec 7612345\nnr_bursts 0\nburst_usec 0\n";
    const OF_V1: &str =
        "nr_periods 120\nnr_throttled 97\nthrottled_time 7612345000\nnr_bursts 0\nburst_time 0\nwait_sum 12\n";

    #[test]
    fn both_versions_say_how_long_a_group_was_stopped() {
        let expected = Some(Throttled { periods: 97, seconds: 7.612_345 });
        assert_eq!(parse(OF_V2), expected);
        assert_eq!(parse(OF_V1), expected);
        // A group of version 2 at the root, or without the controller.
        assert_eq!(parse("usage_usec 9021733\nuser_usec 8000000\nsystem_usec 1021733\n"), None);
    }

    #[test]
    fn a_limit_may_be_set_on_a_group_above() {
        let found = files("3:memory:/m\n2:cpuacct,cpu:/pod/one\n0::/user.slice\n");
        let named = |path: &str| found.iter().any(|file| file == Path::new(path));
        assert!(named("/sys/fs/cgroup/cpu/pod/one/cpu.stat") && named("/sys/fs/cgroup/cpu/pod/cpu.stat"), "{found:?}");
        assert!(named("/sys/fs/cgroup/user.slice/cpu.stat") && named("/sys/fs/cgroup/cpu.stat"), "{found:?}");
        assert!(!found.iter().any(|file| file.ends_with("m/cpu.stat")), "{found:?}");
    }

    #[test]
    fn a_stop_is_what_was_added() {
        let at = |periods, seconds| Some(Throttled { periods, seconds });
        assert_eq!(since(at(2, 0.5), at(5, 2.0)), at(3, 1.5));
        assert_eq!(since(None, at(5, 2.0)), None);
    }
}
