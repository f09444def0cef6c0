//! Seconds of several generators as one.

use std::{collections::BTreeMap, ops::AddAssign};

use super::{Times, UserStates, Window};
use crate::Group;

impl Window {
    /// Adds what another generator saw in the same second. Percentiles are those of all times together, and none where either lacks its
    /// times; report windows and gauges of policies are of one generator, and left out.
    pub fn add(&mut self, other: &Self) {
        let counts = [
            (&mut self.offered, other.offered),
            (&mut self.retries, other.retries),
            (&mut self.sent, other.sent),
            (&mut self.served, other.served),
            (&mut self.late, other.late),
            (&mut self.rejected, other.rejected),
            (&mut self.timed_out, other.timed_out),
            (&mut self.failed, other.failed),
            (&mut self.abandoned, other.abandoned),
            (&mut self.connect_failed, other.connect_failed),
            (&mut self.connect_timed_out, other.connect_timed_out),
            (&mut self.refused_locally, other.refused_locally),
            (&mut self.body_bytes, other.body_bytes),
            (&mut self.in_flight, other.in_flight),
        ];
        for (sum, count) in counts {
            *sum += count;
        }
        self.phase = self.phase.min(other.phase);
        self.send_lag_p99_ms = longer(self.send_lag_p99_ms, other.send_lag_p99_ms);
        self.loop_gap_ms = longer(self.loop_gap_ms, other.loop_gap_ms);
        groups(&mut self.by_type, &other.by_type);
        groups(&mut self.by_class, &other.by_class);
        self.users += other.users;
        if let (Some(own), Some(others)) = (&mut self.replies, &other.replies) {
            **own += others;
        }
        self.times = self.times.take().zip(other.times.as_ref()).map(|(mut own, others)| {
            own.add(others);
            own
        });
        let found = self.times.as_ref().map(|times| times.percentiles()).unwrap_or_default();
        self.set_percentiles(&found);
        (self.reported, self.client) = (None, None);
        self.turned_back.clear();
    }

    fn set_percentiles(&mut self, found: &Times) {
        (self.p50_ms, self.p90_ms, self.p99_ms) = (found.p50, found.p90, found.p99);
        self.p50_at_least_ms = found.p50_at_least;
        self.p90_at_least_ms = found.p90_at_least;
        self.p99_at_least_ms = found.p99_at_least;
    }
}

impl AddAssign for UserStates {
    fn add_assign(&mut self, other: Self) {
        self.thinking += other.thinking;
        self.waiting += other.waiting;
        self.backing_off += other.backing_off;
        self.queued += other.queued;
        self.connecting += other.connecting;
        self.in_flight += other.in_flight;
        self.gone += other.gone;
    }
}

fn longer(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::max)
}

fn groups(sum: &mut BTreeMap<String, Group>, others: &BTreeMap<String, Group>) {
    for (name, group) in others {
        sum.entry(name.clone()).or_default().add(group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Reported, SecondTimes};

    fn window(served: u64, times: &[[u64; 2]], mean_ms: f64) -> Window {
        Window {
            second: 3,
            offered: served,
            sent: served,
            served,
            send_lag_p99_ms: Some(mean_ms),
            by_type: [("page".to_owned(), Group { served, mean_ms: Some(mean_ms), ..Group::default() })].into(),
            times: Some(Box::new(SecondTimes { response: times.to_vec(), ..SecondTimes::default() })),
            users: UserStates { thinking: served, ..UserStates::default() },
            reported: Some(Box::default()),
            ..Window::default()
        }
    }

    #[test]
    fn counts_add_up_and_percentiles_are_those_of_all_times() {
        let mut sum = window(10, &[[1000, 10]], 1.0);
        sum.add(&window(30, &[[3000, 30]], 3.0));
        assert_eq!((sum.second, sum.offered, sum.sent, sum.served, sum.users.total()), (3, 40, 40, 40, 40));
        assert_eq!(sum.p50_ms, Some(3.001), "the upper end of its bucket, and no mean of 1 and 3");
        assert_eq!(sum.by_type["page"].mean_ms, Some(2.5), "(10 * 1 + 30 * 3) / 40");
        assert_eq!(sum.send_lag_p99_ms, Some(3.0), "of the one that is behind");
        assert_eq!(sum.reported, None::<Box<Reported>>);
        sum.add(&Window { times: None, ..window(1, &[], 0.0) });
        assert_eq!((sum.served, sum.p50_ms, &sum.times), (41, None, &None), "not all times are known");
    }

    #[test]
    fn a_second_is_the_same_after_a_journey() {
        let sent = window(10, &[[1000, 10]], 1.5);
        let text = serde_json::to_string(&sent).expect("written");
        assert_eq!(serde_json::from_str::<Window>(&text).expect("read"), sent);
    }
}
