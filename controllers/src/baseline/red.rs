//! Random early detection (RED) on the jobs that wait.

use std::time::Duration;

use crate::{
    Ctx, Entry, Gauge, Machine, Offer, Place, Policy, Reason, Seen, Timestamp, Verdict,
    entry::{CompositionRole, EntryKind, Problem, Source, ms, number, params, s, time, us},
    estimate::RunningJobs,
};

params! {
    struct RedParams {
        min_th: f64 = number(0.0..=1e6, 5.0), "average queue from which some jobs are refused", "min_th: 3 to 50 packets in the simulations";
        max_th: f64 = number(0.0..=1e6, 15.0), "average queue from which every job is refused, over min_th", "max_th: three times min_th in the simulations";
        weight: f64 = number(1e-6..=1.0, 0.002), "weight of the queue at an arrival in the average", "w_q = 0.002 in the simulations";
        probability: f64 = number(1e-6..=1.0, 0.02), "share refused just below max_th, before refusals are spread", "max_p = 1/50 in the simulations";
        job: Duration = time(us(1)..=s(60), ms(1)), "time of a small job: an empty queue counts as many arrivals as would have passed", "the lab's choice for s";
    }
}

/// Refuses with a probability that grows with the average number of waiting jobs, and spreads refusals evenly over arrivals.
#[derive(Debug)]
struct Red {
    params: RedParams,
    running: RunningJobs,
    average: f64,
    /// Since when nobody waits; `None`: somebody does.
    empty: Option<Timestamp>,
    /// Arrivals since the last refusal, while some are refused; `None`: none are.
    since_refusal: Option<u32>,
}

impl Red {
    fn new(params: &RedParams) -> Self {
        let running = RunningJobs::default();
        Self { params: params.clone(), running, average: 0.0, empty: Some(Timestamp::default()), since_refusal: None }
    }

    fn arrives(&mut self, queue: u32, now: Timestamp) {
        let weight = self.params.weight;
        if queue > 0 {
            self.empty = None;
            self.average += weight * (f64::from(queue) - self.average);
        } else if let Some(since) = self.empty.replace(now) {
            let passed = now.since(since).as_secs_f64() / self.params.job.as_secs_f64();
            self.average *= libm::pow(1.0 - weight, passed);
        }
    }

    /// The probability with which this arrival is to be refused.
    fn probability(&mut self) -> f64 {
        let RedParams { min_th: min, max_th: max, probability, .. } = self.params;
        if self.average >= max {
            self.since_refusal = Some(0);
            return 1.0;
        }
        if self.average < min {
            self.since_refusal = None;
            return 0.0;
        }
        let count = self.since_refusal.map_or(0, |count| count.saturating_add(1));
        self.since_refusal = Some(count);
        let base = probability * (self.average - min) / (max - min);
        let rest = 1.0 - f64::from(count) * base;
        if rest > base { base / rest } else { 1.0 }
    }
}

impl Machine for Red {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        self.running.observe(seen);
        if self.empty.is_none() && self.running.waiting(cx.in_flight) == 0 {
            self.empty = Some(cx.now);
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("average_queue"), self.average);
    }
}

impl Policy for Red {
    fn offer(&mut self, _: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        self.arrives(self.running.waiting(cx.in_flight), cx.now);
        let probability = self.probability();
        let refused = probability > 0.0 && cx.random.uniform() < probability;
        if refused {
            self.since_refusal = Some(0);
        }
        Verdict::admit_if(!refused, Reason::QueueFull)
    }
}

pub(crate) const RED: Entry = Entry {
    name: "red",
    about: "random early detection: refuses some once the average queue is over one bound, all over another, which you set",
    caution: "its bounds are queues of packets: says nothing of time, and its average is slow by design (500 arrivals)",
    source: Source {
        title: "Floyd and Jacobson, Random early detection gateways for congestion avoidance, 1993",
        place: "figure 2; as admission control: USITS'03, section 3.2",
    },
    deviations: &[
        "The queue is that of jobs that wait for a worker, without the one in service.",
        "Refusals are refusals, not marks, and every job counts the same, whatever its size.",
    ],
    places: &[Place::Stage, Place::Single],
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Inflow],
    kind: EntryKind::Policy(|reader| {
        reader.make_unless(
            |params: &RedParams| {
                let over = || {
                    Problem::new("max_th", format!("must be over min_th ({}), not {}", params.min_th, params.max_th))
                };
                (params.max_th <= params.min_th).then(over).into_iter().collect()
            },
            |params, _| Box::new(Red::new(params)),
        )
    }),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, settings};

    fn red() -> Red {
        Red::new(&testing::params(&settings([])))
    }

    fn at(ms: u64) -> Timestamp {
        Timestamp::default() + Duration::from_millis(ms)
    }

    #[test]
    fn the_average_follows_the_queue_slowly_and_falls_while_nobody_waits() {
        let mut red = red();
        red.arrives(50, at(0));
        assert!((red.average - 0.1).abs() < 1e-12, "0.002 × 50");
        red.arrives(50, at(1));
        assert!((red.average - 0.1998).abs() < 1e-12, "0.1 + 0.002 × 49.9");
        red.empty = Some(at(2));
        red.arrives(0, at(502));
        assert!((red.average - 0.1998 * 0.998_f64.powi(500)).abs() < 1e-12, "500 small jobs would have passed");
        red.arrives(0, at(502));
        assert!((red.average - 0.1998 * 0.998_f64.powi(500)).abs() < 1e-12, "no time has passed since");
    }

    #[test]
    fn refusals_are_spread_over_arrivals() {
        let mut red = red();
        red.average = 10.0;
        // Half way between 5 and 15: p_b = 0.02 / 2 = 0.01, p_a = 0.01 / (1 - count × 0.01).
        let first: Vec<f64> = (0..3).map(|_| red.probability()).collect();
        assert_eq!(first, [0.01, 0.01 / 0.99, 0.01 / 0.98]);
        let until_certain = 3 + (0..).take_while(|_| red.probability() < 0.999_999).count();
        assert_eq!(until_certain, 99, "1 - 99 × 0.01 is what is left: the 100th is refused");
    }

    #[test]
    fn below_min_nobody_is_refused_and_from_max_everybody() {
        let mut red = red();
        for (average, wanted) in [(4.99, 0.0), (15.0, 1.0), (5.0, 0.0), (14.999, 0.02 * 9.999 / 10.0)] {
            (red.average, red.since_refusal) = (average, None);
            assert!((red.probability() - wanted).abs() < 1e-12, "{average}");
        }
    }
}
