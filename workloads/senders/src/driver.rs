use std::time::Duration;

use controllers::Timestamp;
use health::{GapMeter, ProcessSample, SenderMeter};
use measure::{Health, Window};
use workloads::{StopFlag, UserCommands, host::UserPool};

use super::resource_limits::Allowance;

/// The longest drain of a run that is stopped from outside.
const STOP_DRAIN: Duration = Duration::from_secs(10);

/// Drives a live host in everything but sending: it watches the sending thread, carries out commands, hands over
/// seconds, and ends the run.
#[derive(Debug)]
pub(crate) struct Driver {
    stop: StopFlag,
    commands: UserCommands,
    drain: Duration,
    drain_until: Option<Timestamp>,
    /// The time to drain is over: what has timed out by then is still told so.
    last_call: bool,
    last_beat: Timestamp,
    meter: SenderMeter,
}

impl Driver {
    /// Must be called on the thread that sends.
    pub(crate) fn new(drain: Duration, commands: UserCommands, stop: StopFlag) -> Self {
        let meter = SenderMeter::start();
        Self { stop, commands, drain, drain_until: None, last_call: false, last_beat: Timestamp::ZERO, meter }
    }

    /// True if it is time for a [`heartbeat`](Self::heartbeat).
    pub(crate) fn beats(&self, now: Timestamp) -> bool {
        now.since(self.last_beat) >= GapMeter::HEARTBEAT
    }

    /// Carries out commands, and hands over the seconds that have ended.
    pub(crate) fn heartbeat<C>(&mut self, pool: &mut UserPool<C>, now: Timestamp, on_window: impl FnMut(Window)) {
        self.last_beat = now;
        let commands = self.commands.take();
        if !commands.is_empty() {
            pool.apply(commands, now);
        }
        self.close_seconds(pool, now, on_window);
        let waited = self.meter.beat();
        pool.looked(now, waited);
    }

    /// Hands over the seconds that have ended.
    pub(crate) fn close_seconds<C>(
        &mut self,
        pool: &mut UserPool<C>,
        now: Timestamp,
        mut on_window: impl FnMut(Window),
    ) {
        while let Some(window) = pool.next_window(now) {
            let gap = self.meter.second_ended();
            on_window(Window { loop_gap_ms: Some(gap.as_secs_f64() * 1e3), ..window });
        }
    }

    /// The loop slept until `now`, and was due to wake at `due` if nothing woke it before. Before any answer is read.
    pub(crate) fn woke<C>(&mut self, pool: &mut UserPool<C>, slept: Timestamp, due: Option<Timestamp>, now: Timestamp) {
        let stood_still = self.meter.woke(slept, due, now);
        pool.looked(now, stood_still);
    }

    /// True if the run is over: arrivals stop with the plan or the stop flag, then requests in flight may drain, then
    /// they are cut off; at once where the rate could not be kept.
    pub(crate) fn is_done<C>(&mut self, pool: &mut UserPool<C>, now: Timestamp) -> bool {
        if self.stop.is_stopped() {
            pool.stop(now);
        }
        if !pool.is_over() {
            return pool.has_given_up(now);
        }
        let drain = if self.stop.is_stopped() { self.drain.min(STOP_DRAIN) } else { self.drain };
        let mut until = *self.drain_until.get_or_insert(now + drain);
        // On a busy machine the loop may come to this long after its time: time-outs that passed meanwhile are no cuts.
        if now >= until && !std::mem::replace(&mut self.last_call, true) {
            until = now + 2 * GapMeter::HEARTBEAT;
            self.drain_until = Some(until);
        }
        pool.is_drained() || now >= until || self.stop.cuts_off() || pool.has_given_up(now)
    }

    /// The figures of the sending thread.
    pub(crate) fn finish(self) -> Health {
        self.meter.finish()
    }
}

impl Allowance {
    /// Completes the sender's figures with what the process used since `before`, and with its limits.
    pub(crate) fn judge(self, sender: Health, before: &ProcessSample) -> Health {
        let after = ProcessSample::take();
        Health {
            process_cpu: after.cpu.saturating_sub(before.cpu),
            steal: after.steal_since(before),
            major_faults: after.major_faults.saturating_sub(before.major_faults),
            resident_peak: after.resident_peak,
            descriptors_limit: self.descriptors,
            in_flight_limit: self.in_flight,
            ..sender
        }
    }
}
