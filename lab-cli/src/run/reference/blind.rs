//! The bound of who does not know what a request costs, but what those of its class and type cost in the mean.
//!
//! Who does not know sizes chooses whom to serve without regard to them, and what has begun is worked on to its end. So the sizes of
//! those that begin are a sample of all, and by Wald's identity their expected number, times the mean, is the work that is done for
//! them: no such policy begins more requests, in the mean, than there is work for at the mean cost. This holds for any part of the
//! run. So the bound is the largest number of requests, each of the mean cost of its class, that can be *begun* in time on the work
//! that there is from moment to moment ([`Supply`]: faults included), times the share of them that then is in time even alone.
//!
//! A service of several sees what calls it, and that alone: there the mean is that of the requests which do, and the others need
//! not wait for it.
//!
//! Not for that number there is the work of reading each request and of refusing those that are not served: it comes first. Each
//! request is charged both as it comes, and one that is served gets the refusal back.
//!
//! Where answers stream, and are in time with their beginning, the rest of the work follows when they are due: each of the servers may be at
//! the rest of one by then.
//!
//! A run is finite, and one of its policies may be lucky: by how much is stated beside the bound ([`BlindBound::by_chance`]).

use std::{collections::BTreeMap, time::Duration};

use controllers::{Class, Kind, Timestamp};
use plant::Servers;

use super::{
    bound::{OfflineJob, most_in_time},
    phase_load::{Arrival, PhaseLoad, Service, whole},
    supply::Supply,
};

/// Standard deviations that count as chance: one run in 700 has more.
const DEVIATIONS: f64 = 3.0;

/// A bound of who does not know sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BlindBound {
    /// Requests in time, expected.
    pub(super) in_time: f64,
    /// Requests by which a single run may exceed that by chance: three standard deviations of the number of requests
    /// that this much work serves, drawn from those of the phase, and what servers are still at when it ends. `None`:
    /// nothing is left to chance.
    pub(super) by_chance: Option<f64>,
}

/// The bound for a phase: of several services the lowest.
pub(super) fn bound(load: &PhaseLoad<'_>, services: &[Service]) -> BlindBound {
    let most = load.possible.iter().filter(|possible| **possible).count() as f64;
    let of_service = |number: usize, service: &Service| {
        let calls = |arrival: &Arrival| !arrival.work[number].total.is_zero();
        let (concerned, others) = load.parted(calls);
        let others = others.possible.iter().filter(|possible| **possible).count() as f64;
        let found = Sizes::of(&concerned, number, &service.supply)?.bound(&concerned, service);
        Some(BlindBound { in_time: found.in_time + others, ..found })
    };
    let found = services.iter().enumerate().filter_map(|(number, service)| of_service(number, service));
    let lowest = found.min_by(|a, b| a.in_time.total_cmp(&b.in_time));
    let BlindBound { in_time, by_chance } = lowest.unwrap_or(BlindBound { in_time: most, by_chance: None });
    let in_time = in_time.min(most);
    BlindBound { in_time, by_chance: Some(by_chance.unwrap_or(0.0).min(most - in_time)) }
}

/// Requests whose mean cost is known.
type Group = (Class, Kind);

/// Statistics of a phase's requests at one service.
struct Sizes {
    service: usize,
    /// Mean work by group, nanoseconds.
    means: BTreeMap<Group, f64>,
    /// Mean work of all, and the variance within groups.
    mean: f64,
    variance: f64,
    /// The largest share of a group that is in time alone.
    in_time: f64,
    /// Mean work that may follow when the answer is due, since it streams.
    rest: f64,
}

impl Sizes {
    /// `None`: nothing is done there.
    fn of(load: &PhaseLoad<'_>, service: usize, supply: &Supply) -> Option<Self> {
        let group = |arrival: &Arrival| group(arrival, service);
        let mut least: BTreeMap<Group, f64> = BTreeMap::new();
        for (_, arrival) in &load.all {
            let work = arrival.work[service].total.as_nanos() as f64;
            least.entry(group(arrival)).and_modify(|least| *least = least.min(work)).or_insert(work);
        }
        let mut groups: BTreeMap<Group, Sums> = BTreeMap::new();
        for ((window, arrival), possible) in load.all.iter().zip(&load.possible) {
            // Where a fault leaves no time for any size, sizes are not why.
            let there = supply.alone(window.ready, supply.latest(window.due).max(window.ready));
            let possible = *possible || there < least[&group(arrival)];
            groups.entry(group(arrival)).or_default().add(arrival.work[service].total.as_nanos() as f64, possible);
        }
        let all = groups.values().fold(Sums::default(), Sums::and);
        let mean = all.mean();
        let within = groups.values().map(|of| (of.squares - of.count * of.mean().powi(2)).max(0.0)).sum::<f64>();
        let in_time = groups.values().map(|of| of.possible / of.count).fold(0.0, f64::max);
        let rest = |arrival: &Arrival| arrival.work[service].total.saturating_sub(arrival.work[service].longest);
        let rest = load.all.iter().map(|(_, arrival)| rest(arrival).as_nanos() as f64).sum::<f64>() / all.count;
        let means = groups.into_iter().map(|(group, of)| (group, of.mean())).collect();
        (mean > 0.0).then(|| Self { service, means, mean, variance: within / all.count, in_time, rest })
    }

