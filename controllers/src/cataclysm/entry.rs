//! The sentry's entry in the catalogue, and its parameters.

use std::{collections::BTreeMap, time::Duration};

use super::{
    buckets::ServiceRanges,
    delays::{DelayBound, DelayPlan},
    policing::{Policing, PolicingPlan, SwitchPlan},
    policy::{MOST_SERVERS, SentryPolicy},
    pool::Skew,
    sentry::{SentryClass, SentryPlan},
    service_time::ServiceTimePlan,
    setup_error::SetupError,
    threshold::ThresholdService,
};
use crate::{
    Class, Entry, Place, Site,
    entry::{
        CLASS_TIMES, EntryKind, Problem, SampleKind, Sampling, Source, choice, class_numbers, count, flag, ms, number,
        params, s, time, time_or,
    },
};

const OWN: &str = "the lab's choice";
const PERIOD: &str = "section 3.3: exponentially smoothed averages over 15 s";
const SWITCH: &str = "end of section 3.3, which states no value; high_cpu of section 6.4";

/// The word for how requests beyond the guaranteed rates are decided.
#[derive(Debug, Clone, Copy)]
enum PolicingChoice {
    ByLoad,
    Batch,
    Threshold,
}

params! {
    struct SentryParams {
        classes: u32 = count(1..=10, 3),
            "classes of requests; the class with the highest number is the most important one", "section 6.2: Gold, Silver, Bronze";
        servers: u32 = count(1..=MOST_SERVERS, 1), "servers that share the requests behind the sentry", "n, equation 3";
        response: Option<Duration> = time_or(ms(1)..=s(3600), "the objective's"),
            "response time of admitted requests", "R_sla, equation 3";
        guaranteed: BTreeMap<Class, f64> = class_numbers(0.0..=1e6, "/s"),
            "admitted without a test, by class", "the least rate of the agreement, section 3.1";
        burst: Duration = time(ms(1)..=s(60), s(1)), "the bucket of a guaranteed rate holds the requests of this time",
            OWN;
        policing: PolicingChoice = choice(
            ("by-load", PolicingChoice::ByLoad),
            &[("batch", PolicingChoice::Batch), ("threshold", PolicingChoice::Threshold)],
        ), "a test for each batch, a threshold computed once a period, or the threshold while this process is busy",
            "sections 3.2 and 3.3";
        busy_over: f64 = number(0.01..=1.0, 0.8), "share of the CPU over which the threshold decides", SWITCH;
        quiet_under: f64 = number(0.01..=1.0, 0.8), "share of the CPU under which batches are tested again", SWITCH;
        quiet_for: Duration = time(ms(100)..=s(3600), s(60)), "after being under it for this long",
            "a sufficiently long duration, section 3.3";
        skew: Skew = choice(("none", Skew::NONE), &[("measured", Skew::Measured)]),
            "factors of η and n where servers are not equally busy, from the reports of their nuclei", "footnote 1 of section 3.2";
        reports: bool = flag(false), "tells the control plane of its tree each second what it saw, and obeys it",
            "section 4";
        delays: BTreeMap<Class, Duration> = CLASS_TIMES,
            "fixed times between two examinations of a class; without any they are computed once a period",
            "d_i, section 3.1; 0, 50 and 100 ms in section 6.2";
        epsilon: f64 = number(0.0001..=0.999, 0.05),
            "computed delays: most a request may be refused because a less important one is inside, as a probability",
            "ε, equation 7, which states no value";
        delay_growth: f64 = number(1.0..=100.0, 2.0), "computed delays: each is this multiple of the one before",
            "k_i, section 3.4; the ratio of the fixed delays in section 6.2";
        delay_longest: Duration = time(ms(0)..=s(60), ms(100)), "computed delays: the longest one",
            "the longest of section 6.2";
        range_first: Duration = time(ms(1)..=s(60), ms(1)), "service times of the first bucket, at most", OWN;
        range_growth: f64 = number(1.01..=10.0, 2.0), "the bound of each bucket is this multiple of the one before", OWN;
        ranges: u32 = count(1..=1000, 11), "buckets of a class with a bound; one more is without", "b, section 3.2";
        alpha: f64 = number(0.0..=10.0, 1.0), "weight of the time that is not CPU time, where CPU time is measured",
            "α, equation 2; 1: all of it";
        service_first: Duration = time(ms(1)..=s(60), ms(50)), "service time before the first request has ended", OWN;
        service_weight: f64 = number(0.0..=0.999, 0.9), "weight of the old average of a type's service time",
            "section 3.5: exponentially decayed, without a value";
        period: Duration = time(s(1)..=s(3600), s(15)), "time between thresholds, and between computed delays", PERIOD;
        period_weight: f64 = number(0.0..=0.999, 0.3), "weight of the old average of arrivals", PERIOD;
        threshold_service: ThresholdService = choice(("inherent", ThresholdService::Inherent), &[("actual", ThresholdService::Actual)]),
            "service times that a threshold takes: as on an idle server, or from arrival to last byte", "s_j, section 3.3: observed average service times";
        utilization: f64 = number(0.01..=1.0, 1.0), "share of the servers that a threshold fills", "1, equation 5";
        drains_backlog: bool = flag(false), "a threshold leaves out the servers that are behind",
            "the lab's addition; not published";
        probes_when_idle: bool = flag(true), "a batch that fails while nothing is in service sends its oldest request",
            "the lab's addition; not published";
        max: u32 = count(1..=1_000_000, 10_000), "most requests that wait for an examination", OWN;
    }
}

