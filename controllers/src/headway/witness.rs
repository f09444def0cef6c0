//! The second witness: the trend of the time inside over the number inside.
//!
//! At one door of several the experiment finds that more inside buys more answers whatever the service does: they are those of the
//! other doors. But where all doors raise their limits, the time inside, which they have in common, rises with the number. Over a
//! change of half as much again it tells a service (which takes as long for more jobs) from a queue (which takes longer by as much).

use super::{
    constants::{PAUSE, QUEUE_TREND, TREND},
    experiment::PairFigures,
};

/// Limit and figures at the begin of a change.
#[derive(Debug, Clone, Copy)]
struct Mark {
    limit: f64,
    pair: PairFigures,
}

/// A change of the limit that is watched.
#[derive(Debug, Clone, Copy)]
enum Watched {
    Nothing,
    /// The limit rises, as the experiment says that it should.
    Claim(Mark),
    /// The limit falls until the time inside no longer falls with it.
    Descent {
        from: Mark,
        refuted: bool,
    },
}

/// What the trend has shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Finding {
    Nothing,
    /// The rise was one of the service: its time is that of this pair.
    Real,
    /// The rise was one of a queue; the limit before it.
    Refuted(f64),
    /// The descent has reached the service's own time.
    Knee,
}

/// Watches claims, and pauses after those that were refuted.
#[derive(Debug)]
pub(super) struct TrendWitness {
    watched: Watched,
    /// Pairs without a claim from now on.
    pause: f64,
    /// The next pause.
    next_pause: f64,
}

impl Default for TrendWitness {
    fn default() -> Self {
        Self { watched: Watched::Nothing, pause: 0.0, next_pause: PAUSE[0] }
    }
}

impl TrendWitness {
    /// Hears a pair of windows at this limit.
    pub(super) fn pair(&mut self, limit: f64, pair: PairFigures) -> Finding {
        self.pause = (self.pause - 1.0).max(0.0);
        let now = Mark { limit, pair };
        match self.watched {
            Watched::Claim(from) if pair.jobs >= from.pair.jobs * TREND => {
                if trend(&from.pair, &pair) <= QUEUE_TREND {
                    (self.watched, self.next_pause) = (Watched::Nothing, PAUSE[0]);
                    return Finding::Real;
                }
                self.watched = Watched::Descent { from: now, refuted: true };
                self.pause = self.next_pause;
                self.next_pause = (2.0 * self.next_pause).min(PAUSE[1]);
                Finding::Refuted(from.limit)
            }
            Watched::Descent { from, refuted } if pair.jobs * TREND <= from.pair.jobs => {
                if trend(&from.pair, &pair) < QUEUE_TREND {
                    self.watched = Watched::Nothing;
                    return Finding::Knee;
                }
                self.watched = Watched::Descent { from: now, refuted };
                Finding::Nothing
            }
            _ => Finding::Nothing,
        }
    }

    /// The limit is raised from this one, where a queue may be inside already.
    pub(super) fn claim(&mut self, limit: f64, pair: PairFigures) {
        if !matches!(self.watched, Watched::Claim(_)) {
            self.watched = Watched::Claim(Mark { limit, pair });
        }
    }

    /// The limit is lowered from this one; an open claim is withdrawn.
    pub(super) fn descend(&mut self, limit: f64, pair: PairFigures) {
        if !matches!(self.watched, Watched::Descent { .. }) {
            self.watched = Watched::Descent { from: Mark { limit, pair }, refuted: false };
        }
    }

    /// Nothing is watched any more; a pause goes on.
    pub(super) fn dismiss(&mut self) {
        self.watched = Watched::Nothing;
    }

    /// True from a refuted claim on until the queue that it made is gone.
    pub(super) fn is_refuted(&self) -> bool {
        matches!(self.watched, Watched::Descent { refuted: true, .. })
    }

    /// True while no claim is heard.
    pub(super) fn is_paused(&self) -> bool {
        self.pause > 0.0
    }
}

/// Relative change of the time inside for a relative change of the number inside: 0 of a service, 1 of a queue.
fn trend(from: &PairFigures, to: &PairFigures) -> f64 {
    libm::log(to.time / from.time) / libm::log(to.jobs / from.jobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(jobs: f64, time: f64) -> PairFigures {
        PairFigures { time, jobs, late: 0.0 }
    }

    #[test]
    fn a_rise_by_half_that_takes_as_long_is_real() {
        let mut witness = TrendWitness::default();
        witness.claim(4.0, pair(4.0, 0.02));
        witness.claim(5.0, pair(5.0, 0.02));
        assert_eq!(witness.pair(5.0, pair(5.9, 0.02)), Finding::Nothing, "a rise of 1.48");
        // From 4 to 6 and from 20 to 24.4 ms: ln 1.22 / ln 1.5 = 0.49.
        assert_eq!(witness.pair(6.0, pair(6.0, 0.0244)), Finding::Real);
        assert_eq!(witness.pair(9.0, pair(9.0, 0.04)), Finding::Nothing, "heard");
    }

    #[test]
    fn a_rise_that_only_queues_is_refuted_and_pauses_double() {
        let mut witness = TrendWitness::default();
        for pause in [4.0, 8.0, 16.0, 32.0, 64.0, 64.0] {
            witness.claim(4.0, pair(4.0, 0.02));
            // ln 1.23 / ln 1.5 = 0.51.
            assert_eq!(witness.pair(6.25, pair(6.0, 0.0246)), Finding::Refuted(4.0));
            assert!(witness.is_refuted() && witness.is_paused());
            assert!((witness.pause - pause).abs() < 1e-12);
            witness.dismiss();
        }
        (0..63).for_each(|_| _ = witness.pair(4.0, pair(4.0, 0.02)));
        assert!(witness.is_paused());
        witness.pair(4.0, pair(4.0, 0.02));
        assert!(!witness.is_paused());
    }

    #[test]
    fn a_descent_ends_where_the_time_no_longer_follows() {
        let mut witness = TrendWitness::default();
        witness.descend(12.0, pair(12.0, 0.06));
        assert_eq!(witness.pair(8.0, pair(8.0, 0.04)), Finding::Nothing, "all of it was a queue");
        assert_eq!(witness.pair(6.0, pair(6.0, 0.03)), Finding::Nothing, "8 to 6 is too little to tell");
        // From 8 to 5 jobs and from 40 to 32 ms: ln 1.25 / ln 1.6 = 0.47.
        assert_eq!(witness.pair(5.0, pair(5.0, 0.032)), Finding::Knee);
        assert!(!witness.is_refuted());
    }
}
