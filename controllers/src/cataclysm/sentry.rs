//! The sentry of an application as one machine (WWW'05, section 3).

use std::{collections::VecDeque, time::Duration};

use super::{
    admission_test::AdmissionTest,
    batches::{BatchDecision, Batches, Examination},
    delays::DelayPlan,
    estimates::Estimates,
    policing::{Policing, PolicingSwitch},
    pool::{NodeId, NucleusReport, ServerPool},
    service_time::{ResourceUsage, ServiceTimes, UrlKey, UrlName},
    setup_error::SetupError,
    threshold::AdmissionThreshold,
    workload::{WorkloadMeter, WorkloadReport},
};
use crate::{
    Class, Gauge, JobId, Random, Reason, Timestamp,
    primitives::{TokenBucket, TokenClock},
};

mod plan;

pub use plan::{SentryClass, SentryPlan};

/// A request that asks for admission.
#[derive(Debug, Clone, Copy)]
pub struct SentryRequest<'a> {
    /// Its identity within the host, never reused while it lives.
    pub id: JobId,
    /// Its class. Classes over the highest one of the plan count as that one.
    pub class: Class,
    /// Its URL or type: requests with the same name are expected to take the same time.
    pub url: UrlName<'a>,
}

/// A fact from outside of the sentry.
#[derive(Debug, Clone, Copy)]
pub enum SentryFact<'a> {
    /// The report of a server's nucleus.
    Nucleus(NucleusReport),
    /// The control plane assigns these servers, and no others.
    Servers(&'a [NodeId]),
    /// The control plane sets the response time of admitted requests, `R_sla`.
    Target(Duration),
}

/// The permit of an admitted request. [`Sentry::ended`] consumes it.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct SentryPermit {
    rank: usize,
    url: UrlKey,
}

/// Why a sentry refuses a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentryRefusal {
    /// Its batch would exceed the response time.
    TooSlow,
    /// A more important class exceeds the response time.
    LessImportant,
    /// Threshold policing: its class is below the threshold, or it was not drawn.
    BelowThreshold,
    /// Too many requests wait for their examination.
    QueueFull,
}

impl SentryRefusal {
    /// The reason for pages and ledgers.
    #[must_use]
    pub const fn reason(self) -> Reason {
        match self {
            Self::TooSlow => Reason::Concurrency,
            Self::LessImportant => Reason::Class,
            Self::BelowThreshold => Reason::Rate,
            Self::QueueFull => Reason::QueueFull,
        }
    }
}

/// The next action of a sentry's host.
#[derive(Debug, PartialEq)]
#[must_use]
pub enum SentryAction<J> {
    /// Forward this request to a server.
    Admit(J, SentryPermit),
    /// Refuse this request.
    Refuse(J, SentryRefusal),
    /// Poll again at this time or later.
    WakeAt(Timestamp),
}

/// Totals of a sentry: `offered = admitted + refused + left + held`, once all actions are polled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SentryCounts {
    /// Offered requests.
    pub offered: u64,
    /// Admitted requests.
    pub admitted: u64,
    /// Those of them that conformed to a guaranteed rate.
    pub guaranteed: u64,
    /// Refused requests.
    pub refused: u64,
    /// Requests that left while they were held.
    pub left: u64,
    /// Examinations with at least one admission test.
    pub examinations: u64,
    /// Admission tests: in an examination at most one for each bucket of each class.
    pub tests: u64,
    /// The most tests of one examination so far.
    pub most_tests: u32,
    /// Changes of the policing.
    pub switches: u64,
}

