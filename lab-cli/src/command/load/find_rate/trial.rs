//! One rate, and whether the objective is met at it.

use std::time::Duration;

use analysis::{
    summary::RunSummary,
    text::{percent, rate},
};
use measure::Window;
use serde::Serialize;

use super::super::conditions::RateObjective;

/// Quantile of the normal distribution for intervals of 99 %: a trial is looked at every second, and each look may be wrong.
const Z: f64 = 2.576;
/// Seconds at the beginning that do not count: connections are opened in them.
const WARM_UP: u64 = 1;

/// The end of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outcome {
    /// The objective is met.
    Met,
    /// It is not.
    Missed,
    /// The trial was as long as it may be, and its interval still has the limit in it.
    Undecided,
    /// The generator could not send at this rate.
    Generator,
}

impl Outcome {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::Undecided => "undecided",
            Self::Generator => "the generator could not keep up",
        }
    }
}

/// A trial.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Trial {
    pub(super) rate_per_s: f64,
    /// Seconds that count.
    pub(super) seconds: u64,
    /// Requests that ended in them, or are known to miss the objective.
    pub(super) requests: u64,
    /// Requests, of these, that were not served within the time.
    pub(super) missed: u64,
    /// 99 % interval of the share that misses it.
    pub(super) interval: [f64; 2],
    pub(super) outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    #[serde(skip)]
    looked: Looked,
}

/// Limits and counts that decide a trial.
#[derive(Debug, Clone, Default)]
struct Looked {
    may_miss: f64,
    within: f64,
    least: u64,
    all: u64,
    /// Ended and missed, second by second.
    batches: Vec<[f64; 2]>,
    /// Requests in flight at the end of each second.
    in_flight: Vec<f64>,
}

impl Trial {
    /// Is not decided before `least`.
    pub(super) fn of(rate_per_s: f64, objective: &RateObjective, least: Duration) -> Self {
        let looked = Looked {
            may_miss: objective.may_miss,
            within: objective.within.as_secs_f64(),
            least: least.as_secs(),
            ..Looked::default()
        };
        let (interval, outcome) = ([0.0, 1.0], Outcome::Undecided);
        Self { rate_per_s, seconds: 0, requests: 0, missed: 0, interval, outcome, why: None, looked }
    }

    /// Takes in a second; true if the trial is decided.
    pub(super) fn takes(&mut self, window: &Window) -> bool {
        self.looked.all += 1;
        if self.looked.all <= WARM_UP {
            return false;
        }
        let lost = window.rejected
            + window.failed
            + window.timed_out
            + window.abandoned
            + window.connect_failed
            + window.refused_locally;
        let missed = window.late + lost;
        self.looked.batches.push([(window.served + missed) as f64, missed as f64]);
        self.looked.in_flight.push(window.in_flight as f64);
        self.look();
        let lasts = self.looked.all >= self.looked.least;
        match self.outcome {
            Outcome::Missed => lasts,
            Outcome::Met => lasts && !self.grows(),
            _ => false,
        }
    }

    /// It is over. Requests in flight that grow to the end are more than the service can do.
    pub(super) fn ends(&mut self) {
        self.look();
        if self.outcome == Outcome::Met && self.grows() {
            self.outcome = Outcome::Missed;
            self.why = Some("requests in flight grow".to_owned());
        }
    }

    /// A run that was to last so long, judged by its own threshold.
    pub(super) fn is_a_whole_run(&mut self, summary: &RunSummary) {
        self.look();
        let held = summary.thresholds.iter().all(|threshold| threshold.held);
        self.outcome = if held { Outcome::Met } else { Outcome::Missed };
    }

    fn look(&mut self) {
        let Looked { may_miss, within, ref batches, ref in_flight, .. } = self.looked;
        // More are in flight than can have come within the time: these miss it, whenever they end.
        let overdue = (in_flight.last().copied().unwrap_or_default() - self.rate_per_s * within - 1.0).max(0.0).floor();
        let ended: f64 = batches.iter().map(|[ended, _]| ended).sum();
        let missed: f64 = batches.iter().map(|[_, missed]| missed).sum();
        (self.seconds, self.requests) = (batches.len() as u64, (ended + overdue) as u64);
        self.missed = (missed + overdue) as u64;
        self.interval = interval(batches, ended + overdue, missed + overdue);
        let [low, high] = self.interval;
        self.outcome = if high <= may_miss {
            Outcome::Met
        } else if low > may_miss {
            Outcome::Missed
        } else {
            Outcome::Undecided
        };
    }

    /// True if requests in flight grow: at a rate just over the capacity, response times are good until the queue is long.
    fn grows(&self) -> bool {
        let all = &self.looked.in_flight;
        let (Some(first), Some(last)) = (all.first(), all.last()) else { return false };
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        last - first > 0.01 * self.requests as f64 + 3.0 * (mean + 1.0).sqrt()
    }

