//! Faults that an operator injects into a running service for a limited time: less capacity, or a delay before it.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use controllers::Timestamp;
use spec::wire::InjectFault;

use crate::{
    clock::ServiceClock,
    signals::{Probe as _, ThisProcess, cpu_time},
};

/// The period at which waiting workers check whether they may continue: a new order may be milder. Not shorter, since
/// the check takes CPU time from the service.
const LOOK: Duration = Duration::from_millis(50);
const LEAST_WAIT: Duration = Duration::from_millis(10);
/// The longest duration of a fault, and the largest delay, milliseconds.
const LONGEST_MS: f64 = 3_600_000.0;
const GREATEST_DELAY_MS: f64 = 60_000.0;
/// The smallest share of the capacity except 0.
const LEAST_SHARE: f64 = 0.01;

/// The faults that are active in a service.
#[derive(Debug)]
pub struct FaultInjection {
    clock: ServiceClock,
    /// True if a fault may be active, so that the lock need be taken.
    any: AtomicBool,
    now: Mutex<InTheWay>,
}

#[derive(Debug, Default)]
struct InTheWay {
    cut: Option<Cut>,
    delay: Option<Delay>,
}

/// A cut of the capacity.
#[derive(Debug, Clone, Copy)]
struct Cut {
    share: f64,
    since: Timestamp,
    until: Timestamp,
    /// The CPU time of the process at its start.
    used: Duration,
    /// The number of processors that the process may use, stored since the query costs as much as a small job.
    cpus: f64,
}

#[derive(Debug, Clone, Copy)]
struct Delay {
    by: Duration,
    until: Timestamp,
}

impl FaultInjection {
    /// No fault is active.
    #[must_use]
    pub fn new(clock: ServiceClock) -> Self {
        Self { clock, any: AtomicBool::new(false), now: Mutex::default() }
    }

