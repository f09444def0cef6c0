//! The start: the limit doubles with each generation of jobs while they take no longer inside than the first.

use super::constants::{GENERATION, START_DOUBT, START_ROOM, TREND};

/// Generations since the first job.
#[derive(Debug)]
pub(super) struct SlowStart {
    /// Ends of all generations that did not queue, and the sum of their times inside, seconds.
    quick: (f64, f64),
    /// The limit of the first generation, and of the current one when it began.
    begun: [f64; 2],
    ends: f64,
    inside: f64,
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
    pub(super) fn new(limit: f64) -> Self {
        Self { quick: (0.0, 0.0), begun: [limit; 2], ends: 0.0, inside: 0.0, pressed: 0.0 }
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
        self.ends += 1.0;
        self.inside += inside;
        self.pressed += f64::from(u8::from(others_wait));
        let mean = self.inside / self.ends;
        let known = healthy.or_else(|| (self.quick.0 > 0.0).then(|| self.quick.1 / self.quick.0));
        let Some(known) = known else {
            if self.ends >= GENERATION {
                self.next_generation(*limit);
            }
            return None;
        };
        if mean <= START_ROOM * known {
            if others_wait && *limit < 2.0 * begun {
                *limit += 1.0;
            }
            if self.ends >= GENERATION.max(begun) {
                self.next_generation(*limit);
            }
            return None;
        }
        let errors = (1.0 / self.ends + if healthy.is_none() { 1.0 / self.quick.0 } else { 0.0 }).sqrt();
        let queues = self.ends >= GENERATION && mean > known * (1.0 + START_DOUBT * errors);
        if !queues || self.pressed < self.ends / 2.0 {
            // Neither quick nor slow for long: what was known of the time was too little.
            if self.ends >= 2.0 * GENERATION.max(begun) {
                self.next_generation(*limit);
            }
            return None;
        }
        let time = (begun >= TREND * first).then_some(known);
        Some(Started { limit: (begun * START_ROOM * known / mean).max(first), time })
    }

    fn next_generation(&mut self, limit: f64) {
        self.quick = (self.quick.0 + self.ends, self.quick.1 + self.inside);
        *self = Self { quick: self.quick, begun: [self.begun[0], limit], ..Self::new(limit) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends of a generation, all after the same time, until the start is over.
    fn generation(start: &mut SlowStart, ends: u32, inside: f64, limit: &mut f64) -> Option<Started> {
        (0..ends).find_map(|_| start.end(inside, true, None, limit))
    }

    #[test]
    fn the_limit_doubles_while_none_queue_and_returns_to_where_none_did() {
        let mut limit = 4.0;
        let mut start = SlowStart::new(limit);
        assert_eq!(generation(&mut start, 8, 0.02, &mut limit), None);
        assert_eq!(limit, 4.0, "the first generation is the measure");
        for wanted in [8.0, 16.0, 32.0] {
            let ends = (limit as u32).max(8);
            assert_eq!(generation(&mut start, ends, 0.02, &mut limit), None);
            assert_eq!(limit, wanted);
        }
        // 40 ends have taken 20 ms each. After 9 ends of 36 ms: 1.8 > 1 + 2 √(1/9 + 1/40) = 1.74, and 1.75 after 8.
        assert_eq!(generation(&mut start, 8, 0.035, &mut limit), None);
        let started = generation(&mut start, 1, 0.044, &mut limit).unwrap();
        assert!((started.limit - 32.0 * 1.3 / 1.8).abs() < 1e-9);
        assert!((started.time.unwrap() - 0.02).abs() < 1e-12);
    }

    #[test]
    fn without_growth_nothing_is_known_of_the_service() {
        let mut limit = 4.0;
        let mut start = SlowStart::new(limit);
        generation(&mut start, 8, 0.02, &mut limit);
        let started = generation(&mut start, 8, 0.05, &mut limit);
        assert_eq!(started, Some(Started { limit: 4.0, time: None }), "2.5 > 1 + 2 √(1/8 + 1/8)");
    }

    #[test]
    fn nothing_grows_while_nobody_waits_and_a_known_time_counts_at_once() {
        let mut limit = 4.0;
        let mut start = SlowStart::new(limit);
        start.end(0.02, true, Some(0.02), &mut limit);
        start.end(0.02, false, Some(0.02), &mut limit);
        start.end(0.2, true, Some(0.02), &mut limit);
        assert_eq!(limit, 5.0);
    }
}
