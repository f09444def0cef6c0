//! Records of the parts of one plan as the record of the whole. Counts and histograms add up, so that every figure of the whole is what
//! one process would have measured; none is a mean of percentiles.
//!
//! The state of generators is no sum: each part is judged by its own. The whole has what bounds all of them.

use std::collections::BTreeSet;

use super::{
    Health, LastSecond, Offered, RecordError, Replayed, Report, ReportRecord, Shard, TransitionCount,
    raw::{Raw, RawPhase},
    record::{MOST_USERS, wrong},
};

impl ReportRecord {
    /// The record of the whole, from all of its parts.
    ///
    /// # Errors
    /// A part is missing or there twice, or they are parts of different plans.
    pub fn merged(parts: &[Self]) -> Result<Self, RecordError> {
        let mut parts: Vec<&Self> = parts.iter().collect();
        parts.sort_by_key(|part| part.shard);
        let mut sum = RecordSum::default();
        parts.into_iter().try_for_each(|part| sum.add(part))?;
        sum.whole()
    }
}

/// Records of parts, added one after another, so that memory is that of the whole and of one part. After an error it is of no use.
///
/// The order counts only for lists without one: transitions stand as they were first seen, and faults part by part.
#[derive(Debug, Default)]
pub struct RecordSum {
    parts: BTreeSet<Shard>,
    sum: Option<Sum>,
}

#[derive(Debug)]
struct Sum {
    raw: Raw,
    seconds: f64,
    /// Means are areas over a time; areas, in whole nanoseconds, add up.
    in_flight_area: f64,
    health: Health,
    transitions: Vec<TransitionCount>,
    offered: Vec<Offered>,
    replayed: Option<Replayed>,
    faults: Vec<String>,
    in_parts: BTreeSet<String>,
}

impl RecordSum {
    /// Adds a part.
    ///
    /// # Errors
    /// It was added before, belongs to another plan, or has impossible values.
    pub fn add(&mut self, part: &ReportRecord) -> Result<(), RecordError> {
        let shard = part.shard.ok_or_else(|| wrong("it is no part of a plan"))?;
        let of_one_plan = self.parts.first().is_none_or(|first| first.of() == shard.of());
        if !of_one_plan || !self.parts.insert(shard) {
            return Err(wrong("they are not each part of one plan once"));
        }
        let raw = of_whole(part.raw()?, shard)?;
        let area = libm::round(part.mean_in_flight * part.seconds * 1e9);
        let faults = part.faults.iter().map(|fault| format!("part {shard}: {fault}"));
        let Some(sum) = &mut self.sum else {
            let in_parts = part.phases.iter().filter(|phase| phase.in_parts).map(|phase| phase.name.clone());
            self.sum = Some(Sum {
                raw,
                seconds: part.seconds,
                in_flight_area: area,
                health: add_health(&Health::default(), &part.health),
                transitions: part.transitions.clone(),
                offered: part.offered.clone(),
                replayed: part.replayed,
                faults: faults.collect(),
                in_parts: in_parts.collect(),
            });
            return Ok(());
        };
        add_raw(&mut sum.raw, raw)?;
        sum.seconds = sum.seconds.max(part.seconds);
        sum.in_flight_area += area;
        sum.health = add_health(&sum.health, &part.health);
        add_transitions(&mut sum.transitions, &part.transitions);
        add_offered(&mut sum.offered, &part.offered);
        sum.replayed = replayed(sum.replayed, part.replayed);
        sum.faults.extend(faults);
        Ok(())
    }

    /// The record of the whole.
    ///
    /// # Errors
    /// Not all parts were added.
    pub fn whole(self) -> Result<ReportRecord, RecordError> {
        let of = self.parts.first().map_or(0, |first| first.of());
        if self.parts.len() != of as usize {
            return Err(wrong(&format!("{} of {of} parts are there", self.parts.len())));
        }
        self.of_those_added()
    }

    /// The record of the parts that were added, where some are missing.
    ///
    /// # Errors
    /// None was.
    pub fn of_those_added(self) -> Result<ReportRecord, RecordError> {
        let sum = self.sum.ok_or_else(|| wrong("there is no part of it"))?;
        let Sum { raw, seconds, in_flight_area, health, transitions, offered, replayed, faults, in_parts } = sum;
        let mean_in_flight = if seconds > 0.0 { in_flight_area / 1e9 / seconds } else { 0.0 };
        let report = Report::of(raw, seconds, health, mean_in_flight);
        let report = Report { transitions, offered, replayed, faults: [report.faults, faults].concat(), ..report };
        Ok(report.record(|name| in_parts.contains(name)))
    }
}

/// A part with its users as the whole numbers them.
fn of_whole(mut part: Raw, shard: Shard) -> Result<Raw, RecordError> {
    part.shard = None;
    let wanted = |part: &Raw, phase: usize| {
        let ledger = part.gather(phase..phase + 1, 0.0..1.0, |_, _| true).ledger;
        ledger.planned > ledger.retries
    };
    for phase in 0..part.phases.len() {
        // More users than one process counts: nothing is known of those of the whole either.
        if part.phases[phase].shares.tally().is_empty() && wanted(&part, phase) {
            part.phases[phase].shares.forget();
        }
        let clients = &mut part.phases[phase].clients;
        for users in [&mut clients.seen, &mut clients.connect_timed_out] {
            let whole = users.in_whole(shard, MOST_USERS);
            *users = whole.ok_or_else(|| wrong("its users are more than can be counted"))?;
        }
    }
    Ok(part)
}

