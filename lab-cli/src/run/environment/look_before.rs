//! A look before a live run: whether others leave it its processors.

use std::{collections::BTreeSet, thread, time::Duration};

use health::OthersMeter;

use super::cpus::Cpus;

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
