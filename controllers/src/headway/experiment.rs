//! The experiment: the limit is raised in every second window, and what that does to the answers in time is their elasticity.

use super::{
    constants::{AFTER_RAISE, DITHER, ELASTICITY_DOUBT, ELASTICITY_DRIFT, ELASTICITY_MOST, ELASTICITY_PRIOR},
    window::DoorFigures,
};

/// Alternation of raised windows with others while the limit binds, and the estimate that comes of it.
#[derive(Debug)]
pub(super) struct LimitExperiment {
    /// Of the current window.
    raised: bool,
    /// Share by which the limit is raised.
    dither: f64,
    /// The raised window before this one.
    before: Option<DoorFigures>,
    elasticity: f64,
    /// Variance of the elasticity.
    doubt: f64,
    since_pair: Sums,
}

#[derive(Debug, Default)]
struct Sums {
    took: f64,
    ends: f64,
    inside: f64,
    late: f64,
}

/// A pair of windows together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PairFigures {
    /// Mean time inside, W, seconds.
    pub(super) time: f64,
    /// Mean number inside, n = X W.
    pub(super) jobs: f64,
    /// Share of ends that took longer inside than the objective.
    pub(super) late: f64,
}

impl Default for LimitExperiment {
    fn default() -> Self {
        Self {
            raised: false,
            dither: DITHER,
            before: None,
            elasticity: ELASTICITY_PRIOR,
            doubt: ELASTICITY_DOUBT,
            since_pair: Sums::default(),
        }
    }
}

impl LimitExperiment {
    /// The limit in force, of this one that rests.
    pub(super) fn applied(&self, limit: f64) -> u32 {
        whole(if self.raised { self.raise(limit) } else { limit })
    }

    /// Relative change of answers in time for a relative change of the limit.
    pub(super) fn elasticity(&self) -> f64 {
        self.elasticity
    }

    /// A limited window ends, with the resting limit of its time; the next one is of the other kind. Returns a pair's figures with its
    /// second window.
    pub(super) fn window(&mut self, seen: &DoorFigures, limit: f64) -> Option<PairFigures> {
        self.since_pair.add(seen);
        let was_raised = self.raised;
        self.raised = !was_raised;
        if was_raised {
            self.before = Some(*seen);
            return None;
        }
        let before = self.before.take()?;
        let ratio = libm::log(f64::from(whole(self.raise(limit))) / f64::from(whole(limit)));
        let (more, less) = (Answers::of(&before), Answers::of(seen));
        self.learn(libm::log(more.pace / less.pace) / ratio, (more.variance + less.variance) / (ratio * ratio));
        let Sums { took, ends, inside, late } = std::mem::take(&mut self.since_pair);
        Some(PairFigures { time: inside / ends, jobs: inside / took, late: late / ends })
    }

    /// A Kalman filter: an observation weighs by what is doubted of the elasticity and of itself.
    fn learn(&mut self, seen: f64, variance: f64) {
        self.doubt += ELASTICITY_DRIFT;
        let gain = self.doubt / (self.doubt + variance);
        self.elasticity += gain * (seen.clamp(-ELASTICITY_MOST, ELASTICITY_MOST) - self.elasticity);
        self.doubt *= 1.0 - gain;
    }

    /// The limit has been raised on this evidence.
    pub(super) fn spend(&mut self) {
        (self.elasticity, self.doubt) = (AFTER_RAISE, ELASTICITY_DOUBT);
    }

    /// The limit jumps, so that what was learnt of it is void.
    pub(super) fn doubt(&mut self) {
        (self.elasticity, self.doubt) = (ELASTICITY_PRIOR, ELASTICITY_DOUBT);
    }

    /// The limit does not bind: half of what is known is forgotten.
    pub(super) fn rest(&mut self) {
        let elasticity = (self.elasticity + ELASTICITY_PRIOR) / 2.0;
        let doubt = (self.doubt + ELASTICITY_DOUBT) / 2.0;
        *self = Self { elasticity, doubt, ..Self::default() };
    }

    /// The next pair raises the limit by this share.
    pub(super) fn dither_by(&mut self, share: f64) {
        if self.before.is_none() {
            self.dither = share;
        }
    }