    fn bound(&self, load: &PhaseLoad<'_>, Service { supply, tasks }: &Service) -> BlindBound {
        // What one task pays is what all do.
        let price = tasks.first().map_or([Duration::ZERO; 2], |Servers { read, refuse, .. }| [*read, *refuse]);
        let [read, refuse] = price.map(|time| time.as_nanos() as f64);
        let ready: Vec<Timestamp> = load.all.iter().map(|(window, _)| window.ready).collect();
        let left = Left::of(supply, &ready, read + refuse);
        let at_once = tasks.iter().map(|of| (of.speed / of.fastest).min(f64::from(of.workers))).sum::<f64>();
        // As many as there are servers have begun before the rest of any of them is done.
        let rest = whole(self.rest * at_once);
        let jobs = load.all.iter().map(|(window, arrival)| {
            let work = whole((self.means[&group(arrival, self.service)] - refuse).max(1.0));
            let begun_by = left.until(supply.latest(window.due)).ceil() as i64;
            OfflineJob { ready: left.until(window.ready).floor() as i64, due: begun_by + work.max(rest), work }
        });
        let jobs: Vec<OfflineJob> = jobs.collect();
        let mut begun = most_in_time(&jobs);
        if supply.has_waits() {
            let held = load.all.iter().map(|(window, arrival)| {
                let job =
                    window.at_workers(Duration::from_nanos(self.means[&group(arrival, self.service)] as u64), supply);
                OfflineJob { due: job.due + job.work, ..job }
            });
            begun = begun.min(most_in_time(&held.collect::<Vec<_>>()));
        }
        let begun = begun as f64;
        let of_all = begun / jobs.len() as f64;
        // A sample of that many without putting back, and what renewals have at the end beyond the mean rate: the squared coefficient
        // of variation less 1, by half, for each request that is in service at once.
        let work = (self.mean - refuse).max(1.0);
        let deviation = (begun * (1.0 - of_all) * self.variance).sqrt() / work;
        let at_the_end = at_once * ((self.variance / work.powi(2) - 1.0) / 2.0).max(0.0);
        let chance = if of_all < 1.0 { DEVIATIONS * deviation + at_the_end } else { 0.0 };
        BlindBound { in_time: begun * self.in_time, by_chance: Some(chance * self.in_time) }
    }
}

fn group(arrival: &Arrival, service: usize) -> Group {
    (arrival.class, arrival.work[service].kind)
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: f64,
    sum: f64,
    squares: f64,
    possible: f64,
}

impl Sums {
    fn add(&mut self, work: f64, possible: bool) {
        *self =
            self.and(&Self { count: 1.0, sum: work, squares: work.powi(2), possible: f64::from(u8::from(possible)) });
    }

    fn and(self, other: &Self) -> Self {
        Self {
            count: self.count + other.count,
            sum: self.sum + other.sum,
            squares: self.squares + other.squares,
            possible: self.possible + other.possible,
        }
    }

    fn mean(&self) -> f64 {
        if self.count > 0.0 { self.sum / self.count } else { 0.0 }
    }
}

/// Capacity that is left beside requests which come first, each with the same work.
struct Left<'a> {
    supply: &'a Supply,
    /// Amounts from each arrival on: what could be done before it, and what of that which comes first is not done yet.
    from: Vec<(Timestamp, f64, f64)>,
}

