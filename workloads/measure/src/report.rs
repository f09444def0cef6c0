//! The results of a run, in the shape of `summary.json`.

use std::{collections::BTreeMap, ops::Range, time::Duration};

use controllers::Timestamp;

use super::{
    BackgroundLedger, Dispersion, Distribution, Fairness, Health, LastSecond, Measured, Numbers, Offered, Replayed,
    Replies, TimeFamily, TransitionCount, TurnedBack, Undelayed,
    cell::Cell,
    measured::ratio,
    raw::{Raw, RawPhase},
    user_set::UserSet,
};

/// The results of a run. They serialise without the raw counts, which must be written separately if they are to be kept
/// ([`Report::distribution`]).
#[derive(Debug, Clone)]
pub struct Report {
    /// The phases in the order of the plan.
    pub phases: Vec<PhaseReport>,
    /// The whole run as one phase.
    pub total: PhaseReport,
    /// The length of the run, with its drain, in seconds.
    pub seconds: f64,
    /// The generator's own state.
    pub generator: GeneratorReport,
    /// Two measures of the mean number in flight, which must agree.
    pub little: Little,
    /// Transitions that Markov users made, filled in by the host; empty for other users.
    pub transitions: Vec<TransitionCount>,
    /// How often pages offered the state that these users drew, by minutes; filled in by the host.
    pub offered: Vec<Offered>,
    /// Results of recorded requests; filled in by the host. `None`: nothing was replayed.
    pub replayed: Option<Replayed>,
    /// Refusals by balancers in front of services, where they have a cap; filled in by the host. Users count them as
    /// sent and answered with 503; no service has read them.
    pub turned_back: BTreeMap<String, TurnedBack>,
    /// The requests by number, if they were numbered; filled in by the host.
    pub numbers: Option<Numbers>,
    /// The reasons why the figures do not add up; a run with any is invalid.
    pub faults: Vec<String>,
    pub(super) raw: Raw,
}

/// The generator's own state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GeneratorReport {
    /// Median of the send lag, in milliseconds.
    pub send_lag_p50_ms: Option<f64>,
    /// Its 99th percentile.
    pub send_lag_p99_ms: Option<f64>,
    /// Its 99.9th.
    pub send_lag_p999_ms: Option<f64>,
    /// Its maximum.
    pub send_lag_max_ms: Option<f64>,
    /// Requests that were planned and never begun.
    pub unsent: u64,
    /// Times over the histograms' bound.
    pub saturated: u64,
    /// The host's own figures.
    pub health: Health,
}

/// Little's law over the whole run, drain included: the mean number in flight is the rate of requests times the mean
/// time that each was in flight. The first is computed from the number in flight over time, the second from the times
/// of each request; if they differ, requests were lost or times are wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Little {
    /// Time average of the number in flight.
    pub mean_in_flight: f64,
    /// Requests written a second.
    pub sent_per_s: f64,
    /// Mean time from the write to the end, however the request ended, in milliseconds.
    pub mean_time_ms: f64,
}

impl Little {
    /// The relative difference between the two measures of the mean number in flight; 0 if nothing was in flight.
    #[must_use]
    pub fn difference(&self) -> f64 {
        let by_law = self.sent_per_s * self.mean_time_ms / 1000.0;
        if self.mean_in_flight > 0.0 { (self.mean_in_flight - by_law).abs() / self.mean_in_flight } else { 0.0 }
    }
}

/// One phase. Requests belong to the phase of their intended start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PhaseReport {
    /// Name of the phase.
    pub name: String,
    /// Its length in seconds; its actual length, if it was cut off.
    pub seconds: f64,
    /// True if the run was stopped before its end.
    pub cut_off: bool,
    /// The largest number of users of closed loads at once, by the plan; `None` where users come and go (open loads).
    pub users: Option<u64>,
    /// Counts and times of its requests.
    pub measured: Measured,
    /// Background activity.
    pub beside: BackgroundLedger,
    /// Answers by status, and errors by their text; of whole phases.
    pub replies: Replies,
    /// The evenness of service to users; of whole phases.
    pub fairness: Option<Fairness>,
    /// The spread of arrivals, where the plan had independent arrivals at one rate; of whole phases.
    pub arrivals: Option<Dispersion>,
    /// Response times without the generator's own part; of whole phases of a live run.
    pub undelayed: Option<Undelayed>,
    /// Counts and times by request type, for types that occurred.
    pub by_type: BTreeMap<String, Measured>,
    /// The same by class, if there are several.
    pub by_class: BTreeMap<String, Measured>,
}