fn add_raw(whole: &mut Raw, part: Raw) -> Result<(), RecordError> {
    let of = |raw: &Raw| (raw.kinds.clone(), raw.classes.clone(), raw.objective, raw.most, raw.phases.len());
    if of(whole) != of(&part) {
        return Err(wrong("its parts have other phases, types, classes or objectives"));
    }
    for (phase, other) in whole.phases.iter_mut().zip(&part.phases) {
        add_phase(phase, other)?;
    }
    for (cell, other) in whole.cells.iter_mut().zip(part.cells) {
        match (cell, other) {
            (Some(cell), Some(other)) => cell.add(&other),
            (cell, Some(other)) => *cell = Some(other),
            (_, None) => {}
        }
    }
    whole.sojourn += part.sojourn;
    whole.in_flight += part.in_flight;
    whole.last_second = whole
        .last_second
        .zip(part.last_second)
        .map(|(a, b)| LastSecond { planned: a.planned + b.planned, sent: a.sent + b.sent });
    Ok(())
}

fn add_phase(phase: &mut RawPhase, other: &RawPhase) -> Result<(), RecordError> {
    let cut_off = phase.cut_off || other.cut_off;
    let of = |phase: &RawPhase| {
        let RawPhase { begins, lasts, ended_early, users, in_parts, .. } = *phase;
        // A phase that ends with its last request ends with that of all parts, and so does one that was cut off.
        let lasts = (!ended_early && !cut_off).then_some(lasts);
        (phase.name.clone(), begins, lasts, users, in_parts, phase.spread.is_some(), phase.undelayed.is_some())
    };
    if of(phase) != of(other) {
        return Err(wrong("its parts have phases that differ"));
    }
    phase.lasts = phase.lasts.max(other.lasts);
    phase.cut_off = cut_off;
    phase.clients.seen.add(&other.clients.seen);
    phase.clients.connect_timed_out.add(&other.clients.connect_timed_out);
    phase.shares.add(&other.shares);
    if let (Some(spread), Some(other)) = (&mut phase.spread, &other.spread) {
        spread.add_all(other);
    }
    phase.beside += other.beside;
    phase.replies += &other.replies;
    if let (Some(undelayed), Some(other)) = (&mut phase.undelayed, &other.undelayed) {
        undelayed.times.add(&other.times);
        undelayed.stood_still = undelayed.stood_still.max(other.stood_still);
    }
    Ok(())
}

fn replayed(sum: Option<Replayed>, part: Option<Replayed>) -> Option<Replayed> {
    let (Some(a), Some(b)) = (sum, part) else { return sum.or(part) };
    Some(Replayed {
        recorded: a.recorded + b.recorded,
        asked: a.asked + b.asked,
        passed_over: a.passed_over + b.passed_over,
        cut_off: a.cut_off + b.cut_off,
    })
}

fn add_transitions(sum: &mut Vec<TransitionCount>, more: &[TransitionCount]) {
    for other in more {
        let of = |count: &TransitionCount| (count.after.clone(), count.from.clone(), count.to.clone());
        match sum.iter_mut().find(|known| of(known) == of(other)) {
            Some(known) => {
                known.drawn.made += other.drawn.made;
                known.drawn.made_elsewhere += other.drawn.made_elsewhere;
                known.drawn.substituted += other.drawn.substituted;
                known.drawn.gone += other.drawn.gone;
            }
            None => sum.push(other.clone()),
        }
    }
}

fn add_offered(sum: &mut Vec<Offered>, more: &[Offered]) {
    sum.resize(sum.len().max(more.len()), Offered::default());
    for (minute, other) in sum.iter_mut().zip(more) {
        minute.drawn += other.drawn;
        minute.not_offered += other.not_offered;
    }
}

/// Sums of what each generator used, and the largest of what does not add up. Stalls are each generator's own.
fn add_health(sum: &Health, part: &Health) -> Health {
    Health {
        wall: sum.wall.max(part.wall),
        process_cpu: sum.process_cpu + part.process_cpu,
        sender_cpu: sum.sender_cpu + part.sender_cpu,
        run_queue_delay: sum.run_queue_delay + part.run_queue_delay,
        sender_turns: sum.sender_turns + part.sender_turns,
        steal: sum.steal.max(part.steal),
        largest_gap: sum.largest_gap.max(part.largest_gap),
        gap_p999: sum.gap_p999.max(part.gap_p999),
        stalls: Vec::new(),
        more_stalls: sum.more_stalls + part.more_stalls + part.stalls.len() as u64,
        descriptors_peak: sum.descriptors_peak.max(part.descriptors_peak),
        descriptors_limit: sum.descriptors_limit.max(part.descriptors_limit),
        out_of_descriptors: sum.out_of_descriptors + part.out_of_descriptors,
        out_of_memory: sum.out_of_memory + part.out_of_memory,
        out_of_ports: sum.out_of_ports + part.out_of_ports,
        in_flight_peak: sum.in_flight_peak.saturating_add(part.in_flight_peak),
        in_flight_limit: sum.in_flight_limit.saturating_add(part.in_flight_limit),
        waited_for_fiber: sum.waited_for_fiber + part.waited_for_fiber,
        waited_for_connection: sum.waited_for_connection + part.waited_for_connection,
        unasked: sum.unasked + part.unasked,
        fiber_panics: sum.fiber_panics + part.fiber_panics,
        contradictions: sum.contradictions + part.contradictions,
        resident_peak: sum.resident_peak.max(part.resident_peak),
        major_faults: sum.major_faults + part.major_faults,
        clocks: if part.clocks.drift_ppm > sum.clocks.drift_ppm { part.clocks } else { sum.clocks },
    }
}

#[cfg(test)]
mod tests;