    /// The time that the service needs for what it was sent and has not answered.
    pub(super) fn backlog(&self) -> Duration {
        let left = self.looked.in_flight.last().copied().unwrap_or_default();
        Duration::try_from_secs_f64(left / self.rate_per_s).unwrap_or(Duration::MAX)
    }

    pub(super) fn in_words(&self, objective: &RateObjective) -> String {
        let why = self.why.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
        let share = self.missed as f64 / (self.requests as f64).max(1.0);
        format!(
            "{}/s: {} {}, {} of {} missed it in {} s{why}",
            rate(self.rate_per_s),
            objective.text,
            self.outcome.word(),
            percent(share),
            self.requests,
            self.seconds
        )
    }
}

/// The interval of the share `missed / ended`: the wider of Wilson's for independent requests and that of the means of seconds,
/// since requests that wait in one queue are late together.
fn interval(batches: &[[f64; 2]], ended: f64, missed: f64) -> [f64; 2] {
    if ended <= 0.0 {
        return [0.0, 1.0];
    }
    let share = missed / ended;
    let wilson = {
        let (middle, scale) = (share + Z * Z / (2.0 * ended), 1.0 + Z * Z / ended);
        let half = Z * (share * (1.0 - share) / ended + Z * Z / (4.0 * ended * ended)).sqrt();
        [(middle - half) / scale, (middle + half) / scale]
    };
    let count = batches.len() as f64;
    let half = if batches.len() > 1 {
        let squares: f64 = batches.iter().map(|[ended, missed]| (missed - share * ended).powi(2)).sum();
        student(count - 1.0) * (squares / (count * (count - 1.0))).sqrt() / (ended / count)
    } else {
        1.0
    };
    [wilson[0].min(share - half).max(0.0), wilson[1].max(share + half).min(1.0)]
}

/// The same quantile of Student's t with so many degrees of freedom: expansion of Cornish and Fisher (Abramowitz and Stegun, 26.7.5).
fn student(freedom: f64) -> f64 {
    let z = Z;
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    let fourth = (79.0 * z.powi(9) + 776.0 * z.powi(7) + 1482.0 * z.powi(5) - 1920.0 * z.powi(3) - 945.0 * z) / 92160.0;
    z + first / freedom + second / freedom.powi(2) + third / freedom.powi(3) + fourth / freedom.powi(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objective() -> RateObjective {
        RateObjective::parse("p99 < 200ms").expect("good")
    }

    /// Seconds of a trial at 1000/s, of which so many in a thousand are late, until it is decided.
    fn tried(late: impl Fn(u64) -> u64, in_flight: impl Fn(u64) -> u64) -> Trial {
        let mut trial = Trial::of(1000.0, &objective(), Duration::from_secs(5));
        for second in 0..60 {
            let late = late(second);
            let window =
                Window { second, served: 1000 - late, late, in_flight: in_flight(second), ..Window::default() };
            if trial.takes(&window) {
                break;
            }
        }
        trial.ends();
        trial
    }

    #[test]
    fn what_is_clear_is_decided_soon_and_what_is_close_takes_longer() {
        let good = tried(|_| 0, |_| 5);
        assert_eq!((good.outcome, good.seconds), (Outcome::Met, 4), "the first second does not count");
        let bad = tried(|_| 500, |_| 5);
        assert_eq!((bad.outcome, bad.seconds), (Outcome::Missed, 4));
        let close = tried(|second| if second % 2 == 0 { 2 } else { 12 }, |_| 5);
        assert!(close.outcome == Outcome::Met && close.seconds > 10, "{close:?}");
        let on_it = tried(|_| 10, |_| 5);
        assert_eq!(on_it.outcome, Outcome::Undecided);
    }

    #[test]
    fn a_queue_that_grows_is_not_good_yet_and_one_that_does_not_move_is_bad() {
        let grows = tried(|_| 0, |second| second * 40);
        assert!(grows.seconds > 5 && grows.outcome == Outcome::Missed, "{grows:?}");
        // Nothing ends, and more are in flight than the objective allows.
        let mut stuck = Trial::of(100.0, &objective(), Duration::from_secs(5));
        let over = (0..10)
            .position(|second| stuck.takes(&Window { second, in_flight: 100 * (second + 1), ..Window::default() }));
        assert_eq!((over, stuck.outcome), (Some(4), Outcome::Missed));
    }

    #[test]
    fn the_quantile_is_that_of_student() {
        // Tables: 99 %, two-sided.
        for (freedom, wanted, within) in [(4.0, 4.604, 0.02), (10.0, 3.169, 0.01), (30.0, 2.750, 0.001)] {
            assert!((student(freedom) - wanted).abs() < within, "{freedom}: {}", student(freedom));
        }
    }
}