impl Report {
    /// The objective: answers that took longer were late.
    #[must_use]
    pub fn objective(&self) -> Duration {
        self.raw.objective
    }

    pub(super) fn new(mut raw: Raw, now: Timestamp, health: Health, in_flight: u64, area: u128) -> Self {
        for cell in raw.cells.iter_mut().flatten() {
            cell.ledger = cell.ledger.closed();
        }
        let seconds = now.as_secs_f64();
        let mean_in_flight = if seconds > 0.0 { area as f64 / 1e9 / seconds } else { 0.0 };
        raw.in_flight = in_flight;
        Self::of(raw, seconds, health, mean_in_flight)
    }

    /// The report of closed ledgers.
    pub(super) fn of(raw: Raw, seconds: f64, health: Health, mean_in_flight: f64) -> Self {
        let whole = raw.gather(0..raw.phases.len(), 0.0..1.0, |_, _| true);
        let lag = whole.of(TimeFamily::SendLag);
        let generator = GeneratorReport {
            send_lag_p50_ms: lag.and_then(|lag| lag.percentiles().p50),
            send_lag_p99_ms: lag.and_then(|lag| lag.percentiles().p99),
            send_lag_p999_ms: lag.and_then(|lag| lag.percentiles().p999),
            send_lag_max_ms: lag.and_then(Distribution::max_ms),
            unsent: whole.ledger.unsent,
            saturated: TimeFamily::ALL.iter().filter_map(|&f| whole.of(f)).map(Distribution::saturated).sum(),
            health,
        };
        let mut faults: Vec<String> = Measured::from(whole.ledger).imbalance().into_iter().collect();
        let (by_ledger, by_count) = (whole.ledger.in_flight, raw.in_flight);
        if by_ledger != by_count {
            faults.push(format!("{by_ledger} requests are in flight by the ledger, {by_count} by count"));
        }
        let phases = (0..raw.phases.len()).map(|phase| raw.phase_report(phase, 0.0..1.0)).collect();
        let mut total = raw.report("total", 0..raw.phases.len(), 0.0..1.0);
        for phase in &raw.phases {
            total.beside += phase.beside.closed();
            total.replies += &phase.replies;
        }
        total.users = raw.phases.iter().filter_map(|phase| phase.users).max();
        let per_second = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        let little = Little {
            mean_in_flight,
            sent_per_s: per_second(total.measured.sent as f64),
            mean_time_ms: raw.sojourn.as_secs_f64() * 1000.0 / total.measured.sent.max(1) as f64,
        };
        Self {
            phases,
            total,
            seconds,
            generator,
            little,
            transitions: Vec::new(),
            offered: Vec::new(),
            replayed: None,
            turned_back: BTreeMap::new(),
            numbers: None,
            faults,
            raw,
        }
    }

    /// Requests that no window has. `None`: an older record does not say.
    #[must_use]
    pub fn last_second(&self) -> Option<LastSecond> {
        self.raw.last_second
    }

    /// A part of a phase, from and to as shares of its length (0.5..1.0: the last half), in steps of a twentieth.
    /// `None` if there is no such phase, or its parts were not kept ([`ReportRecord`](super::ReportRecord)).
    #[must_use]
    pub fn part(&self, phase: &str, share: Range<f64>) -> Option<PhaseReport> {
        let phase = self.raw.phases.iter().position(|p| p.name == phase && (p.in_parts || share == (0.0..1.0)))?;
        Some(self.raw.phase_report(phase, share))
    }

    /// The times of one family in a phase, of one request type or all.
    #[must_use]
    pub fn distribution(&self, phase: &str, family: TimeFamily, kind: Option<&str>) -> Option<Distribution> {
        self.gathered(phase, kind)?.of(family).cloned()
    }

    /// The times of every family that has some in a phase, of one request type or all, for `*.hlog` files.
    #[must_use]
    pub fn distributions(&self, phase: &str, kind: Option<&str>) -> Vec<(TimeFamily, Distribution)> {
        let Some(cell) = self.gathered(phase, kind) else { return Vec::new() };
        TimeFamily::ALL.into_iter().filter_map(|family| Some((family, cell.of(family)?.clone()))).collect()
    }

