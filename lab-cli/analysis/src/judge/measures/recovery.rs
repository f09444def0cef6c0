//! Recovery after too much: does it get well again, and when?
//!
//! A trigger is a phase of more load than before and after it, or a fault: within a phase, or all of one. Recovered is a service from the
//! first second on from which it stays well: in the ten seconds that follow, and in all that follow taken together, goodput is at least 95 %
//! of what is normal, and the objective is kept. Normal is what is offered, less the share that was not in time before the trigger, of which
//! the objective's own share is the most that counts: an arm that refuses nearly everything in calm, too, has not recovered by doing so
//! again. Nor has one that was slow in calm, so that its users asked for less: where the baseline's calm was better, that is normal. Where
//! the run begins with the fault, nothing was before it, and the objective's share of what is offered is normal. One that is still below
//! 80 % after it was watched for long is in a bad state that keeps itself alive: metastable (Bronson and others, "Metastable failures in
//! distributed systems", HotOS'21; Huang and others, OSDI'22). The numbers are ours.

use super::plan::{MeasuresPlan, PlannedPhase};
use crate::{
    live::TimelineSecond,
    summary::{Arm, LatencyObjective, PlannedLoad, Recovery, Watched, WatchedSecond},
};

/// Share of what is normal that counts as well again.
const WELL: f64 = 0.95;
/// For so many seconds; or for half of the time that there is, if that is shorter.
const HOLDS_S: usize = 10;
/// Share of what is normal under which it is not.
const BAD: f64 = 0.8;
/// It has to be watched for so many seconds, or for so many times the trigger, to be called metastable.
const WATCH_S: f64 = 60.0;
const WATCH_TIMES: f64 = 6.0;
/// Loads are the same if they differ by no more than this share.
const SAME: f64 = 0.01;
/// Seconds before the trigger below which it is not known what was normal.
const BEFORE_S: usize = 3;
/// Seconds by which the ends of a fault may miss those of the phase that it fills.
const EDGE_S: f64 = 0.5;

/// Trigger of a recovery, with the seconds around it.
struct Trigger<'a> {
    from: String,
    lasted_s: f64,
    /// Users wait for answers.
    closed: bool,
    /// `None`: the run begins with it.
    before: Option<&'a [TimelineSecond]>,
    during: &'a [TimelineSecond],
    after: &'a [TimelineSecond],
}

/// The recoveries of an arm, each with the phase in which it was watched. Of several in one phase the last one counts.
pub(super) fn recoveries(seconds: &[TimelineSecond], plan: &MeasuresPlan) -> Vec<(String, Recovery)> {
    let spikes = plan.phases.windows(3).filter_map(|around| spike(seconds, around));
    let filled = (0..plan.phases.len()).filter_map(|number| filled(seconds, plan, number));
    let faults = plan.phases.iter().flat_map(|phase| faults(seconds, phase, &plan.faults));
    let found = spikes.chain(filled).chain(faults);
    found.filter_map(|(phase, trigger)| Some((phase, trigger.recovery(plan.objective)?))).collect()
}

/// A phase with more load than before it, and the one after it again with as much as before.
fn spike<'a>(seconds: &'a [TimelineSecond], around: &[PlannedPhase]) -> Option<(String, Trigger<'a>)> {
    let [before, spike, after] = around else { return None };
    let (low, high) = (before.load?, spike.load?);
    let more = low.unit() == high.unit() && high.amount() > low.amount();
    if !more || !same(low, after.load?) {
        return None;
    }
    let of = |phase: &PlannedPhase| run_of(seconds, |second| second.phase == phase.name);
    let trigger = Trigger {
        from: spike.name.clone(),
        lasted_s: spike.seconds,
        closed: is_closed(low),
        before: Some(of(before)),
        during: of(spike),
        after: of(after),
    };
    Some((after.name.clone(), trigger))
}

fn is_closed(load: PlannedLoad) -> bool {
    matches!(load, PlannedLoad::Users(_))
}

fn same(a: PlannedLoad, b: PlannedLoad) -> bool {
    a.unit() == b.unit() && (a.amount() - b.amount()).abs() <= SAME * a.amount().max(b.amount())
}