/// A sentry: polices the requests of an application. `J` is the host's value of a request.
///
/// A request that conforms to the guaranteed rate of its class is admitted. Any other one is decided by the
/// [`Policing`] in force: it waits in the bucket of its class and service time for an examination, or is compared with
/// the threshold at once. Every decision comes from [`Sentry::poll`], which is to be called after each other call until
/// it returns [`SentryAction::WakeAt`]. Time must not go back; a host may be late.
#[derive(Debug)]
pub struct Sentry<J> {
    plan: SentryPlan,
    now: Timestamp,
    /// By class, the most important first; `None`: no guaranteed rate.
    guarantees: Vec<Option<TokenBucket>>,
    times: ServiceTimes,
    pool: ServerPool,
    batches: Batches<(J, SentryPermit)>,
    estimates: Estimates,
    threshold: AdmissionThreshold,
    policing: PolicingSwitch,
    meter: WorkloadMeter,
    ready: VecDeque<SentryAction<J>>,
    counts: SentryCounts,
}

impl<J> Sentry<J> {
    /// Creates a sentry with these servers.
    ///
    /// # Errors
    /// If a setting of the plan is out of its range.
    pub fn new(now: Timestamp, plan: SentryPlan, servers: &[NodeId]) -> Result<Self, SetupError> {
        plan.check()?;
        let classes = plan.classes.len();
        let guarantee = |class: &SentryClass| {
            let depth = (class.guaranteed_per_s * class.burst.as_secs_f64()).max(1.0);
            let bucket = || TokenBucket::new(class.guaranteed_per_s, depth, TokenClock::Precise);
            (class.guaranteed_per_s > 0.0).then(bucket)
        };
        Ok(Self {
            now,
            guarantees: plan.classes.iter().map(guarantee).collect(),
            times: ServiceTimes::new(plan.service_times),
            pool: ServerPool::new(plan.skew, servers),
            batches: Batches::new(plan.ranges.clone(), &plan.delays.initial(classes)),
            estimates: Estimates::new(now, plan.old_weight, classes, plan.ranges.buckets()),
            threshold: AdmissionThreshold { rank: classes - 1, p_admit: 1.0 },
            policing: PolicingSwitch::new(plan.policing),
            meter: WorkloadMeter::new(classes),
            ready: VecDeque::new(),
            counts: SentryCounts::default(),
            plan,
        })
    }

    /// Takes in a request. The decision comes from [`Sentry::poll`].
    pub fn offer(&mut self, now: Timestamp, request: SentryRequest<'_>, job: J, random: &mut dyn Random) {
        self.advance(now);
        let permit = self.permit(request.class, request.url);
        let rank = permit.rank;
        self.counts.offered += 1;
        self.meter.arrived(self.now, rank);
        let now = self.now;
        if self.guarantees[rank].as_mut().is_some_and(|bucket| bucket.pass(now)) {
            self.counts.guaranteed += 1;
            self.pool.admitted(1);
            self.admit(job, permit);
            return;
        }
        self.estimates.arrived(rank);
        match self.policing.current() {
            Policing::Threshold if self.threshold.admits(rank, random) => {
                self.pool.admitted(1);
                self.admit(job, permit);
            }
            Policing::Threshold => self.refuse(job, SentryRefusal::BelowThreshold),
            Policing::Batch => self.hold(request.id, job, permit),
        }
    }

    /// The permit of a request of this class and name: for a host that keeps no permits, and knows of an ended request what
    /// it was.
    pub(super) fn permit(&self, class: Class, url: UrlName<'_>) -> SentryPermit {
        SentryPermit { rank: self.plan.rank(class), url: self.times.key(url) }
    }

    /// Sets the number of admitted requests that have not ended: for a host that counts them itself, and those of the
    /// sentry's predecessor too.
    pub(super) fn count_in_flight(&mut self, requests: u32) {
        self.pool.count_in_flight(u64::from(requests));
    }

    /// Reports the end of an admitted request, with what it used, where that is known.
    #[expect(clippy::needless_pass_by_value, reason = "the permit is used up, so that a request ends once")]
    pub fn ended(
        &mut self,
        now: Timestamp,
        permit: SentryPermit,
        usage: Option<ResourceUsage>,
        random: &mut dyn Random,
    ) {
        self.advance(now);
        let SentryPermit { rank, url } = permit;
        self.pool.ended();
        if let Some(usage) = usage {
            let service_s = self.times.learn(url, usage, random);
            self.estimates.ended(rank, self.plan.ranges.bucket(service_s), service_s, usage.actual.as_secs_f64());
            self.meter.ended(service_s);
        }
    }

