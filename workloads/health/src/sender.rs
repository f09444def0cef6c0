use std::time::Duration;

use controllers::Timestamp;
use measure::Health;

use super::{ClockMeter, GapMeter, MachineSample, ThreadMeter, ThreadSample};
use crate::clock::ClockReadings;

/// The sleep from which on the sender's wait for its core is read when it wakes.
const LONG_SLEEP: Duration = Duration::from_millis(1);

/// Measures the thread that sends, and its machine, over a run.
#[derive(Debug)]
pub struct SenderMeter {
    thread: ThreadMeter,
    began: ThreadSample,
    gaps: GapMeter,
    clocks: ClockMeter,
}

impl SenderMeter {
    /// Begins to measure the calling thread.
    #[must_use]
    pub fn start() -> Self {
        let thread = ThreadMeter::of_this_thread();
        let began = thread.sample();
        let gaps = GapMeter::new(began, MachineSample::take());
        Self { thread, began, gaps, clocks: ClockMeter::new(ClockReadings::read()) }
    }

    /// The loop slept until `now`, and was due to wake at `due` if nothing woke it before. Returns for how long it stood
    /// still.
    pub fn woke(&mut self, slept: Timestamp, due: Option<Timestamp>, now: Timestamp) -> Duration {
        let late = due
            .map_or(Duration::ZERO, |due| self.gaps.woke(due, now, || (self.thread.sample(), MachineSample::take())));
        // A reading is a system call: waits within short sleeps are read with the next heartbeat.
        if !late.is_zero() || now.since(slept) < LONG_SLEEP {
            return late;
        }
        self.gaps.waited(self.thread.sample())
    }

    /// A heartbeat: the next stall counts what the thread uses from now on. Returns for how long it has waited for its core.
    pub fn beat(&mut self) -> Duration {
        let sample = self.thread.sample();
        self.gaps.refresh(sample);
        self.gaps.waited(sample)
    }

    /// Ends a second, and returns the largest gap in it.
    pub fn second_ended(&mut self) -> Duration {
        self.gaps.refresh_machine(MachineSample::take());
        self.clocks.look(ClockReadings::read());
        self.gaps.take_recent()
    }

    /// The figures of the thread. Those of the process and the host are zero.
    #[must_use]
    pub fn finish(mut self) -> Health {
        self.clocks.look(ClockReadings::read());
        let ended = self.thread.sample();
        let (largest_gap, gap_p999) = (self.gaps.largest(), self.gaps.p999());
        let (stalls, more_stalls) = self.gaps.into_stalls();
        Health {
            sender_cpu: ended.cpu.saturating_sub(self.began.cpu),
            run_queue_delay: ended.run_queue_delay.saturating_sub(self.began.run_queue_delay),
            sender_turns: ended.turns.saturating_sub(self.began.turns),
            largest_gap,
            gap_p999,
            stalls,
            more_stalls,
            clocks: self.clocks.report(),
            ..Health::default()
        }
    }
}
