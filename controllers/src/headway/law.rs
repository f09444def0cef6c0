//! The law of the limit: experiment, baseline, witness, start and emergency in one place.

use super::{
    constants::{
        ABOVE_KNEE, BELOW_KNEE, BOLD, BOLD_CROWD, DESCENT, DITHER, EMERGENCY, EMERGENCY_BUDGET, EMERGENCY_CROWD,
        EMERGENCY_CUT, FIRST_LIMIT, FLOOR_DECAY, GROW, MOST_LIMIT, REFUSALS_GAIN, REFUSALS_LEAST, ROOM_BY_REFUSALS,
        SEARCH_DOWN, TREND,
    },
    experiment::{LimitExperiment, PairFigures},
    healthy::HealthyTime,
    start::SlowStart,
    window::DoorFigures,
    witness::{Finding, TrendWitness},
};

/// The limit of jobs inside, L, and all that sets it. Times in seconds.
#[derive(Debug)]
pub(super) struct HeadwayLaw {
    objective: f64,
    limit: f64,
    /// A limit that was found to be below the knee: descents end there.
    floor: f64,
    experiment: LimitExperiment,
    healthy: HealthyTime,
    witness: TrendWitness,
    /// `None`: over.
    start: Option<SlowStart>,
    /// Share of offers that are refused, p.
    refused: f64,
    /// A bold pair has shown that more inside does not explain the time inside.
    explained: bool,
}

impl HeadwayLaw {
    pub(super) fn new(objective: f64) -> Self {
        Self {
            objective,
            limit: FIRST_LIMIT,
            floor: 1.0,
            experiment: LimitExperiment::default(),
            healthy: HealthyTime::default(),
            witness: TrendWitness::default(),
            start: Some(SlowStart::new(FIRST_LIMIT, objective)),
            refused: 0.0,
            explained: false,
        }
    }

    /// The limit in force.
    pub(super) fn limit(&self) -> u32 {
        self.experiment.applied(self.limit)
    }

    pub(super) fn elasticity(&self) -> f64 {
        self.experiment.elasticity()
    }

    /// Time inside where nothing queues, seconds; 0: not known.
    pub(super) fn healthy_time(&self) -> f64 {
        self.healthy.time()
    }

    /// Hears the end of a job after this time inside.
    pub(super) fn end(&mut self, inside: f64, others_wait: bool) {
        let Some(start) = &mut self.start else { return };
        let healthy = self.healthy.is_confirmed().then(|| self.healthy.time());
        let Some(started) = start.end(inside, others_wait, healthy, &mut self.limit) else { return };
        self.start = None;
        self.limit = started.limit;
        if let Some(time) = started.time {
            self.healthy.confirm_start(time);
        }
    }

    /// Hears a window.
    pub(super) fn window(&mut self, seen: &DoorFigures) {
        self.refused += REFUSALS_GAIN * (seen.refused - self.refused);
        if !seen.limited {
            self.experiment.rest();
            self.witness.dismiss();
            self.healthy.unlimited(seen);
            self.explained = false;
            return;
        }
        let pair = if self.start.is_none() { self.experiment.window(seen, self.limit) } else { None };
        pair.into_iter().for_each(|pair| self.pair(pair));
        let bold = self.is_odd(seen.time) && !self.explained && !self.witness.is_refuted() && !self.witness.is_paused();
        self.experiment.dither_by(if bold { BOLD } else { DITHER });
        self.healthy.limited(seen);
        if self.start.is_none() && self.healthy.is_confirmed() && !self.is_crowded(seen.time) {
            self.limit *= GROW;
        }
        self.emergency(seen);
        self.limit = self.limit.clamp(1.0, MOST_LIMIT);
    }

    /// True if more queues inside than there is room for.
    fn is_crowded(&self, time: f64) -> bool {
        time > self.roomy_time()
    }

    /// True if no baseline explains the time inside: it is not known, or is far exceeded.
    fn is_odd(&self, time: f64) -> bool {
        !self.healthy.is_confirmed() || time > BOLD_CROWD * self.roomy_time()
    }

