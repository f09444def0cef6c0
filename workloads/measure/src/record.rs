//! The data of a [`Report`] in the form of a file: the same report is computed from it again, bit for bit.
//! Times are whole microseconds. A histogram is a list of its buckets, each with its smallest value, so that a record
//! can be read without a library.

use std::{collections::BTreeMap, time::Duration};

use controllers::{Class, Timestamp};
use serde::{Deserialize, Deserializer, Serialize};

use super::{
    BackgroundLedger, Distribution, Health, LastSecond, Ledger, Measured, Offered, Replayed, Replies, Report, Shard,
    TimeFamily, TransitionCount,
    cell::Cell,
    distribution::micros,
    raw::{Clients, PARTS, Raw, RawPhase},
    shares::Shares,
    spread::Spread,
    undelayed::RawUndelayed,
    user_set::UserSet,
};

/// The largest number of users, phases, types and classes accepted from a file: it may have been changed.
pub(super) const MOST_USERS: u64 = 1 << 28;
const MOST_CELLS: usize = 1 << 22;
/// The largest number of requests of a cell.
const MOST_REQUESTS: u64 = 1 << 48;
/// The longest time accepted: a histogram grows with its longest value.
const MOST_MICROS: u64 = 1 << 40;

/// The data from which a report is computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportRecord {
    /// The part of the plan that it is; `None`: the whole. Users of a part are numbered within it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The phases in order.
    pub phases: Vec<PhaseRecord>,
    /// Request types.
    pub types: Vec<String>,
    /// Classes of users.
    pub classes: Vec<Class>,
    /// The objective: answers that took longer were late.
    pub objective_us: u64,
    /// The largest time that histograms hold.
    pub most_us: u64,
    /// The sum of the times from the write of requests to their end, nanoseconds.
    pub sojourn_ns: u64,
    /// The length of the run, with its drain, in seconds.
    pub seconds: f64,
    /// Time average of the number in flight.
    pub mean_in_flight: f64,
    /// Requests in flight at the end, by count.
    pub in_flight: u64,
    /// The generator's own state.
    pub health: Health,
    /// Transitions that users of a Markov model made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transitions: Vec<TransitionCount>,
    /// How often pages offered the state that these users drew, by minutes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offered: Vec<Offered>,
    /// Counts of recorded requests, if a recording was replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed: Option<Replayed>,
    /// Requests that no line of the timeline has: those of the second that was under way at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_second: Option<LastSecond>,
    /// The reasons why the figures do not add up; empty if they do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// All cells but the empty ones.
    pub cells: Vec<CellRecord>,
}

/// A phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseRecord {
    /// The name.
    pub name: String,
    /// The beginning, nanoseconds.
    pub begins_ns: u64,
    /// The length, nanoseconds; the actual one, if it was cut off.
    pub lasts_ns: u64,
    /// True if the run was stopped before the end of the phase.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_off: bool,
    /// True if the run ended by itself in it, before the plan did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended_early: bool,
    /// The largest number of users of closed loads at once.
    pub users: Option<u64>,
    /// Users that planned a request in it: first and last of each run of numbers.
    pub seen: Vec<[u64; 2]>,
    /// Of these, the users with a connect time-out.
    pub connect_timed_out: Vec<[u64; 2]>,
    /// Counts of users by the number of requests that they wanted and the number of those that were answered in time:
    /// wanted, given, users.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<[u64; 3]>,
    /// Arrivals in each tenth of a second, where the plan had independent arrivals at one rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Vec<u32>>,
    /// Background activity.
    pub beside: BackgroundLedger,
    /// Answers by status, and errors by their text.
    #[serde(default, skip_serializing_if = "Replies::is_empty")]
    pub replies: Replies,
    /// Response times without the generator's own part, of live runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undelayed: Option<UndelayedRecord>,
    /// True if its twentieths have cells of their own in `cells`; else all its counts are in part 0.
    pub in_parts: bool,
}

/// Counts of one type and class in a phase, or a twentieth of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellRecord {
    /// The index of the phase, from 0.
    pub phase: usize,
    /// The index of the twentieth, from 0.
    pub part: usize,
    /// The index of the type, from 0.
    #[serde(rename = "type")]
    pub kind: usize,
    /// The index of the class, from 0.
    pub class: usize,
    /// The counts of its requests.
    #[serde(deserialize_with = "from_the_first_attempt")]
    pub ledger: Ledger,
    /// Its times by family.
    pub times: BTreeMap<String, TimesRecord>,
}

/// A ledger in which `served` counts from the first attempt. Older records count it from the attempt's own start, and have
/// the number from the first attempt beside it.
fn from_the_first_attempt<'de, D: Deserializer<'de>>(from: D) -> Result<Ledger, D::Error> {
    #[derive(Deserialize)]
    struct Written {
        #[serde(flatten)]
        ledger: Ledger,
        served_intents: Option<u64>,
    }
    let Written { mut ledger, served_intents } = Written::deserialize(from)?;
    if let Some(late) = served_intents.and_then(|in_time| ledger.served.checked_sub(in_time)) {
        ledger.served -= late;
        ledger.served_late = ledger.served_late.saturating_add(late);
    }
    Ok(ledger)
}

