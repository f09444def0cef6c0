//! Every count of a run, by phase, part of the phase, request type and class.

use std::{ops::Range, time::Duration};

use controllers::{Class, Kind, Timestamp};

use super::{
    BackgroundLedger, Distribution, LastSecond, Ledger, RecorderPlan, Replies, Shard, TimeFamily,
    cell::Cell,
    shares::Shares,
    spread::Spread,
    undelayed::{Pause, RawUndelayed},
    user_set::UserSet,
};

/// The number of equal parts of a phase that are counted separately, so that "the last half of the spike" can be
/// computed afterwards.
pub(super) const PARTS: usize = 20;

/// Every count, as recorded.
#[derive(Debug, Clone)]
pub(super) struct Raw {
    /// The part of the plan that is recorded; `None`: all of it.
    pub(super) shard: Option<Shard>,
    pub(super) phases: Vec<RawPhase>,
    pub(super) kinds: Vec<String>,
    pub(super) classes: Vec<Class>,
    /// By phase, part, type, class.
    pub(super) cells: Vec<Option<Box<Cell>>>,
    pub(super) most: Duration,
    pub(super) objective: Duration,
    /// True if a part of the load is recorded.
    pub(super) replays: bool,
    /// The sum of the times from the write of requests to their end.
    pub(super) sojourn: Duration,
    /// Requests in flight at the end of the run, by count.
    pub(super) in_flight: u64,
    /// Requests that no window has.
    pub(super) last_second: Option<LastSecond>,
}

#[derive(Debug, Clone)]
pub(super) struct RawPhase {
    pub(super) name: String,
    pub(super) begins: Timestamp,
    pub(super) lasts: Duration,
    /// True if the run was stopped before the end of the phase.
    pub(super) cut_off: bool,
    /// True if the run ended by itself in it: its length is the actual one.
    pub(super) ended_early: bool,
    pub(super) users: Option<u64>,
    pub(super) clients: Clients,
    pub(super) shares: Shares,
    /// `None`: no spread is expected of it.
    pub(super) spread: Option<Spread>,
    pub(super) beside: BackgroundLedger,
    pub(super) replies: Replies,
    /// `None`: nobody watched the generator.
    pub(super) undelayed: Option<RawUndelayed>,
    /// True if its twentieths have cells of their own; else all of its counts are in the first.
    pub(super) in_parts: bool,
}

/// The users of a phase who sent something.
#[derive(Debug, Clone, Default)]
pub(super) struct Clients {
    pub(super) seen: UserSet,
    pub(super) connect_timed_out: UserSet,
}

impl Raw {
    pub(super) fn new(plan: RecorderPlan, kinds: &[&str], most: Duration) -> Self {
        let mut begins = Timestamp::ZERO;
        let mut phases = Vec::with_capacity(plan.phases.len());
        for phase in plan.phases {
            phases.push(RawPhase {
                name: phase.name,
                begins,
                lasts: phase.duration,
                cut_off: false,
                ended_early: false,
                users: phase.users,
                clients: Clients::default(),
                shares: Shares::default(),
                spread: phase.independent.then(Spread::default),
                beside: BackgroundLedger::default(),
                replies: Replies::default(),
                undelayed: None,
                in_parts: true,
            });
            begins = begins + phase.duration;
        }
        let classes = if plan.classes.is_empty() { vec![Class::default()] } else { plan.classes };
        let kinds: Vec<String> = kinds.iter().map(|&kind| kind.to_owned()).collect();
        let cells = phases.len().max(1) * PARTS * kinds.len() * classes.len();
        Self {
            shard: plan.shard,
            phases,
            kinds,
            classes,
            cells: vec![None; cells],
            most,
            objective: plan.objective,
            replays: plan.replays,
            sojourn: Duration::ZERO,
            in_flight: 0,
            last_second: None,
        }
    }

    pub(super) fn phase_count(&self) -> usize {
        self.phases.len()
    }

