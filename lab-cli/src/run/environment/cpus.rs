//! Processors: one for the target, one for the generator.

use nix::{
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    unistd::Pid,
};

/// Processors of this run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpus {
    /// For the load generator and the lab.
    pub generator: Option<usize>,
    /// For the target; the same if there is no other.
    pub target: Option<usize>,
    /// For the proxy before a service of one's own: the generator's, unless there is a third.
    pub proxy: Option<usize>,
    /// Arms of virtual time that run side by side; `None`: one on each processor.
    pub jobs: Option<usize>,
}

impl Cpus {
    /// The first two that this process may use.
    pub fn choose() -> Self {
        let allowed = allowed();
        let (generator, target) = (allowed.first().copied(), allowed.get(1).or(allowed.first()).copied());
        Self { generator, target, proxy: allowed.get(2).copied().or(generator), jobs: None }
    }

    /// None in particular.
    pub fn anywhere() -> Self {
        Self { generator: None, target: None, proxy: None, jobs: None }
    }

    /// Do both share one?
    pub fn shared(&self) -> bool {
        self.generator == self.target
    }

    /// Keeps this thread, and those that it starts from now on, to the generator's processor.
    pub fn pin_generator(&self) {
        let Some(cpu) = self.generator else { return };
        // A machine that forbids it measures less well; the run still says what it saw.
        pin_this_thread(cpu);
    }
}

/// Keeps this thread to that processor; false if it may not go there.
pub fn pin_this_thread(cpu: usize) -> bool {
    let mut set = CpuSet::new();
    set.set(cpu).is_ok() && sched_setaffinity(Pid::from_raw(0), &set).is_ok()
}

fn allowed() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else { return Vec::new() };
    (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).collect()
}
