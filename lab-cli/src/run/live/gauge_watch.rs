//! Reads the gauges of a target four times a second.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use spec::wire::Gauges;

use super::controls::Controls;
use crate::run::sampler::Sampler;

const PERIOD: Duration = Duration::from_millis(250);

/// Keeps the newest gauges of a target.
#[derive(Debug)]
pub struct GaugeWatch {
    gauges: Sampler<Gauges>,
    silent: Arc<Silence>,
}

/// The longest time that a target did not say anything, beyond the pause between two questions.
#[derive(Debug, Default)]
struct Silence(AtomicU64);

impl Silence {
    /// It has said nothing for so long.
    fn lasted(&self, since_last: Duration) {
        let silent = since_last.saturating_sub(PERIOD).as_millis();
        self.0.fetch_max(u64::try_from(silent).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn longest(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

impl GaugeWatch {
    /// Begins.
    pub fn begin(controls: &Controls) -> std::io::Result<Self> {
        let silent = Arc::new(Silence::default());
        let (controls, silence) = (controls.clone(), Arc::clone(&silent));
        let mut heard = Instant::now();
        let gauges = Sampler::begin("gauges", PERIOD, move || {
            // A target that does not answer in time shows as a second without gauges.
            let gauges = controls.gauges();
            silence.lasted(heard.elapsed());
            let gauges = gauges.ok()?;
            heard = Instant::now();
            Some(gauges)
        })?;
        Ok(Self { gauges, silent })
    }

    /// The longest time that the target did not answer, so far.
    pub fn longest_silence(&self) -> Duration {
        self.silent.longest()
    }

    /// The newest gauges, once.
    pub fn take(&self) -> Option<Gauges> {
        self.gauges.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_between_two_questions_is_no_silence_and_the_longest_one_counts() {
        let silence = Silence::default();
        for millis in [0, 200, 250] {
            silence.lasted(Duration::from_millis(millis));
        }
        assert_eq!(silence.longest(), Duration::ZERO);
        for millis in [300, 1650, 400] {
            silence.lasted(Duration::from_millis(millis));
        }
        assert_eq!(silence.longest(), Duration::from_millis(1400));
    }
}