    /// The phase at this time; `None` when the last one is over.
    pub(super) fn phase_at(&self, at: Timestamp) -> Option<usize> {
        let last_begun = self.phases.iter().rposition(|phase| phase.begins <= at)?;
        let phase = &self.phases[last_begun];
        (at < phase.begins + phase.lasts).then_some(last_begun)
    }

    /// The phase and part of an intended start. One after the last phase (of a user that went on for a moment) belongs
    /// to its end.
    pub(super) fn phase_and_part(&self, intended: Timestamp) -> (usize, usize) {
        let Some(index) = self.phases.iter().rposition(|phase| phase.begins <= intended) else {
            return (0, 0);
        };
        let phase = &self.phases[index];
        let into = intended.since(phase.begins).as_nanos() * PARTS as u128;
        let part = into.checked_div(phase.lasts.as_nanos()).unwrap_or(0);
        (index, usize::try_from(part).unwrap_or(PARTS).min(PARTS - 1))
    }

    /// The replies of all phases.
    pub(super) fn all_replies(&self) -> Replies {
        let mut all = Replies::default();
        for phase in &self.phases {
            all += &phase.replies;
        }
        all
    }

    /// The replies to requests of the phase that this cell belongs to.
    pub(super) fn replies(&mut self, cell: u32) -> Option<&mut Replies> {
        let of_a_phase = PARTS * self.kinds.len() * self.classes.len();
        self.phases.get_mut(cell as usize / of_a_phase).map(|phase| &mut phase.replies)
    }

    pub(super) fn beside(&mut self, phase: usize) -> Option<&mut BackgroundLedger> {
        self.phases.get_mut(phase).map(|phase| &mut phase.beside)
    }

    /// Notes the user; true for its first request, if neither this phase nor the previous one has seen it.
    pub(super) fn users_seen(&mut self, intended: Timestamp, user: u64) -> bool {
        let (phase, _) = self.phase_and_part(intended);
        let before = phase.checked_sub(1).is_some_and(|before| self.phases[before].clients.seen.contains(user));
        self.phases.get_mut(phase).is_some_and(|phase| phase.clients.seen.insert(user)) && !before
    }

    /// Counts a new request of a user.
    pub(super) fn wants(&mut self, intended: Timestamp, user: u64) {
        let (phase, _) = self.phase_and_part(intended);
        self.phases.get_mut(phase).into_iter().for_each(|phase| phase.shares.wants(user));
    }

    /// Counts a request that was answered in time.
    pub(super) fn gets(&mut self, intended: Timestamp, user: u64) {
        let (phase, _) = self.phase_and_part(intended);
        self.phases.get_mut(phase).into_iter().for_each(|phase| phase.shares.gets(user));
    }

    /// Counts an arrival of a user, this much later than planned.
    pub(super) fn arrived(&mut self, intended: Timestamp, late: Duration) {
        let (phase, _) = self.phase_and_part(intended);
        let Some(phase) = self.phases.get_mut(phase) else { return };
        let into = intended.since(phase.begins) + late;
        phase.spread.iter_mut().for_each(|spread| spread.add(into));
    }

    /// The generator stood still.
    pub(super) fn stood_still(&mut self, pause: Pause) {
        for phase in &mut self.phases {
            let within = pause.to.min(phase.begins + phase.lasts).since(pause.from.max(phase.begins));
            phase.undelayed.iter_mut().for_each(|undelayed| undelayed.stood_still += within);
        }
    }

    /// Records the time that a request took without the generator's own part.
    pub(super) fn undelayed(&mut self, intended: Timestamp, took: Duration, is_known: bool) {
        let (phase, _) = self.phase_and_part(intended);
        let Some(undelayed) = self.phases.get_mut(phase).and_then(|phase| phase.undelayed.as_mut()) else { return };
        if is_known { undelayed.times.record(took) } else { undelayed.times.record_censored(took) }
    }