/// A phase that a fault fills, and the one after it, against the one before it, all of one load.
fn filled<'a>(seconds: &'a [TimelineSecond], plan: &MeasuresPlan, number: usize) -> Option<(String, Trigger<'a>)> {
    let (own, after) = (&plan.phases[number], plan.phases.get(number + 1)?);
    let begins: f64 = plan.phases[..number].iter().map(|phase| phase.seconds).sum();
    let ends = begins + own.seconds;
    let fills = |(at, until): &(f64, f64)| (at - begins).abs() < EDGE_S && (until - ends).abs() < EDGE_S;
    let load = own.load?;
    let alike = |phase: &PlannedPhase| phase.load.is_some_and(|other| same(other, load));
    let before = number.checked_sub(1).map(|before| &plan.phases[before]);
    if !plan.faults.iter().any(fills) || !alike(after) || !before.is_none_or(alike) {
        return None;
    }
    let ends_before = plan.faults.iter().map(|(_, until)| *until).filter(|until| *until <= begins);
    let quiet_since = ends_before.fold(0.0, f64::max);
    let quiet_until = plan.faults.iter().map(|(at, _)| *at).filter(|at| *at >= ends).fold(f64::INFINITY, f64::min);
    let of = |phase: &PlannedPhase| {
        run_of(seconds, |second| {
            let at = f64::from(second.second);
            second.phase == phase.name && at >= quiet_since && at + 1.0 <= quiet_until
        })
    };
    let trigger = Trigger {
        from: "fault".to_owned(),
        lasted_s: own.seconds,
        closed: is_closed(load),
        before: before.map(of),
        during: of(own),
        after: of(after),
    };
    Some((after.name.clone(), trigger))
}

/// Faults within a phase of one load, each against what was before it in that phase.
fn faults<'a>(seconds: &'a [TimelineSecond], phase: &PlannedPhase, all: &[(f64, f64)]) -> Vec<(String, Trigger<'a>)> {
    let own = run_of(seconds, |second| second.phase == phase.name);
    let (Some(first), Some(last), Some(load)) = (own.first(), own.last(), phase.load) else { return Vec::new() };
    let (begins, ends) = (f64::from(first.second), f64::from(last.second) + 1.0);
    let mut within: Vec<(f64, f64)> =
        all.iter().copied().filter(|(at, until)| *at >= begins && *until < ends).collect();
    within.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut found = Vec::new();
    for (index, &(at, until)) in within.iter().enumerate() {
        let quiet_since = index.checked_sub(1).map_or(begins, |before| within[before].1);
        let quiet_until = within.get(index + 1).map_or(ends, |next| next.0);
        let between = |from: f64, to: f64| {
            run_of(own, |second| f64::from(second.second) >= from && f64::from(second.second) + 1.0 <= to)
        };
        let trigger = Trigger {
            from: "fault".to_owned(),
            lasted_s: until - at,
            closed: is_closed(load),
            before: Some(between(quiet_since, at)),
            during: between(at, until),
            after: between(until, quiet_until),
        };
        found.push((phase.name.clone(), trigger));
    }
    found
}

/// The seconds for which that holds: they follow each other.
fn run_of(seconds: &[TimelineSecond], holds: impl Fn(&TimelineSecond) -> bool) -> &[TimelineSecond] {
    let from = seconds.iter().position(&holds).unwrap_or(seconds.len());
    let to = seconds[from..].iter().position(|second| !holds(second)).map_or(seconds.len(), |length| from + length);
    &seconds[from..to]
}

/// State before a trigger: rates a second, and the share in time of what is offered.
struct Normal {
    goodput_per_s: f64,
    offered_per_s: f64,
    in_time: f64,
}

impl Trigger<'_> {
    /// State to come back to; `promised`: the objective's own share. `None`: it is not known, or nothing was watched.
    fn normal(&self, promised: f64) -> Option<Normal> {
        let found = match self.before {
            None if self.closed => return None,
            None => Normal { goodput_per_s: 0.0, offered_per_s: offered(self.after), in_time: promised },
            Some(before) if before.len() < BEFORE_S => return None,
            Some(before) => {
                // The first half of what was before may be the service's own beginning.
                let before = &before[before.len() / 2..];
                let (goodput_per_s, offered_per_s) = (goodput(before), offered(before));
                let in_time = (goodput_per_s / offered_per_s).clamp(promised, 1.0);
                Normal { goodput_per_s, offered_per_s, in_time }
            }
        };
        (found.offered_per_s > 0.0 && !self.after.is_empty()).then_some(found)
    }

    /// `None` where nothing is known to come back to.
    fn recovery(&self, objective: LatencyObjective) -> Option<Recovery> {
        let Normal { goodput_per_s, offered_per_s, in_time } = self.normal(objective.percentile / 100.0)?;
        let mut found = Recovery {
            from: self.from.clone(),
            trigger_s: self.lasted_s,
            goodput_before_per_s: goodput_per_s,
            watched_s: self.after.len() as f64,
            watch_needed_s: WATCH_S.max(WATCH_TIMES * self.lasted_s),
            retries: self.during.iter().chain(self.after).any(|second| second.planned > second.offered),
            watched: Watched {
                closed: self.closed,
                offered_before_per_s: offered_per_s,
                in_time,
                seconds: self.after.iter().map(watched).collect(),
            },
            ..Recovery::default()
        };
        judge(&mut found, objective);
        Some(found)
    }
}

