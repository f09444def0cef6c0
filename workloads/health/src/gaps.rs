use std::time::Duration;

use controllers::Timestamp;
use measure::{Distribution, Percentile, Stall, StallCause};

use super::{MachineSample, ThreadSample};

/// Detects that the sender's loop woke late, and finds the cause.
///
/// Unobserved, a late sender shows as response time: so the loop wakes at least every [`HEARTBEAT`](Self::HEARTBEAT),
/// and by as much as it is late then, everything is late that it was to send meanwhile.
#[derive(Debug)]
pub struct GapMeter {
    last: ThreadSample,
    /// The sample up to which waits for the core were told.
    told: ThreadSample,
    machine: MachineSample,
    largest: Duration,
    all: Distribution,
    recent: Duration,
    stalls: Vec<Stall>,
    more: u64,
}

impl GapMeter {
    /// The longest time between two wake-ups of the loop.
    pub const HEARTBEAT: Duration = Duration::from_millis(5);
    /// The gap from which on a stall is recorded.
    pub const STALL: Duration = Duration::from_millis(5);
    /// The gap from which on the sender stood still. Shorter ones are how late a processor that sleeps wakes up.
    pub const GAP: Duration = Duration::from_millis(1);
    /// The wait for the core from which on the sender stood still.
    pub const WAIT: Duration = Duration::from_micros(100);
    /// The largest number of recorded stalls.
    pub const KEPT: usize = 64;
    /// Longer gaps count as this long: the limits that matter are far below.
    const MOST: Duration = Duration::from_secs(60);

    /// A detector that begins with these samples of the sender and the machine.
    #[must_use]
    pub fn new(sample: ThreadSample, machine: MachineSample) -> Self {
        Self {
            last: sample,
            told: sample,
            machine,
            largest: Duration::ZERO,
            all: Distribution::new(Self::MOST),
            recent: Duration::ZERO,
            stalls: Vec::new(),
            more: 0,
        }
    }

    /// The loop was due to wake at `due` and woke at `now`; the samples are taken only if they are needed. Returns for how
    /// long it stood still: that it worked meanwhile does not count.
    pub fn woke(
        &mut self,
        due: Timestamp,
        now: Timestamp,
        samples: impl FnOnce() -> (ThreadSample, MachineSample),
    ) -> Duration {
        let late = now.since(due);
        self.largest = self.largest.max(late);
        self.recent = self.recent.max(late);
        self.all.record(late);
        if late < Self::GAP {
            return Duration::ZERO;
        }
        let (sample, machine) = samples();
        let waited = self.waited(sample);
        if late < Self::STALL {
            // A part of what it has used since the last sample may lie before the gap: it stood still for that long at least.
            let on_cpu = sample.cpu.saturating_sub(self.last.cpu);
            self.last = sample;
            return waited.max(late.saturating_sub(on_cpu));
        }
        let on_cpu = sample.cpu.saturating_sub(self.last.cpu);
        let waited_for_core = sample.run_queue_delay.saturating_sub(self.last.run_queue_delay);
        let stolen = machine.stolen_since(&self.machine);
        (self.last, self.machine) = (sample, machine);
        let cause = cause(late, on_cpu, waited_for_core, stolen);
        if self.stalls.len() < Self::KEPT {
            self.stalls.push(Stall { due, late, on_cpu, waited_for_core, stolen, cause });
        } else {
            self.more += 1;
        }
        // While the machine stands still, its threads seem to work.
        let worked = if cause == StallCause::Stolen { Duration::ZERO } else { on_cpu };
        waited.max(late.saturating_sub(worked))
    }

    /// For how long the sender has waited for its core since the last call, if for longer than its wake-ups take anyway.
    pub fn waited(&mut self, sample: ThreadSample) -> Duration {
        let waited = sample.run_queue_delay.saturating_sub(self.told.run_queue_delay);
        let turns = sample.turns.saturating_sub(self.told.turns);
        self.told = sample;
        let beyond = waited.saturating_sub(measure::WAKE_UP * u32::try_from(turns).unwrap_or(u32::MAX));
        if beyond < Self::WAIT { Duration::ZERO } else { beyond }
    }

    /// Updates the sender's sample, so that the next stall counts only the time used since.
    pub fn refresh(&mut self, sample: ThreadSample) {
        self.last = sample;
    }

    /// Updates the machine's sample. Less often: reading it costs more.
    pub fn refresh_machine(&mut self, machine: MachineSample) {
        self.machine = machine;
    }

    /// The largest gap since the previous call.
    pub fn take_recent(&mut self) -> Duration {
        std::mem::take(&mut self.recent)
    }

    /// The largest gap so far.
    #[must_use]
    pub fn largest(&self) -> Duration {
        self.largest
    }

    /// The 99.9th percentile of all gaps; `None` with too few.
    #[must_use]
    pub fn p999(&self) -> Option<Duration> {
        match self.all.percentile(99.9) {
            Percentile::At(ms) | Percentile::AtLeast(ms) => Some(Duration::from_secs_f64(ms / 1e3)),
            Percentile::Unknown => None,
        }
    }

    /// The recorded stalls in order, and the number of further ones.
    #[must_use]
    pub fn into_stalls(self) -> (Vec<Stall>, u64) {
        (self.stalls, self.more)
    }
}