    /// Removes a held request whose client has left. `None`: it is not held, and its decision stands.
    pub fn leave(&mut self, now: Timestamp, id: JobId) -> Option<J> {
        self.advance(now);
        let (job, _) = self.batches.remove(id)?;
        self.counts.left += 1;
        Some(job)
    }

    /// Takes in a fact from outside.
    pub fn fact(&mut self, now: Timestamp, fact: SentryFact<'_>) {
        self.advance(now);
        match fact {
            SentryFact::Nucleus(report) => self.pool.hear(&report),
            SentryFact::Servers(servers) => self.pool.assign(servers),
            SentryFact::Target(response) => self.plan.response = response,
        }
    }

    /// Takes in the sentry's own load: its CPU utilization, 0 to 1.
    pub fn observe(&mut self, now: Timestamp, cpu: f64) {
        self.advance(now);
        let policing = self.policing.observe(self.now, cpu);
        self.counts.switches += u64::from(policing.is_some());
        if policing == Some(Policing::Threshold) {
            // Nothing waits under threshold policing: what is held gets its test now.
            self.batches.hurry(self.now);
            self.examine();
            // The last threshold is that of the time before the sentry was busy.
            if self.estimates.close_with_recent(self.now) {
                self.use_estimates();
            }
        }
        self.estimates.load_observed(self.now);
    }

    /// Performs the work that is due, and returns the host's next action.
    pub fn poll(&mut self, now: Timestamp) -> SentryAction<J> {
        self.advance(now);
        self.ready.pop_front().unwrap_or_else(|| SentryAction::WakeAt(self.next_wake()))
    }

    /// What the sentry saw since the last report, for the control plane.
    #[must_use]
    pub fn take_report(&mut self) -> WorkloadReport {
        self.meter.take()
    }

    /// Totals.
    #[must_use]
    pub fn counts(&self) -> SentryCounts {
        self.counts
    }

    /// Requests that wait for their examination.
    #[must_use]
    pub fn held(&self) -> u32 {
        self.batches.len()
    }