/// Fills in the time from which on it was well, and the verdict.
fn judge(found: &mut Recovery, objective: LatencyObjective) {
    let Watched { closed, offered_before_per_s, in_time, seconds: after } = &found.watched;
    let mean = |seconds: &[WatchedSecond], read: fn(&WatchedSecond) -> u64| {
        seconds.iter().map(read).sum::<u64>() as f64 / seconds.len().max(1) as f64
    };
    let goodput = |seconds: &[WatchedSecond]| mean(seconds, |second| second.goodput);
    // What comes to an open load is chance; users who wait ask for less, which is no recovery.
    let normal = |seconds: &[WatchedSecond]| {
        in_time * if *closed { *offered_before_per_s } else { mean(seconds, |second| second.offered) }
    };
    let holds = HOLDS_S.min(after.len() / 2).max(1);
    let well = |seconds: &[WatchedSecond]| goodput(seconds) >= WELL * normal(seconds) && keeps(seconds, objective);
    let windows = after.len() - holds + 1;
    let stays = |from: &usize| well(&after[*from..from + holds]) && well(&after[*from..]);
    let after_s = (0..windows).find(stays).map(|from| from as f64);
    let end = &after[after.len() - holds..];
    let (at_end, normal_at_end) = (goodput(end), normal(end));
    let verdict = match after_s {
        Some(_) if at_end >= BAD * normal_at_end => "recovered",
        _ if at_end < BAD * normal_at_end && found.watched_s >= found.watch_needed_s => "metastable",
        _ => "undecided",
    };
    found.normal_per_s = in_time * offered_before_per_s;
    found.after_s = after_s;
    found.after_s_at_least = after_s.is_none().then_some(windows as f64);
    found.goodput_at_end_per_s = at_end;
    verdict.clone_into(&mut found.verdict);
}

/// Holds what arms recovered to against the calm of their block's baseline, where that was better than their own before the trigger.
pub fn hold_against(arms: &mut [Arm], baseline: &str, objective: LatencyObjective) {
    let baselines: Vec<Arm> = arms.iter().filter(|arm| arm.shown_name() == baseline).cloned().collect();
    for arm in arms.iter_mut().filter(|arm| arm.shown_name() != baseline) {
        let Some(calm) = baselines.iter().find(|calm| calm.block == arm.block) else { continue };
        for phase in &mut arm.phases {
            let same = calm.phases.iter().find(|other| other.name == phase.name);
            let theirs = same.and_then(|other| other.measures.recovery.as_ref());
            let (Some(found), Some(theirs)) = (&mut phase.measures.recovery, theirs) else { continue };
            if found.from != theirs.from || found.watched.seconds.is_empty() {
                continue;
            }
            let (ours, theirs) = (&mut found.watched, &theirs.watched);
            ours.offered_before_per_s = ours.offered_before_per_s.max(theirs.offered_before_per_s);
            ours.in_time = ours.in_time.max(theirs.in_time);
            judge(found, objective);
        }
    }
}

fn watched(second: &TimelineSecond) -> WatchedSecond {
    let late = second.served_late + second.timed_out + second.abandoned + second.connect_failed;
    WatchedSecond { offered: second.offered, goodput: second.goodput, served: second.served, late }
}

fn goodput(seconds: &[TimelineSecond]) -> f64 {
    seconds.iter().map(|second| second.goodput).sum::<u64>() as f64 / seconds.len().max(1) as f64
}

fn offered(seconds: &[TimelineSecond]) -> f64 {
    seconds.iter().map(|second| second.offered).sum::<u64>() as f64 / seconds.len().max(1) as f64
}

/// Is the objective kept? Its percentile is in time if that share of what was waited for is: refusals are no waiting, and what
/// was given up came too late.
fn keeps(seconds: &[WatchedSecond], objective: LatencyObjective) -> bool {
    let sum = |read: fn(&WatchedSecond) -> u64| seconds.iter().map(read).sum::<u64>();
    let (in_time, late) = (sum(|second| second.served), sum(|second| second.late));
    in_time as f64 >= objective.percentile / 100.0 * (in_time + late) as f64
}
