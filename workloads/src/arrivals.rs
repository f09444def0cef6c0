//! Arrival times of open loads, and the times at which the number of closed users changes.

use std::time::Duration;

use controllers::{Random, Seeded, Timestamp, seed_for};

use crate::{
    bursts::Bursts,
    plan::{ArrivalLaw, step_gap::STEP_GAP},
    rate_path::RatePath,
};

/// Open arrivals within one phase, at a rate that changes.
///
/// Arrival k happens when the cumulative rate reaches a mark: k - 1/2 for even spacing, the sum of k unit exponentials
/// for a Poisson process (inversion of the cumulative rate; Çinlar, "Introduction to Stochastic Processes", 1975,
/// section 4.7). In bursts the cumulative rate is that of the modulated process.
#[derive(Debug, Clone)]
pub struct OpenArrivals {
    rate: RatePath,
    law: ArrivalLaw,
    begins: Timestamp,
    lasts: Duration,
    random: Seeded,
    bursts: Option<Bursts>,
    mark: f64,
    next: Option<Timestamp>,
}

impl OpenArrivals {
    /// Arrivals from `begins`, for as long as `lasts`.
    #[must_use]
    pub fn new(rate: RatePath, law: ArrivalLaw, begins: Timestamp, lasts: Duration, seed: u64) -> Self {
        let random = Seeded::new(seed);
        let bursts = match law {
            ArrivalLaw::Burst { peak, on, off } => Some(Bursts::new(peak, on, off, seed_for(seed, "bursts"))),
            ArrivalLaw::Poisson | ArrivalLaw::Constant => None,
        };
        let mut arrivals = Self { rate, law, begins, lasts, random, bursts, mark: 0.0, next: None };
        arrivals.mark = match law {
            ArrivalLaw::Constant => 0.5,
            ArrivalLaw::Poisson | ArrivalLaw::Burst { .. } => arrivals.random.exponential(1.0),
        };
        arrivals.next = arrivals.when();
        arrivals
    }

    /// The next arrival.
    #[must_use]
    pub fn peek(&self) -> Option<Timestamp> {
        self.next
    }

    fn when(&mut self) -> Option<Timestamp> {
        let lasts = self.lasts.as_secs_f64();
        if lasts <= 0.0 {
            return None;
        }
        let seconds = match &mut self.bursts {
            Some(bursts) => bursts.when(self.mark, &self.rate, lasts)?,
            None => self.rate.when(self.mark)?,
        };
        (seconds < lasts).then(|| self.begins + Duration::from_secs_f64(seconds))
    }
}

impl Iterator for OpenArrivals {
    type Item = Timestamp;

    fn next(&mut self) -> Option<Timestamp> {
        let now = self.next?;
        self.mark += match self.law {
            ArrivalLaw::Constant => 1.0,
            ArrivalLaw::Poisson | ArrivalLaw::Burst { .. } => self.random.exponential(1.0),
        };
        self.next = self.when();
        Some(now)
    }
}

/// The times at which the number of closed users changes by one: a jump at the beginning of a phase, then a line.
#[derive(Debug, Clone)]
pub struct Crossings {
    jump_down: u64,
    jump_up: u64,
    ramp_down: u64,
    ramp_up: u64,
    done: u64,
    begins: Timestamp,
    lasts: Duration,
    gap: Duration,
}

impl Crossings {
    /// A jump from `now` users to `from` (arrivals [`STEP_GAP`] apart), then a line to `to`.
    #[must_use]
    pub fn new(now: u64, from: u64, to: u64, begins: Timestamp, lasts: Duration) -> Self {
        Self {
            gap: STEP_GAP,
            jump_down: now.saturating_sub(from),
            jump_up: from.saturating_sub(now),
            ramp_down: from.saturating_sub(to),
            ramp_up: to.saturating_sub(from),
            done: 0,
            begins,
            lasts,
        }
    }

    /// The same with arrivals of the jump this far apart, or closer where the phase is too short for that.
    #[must_use]
    pub fn spaced(self, gap: Duration) -> Self {
        Self { gap, ..self }
    }