/// The cause is the one that explains at least half of the lateness.
fn cause(late: Duration, on_cpu: Duration, waited_for_core: Duration, stolen: Duration) -> StallCause {
    // While the machine stands still, its threads seem to run or to wait: so stolen time comes first.
    if stolen * 2 >= late {
        StallCause::Stolen
    } else if waited_for_core * 2 >= late && waited_for_core >= on_cpu {
        StallCause::Crowded
    } else if on_cpu * 2 >= late {
        StallCause::Busy
    } else {
        StallCause::Asleep
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn used(cpu_ms: u64, delay_ms: u64) -> ThreadSample {
        ThreadSample { cpu: Duration::from_millis(cpu_ms), run_queue_delay: Duration::from_millis(delay_ms), turns: 0 }
    }

    const fn machine(stolen_ticks: u64) -> MachineSample {
        MachineSample { ticks: 0, stolen_ticks }
    }

    #[test]
    fn a_stall_is_charged_with_what_happened_since_the_last_look() {
        let mut meter = GapMeter::new(used(100, 10), machine(7));
        let due = Timestamp::from_millis(1000);
        meter.woke(due, due + Duration::from_micros(900), || unreachable!("no gap, no sample"));
        // 40 ms late: of these 35 on its core, then 35 waiting for it, then neither.
        meter.woke(due, due + Duration::from_millis(40), || (used(135, 12), machine(7)));
        meter.woke(due, due + Duration::from_millis(40), || (used(140, 47), machine(7)));
        meter.woke(due, due + Duration::from_millis(40), || (used(141, 48), machine(7)));
        // Two ticks of 10 ms were stolen from the machine meanwhile, which explains half of it.
        meter.woke(due, due + Duration::from_millis(40), || (used(180, 48), machine(9)));
        assert_eq!(meter.largest(), Duration::from_millis(40));
        let (stalls, more) = meter.into_stalls();
        assert_eq!(more, 0);
        let causes: Vec<_> = stalls.iter().map(|stall| stall.cause).collect();
        assert_eq!(causes, [StallCause::Busy, StallCause::Crowded, StallCause::Asleep, StallCause::Stolen]);
        assert_eq!(stalls[1].on_cpu, Duration::from_millis(5));
    }

    #[test]
    fn it_stood_still_for_as_long_as_it_was_late_and_did_not_work() {
        let mut meter = GapMeter::new(used(0, 0), machine(0));
        let due = Timestamp::from_millis(1000);
        let ms = Duration::from_millis;
        let mut still = |late: u64, used, machine| meter.woke(due, due + ms(late), || (used, machine)).as_millis();
        assert_eq!(still(400, used(1, 0), machine(0)), 399, "stopped");
        assert_eq!(still(40, used(36, 0), machine(0)), 5, "it worked");
        assert_eq!(still(40, used(40, 39), machine(0)), 39, "others had its core");
        assert_eq!(still(40, used(76, 39), machine(3)), 40, "the machine stood still, and it seems to have worked");
        assert_eq!(still(4, used(77, 39), machine(3)), 3, "a short gap counts too");
    }

    #[test]
    fn waits_for_the_core_are_told_once_and_those_of_any_wake_up_are_not() {
        let mut meter = GapMeter::new(used(0, 0), machine(0));
        let sample = |delay_us: u64, turns| ThreadSample {
            cpu: Duration::ZERO,
            run_queue_delay: Duration::from_micros(delay_us),
            turns,
        };
        assert_eq!(meter.waited(sample(40, 1)), Duration::ZERO);
        assert_eq!(meter.waited(sample(340, 2)), Duration::from_micros(275));
        assert_eq!(meter.waited(sample(340, 2)), Duration::ZERO);
        // A hundred turns of 20 µs.
        assert_eq!(meter.waited(sample(2340, 102)), Duration::ZERO);
    }

    #[test]
    fn each_second_has_its_own_largest_gap() {
        let mut meter = GapMeter::new(used(0, 0), machine(0));
        let due = Timestamp::from_millis(1000);
        for late in [1, 3, 2] {
            meter.woke(due, due + Duration::from_millis(late), || (used(0, 0), machine(0)));
        }
        assert_eq!(meter.take_recent(), Duration::from_millis(3));
        assert_eq!(meter.take_recent(), Duration::ZERO);
        assert_eq!(meter.largest(), Duration::from_millis(3));
        assert!(meter.into_stalls().0.is_empty(), "shorter ones are not recorded one by one");
    }

    #[test]
    fn one_wake_up_in_a_hundred_that_is_late_shows_and_a_single_one_does_not() {
        let late = |ms: u64, of: u64, every: u64| {
            let mut meter = GapMeter::new(used(0, 0), machine(0));
            let due = Timestamp::from_millis(1000);
            for n in 0..of {
                let late = if n % every == 0 { ms } else { 0 };
                meter.woke(due, due + Duration::from_millis(late), || (used(0, 0), machine(0)));
            }
            meter.p999()
        };
        assert_eq!(late(20, 2994, 100), None, "too few to say");
        let often = late(20, 3000, 100).expect("enough");
        assert!(often >= Duration::from_millis(20) && often < Duration::from_millis(21), "{often:?}");
        assert!(late(20, 3000, 3000).expect("enough") < Duration::from_millis(1));
    }

    #[test]
    fn memory_is_bounded() {
        let mut meter = GapMeter::new(used(0, 0), machine(0));
        for _ in 0..GapMeter::KEPT + 3 {
            meter.woke(Timestamp::ZERO, Timestamp::from_secs(1), || (used(0, 0), machine(7)));
        }
        let (stalls, more) = meter.into_stalls();
        assert_eq!((stalls.len(), more), (GapMeter::KEPT, 3));
    }
}