    fn gathered(&self, phase: &str, kind: Option<&str>) -> Option<Cell> {
        let phase = self.raw.phases.iter().position(|p| p.name == phase)?;
        let wanted = |of: usize, _| kind.is_none_or(|kind| self.raw.kinds[of] == kind);
        Some(self.raw.gather(phase..phase + 1, 0.0..1.0, wanted))
    }

    /// The times of one kind in all phases, of all request types.
    #[must_use]
    pub fn total_distribution(&self, family: TimeFamily) -> Distribution {
        let gathered = self.raw.gather(0..self.raw.phases.len(), 0.0..1.0, |_, _| true);
        gathered.of(family).cloned().unwrap_or_else(|| Distribution::new(self.raw.most))
    }
}

impl Raw {
    fn phase_report(&self, phase: usize, share: Range<f64>) -> PhaseReport {
        let whole = share == (0.0..1.0);
        let mut report = self.report(&self.phases[phase].name, phase..phase + 1, share);
        let RawPhase { users, beside, replies, shares, spread, undelayed, lasts, cut_off, .. } = &self.phases[phase];
        report.users = *users;
        report.cut_off = *cut_off;
        report.beside = beside.closed();
        if whole {
            report.replies.clone_from(replies);
            report.fairness = shares.fairness();
            report.arrivals = spread.as_ref().and_then(|spread| spread.dispersion(*lasts));
            report.undelayed = undelayed.as_ref().map(|undelayed| undelayed.shown(*lasts));
        }
        report
    }

    fn report(&self, name: &str, phases: Range<usize>, share: Range<f64>) -> PhaseReport {
        let length: Duration = self.phases[phases.clone()].iter().map(|phase| phase.lasts).sum();
        let seconds = length.as_secs_f64() * (share.end.min(1.0) - share.start.max(0.0)).max(0.0);
        let summed = |wanted: &dyn Fn(usize, usize) -> bool| self.gather(phases.clone(), share.clone(), wanted);

        let measured = |cell: &Cell| measured(seconds, cell, self.patience());
        let mut report = PhaseReport {
            name: name.to_owned(),
            seconds,
            measured: measured(&summed(&|_, _| true)),
            ..PhaseReport::default()
        };
        for (kind, name) in self.kinds.iter().enumerate() {
            let cell = summed(&|of, _| of == kind);
            if cell.ledger.planned > 0 {
                report.by_type.insert(name.clone(), measured(&cell));
            }
        }
        for (at, class) in self.classes.iter().enumerate().filter(|_| self.classes.len() > 1) {
            report.by_class.insert(class.0.to_string(), measured(&summed(&|_, of| of == at)));
        }
        let (mut seen, mut connect_timed_out) = (UserSet::default(), UserSet::default());
        for phase in &self.phases[phases] {
            seen.add(&phase.clients.seen);
            connect_timed_out.add(&phase.clients.connect_timed_out);
        }
        report.measured.clients = seen.len();
        report.measured.clients_with_connect_timeout = ratio(connect_timed_out.len(), seen.len()).unwrap_or(0.0);
        report
    }
}

fn measured(seconds: f64, cell: &Cell, patience: Duration) -> Measured {
    let times = |family| cell.of(family).map(Distribution::percentiles);
    let nobody = Distribution::new(patience);
    let answered = cell.since_first_attempts().unwrap_or(&nobody);
    let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let counts = Measured::from(cell.ledger);
    Measured {
        offered_per_s: per_second(counts.first_attempts()),
        goodput_per_s: per_second(counts.served),
        reject_fraction: ratio(counts.rejected, counts.sent).unwrap_or(0.0),
        response_time_ms: times(TimeFamily::Response).unwrap_or_default(),
        response_time_all_ms: answered.percentiles_among(counts.first_attempts(), patience),
        service_time_ms: times(TimeFamily::Service).unwrap_or_default(),
        reject_time_ms: times(TimeFamily::Reject).unwrap_or_default(),
        connect_time_ms: times(TimeFamily::Connect).unwrap_or_default(),
        behind_ms: times(TimeFamily::Behind).filter(|times| !times.is_empty()),
        ..counts
    }
}