    /// Only the departures.
    #[must_use]
    pub fn leaving(&self) -> Self {
        Self { jump_up: 0, ramp_up: 0, ..self.clone() }
    }

    /// Only the arrivals.
    #[must_use]
    pub fn arriving(&self) -> Self {
        Self { jump_down: 0, ramp_down: 0, ..self.clone() }
    }

    /// The next change.
    #[must_use]
    pub fn peek(&self) -> Option<Timestamp> {
        let jump = self.jump_down + self.jump_up;
        if self.done < jump {
            return Some(self.begins + self.step_gap() * few(self.done));
        }
        let ramp = self.ramp_down + self.ramp_up;
        let done = self.done - jump;
        let share = (done as f64 + 0.5) / ramp as f64;
        let step_over = self.begins + self.step_gap() * few(jump);
        (done < ramp).then(|| (self.begins + self.lasts.mul_f64(share)).max(step_over))
    }

    fn step_gap(&self) -> Duration {
        if self.jump_up == 0 {
            return Duration::ZERO; // a departure costs nothing, and happens at once
        }
        self.gap.min(self.lasts / few(self.jump_up))
    }
}

fn few(users: u64) -> u32 {
    u32::try_from(users).unwrap_or(u32::MAX)
}

impl Iterator for Crossings {
    type Item = Timestamp;