impl<'a> Left<'a> {
    fn of(supply: &'a Supply, arrivals: &[Timestamp], each: f64) -> Self {
        let mut from = Vec::new();
        let (mut last, mut free, mut behind) = (Timestamp::ZERO, 0.0, 0.0);
        if each > 0.0 {
            for &at in arrivals {
                let done = supply.until(at) - supply.until(last);
                (free, behind) = (free + (done - behind).max(0.0), (behind - done).max(0.0) + each);
                last = at;
                from.push((at, free, behind));
            }
        }
        Self { supply, from }
    }

    /// Work that can be done until then, in nanoseconds.
    fn until(&self, moment: Timestamp) -> f64 {
        let next = self.from.partition_point(|(at, _, _)| *at <= moment);
        match next.checked_sub(1).map(|last| self.from[last]) {
            None => self.supply.until(moment),
            Some((at, free, behind)) => free + (self.supply.until(moment) - self.supply.until(at) - behind).max(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use plant::Foreseen;
    use spec::fault::{Fault, FaultKind};
    use workloads::sim::LinkSpec;

    use super::*;

    const FOUR: Servers =
        Servers { speed: 4.0, fastest: 1.0, workers: 4, read: Duration::ZERO, refuse: Duration::ZERO };

    /// Twice what four servers can do in 30 s, evenly: one each 2.5 ms, which takes these times in turn. What can be in time by
    /// who knows sizes, and the bound of who does not.
    fn found(sizes: &[u64], tasks: &[Servers], faults: &[Fault]) -> (usize, BlindBound) {
        let arrival = |number: usize| Arrival {
            at: Timestamp::from_nanos(number as u64 * 2_500_000),
            class: Class(0),
            luck: if number.is_multiple_of(2) { 0.2 } else { 0.9 },
            work: vec![Foreseen::one(Kind(0), Duration::from_millis(sizes[number % sizes.len()]))],
        };
        let arrivals: Vec<Arrival> = (0..12_000).map(arrival).collect();
        let services = [Service { supply: Supply::of(tasks, |_| faults.iter()), tasks: tasks.to_vec() }];
        let still = LinkSpec { delay: Duration::ZERO, ..LinkSpec::default() };
        let here: Vec<&Arrival> = arrivals.iter().collect();
        let load = PhaseLoad::of(&here, |_| Duration::from_millis(200), still, &services);
        (load.by_costs(&services), bound(&load, &services))
    }

    fn fault(at: u64, lasts: u64, kind: FaultKind) -> Fault {
        Fault { at: Duration::from_secs(at), lasts: Duration::from_secs(lasts), kind, service: None, task: None }
    }

    #[test]
    fn of_equal_sizes_both_bounds_are_the_work_that_there_is_over_the_size() {
        // The last comes at 29.9975 s and is due 200 ms later: 4 * 30.1975 s of work, 20 ms each. What is begun by then counts for
        // who knows no sizes: one more.
        assert_eq!(found(&[20], &[FOUR], &[]), (6039, BlindBound { in_time: 6040.0, by_chance: Some(0.0) }));
    }

    #[test]
    fn a_brown_out_takes_its_part_and_no_more() {
        // Ten seconds at 0.3 of 200/s: 20.1975 s * 200/s + 10 s * 60/s = 4639.5.
        let brown_out = [fault(10, 10, FaultKind::Capacity(0.3))];
        assert_eq!(found(&[20], &[FOUR], &brown_out), (4639, BlindBound { in_time: 4640.0, by_chance: Some(0.0) }));
        // Nothing at all in these ten: 20.1975 s * 200/s.
        let (by_costs, blind) = found(&[20], &[FOUR], &[fault(10, 10, FaultKind::Crash)]);
        assert_eq!((by_costs, blind.in_time), (4039, 4040.0));
    }

    #[test]
    fn who_fails_anyway_is_not_there() {
        // Half of the 400/s fail: all others can be served.
        let errors = [fault(0, 60, FaultKind::Errors(0.5))];
        assert_eq!(found(&[20], &[FOUR], &errors), (6000, BlindBound { in_time: 6000.0, by_chance: Some(0.0) }));
    }

    #[test]
    fn a_request_that_waits_without_work_holds_its_worker() {
        // 4 workers * 30.1975 s / 120 ms.
        let (by_costs, blind) = found(&[20], &[FOUR], &[fault(0, 60, FaultKind::Latency(Duration::from_millis(100)))]);
        assert_eq!((by_costs, blind.in_time), (1006, 1007.0));
        // With 24 workers servers are what there is too little of; the work must be done 100 ms sooner: 4 * 30.0975 s / 20 ms.
        let many = Servers { workers: 24, ..FOUR };
        let (by_costs, blind) = found(&[20], &[many], &[fault(0, 60, FaultKind::Latency(Duration::from_millis(100)))]);
        assert_eq!((by_costs, blind.in_time), (6019, 6020.0));
    }

    #[test]
    fn reading_all_and_refusing_the_rest_comes_first() {
        // 1 ms to read and 3 ms to refuse: 4 * 30.1975 s - 12000 * 4 ms are left, and who is served takes 20 - 3 ms of it.
        let dear = Servers { read: Duration::from_millis(1), refuse: Duration::from_millis(3), ..FOUR };
        let (by_costs, blind) = found(&[20], &[dear], &[]);
        assert_eq!((by_costs, blind.in_time), (6039, 4282.0), "the oracle's bound leaves these costs out");
    }

    #[test]
    fn who_knows_no_sizes_serves_a_sample_and_what_luck_may_add_is_stated() {
        // 10 and 30 ms in turn. Who knows serves the short ones: all 6000 of them, and 2026 long ones with what is left.
        let (by_costs, blind) = found(&[10, 30], &[FOUR], &[]);
        assert_eq!((by_costs, blind.in_time), (8026, 6040.0));
        // 6040 of 12000 without putting back, standard deviation 10 ms of one: sqrt(6040 * 0.4967) / 2 = 27.4.
        let by_chance = blind.by_chance.expect("a sample");
        assert!((by_chance - 82.2).abs() < 0.2, "{by_chance}");
    }

    #[test]
    fn answers_that_stream_have_begun_on_all_servers_before_one_is_done() {
        // Twenty that share the speed of one, 100 ms of which each takes, and 1 ms before it is due: 300 in 30 s, and 20 under way.
        let shared = Servers { speed: 1.0, fastest: 0.05, workers: 64, ..FOUR };
        let arrival = |number: usize| Arrival {
            at: Timestamp::from_nanos(number as u64 * 50_000_000),
            class: Class(0),
            luck: 0.0,
            work: vec![Foreseen {
                longest: Duration::from_millis(1),
                ..Foreseen::one(Kind(0), Duration::from_millis(100))
            }],
        };
        let arrivals: Vec<Arrival> = (0..600).map(arrival).collect();
        let services = [Service { supply: Supply::of(&[shared], |_| [].iter()), tasks: vec![shared] }];
        let still = LinkSpec { delay: Duration::ZERO, ..LinkSpec::default() };
        let here: Vec<&Arrival> = arrivals.iter().collect();
        let load = PhaseLoad::of(&here, |_| Duration::from_millis(50), still, &services);
        // (30 s + 20 x 99 ms) / 100 ms.
        assert_eq!(bound(&load, &services).in_time, 319.0);
    }

    #[test]
    fn those_who_do_not_call_a_slow_service_need_not_wait_for_it() {
        // Each asks the first, which does all of them; every other one asks the second too, where 4 * 30.1975 s are 3019 of 40 ms.
        let arrival = |number: usize| Arrival {
            at: Timestamp::from_nanos(number as u64 * 2_500_000),
            class: Class(0),
            luck: 0.0,
            work: [1, 40 * (number as u64 % 2)].map(|work| Foreseen::one(Kind(0), Duration::from_millis(work))).into(),
        };
        let arrivals: Vec<Arrival> = (0..12_000).map(arrival).collect();
        let services = [0, 1].map(|_| Service { supply: Supply::of(&[FOUR], |_| [].iter()), tasks: vec![FOUR] });
        let still = LinkSpec { delay: Duration::ZERO, ..LinkSpec::default() };
        let here: Vec<&Arrival> = arrivals.iter().collect();
        let load = PhaseLoad::of(&here, |_| Duration::from_millis(200), still, &services);
        assert_eq!(bound(&load, &services).in_time, 6000.0 + 3020.0);
    }

    #[test]
    fn what_takes_too_long_alone_is_begun_by_who_does_not_know_it() {
        // One in ten takes 1 s, for an objective of 200 ms: 109 ms in the mean, so that 4 * 30.1975 s begin 1109 (and one), nine
        // tenths of which are in time.
        let sizes = [10, 10, 10, 10, 10, 10, 10, 10, 10, 1000];
        let (by_costs, blind) = found(&sizes, &[FOUR], &[]);
        assert_eq!(by_costs, 10_800, "all that can be in time");
        assert!((blind.in_time - 0.9 * 1109.0).abs() < 1.0, "{blind:?}");
    }
}