    /// Injects a fault, which replaces one of the same kind.
    ///
    /// # Errors
    /// A value out of its range.
    pub fn put(&self, hinder: &InjectFault) -> Result<(), Vec<String>> {
        let until = |for_ms: f64| {
            if for_ms > 0.0 && for_ms <= LONGEST_MS {
                Ok(self.clock.now() + Duration::from_secs_f64(for_ms / 1e3))
            } else {
                Err(vec![format!("for_ms: {for_ms} must be over 0, to {LONGEST_MS} (an hour)")])
            }
        };
        match *hinder {
            InjectFault::Capacity { share, for_ms } => {
                if !(0.0..=1.0).contains(&share) || (share > 0.0 && share < LEAST_SHARE) {
                    return Err(vec![format!("share: {share} must be 0 (nobody works), or {LEAST_SHARE} to 1")]);
                }
                let until = until(for_ms)?;
                let (used, cpus) = (cpu_time(), ThisProcess::default().cpus());
                let cut = Cut { share, since: self.clock.now(), until, used, cpus };
                self.lock().cut = (share < 1.0).then_some(cut);
            }
            InjectFault::Delay { by_ms, for_ms } => {
                if !(0.0..=GREATEST_DELAY_MS).contains(&by_ms) {
                    return Err(vec![format!("by_ms: {by_ms} must be 0 to {GREATEST_DELAY_MS} (a minute)")]);
                }
                let until = until(for_ms)?;
                let delay = Delay { by: Duration::from_secs_f64(by_ms / 1e3), until };
                self.lock().delay = (by_ms > 0.0).then_some(delay);
            }
        }
        self.any.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Waits for the delay of a request that has just been read.
    pub async fn delayed(&self) {
        let Some(delay) = self.look().delay else { return };
        self.clock.sleep_until(self.clock.now() + delay.by).await;
    }

    /// Makes a worker wait before it begins a job. `emulated`: the work burns no CPU, and takes longer by itself
    /// ([`FaultInjection::speed`]); all other work is delayed so that the process uses its share of CPU time, over all
    /// jobs. True if it had to wait.
    pub async fn may_work(&self, emulated: bool) -> bool {
        let mut waited = false;
        while let Some(cut) = self.look().cut
            && let Some(wait) = cut.wait(self.clock.now(), cpu_time(), emulated)
        {
            waited = true;
            tokio::time::sleep(wait.clamp(LEAST_WAIT, LOOK)).await;
        }
        waited
    }

    /// The speed of emulated work, over 0, to 1.
    #[must_use]
    pub fn speed(&self) -> f64 {
        // At a share of 0 no job begins, but one that has just begun may still ask.
        self.look().cut.map_or(1.0, |cut| cut.share.max(LEAST_SHARE))
    }

    /// The faults that are active now.
    fn look(&self) -> InTheWay {
        if !self.any.load(Ordering::Relaxed) {
            return InTheWay::default();
        }
        let now = self.clock.now();
        let mut state = self.lock();
        state.cut = state.cut.filter(|cut| now < cut.until);
        state.delay = state.delay.filter(|delay| now < delay.until);
        if state.cut.is_none() && state.delay.is_none() {
            self.any.store(false, Ordering::Relaxed);
        }
        InTheWay { cut: state.cut, delay: state.delay }
    }

    fn lock(&self) -> MutexGuard<'_, InTheWay> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cut {
    /// The time that a worker must wait before its next job; `None`: none. Excess use is compensated.
    fn wait(&self, now: Timestamp, used: Duration, emulated: bool) -> Option<Duration> {
        let left = self.until.since(now);
        if left.is_zero() {
            return None;
        }
        if self.share <= 0.0 {
            return Some(left);
        }
        let rate = self.share * self.cpus;
        let allowed = now.since(self.since).mul_f64(rate);
        let over = used.saturating_sub(self.used).saturating_sub(allowed);
        (!emulated && !over.is_zero()).then(|| over.div_f64(rate).min(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn what_was_used_beyond_the_share_is_waited_for() {
        let at = Timestamp::from_millis;
        let cut = Cut { share: 0.25, since: at(1000), until: at(9000), used: ms(500), cpus: 1.0 };
        let wait = |now, used, cpus| Cut { cpus, ..cut }.wait(at(now), ms(used), false);
        // After 400 ms a quarter of one processor is 100 ms.
        assert_eq!(wait(1400, 600, 1.0), None);
        assert_eq!(wait(1400, 610, 1.0), Some(ms(40)), "10 ms too much take 40 ms to come by");
        assert_eq!(wait(1400, 610, 2.0), None, "two processors have twice as much");
        assert_eq!(wait(8990, 9000, 1.0), Some(ms(10)), "until it is over");
        assert_eq!(wait(9000, 9000, 1.0), None);
        assert_eq!(cut.wait(at(1400), ms(9000), true), None, "emulated work is slow by itself");
        let none = Cut { share: 0.0, ..cut };
        assert_eq!(none.wait(at(1400), ms(500), true), Some(ms(7600)));
    }

    #[test]
    fn it_ends_by_itself_and_can_be_taken_back() {
        let fault_injection = FaultInjection::new(ServiceClock::start());
        assert!((fault_injection.speed() - 1.0).abs() < 1e-9);
        fault_injection.put(&InjectFault::Capacity { share: 0.5, for_ms: 60_000.0 }).unwrap();
        assert!((fault_injection.speed() - 0.5).abs() < 1e-9);
        fault_injection.put(&InjectFault::Capacity { share: 1.0, for_ms: 1.0 }).unwrap();
        assert!((fault_injection.speed() - 1.0).abs() < 1e-9);
        fault_injection.put(&InjectFault::Delay { by_ms: 5.0, for_ms: 1.0 }).unwrap();
        std::thread::sleep(ms(5));
        assert!(fault_injection.look().delay.is_none() && !fault_injection.any.load(Ordering::Relaxed));
    }

    #[test]
    fn values_out_of_range_change_nothing_and_say_what_would_do() {
        let fault_injection = FaultInjection::new(ServiceClock::start());
        for (hinder, hint) in [
            (InjectFault::Capacity { share: -0.1, for_ms: 1.0 }, "0.01 to 1"),
            (InjectFault::Capacity { share: 0.001, for_ms: 1.0 }, "0.01 to 1"),
            (InjectFault::Capacity { share: f64::NAN, for_ms: 1.0 }, "0.01 to 1"),
            (InjectFault::Capacity { share: 0.5, for_ms: 0.0 }, "an hour"),
            (InjectFault::Delay { by_ms: -1.0, for_ms: 1.0 }, "a minute"),
            (InjectFault::Delay { by_ms: 60_001.0, for_ms: 1.0 }, "a minute"),
            (InjectFault::Delay { by_ms: 1.0, for_ms: f64::INFINITY }, "an hour"),
        ] {
            let problems = fault_injection.put(&hinder).unwrap_err();
            assert!(problems[0].contains(hint), "{hinder:?}: {problems:?}");
        }
        assert!(!fault_injection.any.load(Ordering::Relaxed));
    }
}
