//! Divides each customer's global limit between the tasks that serve it ("Per-Customer Limits").

use std::{collections::BTreeMap, time::Duration};

use crate::{
    Ctx, Effect, Entry, Gauge, Machine, PeerReport, Place, Seen, SiteId, Timestamp,
    entry::{EntryKind, ms, number, params, s, time},
};

use super::{
    chapter::section,
    quota::{LIMITS, MOST_CPUS, UNIT},
};

/// Receives the usage and the demand of customers at each task, and sends each task its part of the global limit.
///
/// While the total demand is within the limit, each task gets its demand and an equal part of the remainder, at least an
/// equal part of the limit. Else each task gets the same share of its demand.
#[derive(Debug)]
struct QuotaServer {
    params: QuotaServerParams,
    /// Demand by customer, then by task.
    wanted: BTreeMap<(u32, SiteId), Wanted>,
    /// Reports dropped because the table was full.
    ignored: u64,
    next: Option<Timestamp>,
}

/// The demand of a customer at a task, CPU seconds per second: an average in which each report counts for as long as it
/// was the last one. A report of no demand is the last one until there is some.
#[derive(Debug)]
struct Wanted {
    /// The average at the time of the last report.
    average: f64,
    reported: f64,
    heard: Timestamp,
}

impl Wanted {
    /// The average at a time: it approaches the last report by e^(−t/T).
    fn cpus(&self, now: Timestamp, time_constant: Duration) -> f64 {
        let since = now.since(self.heard).as_secs_f64() / time_constant.as_secs_f64();
        self.reported + (self.average - self.reported) * libm::exp(-since)
    }
}

/// The largest number of pairs of customer and task: customer numbers come from clients, and memory is bounded.
const MOST_PAIRS: usize = 4096;
/// The demand added for each task, as a share of the limit: a task without any limit could not report more demand.
const LEAST_PART: f64 = 0.01;

impl QuotaServer {
    fn hear(&mut self, from: SiteId, customer: u32, cpus: f64, now: Timestamp) {
        if !cpus.is_finite() || cpus < 0.0 {
            return; // an invalid report leaves the previous one in force
        }
        self.next.get_or_insert(now + self.params.push_every);
        if self.wanted.len() >= MOST_PAIRS && !self.wanted.contains_key(&(customer, from)) {
            self.ignored += 1;
            return;
        }
        let reported = cpus.min(MOST_CPUS);
        let known = self.wanted.get(&(customer, from));
        let average = known.map_or(reported, |wanted| wanted.cpus(now, self.params.smooth_over));
        self.wanted.insert((customer, from), Wanted { average, reported, heard: now });
    }

    fn divide(&self, cx: &mut Ctx<'_>) {
        let mut rest = &*self.pairs(cx.now);
        while let [((customer, _), _), ..] = rest {
            let of_customer = rest.partition_point(|((other, _), _)| other == customer);
            let (tasks, others) = rest.split_at(of_customer);
            rest = others;
            let limit = self.params.limits.get(customer).copied().unwrap_or(self.params.default_limit);
            let all: f64 = tasks.iter().map(|(_, cpus)| cpus).sum();
            let tasks_many = tasks.len() as f64;
            for ((_, to), cpus) in tasks {
                let limit = if all <= limit {
                    (cpus + (limit - all) / tasks_many).max(limit / tasks_many)
                } else {
                    limit * (cpus + LEAST_PART * limit) / (all + tasks_many * LEAST_PART * limit)
                };
                cx.effects.push(Effect::Tell(PeerReport::Quota { to: *to, customer: *customer, limit }));
            }
        }
    }

    fn pairs(&self, now: Timestamp) -> Vec<((u32, SiteId), f64)> {
        self.wanted.iter().map(|(pair, wanted)| (*pair, wanted.cpus(now, self.params.smooth_over))).collect()
    }
}

impl Machine for QuotaServer {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        if let Seen::Peer(PeerReport::Usage { from, customer, wanted, .. }) = *seen {
            self.hear(from, customer, wanted, cx.now);
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        self.next
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        let forget = self.params.forget;
        self.wanted.retain(|_, wanted| cx.now.since(wanted.heard) < forget);
        self.divide(cx);
        // Nothing to divide until the next report.
        self.next = (!self.wanted.is_empty()).then(|| cx.now + self.params.push_every);
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("wanted_cpus"), self.wanted.values().map(|wanted| wanted.average).sum());
        visit(Gauge::of("reports_ignored"), self.ignored as f64);
    }
}

params! {
    struct QuotaServerParams {
        limits: BTreeMap<u32, f64> = LIMITS;
        default_limit: f64 = number(0.0..=MOST_CPUS, 1.0).in_unit(UNIT),
            "global limit of each customer that is not named",
            "chapter 21: every other user has one; the lab's choice: a whole processor";
        push_every: Duration = time(ms(10)..=s(600), s(1)), "time between divisions", "the lab's choice: in real time";
        smooth_over: Duration = time(ms(10)..=s(600), s(10)), "time constant of the average of what is wanted at a task",
            "the lab's choice: of 2.5 random requests a second one second's are off by nine tenths, an average over 10 s by a fifth";
        forget: Duration = time(ms(10)..=s(3600), s(10)),
            "after which time without a report a task no longer counts for a customer",
            "the lab's choice: some lost reports change nothing";
    }
}

pub(crate) const QUOTA_SERVER: Entry = Entry {
    name: "quota-server",
    about: "divides customers' global limits between tasks whose policy is quota or sre with report_usage",
    caution: "limits follow usage by a report, a push and an average: a customer that moves from task to task is ahead of them",
    source: section("Per-Customer Limits"),
    deviations: &[
        "The book leaves the system out that computes the limits: the division is the lab's.",
        "While less than the limit is wanted, no task has less than an equal part: parts can then add up to more than the limit, until a demand that moves is reported.",
        "A task of which nothing was heard yet, or not lately, keeps the limits set there, so that all tasks together may then exceed the global limit.",
        "Beyond 4096 pairs of customer and task reports are ignored, and counted.",
    ],
    places: &[Place::Single],
    presets: &[],
    samples: &[],
    roles: &[],
    kind: EntryKind::Machine(|reader| {
        reader.make(|params: &QuotaServerParams, _| {
            Box::new(QuotaServer { params: params.clone(), wanted: BTreeMap::new(), ignored: 0, next: None })
        })
    }),
};