    pub(super) fn connect_timed_out(&mut self, intended: Timestamp, user: u64) {
        let (phase, _) = self.phase_and_part(intended);
        if let Some(phase) = self.phases.get_mut(phase) {
            phase.clients.connect_timed_out.insert(user);
        }
    }

    /// Ends arrivals before the end of the plan: the current phase is cut off, and counts with its actual length.
    pub(super) fn cut(&mut self, at: Timestamp) {
        for phase in self.phases.iter_mut().filter(|phase| at < phase.begins + phase.lasts) {
            phase.cut_off = true;
        }
        self.shorten(at);
    }

    /// Ends the plan here: the current phase counts with its actual length.
    pub(super) fn shorten(&mut self, at: Timestamp) {
        for phase in self.phases.iter_mut().filter(|phase| at < phase.begins + phase.lasts) {
            phase.lasts = at.since(phase.begins);
            phase.ended_early = !phase.cut_off;
        }
    }

    pub(super) fn total(&self) -> Ledger {
        let mut total = Ledger::default();
        for cell in self.cells.iter().flatten() {
            total += cell.ledger;
        }
        total
    }

    /// The sum of the cells of these phases, of this part of each, that `wanted` (by type and class) selects.
    pub(super) fn gather(
        &self,
        phases: Range<usize>,
        share: Range<f64>,
        wanted: impl Fn(usize, usize) -> bool,
    ) -> Cell {
        let from = (share.start * PARTS as f64).round() as usize;
        let to = (share.end * PARTS as f64).round() as usize;
        let (kinds, classes) = (self.kinds.len(), self.classes.len());
        let mut sum = Cell::default();
        for phase in phases {
            for part in from..to.min(PARTS) {
                for at in 0..kinds * classes {
                    let (kind, class) = (at / classes, at % classes);
                    if let (true, Some(cell)) =
                        (wanted(kind, class), &self.cells[(phase * PARTS + part) * kinds * classes + at])
                    {
                        sum.add(cell);
                    }
                }
            }
        }
        sum
    }

    /// The cell of a request.
    pub(super) fn cell_index(&self, intended: Timestamp, kind: Kind, class: Class) -> u32 {
        let (phase, part) = self.phase_and_part(intended);
        let kind = usize::from(kind.0).min(self.kinds.len() - 1);
        let class = self.classes.iter().position(|&c| c == class).unwrap_or(0);
        let index = ((phase * PARTS + part) * self.kinds.len() + kind) * self.classes.len() + class;
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    /// The cell of the same type and class at another time.
    pub(super) fn cell_at(&self, at: Timestamp, like: u32) -> u32 {
        let (phase, part) = self.phase_and_part(at);
        let of_a_part = (self.kinds.len() * self.classes.len()) as u32;
        u32::try_from(phase * PARTS + part).unwrap_or(u32::MAX).saturating_mul(of_a_part) + like % of_a_part
    }

    pub(super) fn cell(&mut self, index: u32) -> &mut Cell {
        self.cells[index as usize].get_or_insert_default()
    }

    pub(super) fn time(&mut self, index: u32, family: TimeFamily) -> &mut Distribution {
        let most = self.most;
        self.cell(index).at(family, most)
    }

    /// The users' time-out: nobody waits for an answer to one attempt for longer.
    pub(super) fn patience(&self) -> Duration {
        self.most / 2
    }

    /// Records an answer by its response time, and by the cell of its first attempt and the time since that began.
    pub(super) fn answered(&mut self, cell: u32, response: Duration, first: (u32, Duration)) {
        let apart = first != (cell, response);
        if apart {
            self.cell(cell).own_from_first_attempts();
        }
        self.time(cell, TimeFamily::Response).record(response);
        let of_first = self.cell(first.0);
        if apart || of_first.of(TimeFamily::FirstAttempt).is_some() {
            of_first.own_from_first_attempts().record(first.1);
        }
    }
}
