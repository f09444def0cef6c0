//! Use of the processors of a run by others while an arm ran.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The processors that generator and service may use, and who else used them. What cannot be read is missing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NeighbourUse {
    /// CPU time there that neither the lab nor the service used, as a share of one processor. It includes programs outside of
    /// the lab's container, and no interrupts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<f64>,
    /// How long the service waited for its processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceWait>,
    /// Why nothing is known of others or of the service's waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
    /// Limits on CPU time that held the service up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_throttled: Option<Throttled>,
    /// The same for the lab.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lab_throttled: Option<Throttled>,
    /// Share of the time in which something on the machine waited for a processor (pressure stall information).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pressure: Option<f64>,
    /// What the machine's own host took away there, by phase.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stolen: Vec<Stolen>,
}

/// How long a service waited for its processors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServiceWait {
    /// CPU time of its threads, in seconds.
    pub ran_s: f64,
    /// The sum of the times that its threads were ready and waited (run-queue delay), without 25 µs for each wake-up, in seconds.
    pub queued_s: f64,
    /// The most of that which was not for another thread of the service: no more than the time of its processors that it did not use, and no
    /// more than what others used there and limits held it up for, where that is known. In seconds.
    pub starved_s: f64,
    /// The length of the arm times the processors that the service may use, in seconds.
    pub available_s: f64,
    /// What others used there is known, so that `starved_s` is their doing.
    pub confirmed: bool,
}

impl ServiceWait {
    /// Share of the time that it wanted a processor in which it had none.
    pub fn share(&self) -> f64 {
        if self.starved_s > 0.0 { self.starved_s / (self.ran_s + self.starved_s) } else { 0.0 }
    }

    /// Share of its processors' time in which it wanted one.
    pub fn wanted(&self) -> f64 {
        if self.available_s > 0.0 { (self.ran_s + self.starved_s) / self.available_s } else { 0.0 }
    }
}

/// How often and how long a limit on CPU time (of a control group) stopped processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Throttled {
    /// Periods in which the limit was reached.
    pub periods: u64,
    /// Time without a processor, in seconds, summed over processors.
    pub seconds: f64,
}

/// What the machine's own host took away from the processors of a run in a phase, and what that can have done to response times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Stolen {
    /// Share of the time, summed over the processor of the generator and that of the service.
    pub share: f64,
    /// The most that half of the requests can have been held up by, if the host took the time of each second in turns as long as the
    /// generator's longest pause.
    pub p50_ms: f64,
    /// The same for a tenth of them.
    pub p90_ms: f64,
    /// The same for a hundredth.
    pub p99_ms: f64,
}

impl Stolen {
    /// Sums up the time that was taken in each second, and the longest turn that it may have been taken in, in
    /// seconds.
    pub fn of(seconds: &[f64], longest: f64) -> Self {
        let count = seconds.len().max(1) as f64;
        let at = |share: f64| held_up(seconds, longest, share) * 1e3;
        Self { share: seconds.iter().sum::<f64>() / count, p50_ms: at(0.5), p90_ms: at(0.1), p99_ms: at(0.01) }
    }
}

/// The longest delay that this share of requests can have had. Turns of length `t` that come to `x` in a second delay the share
/// `x (1 - d / t)` of its requests by more than `d`, so that the delay is sought for which these shares come to the one asked for.
fn held_up(seconds: &[f64], longest: f64, share: f64) -> f64 {
    let of_second = |x: f64, delay: f64| {
        let turn = x.min(longest);
        if delay < turn { x * (1.0 - delay / turn) } else { 0.0 }
    };
    let beyond = |delay: f64| seconds.iter().map(|x| of_second(*x, delay)).sum::<f64>() / seconds.len() as f64;
    if seconds.is_empty() || beyond(0.0) <= share {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if beyond(middle) > share { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_holds_up_the_share_of_requests_that_come_in_it() {
        // Of ten seconds one stood still for 300 ms: 3 % of the requests, a hundredth of them by 200 ms or more.
        let mut seconds = [0.0; 10];
        seconds[4] = 0.3;
        let found = Stolen::of(&seconds, 1.0);
        assert!((found.share - 0.03).abs() < 1e-12, "{found:?}");
        assert!((found.p99_ms - 200.0).abs() < 1e-6, "{found:?}");
        assert_eq!((found.p50_ms, found.p90_ms), (0.0, 0.0));
        // In turns of 30 ms, the same share of them waits for less.
        let found = Stolen::of(&seconds, 0.03);
        assert!((found.p99_ms - 20.0).abs() < 1e-6 && (found.share - 0.03).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn what_takes_less_than_a_hundredth_of_the_time_moves_no_percentile() {
        assert_eq!(Stolen::of(&[0.01, 0.0, 0.01, 0.0], 1.0), Stolen { share: 0.005, ..Stolen::default() });
        assert_eq!(Stolen::of(&[], 1.0), Stolen::default());
        // Half of each second: every second request by up to half a second.
        let found = Stolen::of(&[0.6; 3], 1.0);
        assert!((found.p50_ms - 100.0).abs() < 1e-6 && (found.p90_ms - 500.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn a_wait_is_a_share_of_what_was_wanted() {
        let wait = ServiceWait { ran_s: 3.0, starved_s: 1.0, available_s: 8.0, ..ServiceWait::default() };
        assert_eq!((wait.share(), wait.wanted()), (0.25, 0.5));
        assert_eq!((ServiceWait::default().share(), ServiceWait::default().wanted()), (0.0, 0.0));
    }
}
