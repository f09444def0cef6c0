//! The start: the limit doubles with each generation of jobs while they take no longer inside than the first.

use super::constants::{GENERATION, START_DOUBT, START_LONGEST, START_MOST, START_ROOM, TREND};

/// Generations since the first job.
#[derive(Debug)]
pub(super) struct SlowStart {
    /// Seconds.
    objective: f64,
    /// Ends of all generations that did not queue, and the sum of their times inside, seconds.
    quick: (f64, f64),
    /// The limit of the first generation, and of the current one when it began.
    begun: [f64; 2],
    ends: f64,
    inside: f64,
    /// The same, with a job that takes long for no more than [`START_LONGEST`] known times.
    capped: f64,
    /// Ends of this generation that found others at the door.
    pressed: f64,
}

/// Where the start ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Started {
    pub(super) limit: f64,
    /// Time inside at which the limit could still grow by half, seconds; `None`: it could not.
    pub(super) time: Option<f64>,
}

impl SlowStart {
    pub(super) fn new(limit: f64, objective: f64) -> Self {
        Self { objective, quick: (0.0, 0.0), begun: [limit; 2], ends: 0.0, inside: 0.0, capped: 0.0, pressed: 0.0 }
    }

    /// Hears the end of a job after this time inside, seconds, and raises the limit while others wait and none queue. `healthy`: the time
    /// inside, if it is known better than from the generations so far.
    pub(super) fn end(
        &mut self,
        inside: f64,
        others_wait: bool,
        healthy: Option<f64>,
        limit: &mut f64,
    ) -> Option<Started> {
        let [first, begun] = self.begun;
        let known = healthy.or_else(|| (self.quick.0 > 0.0).then(|| self.quick.1 / self.quick.0));
        self.ends += 1.0;
        self.inside += inside;
        self.capped += known.map_or(inside, |known| inside.min(START_LONGEST * known));
        self.pressed += f64::from(u8::from(others_wait));
        let mean = self.capped / self.ends;
        let Some(known) = known else { return self.first_generation(mean, *limit) };
        if mean <= START_ROOM * known && mean <= START_MOST * self.objective {
            if others_wait && *limit < 2.0 * begun {
                *limit += 1.0;
            }
            if self.ends >= GENERATION.max(begun) {
                self.next_generation(*limit);
            }
            return None;
        }
        let errors = (1.0 / self.ends + if healthy.is_none() { 1.0 / self.quick.0 } else { 0.0 }).sqrt();
        let queues = self.ends >= GENERATION && mean > known * (1.0 + START_DOUBT * errors).max(START_ROOM);
        if queues && self.pressed >= self.ends / 2.0 {
            let time = (begun >= TREND * first).then_some(known);
            let least = if healthy.is_some() { 1.0 } else { first };
            return Some(Started { limit: (begun * START_ROOM * known / mean).max(least), time });
        }
        // Neither quick nor slow for long: what was known of the time was too little.
        if self.ends >= 2.0 * GENERATION.max(begun) {
            if mean > START_MOST * self.objective {
                return Some(Started { limit: *limit, time: None });
            }
            self.next_generation(*limit);
        }
        None
    }

    /// What the first generation takes is the measure, unless it takes so long that others must be inside too: those of other doors.
    fn first_generation(&mut self, mean: f64, limit: f64) -> Option<Started> {
        if self.ends < GENERATION {
            return None;
        }
        if mean > START_MOST * self.objective {
            let budget = START_MOST / 2.0 * self.objective;
            return Some(Started { limit: (limit * budget / mean).max(1.0), time: None });
        }
        self.next_generation(limit);
        None
    }