    /// The time inside to rest at: the healthy one, and more the more is refused.
    fn roomy_time(&self) -> f64 {
        (1.0 + ROOM_BY_REFUSALS * self.refused.max(REFUSALS_LEAST)) * self.healthy.time()
    }

    /// Moves the limit on the evidence of a pair of windows.
    fn pair(&mut self, pair: PairFigures) {
        self.hear_witness(pair);
        let crowded = self.is_crowded(pair.time);
        let confirmed = self.healthy.is_confirmed();
        if confirmed && !crowded && self.witness.is_refuted() {
            self.witness.dismiss();
        }
        let refuted = self.witness.is_refuted();
        let elasticity = self.experiment.elasticity();
        if elasticity > BELOW_KNEE && !refuted {
            if !(self.witness.is_paused() && confirmed && crowded) {
                self.raise(pair, crowded || !confirmed);
            }
        } else {
            self.explained = true;
            if elasticity < ABOVE_KNEE || refuted {
                self.lower(pair);
            }
        }
    }

    fn hear_witness(&mut self, pair: PairFigures) {
        match self.witness.pair(self.limit, pair) {
            Finding::Nothing => {}
            Finding::Real => {
                if !self.healthy.is_confirmed() || pair.time > self.healthy.time() {
                    self.healthy.confirm(&pair);
                    self.floor = self.limit;
                }
            }
            Finding::Refuted(before) => {
                self.limit = before.max(self.limit / TREND);
                self.floor = 1.0;
                self.experiment.doubt();
            }
            Finding::Knee => {
                self.healthy.confirm(&pair);
                self.limit *= TREND.sqrt();
                self.floor = self.limit;
                self.experiment.doubt();
            }
        }
    }

    /// Below the knee. Where a queue may be inside already, the rise is a claim.
    fn raise(&mut self, pair: PairFigures, doubtful: bool) {
        if doubtful {
            self.witness.claim(self.limit, pair);
            self.floor = self.floor.max(self.limit);
        }
        self.limit = self.experiment.raise(self.limit);
        if !doubtful {
            self.floor = self.limit;
            // As at the start: nothing queues yet, and nobody knows how far the knee is.
            self.start = Some(SlowStart::new(self.limit, self.objective));
        }
        self.experiment.spend();
    }

    /// Above the knee: more inside buys nothing. The limit falls: to what there is room for, and where that is far, or nothing is known,
    /// until the time inside no longer falls with it.
    fn lower(&mut self, pair: PairFigures) {
        self.floor = (self.floor * FLOOR_DECAY).max(1.0);
        let confirmed = self.healthy.is_confirmed();
        if !confirmed || self.witness.is_refuted() {
            self.witness.descend(self.limit, pair);
            self.limit *= SEARCH_DOWN;
            if !confirmed {
                self.healthy.suppose(&pair);
            }
            return;
        }
        let paused = self.witness.is_paused();
        if !self.is_crowded(pair.time) {
            self.witness.dismiss();
            return;
        }
        if self.is_odd(pair.time) {
            self.witness.descend(self.limit, pair);
        }
        let [most, least] = DESCENT;
        let to = self.limit * (self.roomy_time() / pair.time).sqrt().clamp(most, least);
        self.limit = if paused { to } else { to.max(self.floor.min(self.limit)) };
    }

    /// Cuts the limit at once if many answers are late beyond those of health, a queue is inside, and more inside does not help.
    fn emergency(&mut self, seen: &DoorFigures) {
        let late = seen.late > self.healthy.late() + EMERGENCY;
        if late && self.elasticity() < BELOW_KNEE && seen.time > EMERGENCY_CROWD * self.healthy.time() {
            self.start = None;
            let budget = seen.pace * self.objective * EMERGENCY_BUDGET;
            self.limit = self.limit.min(budget.max(EMERGENCY_CUT * self.limit));
            self.floor = self.floor.min(self.limit);
        }
    }
}

#[cfg(test)]
mod tests;
