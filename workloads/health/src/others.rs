use std::{collections::BTreeMap, fs, time::Duration};

/// CPU time that other programs use during the run on the processors of the experiment.
///
/// Summed over processes, since the kernel samples the machine's own totals once in a tick, which a generator that
/// wakes by timers escapes. Not included: programs outside of the container, and processes that began and ended in
/// between without a parent that waited for them. A process counts on the processor where it ran last.
#[derive(Debug, Clone)]
pub struct OthersMeter {
    /// The processors; empty: all.
    cpus: Vec<usize>,
    before: BTreeMap<ProcessIdentity, Process>,
}

/// The identity of a process: a process id may be used again, but not with the same start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ProcessIdentity {
    pid: i32,
    started: u64,
}

/// CPU time of other programs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Others {
    /// CPU time of programs.
    pub programs: Duration,
    /// CPU time of kernel threads, which in part is work on behalf of their callers (packets, pages, files).
    pub kernel: Duration,
    /// CPU time of the processes that are no others, on any processor.
    pub ours: Duration,
}

/// CPU time of a process in ticks of 10 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    parent: i32,
    own: u64,
    /// Time of its ended children for which it has waited.
    children: u64,
    cpu: usize,
    /// True for a thread of the kernel.
    kernel: bool,
}

impl OthersMeter {
    /// Begins to measure. `cpus`: the processors; empty: all of them.
    #[must_use]
    pub fn begin(cpus: &[usize]) -> Self {
        Self { cpus: cpus.to_vec(), before: processes() }
    }

    /// CPU time used since the beginning, by all processes but `ours`.
    #[must_use]
    pub fn used(&self, ours: &[i32]) -> Others {
        self.between(&processes(), ours)
    }

    fn between(&self, now: &BTreeMap<ProcessIdentity, Process>, ours: &[i32]) -> Others {
        let inherited = self.inherited(now);
        let mut others = Others::default();
        for (who, process) in now {
            let (own, children) = self.before.get(who).map_or((0, 0), |process| (process.own, process.children));
            let known = children + inherited.get(who).copied().unwrap_or(0);
            let ticks = process.own.saturating_sub(own) + process.children.saturating_sub(known);
            let used = Duration::from_millis(ticks * 10);
            if ours.contains(&who.pid) {
                others.ours += used;
            } else if self.cpus.is_empty() || self.cpus.contains(&process.cpu) {
                *(if process.kernel { &mut others.kernel } else { &mut others.programs }) += used;
            }
        }
        others
    }

    /// By process: the time that its descendants had used before the beginning and that it was charged since, because they ended and were
    /// waited for. A compiler that had run for a minute at the beginning is no minute of what ran since.
    fn inherited(&self, now: &BTreeMap<ProcessIdentity, Process>) -> BTreeMap<ProcessIdentity, u64> {
        let by_pid: BTreeMap<i32, ProcessIdentity> = self.before.keys().map(|who| (who.pid, *who)).collect();
        let mut inherited = BTreeMap::new();
        for (_, ended) in self.before.iter().filter(|(who, _)| !now.contains_key(who)) {
            // The nearest ancestor that is still there: those between have ended too, and were charged first.
            let parent_of = |who: &&ProcessIdentity| by_pid.get(&self.before.get(*who)?.parent);
            let ancestors = std::iter::successors(by_pid.get(&ended.parent), parent_of).take(DEPTH);
            if let Some(who) = ancestors.into_iter().find(|who| now.contains_key(who)) {
                *inherited.entry(*who).or_insert(0) += ended.own + ended.children;
            }
        }
        inherited
    }
}

fn processes() -> BTreeMap<ProcessIdentity, Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let numbered = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    // A process that ends meanwhile has no file any more.
    numbered.filter_map(|pid| parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)).collect()
}

/// Parses a line of /proc/[pid]/stat (proc(5)). Fields are counted from the state, after the name in parentheses, which
/// may hold any character: the parent is the 2nd, flags are the 7th, times the 12th to 15th, the start is the 20th, the processor the 37th.
fn parse(pid: i32, line: &str) -> Option<(ProcessIdentity, Process)> {
    let (_, rest) = line.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
    let (own, children) = (number(11)? + number(12)?, number(13)? + number(14)?);
    let cpu = usize::try_from(number(36)?).ok()?;
    let kernel = number(6)? & PF_KTHREAD != 0;
    let parent = fields.get(1)?.parse().ok()?;
    Some((ProcessIdentity { pid, started: number(19)? }, Process { parent, own, children, cpu, kernel }))
}