/// Response times of a phase without what the generator may have added.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UndelayedRecord {
    /// The times.
    pub times: TimesRecord,
    /// How long the generator stood still in it, nanoseconds.
    pub stood_still_ns: u64,
}

/// A histogram.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TimesRecord {
    /// Known times: the smallest microsecond of a bucket of three digits, and the number of times in it.
    pub known: Vec<[u64; 2]>,
    /// Censored times, which are known to be longer than these values, in the same form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub censored: Vec<[u64; 2]>,
    /// The sum of the known times.
    pub total_us: u64,
    /// The longest known time.
    pub longest_us: u64,
    /// The number of times over the bound.
    #[serde(default)]
    pub saturated: u64,
}

/// The reason why no report can be computed from a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the record makes no sense: {0}")]
pub struct RecordError(String);

impl Report {
    /// The record of a run. `in_parts` selects the phases whose twentieths are kept separate.
    #[must_use]
    pub fn record(&self, in_parts: impl Fn(&str) -> bool) -> ReportRecord {
        let raw = &self.raw;
        let phases: Vec<PhaseRecord> =
            raw.phases.iter().map(|phase| phase_record(phase, phase.in_parts && in_parts(&phase.name))).collect();
        let mut cells = Vec::new();
        for (phase, kept) in phases.iter().enumerate() {
            for part in 0..if kept.in_parts { PARTS } else { 1 } {
                let share = if kept.in_parts { twentieth(part) } else { 0.0..1.0 };
                for at in 0..raw.kinds.len() * raw.classes.len() {
                    let (kind, class) = (at / raw.classes.len(), at % raw.classes.len());
                    let cell = raw.gather(phase..phase + 1, share.clone(), |k, c| (k, c) == (kind, class));
                    let times = times_of(&cell);
                    if cell.ledger != Ledger::default() || !times.is_empty() {
                        cells.push(CellRecord { phase, part, kind, class, ledger: cell.ledger, times });
                    }
                }
            }
        }
        ReportRecord {
            shard: raw.shard,
            phases,
            types: raw.kinds.clone(),
            classes: raw.classes.clone(),
            objective_us: micros(raw.objective),
            most_us: micros(raw.most),
            sojourn_ns: nanos(raw.sojourn),
            seconds: self.seconds,
            mean_in_flight: self.little.mean_in_flight,
            in_flight: raw.in_flight,
            health: self.generator.health.clone(),
            transitions: self.transitions.clone(),
            offered: self.offered.clone(),
            replayed: self.replayed,
            last_second: raw.last_second,
            faults: self.faults.clone(),
            cells,
        }
    }
}

impl ReportRecord {
    /// Computes the report again. It has no request numbers: the party that joined them with the service's keeps the
    /// result.
    ///
    /// # Errors
    /// If the record refers to missing parts, or has impossible values.
    pub fn report(&self) -> Result<Report, RecordError> {
        let mut report = Report::of(self.raw()?, self.seconds, self.health.clone(), self.mean_in_flight);
        report.transitions.clone_from(&self.transitions);
        report.offered.clone_from(&self.offered);
        report.replayed = self.replayed;
        report.faults.clone_from(&self.faults);
        Ok(report)
    }

    pub(super) fn raw(&self) -> Result<Raw, RecordError> {
        let phases = self.phases.iter().map(|phase| raw_phase(phase, self.most_us)).collect::<Result<Vec<_>, _>>()?;
        let (kinds, classes) = (self.types.len(), self.classes.len());
        let room = [PARTS, kinds, classes].iter().try_fold(phases.len().max(1), |room, n| room.checked_mul(*n));
        let Some(room) = room.filter(|room| (1..=MOST_CELLS).contains(room)) else {
            return Err(wrong("it has no types or classes, or too many"));
        };
        let mut cells = vec![None; room];
        for found in &self.cells {
            let CellRecord { phase, part, kind, class, .. } = *found;
            let parts = self.phases.get(phase).map_or(0, |phase| if phase.in_parts { PARTS } else { 1 });
            if part >= parts || kind >= kinds || class >= classes {
                return Err(wrong("a cell lies outside of its phases, types and classes"));
            }
            let cell = &mut cells[((phase * PARTS + part) * kinds + kind) * classes + class];
            if cell.is_some() {
                return Err(wrong("a cell is there twice"));
            }
            *cell = Some(Box::new(self.cell(found)?));
        }
        Ok(Raw {
            shard: self.shard,
            phases,
            kinds: self.types.clone(),
            classes: self.classes.clone(),
            cells,
            most: Duration::from_micros(self.most_us),
            objective: Duration::from_micros(self.objective_us),
            sojourn: Duration::from_nanos(self.sojourn_ns),
            in_flight: self.in_flight,
            last_second: self.last_second,
            // Nothing more is recorded into it.
            replays: false,
        })
    }