impl SentryParams {
    /// The class at a place in the order of importance.
    fn class(&self, rank: u32) -> Class {
        // At most ten classes.
        Class((self.classes - 1 - rank) as u8)
    }

    fn plan(&self, response: Duration) -> Result<SentryPlan, SetupError> {
        let ranks = 0..self.classes;
        let class = |rank| SentryClass {
            guaranteed_per_s: self.guaranteed.get(&self.class(rank)).copied().unwrap_or(0.0),
            burst: self.burst,
        };
        let fixed = |rank| self.delays.get(&self.class(rank)).copied().unwrap_or_default();
        let delays = if self.delays.is_empty() {
            // A hundredth of the longest one, so that the search takes a hundred steps.
            let step = (self.delay_longest / 100).max(ms(1));
            let (epsilon, growth, longest) = (self.epsilon, self.delay_growth, self.delay_longest);
            DelayPlan::Bounded(DelayBound { epsilon, growth, step, longest })
        } else {
            DelayPlan::Fixed(ranks.clone().map(fixed).collect())
        };
        let plan = SentryPlan {
            classes: ranks.map(class).collect(),
            response,
            ranges: ServiceRanges::growing(self.range_first.as_secs_f64(), self.range_growth, self.ranges)?,
            delays,
            policing: self.policing_plan(),
            period: self.period,
            old_weight: self.period_weight,
            threshold_service: self.threshold_service,
            utilization: self.utilization,
            drains_backlog: self.drains_backlog,
            probes_when_idle: self.probes_when_idle,
            service_times: ServiceTimePlan {
                alpha: self.alpha,
                old_weight: self.service_weight,
                initial_s: self.service_first.as_secs_f64(),
                ..ServiceTimePlan::default()
            },
            skew: self.skew,
            held: self.max,
        };
        plan.check().map(|()| plan)
    }

    fn policing_plan(&self) -> PolicingPlan {
        match self.policing {
            PolicingChoice::Batch => PolicingPlan::Always(Policing::Batch),
            PolicingChoice::Threshold => PolicingPlan::Always(Policing::Threshold),
            PolicingChoice::ByLoad => PolicingPlan::ByLoad(SwitchPlan {
                busy_over: self.busy_over,
                quiet_under: self.quiet_under,
                quiet_for: self.quiet_for,
            }),
        }
    }

