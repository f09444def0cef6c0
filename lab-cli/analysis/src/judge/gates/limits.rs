//! The limits, where the live view can show them too.

/// Largest share of planned requests that were never sent.
pub const UNSENT: f64 = 0.001;
/// Share of the requests sent that may find their kept connection closed.
pub const RESENT: f64 = 0.001;
/// Share of the requests that may wait since all connections that they may have (`lab load -c`) are in use.
pub const WAITED: f64 = 0.01;
/// Largest share of its core that the generator may use.
pub const CPU: f64 = 0.70;
/// Share of a shown percentile that may be the generator's own before the figures are in doubt, and before they are void.
/// Also the share of a closed phase for which it may stand still: its users ask for so much less.
pub const MOVED: (f64, f64) = (0.05, 0.10);
/// Milliseconds below which a shift moves no percentile, for the same two verdicts.
pub const MOVED_MS: (f64, f64) = (0.1, 0.2);
/// The shortest pause of the generator that is seen as one (`health::gaps`), milliseconds.
pub const STALL_MS: f64 = 5.0;
/// A pause of the whole process that is no scheduling accident, milliseconds.
pub const GAP_MS: f64 = 1000.0;
/// Longest time that the machine may have slept, milliseconds: the clocks that tell are read one after the other.
pub const SUSPENDED_MS: f64 = 100.0;
/// Share of the time that its processors were wanted from which on what the service lost of them is capacity.
pub const STARVED_BUSY: f64 = 0.5;
/// Share of the time for which a limit on CPU time may stop service or lab.
pub const THROTTLED: f64 = 0.001;
/// CPU time on the processors of the run that no visible program and no thread of the kernel accounts for, as a share of one, before
/// the figures are in doubt, and before they are void: in a container some of it may be the kernel's work.
pub const UNSEEN: (f64, f64) = (0.05, 0.10);
/// Most CPU time of other programs on the processors of the run, as a share of one.
pub const NOISE: f64 = 0.03;
/// The same beside a load, where it may be the service's own.
pub const BESIDE_LOAD: f64 = 0.5;
/// Most CPU time of the kernel's own threads there. Part of it is work on behalf of the run itself: its network, its disk.
pub const KERNEL_NOISE: f64 = 0.05;
/// Largest share of a run's blocks that may be left out: with more, what is left was chosen.
pub const EXCLUDED: f64 = 0.2;
/// A wall clock that was set by so many milliseconds.
pub const CLOCK_STEP_MS: f64 = 10.0;
/// Clocks that run apart by so many millionths: more than the kernel corrects an honest clock by.
pub const CLOCK_DRIFT_PPM: f64 = 500.0;
/// Excess of the speed of the service's processor in one arm over another, or in one half of an arm: hosts that
/// nobody tuned drift by as much (Hunter/Apache Otava's experience), and what differs by less may be that.
pub const DRIFT: f64 = 0.10;
/// Largest difference between the mean number in flight and rate times time, as a share of the former.
pub const LITTLE: f64 = 0.05;
/// Largest share of what users drew that their pages may not offer.
pub const NOT_OFFERED: f64 = 0.05;
/// Rise of that share from the beginning of an arm to its end that is allowed.
pub const NOT_OFFERED_RISE: f64 = 0.05;
/// Draws at the beginning, and as many at the end, from which on that is judged: the share is known to two points then.
pub const NOT_OFFERED_DRAWS: u64 = 1000;
/// Descriptors that should stay free.
pub const SPARE_FILES: u64 = 64;
/// Share of requests not served in time from which on a closed load is one under overload.
pub const OVERLOADED: f64 = 0.05;
/// Windows of 100 ms, and arrivals in each, from which on their spread is judged.
pub const ARRIVALS_WINDOWS: u64 = 100;
/// The latter.
pub const ARRIVALS_PER_WINDOW: f64 = 1.0;
/// Share of sound arms that are found to have strange arrivals.
pub const ARRIVALS_CHANCE: f64 = 0.001;
/// Times what was sent in the busiest second, that the generator must be able to send.
pub const HEADROOM: f64 = 2.0;
/// Largest 99th percentile against a service that does nothing, as a share of the objective.
pub const NULL_SHARE: f64 = 0.1;

/// Largest distance between the beginnings of parts of one load: 5 % of the objective's time, but never under 5 ms. Milliseconds.
pub fn skew_ms(objective_ms: f64) -> f64 {
    (objective_ms * 0.05).max(5.0)
}

/// Largest 99th percentile of send lag for a promise to be judged: 5 % of its time, but never under 2 ms. Milliseconds.
pub fn lag_ms(objective_ms: f64) -> f64 {
    (objective_ms * 0.05).max(2.0)
}