    fn cell(&self, found: &CellRecord) -> Result<Cell, RecordError> {
        let mut cell = Cell::with(believable(found.ledger)?);
        for (name, times) in &found.times {
            let family = TimeFamily::ALL.into_iter().find(|family| family.name() == name);
            let family = family.ok_or_else(|| wrong("it has times of a kind that nobody knows"))?;
            cell.set(family, distribution(times, self.most_us)?);
        }
        Ok(cell)
    }
}

fn phase_record(phase: &RawPhase, in_parts: bool) -> PhaseRecord {
    PhaseRecord {
        name: phase.name.clone(),
        begins_ns: phase.begins.as_nanos(),
        lasts_ns: nanos(phase.lasts),
        cut_off: phase.cut_off,
        ended_early: phase.ended_early,
        users: phase.users,
        seen: phase.clients.seen.runs(),
        connect_timed_out: phase.clients.connect_timed_out.runs(),
        shares: phase.shares.tally(),
        spread: phase.spread.as_ref().map(|spread| spread.counts().to_vec()),
        beside: phase.beside,
        replies: phase.replies.clone(),
        undelayed: phase.undelayed.as_ref().map(|undelayed| UndelayedRecord {
            times: times_record(&undelayed.times),
            stood_still_ns: nanos(undelayed.stood_still),
        }),
        in_parts,
    }
}

/// Checks that counts can be added and subtracted without overflow.
fn believable(ledger: Ledger) -> Result<Ledger, RecordError> {
    let within = ledger.counts().all(|count| count <= MOST_REQUESTS) && ledger.retries <= ledger.planned;
    if within && Measured::from(ledger).imbalance().is_none() {
        Ok(ledger)
    } else {
        Err(wrong("a cell's books do not add up"))
    }
}

fn raw_phase(phase: &PhaseRecord, most_us: u64) -> Result<RawPhase, RecordError> {
    let users = |runs: &[[u64; 2]]| {
        UserSet::of_runs(runs, MOST_USERS).ok_or_else(|| wrong("its users are out of order, or too many"))
    };
    let BackgroundLedger { checks, answered, refused, failed, .. } = phase.beside;
    if [answered, refused, failed].iter().try_fold(0_u64, |sum, n| sum.checked_add(*n)).is_none_or(|sum| sum > checks) {
        return Err(wrong("more health checks ended than began"));
    }
    if !phase.replies.is_believable(MOST_REQUESTS) {
        return Err(wrong("its answers by status, or its errors, are more than can be counted"));
    }
    let undelayed = phase.undelayed.as_ref().map(|UndelayedRecord { times, stood_still_ns }| {
        let times = distribution(times, most_us)?;
        Ok(RawUndelayed { times, stood_still: Duration::from_nanos(*stood_still_ns) })
    });
    Ok(RawPhase {
        name: phase.name.clone(),
        begins: Timestamp::from_nanos(phase.begins_ns),
        lasts: Duration::from_nanos(phase.lasts_ns),
        cut_off: phase.cut_off,
        ended_early: phase.ended_early,
        users: phase.users,
        clients: Clients { seen: users(&phase.seen)?, connect_timed_out: users(&phase.connect_timed_out)? },
        shares: Shares::of_tally(&phase.shares).ok_or_else(|| wrong("its users were given more than they wanted"))?,
        spread: phase.spread.clone().map(Spread::of_counts),
        beside: phase.beside,
        replies: phase.replies.clone(),
        undelayed: undelayed.transpose()?,
        in_parts: phase.in_parts,
    })
}

fn times_of(cell: &Cell) -> BTreeMap<String, TimesRecord> {
    let of = |family: TimeFamily| Some((family.name().to_owned(), times_record(cell.of(family)?)));
    TimeFamily::ALL.into_iter().filter_map(of).collect()
}

fn times_record(times: &Distribution) -> TimesRecord {
    let [known, censored] = times.buckets();
    let Distribution { total_us, longest_us, saturated, .. } = *times;
    TimesRecord { known, censored, total_us, longest_us, saturated }
}

fn distribution(times: &TimesRecord, most_us: u64) -> Result<Distribution, RecordError> {
    if times.known.iter().chain(&times.censored).any(|[value, _]| *value > MOST_MICROS) {
        return Err(wrong("it has a time of days"));
    }
    if times.known.iter().chain(&times.censored).any(|[_, count]| *count > MOST_REQUESTS) {
        return Err(wrong("a bucket holds more than can be counted"));
    }
    let mut distribution = Distribution::of_buckets(most_us.max(2), [&times.known, &times.censored]);
    distribution.total_us = times.total_us;
    distribution.longest_us = times.longest_us;
    distribution.saturated = times.saturated;
    Ok(distribution)
}

fn twentieth(part: usize) -> std::ops::Range<f64> {
    let share = |part: usize| part as f64 / PARTS as f64;
    share(part)..share(part + 1)
}

pub(super) fn wrong(what: &str) -> RecordError {
    RecordError(what.to_owned())
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