    /// Admitted requests that have not ended.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.pool.in_flight()
    }

    /// The policing in force.
    #[must_use]
    pub fn policing(&self) -> Policing {
        self.policing.current()
    }

    /// The threshold of threshold policing.
    #[must_use]
    pub fn threshold(&self) -> AdmissionThreshold {
        self.threshold
    }

    /// What a batch would be compared with now.
    #[must_use]
    pub fn admission_test(&self) -> AdmissionTest {
        self.pool.test(self.plan.response)
    }

    /// `d_i` of each class, the most important first.
    #[must_use]
    pub fn delays(&self) -> Vec<Duration> {
        self.batches.delays().collect()
    }

    /// Visits settings and estimates.
    pub fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        let test = self.admission_test();
        visit(Gauge::of("servers"), self.pool.servers() as f64);
        visit(Gauge::of("in_service_per_server"), test.in_service);
        visit(Gauge::of("queueing_ms"), test.queueing_s * 1e3);
        visit(Gauge::of("target_ms"), test.response_s * 1e3);
        visit(Gauge::of("service_ms"), self.times.mean_s() * 1e3);
        visit(Gauge::of("held"), f64::from(self.held()));
        visit(Gauge::of("refused_share"), self.estimates.p_drop());
        visit(Policing::GAUGE, self.policing().gauge());
        visit(Gauge::of("examinations"), self.counts.examinations as f64);
        visit(Gauge::of("tests"), self.counts.tests as f64);
        visit(Gauge::of("most_tests"), f64::from(self.counts.most_tests));
        for (rank, delay) in self.batches.delays().enumerate() {
            let class = self.plan.class(rank);
            let p_admit = match rank.cmp(&self.threshold.rank) {
                std::cmp::Ordering::Less => 1.0,
                std::cmp::Ordering::Equal => self.threshold.p_admit,
                std::cmp::Ordering::Greater => 0.0,
            };
            visit(Gauge::of_class("delay_ms", class), delay.as_secs_f64() * 1e3);
            visit(Gauge::of_class("arrivals_per_s", class), self.estimates.rate_per_s(rank));
            visit(Gauge::of_class("p_admit", class), p_admit);
        }
    }

    fn hold(&mut self, id: JobId, job: J, permit: SentryPermit) {
        let rank = permit.rank;
        if self.batches.len() >= self.plan.held {
            // A more important request takes the place of a less important one.
            match self.batches.remove_below(rank) {
                Some((victim, _)) => self.refuse(victim, SentryRefusal::QueueFull),
                None => return self.refuse(job, SentryRefusal::QueueFull),
            }
        }
        let service_s = self.times.estimate_s(permit.url);
        self.batches.push(self.now, rank, id, service_s, (job, permit));
        self.advance(self.now); // without a delay it is due at once
    }

    fn advance(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        loop {
            if self.batches.due().is_some_and(|due| due <= self.now) {
                self.examine();
            } else if self.period_ends() <= self.now {
                self.close_period();
            } else {
                return;
            }
        }
    }

    fn examine(&mut self) {
        let examination =
            Examination { now: self.now, response: self.plan.response, probes_when_idle: self.plan.probes_when_idle };
        let examined = self.batches.examine(examination, &mut self.pool);
        self.counts.examinations += u64::from(examined.tests > 0);
        self.counts.tests += u64::from(examined.tests);
        self.counts.most_tests = self.counts.most_tests.max(examined.tests);
        for ((job, permit), decision) in examined.decided {
            self.estimates.tested(decision != BatchDecision::Admitted);
            match decision {
                BatchDecision::Admitted => self.admit(job, permit),
                BatchDecision::Failed => self.refuse(job, SentryRefusal::TooSlow),
                BatchDecision::Unexamined => self.refuse(job, SentryRefusal::LessImportant),
            }
        }
    }

    fn close_period(&mut self) {
        self.estimates.close(self.now);
        self.use_estimates();
    }

    /// Computes threshold and delays from the estimates.
    fn use_estimates(&mut self) {
        let otherwise_s = self.times.mean_s();
        let guaranteed: Vec<f64> = self.plan.classes.iter().map(|class| class.guaranteed_per_s).collect();
        let backlog_s = if self.plan.drains_backlog { self.pool.in_flight() as f64 * otherwise_s } else { 0.0 };
        let busy = backlog_s / self.plan.period.as_secs_f64();
        let servers = self.pool.servers() as f64 * self.plan.utilization - busy;
        let loads = self.estimates.loads(self.plan.threshold_service, &guaranteed, otherwise_s);
        self.threshold = AdmissionThreshold::filling(servers, &loads);
        if let DelayPlan::Bounded(bound) = &self.plan.delays {
            let response_s = self.plan.response.as_secs_f64();
            let delays = bound.solve(&self.estimates.system(&self.plan.ranges, response_s, otherwise_s));
            self.batches.set_delays(self.now, &delays);
        }
    }

    fn admit(&mut self, job: J, permit: SentryPermit) {
        self.counts.admitted += 1;
        self.ready.push_back(SentryAction::Admit(job, permit));
    }

    fn refuse(&mut self, job: J, refusal: SentryRefusal) {
        self.counts.refused += 1;
        self.meter.refused();
        self.ready.push_back(SentryAction::Refuse(job, refusal));
    }

    fn period_ends(&self) -> Timestamp {
        self.estimates.began() + self.plan.period
    }

    fn next_wake(&self) -> Timestamp {
        self.batches.due().map_or(self.period_ends(), |due| due.min(self.period_ends()))
    }
}