    fn next(&mut self) -> Option<Timestamp> {
        let now = self.peek()?;
        self.done += 1;
        Some(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(from: f64, to: f64, law: ArrivalLaw, secs: u64) -> OpenArrivals {
        let line = RatePath::Line { from, to, seconds: secs as f64 };
        OpenArrivals::new(line, law, Timestamp::from_secs(1), Duration::from_secs(secs), 7)
    }

    fn millis(arrivals: impl Iterator<Item = Timestamp>) -> Vec<u64> {
        arrivals.map(|at| (at.as_nanos() + 500_000) / 1_000_000).collect()
    }

    #[test]
    fn constant_arrivals_are_even() {
        assert_eq!(millis(open(4.0, 4.0, ArrivalLaw::Constant, 1)), [1125, 1375, 1625, 1875]);
    }

    #[test]
    fn a_ramp_reaches_its_marks() {
        // Rate 2t over 2 s: the cumulative rate t^2 reaches 0.5, 1.5, 2.5, 3.5 at the square roots.
        let ramp = millis(open(0.0, 4.0, ArrivalLaw::Constant, 2));
        assert_eq!(ramp, [1707, 2225, 2581, 2871]);
        // The same line downwards mirrors these times: 2 s minus each.
        let mut mirrored = millis(open(4.0, 0.0, ArrivalLaw::Constant, 2));
        mirrored.reverse();
        let expected: Vec<u64> = ramp.iter().map(|at| 4000 - at).collect();
        assert_eq!(mirrored, expected);
    }

    #[test]
    fn a_sine_reaches_its_marks() {
        // Rate 2 + 2 sin(2π t / 4) over 4 s: until the crest at 1 s 2 + 4/π = 3.27 are expected, until 2 s 4 + 8/π = 6.55,
        // until the trough at 3 s 6 + 4/π = 7.27, until 4 s 8.
        let sine = RatePath::Sine { mean: 2.0, amplitude: 2.0, period: 4.0 };
        let (begins, lasts) = (Timestamp::ZERO, Duration::from_secs(4));
        let times = millis(OpenArrivals::new(sine, ArrivalLaw::Constant, begins, lasts, 7));
        let within = |from, to| times.iter().filter(|at| (from..to).contains(*at)).count();
        assert_eq!([within(0, 1000), within(1000, 2000), within(2000, 3000), within(3000, 4000)], [3, 4, 0, 1]);
    }

    #[test]
    fn no_rate_is_no_arrivals() {
        assert_eq!(open(0.0, 0.0, ArrivalLaw::Constant, 2).count(), 0);
        assert_eq!(open(5.0, 5.0, ArrivalLaw::Poisson, 0).count(), 0);
    }

    #[test]
    fn poisson_counts_spread_as_they_should() {
        // 1000/s for 100 s: 100 windows of 1 s, whose index of dispersion has standard deviation sqrt(2/99) = 0.14.
        let mut counts = vec![0f64; 100];
        for at in open(1000.0, 1000.0, ArrivalLaw::Poisson, 100) {
            counts[(at.as_secs_f64() - 1.0) as usize] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / 100.0;
        let variance = counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>() / 99.0;
        assert!((mean - 1000.0).abs() < 10.0, "{mean}");
        assert!((0.6..1.54).contains(&(variance / mean)), "{}", variance / mean);
    }

    #[test]
    fn bursts_keep_the_mean_and_spread_counts_as_the_process_does() {
        // On for a third of the time at 2.5 times the mean of 100/s, else at (1 - 2.5 / 3) / (2 / 3) = 0.25 times. The variance
        // of the rate is 1/3 x 2/3 x 225^2 = 11 250; it forgets at 1/1 + 1/2 = 1.5 a second. So counts in 1 s have variance
        // 100 + 2 x 11 250 / 1.5 x (1 - (1 - e^-1.5) / 1.5) = 7332, and their mean over 4000 s a standard deviation of
        // sqrt(2 x 11 250 / 1.5 / 4000) = 1.9.
        let law = ArrivalLaw::Burst { peak: 2.5, on: Duration::from_secs(1), off: Duration::from_secs(2) };
        let mut counts = vec![0f64; 4000];
        for at in open(100.0, 100.0, law, 4000) {
            counts[(at.as_secs_f64() - 1.0) as usize] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / 4000.0;
        let variance = counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>() / 3999.0;
        assert!((mean - 100.0).abs() < 6.0, "{mean}");
        assert!((6600.0..8100.0).contains(&variance), "{variance}");
        // Nothing comes while it is off if the peak takes all.
        let all = ArrivalLaw::Burst { peak: 3.0, on: Duration::from_secs(1), off: Duration::from_secs(2) };
        let quiet = (open(100.0, 100.0, all, 400).collect::<Vec<_>>().windows(2))
            .filter(|pair| pair[1].since(pair[0]) > Duration::from_millis(200))
            .count();
        assert!((90..180).contains(&quiet), "400 s have 133 rests in the mean: {quiet}");
    }

    #[test]
    fn users_change_at_once_and_then_along_the_line() {
        let up = Crossings::new(1, 3, 5, Timestamp::from_secs(1), Duration::from_secs(4));
        assert_eq!(millis(up.arriving()), [1000, 1000, 2000, 4000]);
        assert_eq!(up.leaving().count(), 0);
        let down_then_up = Crossings::new(4, 2, 3, Timestamp::from_secs(1), Duration::from_secs(4));
        assert_eq!(millis(down_then_up.leaving()), [1000, 1000]);
        assert_eq!(millis(down_then_up.arriving()), [3000]);
    }

    #[test]
    fn a_jump_is_spaced_and_the_line_goes_on_from_its_end() {
        // From 1 to 4 users at once, then on to 6 in 4 s: half of the line's two is passed after 1 s, half of the second after 3 s.
        let jump = |gap| Crossings::new(1, 4, 6, Timestamp::from_secs(1), Duration::from_secs(4)).spaced(gap);
        assert_eq!(millis(jump(Duration::from_millis(200)).arriving()), [1000, 1200, 1400, 2000, 4000]);
        assert_eq!(millis(jump(Duration::ZERO).arriving()), [1000, 1000, 1000, 2000, 4000]);
        // Three take 1.5 s, and nobody of the line comes before them.
        assert_eq!(millis(jump(Duration::from_millis(500)).arriving()), [1000, 1500, 2000, 2500, 4000]);
        // No more than the phase has: 4 s for the three, the line then at its end.
        assert_eq!(millis(jump(Duration::from_secs(9)).arriving()), [1000, 2333, 3667, 5000, 5000]);
        assert_eq!(millis(Crossings::new(9, 7, 7, Timestamp::ZERO, Duration::from_secs(4)).leaving()), [0, 0]);
    }
}
