use std::{collections::BTreeMap, fs, time::Duration};

use super::MachineSample;

/// What a processor did since the machine's start, apart from running programs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessorSample {
    /// With nothing to do, or in wait for a disk. Kernels that stop the tick of an idle processor measure this exactly.
    pub idle: Duration,
    /// Taken away by the machine's host.
    pub stolen: Duration,
    /// In interrupts, whose work is not charged to a program.
    pub interrupts: Duration,
}

impl ProcessorSample {
    /// All processors by their numbers (/proc/stat, proc(5)); none where the kernel does not say.
    #[must_use]
    pub fn all() -> BTreeMap<usize, Self> {
        Self::parse(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    fn parse(text: &str) -> BTreeMap<usize, Self> {
        text.lines().filter_map(Self::of_line).collect()
    }

    /// `cpu1 user nice system idle iowait irq softirq steal …`
    fn of_line(line: &str) -> Option<(usize, Self)> {
        let mut words = line.split_ascii_whitespace();
        let number = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        let time = |places: &[usize]| {
            let sum: u64 = places.iter().filter_map(|place| ticks.get(*place)).sum();
            Duration::from_millis(sum * MachineSample::TICK_MS)
        };
        // A kernel that counts nothing shows zeros in all places.
        let counts = ticks.len() >= 4 && ticks.iter().any(|ticks| *ticks > 0);
        counts.then(|| (number, Self { idle: time(&[3, 4]), interrupts: time(&[5, 6]), stolen: time(&[7]) }))
    }

    /// The time for which programs ran there since `earlier`, in so much time.
    #[must_use]
    pub fn busy_since(&self, earlier: &Self, elapsed: Duration) -> Duration {
        let not_busy = self.idle.saturating_sub(earlier.idle)
            + self.stolen.saturating_sub(earlier.stolen)
            + self.interrupts.saturating_sub(earlier.interrupts);
        elapsed.saturating_sub(not_busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_each_processor_and_none_where_nothing_is_counted() {
        let text = "cpu  9 0 0 9\ncpu0 100 1 30 500 20 3 4 7 2 0\ncpu3 1 1 1 1\nintr 1 2\ncpu4 0 0 0 0 0 0 0 0 0 0\n";
        let found = ProcessorSample::parse(text);
        let ms = Duration::from_millis;
        let first = ProcessorSample { idle: ms(5200), interrupts: ms(70), stolen: ms(70) };
        let other = ProcessorSample { idle: ms(10), ..ProcessorSample::default() };
        assert_eq!(found, [(0, first), (3, other)].into());
    }

    #[test]
    fn what_is_not_idle_stolen_or_an_interrupt_is_busy() {
        let ms = Duration::from_millis;
        let before = ProcessorSample { idle: ms(100), stolen: ms(10), interrupts: ms(5) };
        let after = ProcessorSample { idle: ms(700), stolen: ms(60), interrupts: ms(10) };
        assert_eq!(after.busy_since(&before, ms(1000)), ms(345));
        // Counters are read a moment later than the clock.
        assert_eq!(after.busy_since(&before, ms(600)), Duration::ZERO);
    }

    #[test]
    fn the_kernel_tells_of_its_processors() {
        assert!(!ProcessorSample::all().is_empty());
    }
}
