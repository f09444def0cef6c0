//! A limit on jobs in flight: the limiter that enforces it, and the samples for the law that sets it.

use std::{fmt, time::Duration};

mod ends;

pub use ends::{Counted, Ends, EndsParams};

use crate::{
    Ctx, Gauge, Grant, Machine, Offer, Place, Policy, Random, Reason, Refusal, Seen, Timestamp, Verdict,
    entry::{Count, ParamDeclaration, Problem, Time, count, s, time},
};

/// Sets a limit from samples.
pub trait LimitLaw: fmt::Debug + Send {
    /// Adds the sample of one job, or of a window of jobs.
    fn sample(&mut self, sample: &LimitSample, random: &mut dyn Random);

    /// The largest number of jobs in flight, at least 1.
    fn limit(&self) -> u32;

    /// Visits the law's gauges.
    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64));
}

/// The measurement of one job, or of a window of jobs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitSample {
    /// The time from the offer to the end, over 0. Of a window: the mean.
    pub rtt: Duration,
    /// Jobs in flight at the admission, including this one. Of a window: the maximum.
    pub in_flight: u32,
    /// The job counts as dropped. Of a window: at least one does.
    pub dropped: bool,
}

/// Admits while fewer jobs are in flight than a law allows.
#[derive(Debug)]
pub struct Limiter<L> {
    law: L,
    ends: Ends,
    /// `None`: each job is a sample.
    window: Option<SampleWindow>,
}

impl<L: LimitLaw> Limiter<L> {
    /// A window of no length makes each job a sample.
    #[must_use]
    pub fn new(law: L, ends: Ends, window: SampleWindow) -> Self {
        Self { law, ends, window: (window.lasts > Duration::ZERO).then_some(window) }
    }
}

impl<L: LimitLaw> Machine for Limiter<L> {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        let Seen::Ended { grant, outcome, timing, .. } = seen else { return };
        let dropped = match self.ends.count(*outcome) {
            Counted::Success => false,
            Counted::Dropped => true,
            Counted::Ignored => return,
        };
        let rtt = timing.ended.since(timing.offered).max(Duration::from_nanos(1));
        let sample = LimitSample { rtt, in_flight: u32::try_from(grant.cookie).unwrap_or(u32::MAX), dropped };
        let sample = match &mut self.window {
            None => Some(sample),
            Some(window) => window.add(timing.ended, &sample),
        };
        if let Some(sample) = sample {
            self.law.sample(&sample, cx.random);
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("limit"), f64::from(self.law.limit()));
        self.law.gauges(visit);
    }
}

impl<L: LimitLaw> Policy for Limiter<L> {
    fn offer(&mut self, _: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        if cx.in_flight < self.law.limit() {
            // The sample needs the number of jobs in flight, including this one.
            Verdict::Admit(Grant::new(u64::from(cx.in_flight) + 1))
        } else {
            Verdict::Refuse(Refusal::new(Reason::Concurrency))
        }
    }
}

/// Combines the jobs that end within a time to one sample.
#[derive(Debug)]
pub struct SampleWindow {
    lasts: Duration,
    least_samples: u32,
    /// The first job that ends after this time closes the window.
    ends: Timestamp,
    samples: u32,
    total: Duration,
    in_flight: u32,
    dropped: bool,
}

/// Shorter times carry no information about the service.
const LEAST_RTT: Duration = Duration::from_micros(100);

impl SampleWindow {
    /// A window that lasts this long, and is thrown away if fewer jobs end in it. No length: each job is a sample.
    #[must_use]
    pub fn new(lasts: Duration, least_samples: u32) -> Self {
        Self {
            lasts,
            least_samples,
            ends: Timestamp::ZERO,
            samples: 0,
            total: Duration::ZERO,
            in_flight: 0,
            dropped: false,
        }
    }