    /// The limit raised: at least one job more, since 1.3 times two are two.
    pub(super) fn raise(&self, limit: f64) -> f64 {
        (limit * (1.0 + self.dither)).max(limit + 1.0)
    }
}

/// Answers in time of a window.
struct Answers {
    /// A second.
    pace: f64,
    /// Variance of its logarithm: that of a count, and more where times vary by more than exponential ones do.
    variance: f64,
}

impl Answers {
    fn of(seen: &DoorFigures) -> Self {
        let count = (seen.in_time * seen.took).max(0.5);
        let wide = if seen.time > 0.0 { (seen.spread / seen.time).clamp(1.0, WIDEST) } else { 1.0 };
        Self { pace: count / seen.took, variance: wide * wide / count }
    }
}

/// Largest coefficient of variation that counts.
const WIDEST: f64 = 4.0;

impl Sums {
    fn add(&mut self, seen: &DoorFigures) {
        self.took += seen.took;
        self.ends += seen.ends;
        self.inside += seen.time * seen.ends;
        self.late += seen.late * seen.ends;
    }
}

fn whole(limit: f64) -> u32 {
    limit.round().max(1.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(in_time: f64, time: f64) -> DoorFigures {
        DoorFigures {
            took: 1.0,
            ends: 100.0,
            pace: 100.0,
            in_time,
            time,
            spread: time,
            quick: None,
            late: 0.02,
            jobs: 100.0 * time,
            refused: 0.5,
            limited: true,
        }
    }

    #[test]
    fn every_second_window_has_a_raised_limit_of_at_least_one_more() {
        let mut experiment = LimitExperiment::default();
        let applied = |experiment: &LimitExperiment| [1.0, 2.4, 10.0].map(|limit| experiment.applied(limit));
        assert_eq!(applied(&experiment), [1, 2, 10]);
        assert_eq!(experiment.window(&window(90.0, 0.1), 10.0), None);
        assert_eq!(applied(&experiment), [2, 3, 13]);
    }

    #[test]
    fn elasticity_is_the_ratio_of_logarithms_and_weighs_by_its_ends() {
        let mut experiment = LimitExperiment::default();
        experiment.window(&window(100.0, 0.1), 10.0);
        assert_eq!(experiment.window(&window(130.0, 0.2), 10.0), None);
        let pair = experiment.window(&window(100.0, 0.3), 10.0).unwrap();
        // ln(130 / 100) / ln(13 / 10) = 1, of variance (1/130 + 1/100) / ln² 1.3 = 0.257; 0.14 are doubted: a weight of 0.3527.
        assert!((experiment.elasticity() - (0.35 + 0.3527 * 0.65)).abs() < 1e-4, "{}", experiment.elasticity());
        assert!((experiment.doubt - 0.14 * (1.0 - 0.3527)).abs() < 1e-4);
        // The window before the pair counts: 100 × (0.1 + 0.2 + 0.3) s inside, 300 ends, 3 s.
        assert!(
            (pair.time - 0.2).abs() < 1e-12 && (pair.jobs - 20.0).abs() < 1e-12 && (pair.late - 0.02).abs() < 1e-12
        );
    }

    #[test]
    fn single_pairs_of_many_that_say_the_same_weigh_a_fifth() {
        let mut experiment = LimitExperiment::default();
        (0..101).for_each(|_| _ = experiment.window(&window(64.0, 0.1), 10.0));
        let before = experiment.elasticity();
        assert!(before.abs() < 1e-3, "saturated: {before}");
        experiment.window(&window(64.0 * 1.3, 0.1), 10.0);
        experiment.window(&window(64.0, 0.1), 10.0);
        assert!((0.15..0.25).contains(&experiment.elasticity()), "{}", experiment.elasticity());
    }

    #[test]
    fn one_pair_counts_for_no_more_than_two_and_rest_forgets_half() {
        let mut experiment = LimitExperiment::default();
        experiment.window(&window(1.0, 0.1), 10.0);
        experiment.window(&window(1e9, 0.1), 10.0);
        experiment.window(&window(1e8, 0.1), 10.0);
        // ln 10 / ln 1.3 is 9: counts as 2, and so many ends leave no doubt.
        assert!((experiment.elasticity() - 2.0).abs() < 1e-3);
        experiment.rest();
        assert!((experiment.elasticity() - 1.175).abs() < 1e-3, "halfway to 0.35");
    }
}