    fn next_generation(&mut self, limit: f64) {
        self.quick = (self.quick.0 + self.ends, self.quick.1 + self.inside);
        *self = Self { quick: self.quick, begun: [self.begun[0], limit], ..Self::new(limit, self.objective) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl SlowStart {
        /// So many ends with others at the door.
        fn with(&mut self, ends: u32, inside: f64, healthy: Option<f64>) -> Option<Started> {
            let mut limit = self.begun[1];
            (0..ends).find_map(|_| self.end(inside, true, healthy, &mut limit))
        }
    }

    /// Ends of a generation, all after the same time, until the start is over.
    fn generation(start: &mut SlowStart, ends: u32, inside: f64, limit: &mut f64) -> Option<Started> {
        (0..ends).find_map(|_| start.end(inside, true, None, limit))
    }

    #[test]
    fn the_limit_doubles_while_none_queue_and_returns_to_where_none_did() {
        let mut limit = 4.0;
        let mut start = SlowStart::new(limit, 0.2);
        assert_eq!(generation(&mut start, 16, 0.02, &mut limit), None);
        assert_eq!(limit, 4.0, "the first generation is the measure");
        for wanted in [8.0, 16.0, 32.0] {
            assert_eq!(generation(&mut start, 16.max(limit as u32), 0.02, &mut limit), None);
            assert_eq!(limit, wanted);
        }
        // 64 ends have taken 20 ms each. After 16 ends of 36 ms: 1.8 < 1 + 3 √(1/16 + 1/64) = 1.839, and 17 of 37 ms are 1.85 > 1.819.
        assert_eq!(generation(&mut start, 16, 0.036, &mut limit), None);
        let started = generation(&mut start, 1, 0.053, &mut limit).unwrap();
        assert!((started.limit - 32.0 * 1.3 / 1.85).abs() < 1e-9);
        assert!((started.time.unwrap() - 0.02).abs() < 1e-12);
    }

    #[test]
    fn without_growth_nothing_is_known_of_the_service() {
        let mut limit = 4.0;
        let mut start = SlowStart::new(limit, 0.2);
        generation(&mut start, 16, 0.02, &mut limit);
        let started = generation(&mut start, 16, 0.05, &mut limit);
        assert_eq!(started, Some(Started { limit: 4.0, time: None }), "2.5 > 1 + 3 √(1/16 + 1/16)");
        // Where the time is known, fewer may be inside than at the start: 4 × 1.3 × 20 / 50.
        let started = SlowStart::new(4.0, 0.2).with(16, 0.05, Some(0.02));
        assert!((started.unwrap().limit - 2.08).abs() < 1e-9);
    }

    #[test]
    fn one_long_job_is_no_queue() {
        let mut limit = 4.0;
        let mut start = SlowStart::new(limit, 2.0);
        generation(&mut start, 16, 0.02, &mut limit);
        // With 15 of 20 ms the mean of 16 is 81 ms; counted as 80 ms, it is (300 + 80) / 16 = 23.75 < 26.
        assert_eq!(generation(&mut start, 15, 0.02, &mut limit), None);
        assert_eq!(generation(&mut start, 1, 1.0, &mut limit), None);
        assert_eq!((limit, start.begun[1]), (8.0, 8.0), "the next generation");
        assert!((start.quick.1 - (0.32 + 1.3)).abs() < 1e-9, "what jobs take in the mean is not capped");
    }

    #[test]
    fn a_first_generation_that_takes_most_of_the_objective_has_company() {
        let mut limit = 4.0;
        // 4 × 50 ms / 160 ms.
        let started = generation(&mut SlowStart::new(limit, 0.2), 16, 0.16, &mut limit);
        assert_eq!(started, Some(Started { limit: 1.25, time: None }));
    }

    #[test]
    fn nothing_grows_while_nobody_waits_and_a_known_time_counts_at_once() {
        let mut limit = 4.0;
        let mut start = SlowStart::new(limit, 0.2);
        start.end(0.02, true, Some(0.02), &mut limit);
        start.end(0.02, false, Some(0.02), &mut limit);
        start.end(0.2, true, Some(0.02), &mut limit);
        assert_eq!(limit, 5.0);
    }
}