    /// Adds a job, and returns the window's sample if the job closes it and the window has enough jobs.
    fn add(&mut self, ended: Timestamp, sample: &LimitSample) -> Option<LimitSample> {
        if sample.rtt < LEAST_RTT {
            return None;
        }
        self.samples = self.samples.saturating_add(1);
        self.total += sample.rtt;
        self.in_flight = self.in_flight.max(sample.in_flight);
        self.dropped |= sample.dropped;
        if ended <= self.ends {
            return None;
        }
        let full = std::mem::replace(self, Self::new(self.lasts, self.least_samples));
        self.ends = ended + self.lasts;
        (full.samples >= full.least_samples).then(|| LimitSample {
            rtt: full.total / full.samples,
            in_flight: full.in_flight,
            dropped: full.dropped,
        })
    }
}

/// The places of a limiter: stages (the default), dispatch, senders and proxies. Not accept: a connection has no end that says how
/// its jobs went. A policy that reads no ends of jobs may add [`Place::Accept`].
pub const PLACES: &[Place] = &[Place::Stage, Place::Single, Place::Client, Place::Proxy];

/// The difference of all limiters from their source.
pub const HOW_ENDS_COUNT: &str = "The source's server adapter ignores a call whose handler throws and takes one that was answered with an error for a success; here both are failures, and count as `failures` says.";

/// The initial limit.
pub const fn limit_initial(default: u32, source: &'static str) -> ParamDeclaration<Count> {
    limit("most jobs in flight at the start", default, source)
}

/// A bound of the limit.
pub const fn limit_min(default: u32, source: &'static str) -> ParamDeclaration<Count> {
    limit("smallest limit", default, source)
}

/// A bound of the limit.
pub const fn limit_max(default: u32, source: &'static str) -> ParamDeclaration<Count> {
    limit("largest limit", default, source)
}

const fn limit(about: &'static str, default: u32, source: &'static str) -> ParamDeclaration<Count> {
    ParamDeclaration { kind: count(1..=1_000_000, default), about, source }
}

/// The length of a window.
pub const fn window(default: Duration, source: &'static str) -> ParamDeclaration<Time> {
    let about = "jobs that end within this time are one sample, their mean; 0ms: each job is one";
    ParamDeclaration { kind: time(Duration::ZERO..=s(60), default), about, source }
}

/// The number of jobs in a window below which it says nothing.
pub const WINDOW_SAMPLES: ParamDeclaration<Count> = ParamDeclaration {
    kind: count(1..=100_000, 10),
    about: "windows with fewer jobs than this are thrown away",
    source: "windowSize, WindowedLimit.java",
};

/// The source of [`window`] for laws whose source has none.
pub const NO_WINDOW: &str = "no window unless one is put around it, WindowedLimit.java";

/// Finds an initial limit outside the bounds.
pub fn clashes(initial: u32, min: u32, max: u32) -> Vec<Problem> {
    if (min..=max).contains(&initial) {
        return Vec::new();
    }
    let message = format!("must lie between the smallest limit ({min}) and the largest ({max}), not at {initial}");
    vec![Problem::new("limit_initial", message)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(ms: u64, in_flight: u32, dropped: bool) -> LimitSample {
        LimitSample { rtt: Duration::from_millis(ms), in_flight, dropped }
    }

    #[test]
    fn a_window_gives_its_mean_its_most_in_flight_and_whether_one_was_dropped() {
        let mut window = SampleWindow::new(Duration::from_secs(1), 3);
        let at = Timestamp::from_millis;
        // The first end closes the window before it, which has but one job, and opens one until 1.010 s.
        assert_eq!(window.add(at(10), &sample(500, 9, true)), None);
        assert_eq!(window.add(at(100), &sample(10, 4, false)), None);
        assert_eq!(window.add(at(1010), &sample(20, 7, true)), None, "the end of a window belongs to it");
        assert_eq!(
            window.add(at(1011), &LimitSample { rtt: Duration::from_micros(99), in_flight: 50, dropped: true }),
            None
        );
        // (10 + 20 + 60) / 3 = 30 ms.
        assert_eq!(window.add(at(1012), &sample(60, 5, false)), Some(sample(30, 7, true)));
        // Nothing of it is left: two jobs are too few for the next.
        assert_eq!(window.add(at(1500), &sample(10, 1, false)), None);
        assert_eq!(window.add(at(2013), &sample(10, 1, false)), None);
    }
}
