//! Processors: one for the target, one for the generator, and a look before a live run whether others leave it them.

use std::{collections::BTreeSet, thread, time::Duration};

use health::OthersMeter;
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

/// Runs whose arms are shorter, all together, are not looked at before: that would be no small part of them.
const WORTH_A_LOOK: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_secs(2);
/// CPU time of others, as a share of a processor, which is no chance of so short a look: three times what NOISE allows.
const MUCH: f64 = 0.1;

/// Use of the run's processors by others, in words, with the way out; `None`: little enough, or the run is a short one.
pub fn look_before(cpus: &Cpus, lasts: Duration) -> Option<String> {
    if lasts < WORTH_A_LOOK {
        return None;
    }
    let used: BTreeSet<usize> = cpus.generator.into_iter().chain(cpus.target).collect();
    let used: Vec<usize> = used.into_iter().collect();
    let others = OthersMeter::begin(&used);
    thread::sleep(LOOK);
    let own = i32::try_from(std::process::id()).ok();
    warning(others.used(own.as_slice()).programs.as_secs_f64() / LOOK.as_secs_f64(), used.len())
}

fn warning(share: f64, processors: usize) -> Option<String> {
    let of = if processors == 1 { "its one processor".to_owned() } else { format!("its {processors} processors") };
    (share > MUCH).then(|| {
        format!(
            "other programs use {share:.1} of {of}: every arm would be INVALID (NOISE). Stop them (builds, browsers, backups), or \
             run in virtual time, where they do not matter (--virtual; for a service of your own with the plant of lab calibrate)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_told_and_a_quiet_one_is_not() {
        let text = "other programs use 1.6 of its 2 processors: every arm would be INVALID (NOISE). Stop them";
        assert!(warning(1.6, 2).is_some_and(|warning| warning.starts_with(text)));
        assert_eq!(warning(0.1, 2), None);
        let began = std::time::Instant::now();
        assert_eq!(look_before(&Cpus::anywhere(), Duration::from_secs(59)), None);
        assert!(began.elapsed() < LOOK, "a short run is not looked at before");
    }
}