/// Generations that are looked through for an ancestor: `/proc` is not read in one moment, so that it might show a circle.
const DEPTH: usize = 64;

/// The flag of a kernel thread, from Linux' `include/linux/sched.h`.
const PF_KTHREAD: u64 = 0x0020_0000;

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(ms: u64) -> Others {
        Others { programs: Duration::from_millis(ms), ..Others::default() }
    }

    /// A process that has used `user` and its children `children` ticks.
    fn line(user: u64, children: u64, started: u64, cpu: usize) -> String {
        format!(
            "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 {user} 0 {children} 0 20 0 1 0 {started} 1000 100 \
             18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 {cpu} 0 0 0 0 0 0 0 0 0 0 0 0 0"
        )
    }

    fn seen(lines: &[(i32, String)]) -> BTreeMap<ProcessIdentity, Process> {
        lines.iter().filter_map(|(pid, line)| parse(*pid, line)).collect()
    }

    #[test]
    fn the_name_of_a_process_may_hold_anything() {
        let (who, process) = parse(7, &line(5, 3, 99, 1)).expect("whole");
        assert_eq!((who.started, process.parent, process.own, process.children, process.cpu), (99, 1, 5, 3, 1));
        assert_eq!(parse(7, "7 (a"), None);
        assert_eq!(parse(7, "7 (a) S 1 2"), None);
    }

    #[test]
    fn what_others_used_on_these_processors_is_what_counts() {
        let meter = OthersMeter {
            cpus: vec![0, 1],
            before: seen(&[(1, line(100, 0, 1, 0)), (2, line(10, 0, 1, 1)), (3, line(10, 0, 1, 2))]),
        };
        let now = seen(&[
            (1, line(500, 0, 1, 0)), // ours
            (2, line(12, 5, 1, 1)),  // 2 and 5 by children
            (3, line(99, 0, 1, 2)),  // elsewhere
            (4, line(3, 0, 70, 0)),  // began since
        ]);
        assert_eq!(meter.between(&now, &[1]), Others { ours: Duration::from_millis(4000), ..programs(100) });
        let everywhere = OthersMeter { cpus: Vec::new(), ..meter };
        assert_eq!(everywhere.between(&now, &[1]).programs, programs(990).programs);
    }

    #[test]
    fn time_that_a_child_had_used_before_is_not_used_again_when_it_ends() {
        let child_of = |parent: i32, line: String| line.replacen("S 1 ", &format!("S {parent} "), 1);
        // A shell (2), its build (3) and the build's compiler (4), which has run for 60 s.
        let meter = OthersMeter {
            cpus: Vec::new(),
            before: seen(&[
                (2, line(1, 0, 1, 0)),
                (3, child_of(2, line(10, 500, 2, 0))),
                (4, child_of(3, line(6000, 0, 3, 1))),
            ]),
        };
        // The compiler ends after 2 s more.
        let compiled = child_of(2, line(10, 6700, 2, 0));
        assert_eq!(meter.between(&seen(&[(2, line(1, 0, 1, 0)), (3, compiled)]), &[]), programs(2000));
        // The build ends too, 1 s later.
        assert_eq!(meter.between(&seen(&[(2, line(1, 6810, 1, 0))]), &[]), programs(3000));
    }

    #[test]
    fn a_number_that_is_used_again_is_another_process() {
        let meter = OthersMeter { cpus: Vec::new(), before: seen(&[(2, line(1000, 0, 1, 0))]) };
        assert_eq!(meter.between(&seen(&[(2, line(4, 0, 50, 0))]), &[]), programs(40));
    }

    #[test]
    fn threads_of_the_kernel_are_no_programs() {
        let meter = OthersMeter { cpus: Vec::new(), before: BTreeMap::new() };
        // The flags of kworker/0:1 on Linux 6.18: PF_WQ_WORKER, PF_NOFREEZE, PF_FORKNOEXEC, PF_KTHREAD.
        let worker = line(7, 0, 9, 0).replace(" 4194560 ", " 69238880 ");
        let found = meter.between(&seen(&[(2, line(4, 0, 50, 0)), (3, worker)]), &[]);
        assert_eq!(found, Others { kernel: Duration::from_millis(70), ..programs(40) });
    }

    #[test]
    fn the_kernel_tells_of_this_process() {
        let own = i32::try_from(std::process::id()).expect("an id");
        assert!(processes().keys().any(|who| who.pid == own));
    }
}