    /// Finds classes that do not exist, and what a plan does not allow together.
    fn clashes(&self) -> Vec<Problem> {
        let highest = self.class(0);
        let missing = |key: &'static str, class: Class| {
            let message = format!("class {} is over the highest of {} classes, {}", class.0, self.classes, highest.0);
            (class > highest).then(|| Problem::new(format!("{key}.{}", class.0), message))
        };
        let delays = self.delays.keys().filter_map(|class| missing("delays", *class));
        let guaranteed = self.guaranteed.keys().filter_map(|class| missing("guaranteed", *class));
        let mut problems: Vec<Problem> = delays.chain(guaranteed).collect();
        if self.delays.contains_key(&highest) {
            let message = "the most important class is examined on arrival: leave its delay out";
            problems.push(Problem::new(format!("delays.{}", highest.0), message));
        }
        if problems.is_empty()
            && let Err(SetupError { place, requirement }) = self.plan(ms(1))
        {
            // The keys here have the names of the plan's fields where several settings can clash.
            problems.push(Problem::new(if place == "policing" { "quiet_under" } else { place }, requirement));
        }
        problems
    }

    fn policy(&self, site: &Site) -> SentryPolicy {
        let response = self.response.unwrap_or(site.objective.response_time).max(ms(1));
        let plan = self.plan(response).expect("checked when the settings were read");
        SentryPolicy::new(plan, self.servers, self.reports)
    }
}

pub(crate) const SENTRY: Entry = Entry {
    name: "sentry",
    about: "admits by class and expected response time: small requests first, important classes at once, others after a delay",
    caution: "its test is about the newcomer, so that mixed sizes exceed the target; threshold policing alone never works off a backlog (drains_backlog); by-load watches the CPU of the process it is in: it is meant for a process of its own",
    source: Source {
        title: "Urgaonkar & Shenoy, Cataclysm: Policing Extreme Overloads in Internet Applications, WWW'05",
        place: "section 3",
    },
    deviations: &[
        "The key of a service time is the request's type by the host's rules; the paper has the URL without its arguments.",
        "Without nuclei requests in service are those that this site has admitted and that have not ended, over the servers, and no queueing time is added: a request that waits at a server counts as in service. In the paper the servers report both, as they do here in a tree with a platform and machines: [nucleus].",
        "The inherent service time is the service that a request attained at servers which share their time evenly, and α weighs what of it was not CPU time; the paper instruments the servers' kernel. Calibrated on requests that were alone α is then 1, since such a request takes its CPU time and the rest.",
        "Classes are examined at the multiples of their delays; a failure rejects all waiting requests of less important classes, due or not.",
        "Service times on a bound belong to the lower bucket; those beyond the last bound share one, tested with the largest estimate in it.",
        "Equations 5 and 6 have the capacity of one server; here it is that of all servers, and the rates in them are those beyond the guaranteed ones.",
        "Section 3.3 takes \"observed average service times\" for a threshold, which is the inherent one here and may be the actual one of section 3.5 (threshold_service: actual).",
        "When threshold policing begins, its first threshold is computed at once, from the arrivals of the last second; averages of 15 s are from before the process was busy.",
        "Delays are computed for the probability on arrival: the published bound holds without any delay.",
        "A batch that fails while nothing is in service sends its oldest request (probes_when_idle: false has the published law): else a type that is once expected to take longer than the response time is refused for good, because no request corrects its estimate.",
        "When as many requests wait as may, the least important one gives its place to a more important one.",
    ],
    places: &[Place::Single, Place::Stage, Place::Proxy],
    presets: &[],
    samples: &[Sampling { what: SampleKind::Cpu, period: s(1) }],
    roles: &[],
    kind: EntryKind::Policy(|reader| {
        reader.make_unless(SentryParams::clashes, |params, site| Box::new(params.policy(site)))
    }),
};
