//! The sentry as a policy of the catalogue: its class is that of the job's tags, the key of its service time is the job's
//! type.
//!
//! The sentry keeps no permits here: the seat knows which jobs are inside, and the tags of an ended job say which permit it
//! had. `η` is the seat's count over the servers, unless nuclei report; the inherent service time is what a request
//! [attained](AttainedService), of which the host may know how much was CPU time.

use std::time::Duration;

use super::{
    attained::AttainedService,
    policing::Policing,
    pool::{NodeId, NucleusReport},
    sentry::{Sentry, SentryAction, SentryFact, SentryPlan, SentryRefusal, SentryRequest},
    service_time::{ResourceUsage, UrlName},
    workload::WorkloadReport,
};
use crate::{
    Ctx, Effect, Gauge, Grant, JobId, LoadSample, Machine, Offer, Outcome, PeerReport, Policy, Refusal, Seen, Tags,
    Timestamp, Timing, Verdict,
};

/// The most servers of a sentry, as for the parameter `servers`.
pub(super) const MOST_SERVERS: u32 = 10_000;

/// A sentry in a seat.
#[derive(Debug)]
pub(super) struct SentryPolicy {
    plan: SentryPlan,
    servers: u32,
    /// True if a control plane hears of its workload, each time its load is sampled.
    reports: bool,
    /// `None` until the first call, which says what time it is.
    seated: Option<SeatedSentry>,
}

#[derive(Debug)]
struct SeatedSentry {
    sentry: Sentry<JobId>,
    attained: AttainedService,
    next_wake: Timestamp,
}

impl SentryPolicy {
    /// A sentry before so many servers. `plan` has been checked.
    pub(super) fn new(plan: SentryPlan, servers: u32, reports: bool) -> Self {
        Self { plan, servers, reports, seated: None }
    }

    /// The sentry, with what the seat knows of the jobs inside. `ending`: jobs that the seat has taken out already.
    fn seated(&mut self, ending: u32, cx: &Ctx<'_>) -> &mut SeatedSentry {
        let Self { plan, servers, seated, .. } = self;
        let seated = seated.get_or_insert_with(|| SeatedSentry::new(cx.now, plan.clone(), *servers));
        seated.attained.read(cx.now);
        seated.sentry.count_in_flight(cx.in_flight + ending);
        seated
    }
}

impl SeatedSentry {
    fn new(now: Timestamp, plan: SentryPlan, servers: u32) -> Self {
        let nodes: Vec<NodeId> = (0..servers).map(NodeId).collect();
        let sentry = Sentry::new(now, plan, &nodes).expect("the plan was checked when its settings were read");
        Self { sentry, attained: AttainedService::new(now, servers), next_wake: now }
    }

    /// Obeys the control plane. Settings that a sentry cannot have are ignored.
    fn hear(&mut self, report: PeerReport, cx: &Ctx<'_>) {
        match report {
            PeerReport::Target { to, response } if to == cx.site && !response.is_zero() => {
                self.sentry.fact(cx.now, SentryFact::Target(response));
            }
            PeerReport::Servers { to, servers } if to == cx.site && servers > 0 => {
                let nodes: Vec<NodeId> = (0..servers.min(MOST_SERVERS)).map(NodeId).collect();
                self.sentry.fact(cx.now, SentryFact::Servers(&nodes));
                self.attained.set_servers(servers);
            }
            PeerReport::Server { to, server, queueing, in_service } if to == cx.site => {
                let report = NucleusReport { server: NodeId(server), queueing, in_service };
                self.sentry.fact(cx.now, SentryFact::Nucleus(report));
            }
            _ => {}
        }
    }

    /// Tells the control plane what it saw since the last time.
    fn report(&mut self, cpu: f64, cx: &mut Ctx<'_>) {
        let WorkloadReport { arrivals, refused, service, interarrival } = self.sentry.take_report();
        for (rank, offered) in (0..).zip(arrivals) {
            cx.effects.push(Effect::Tell(PeerReport::Arrivals { from: cx.site, rank, offered }));
        }
        let workload = PeerReport::Workload { from: cx.site, refused, service, interarrival, cpu };
        cx.effects.push(Effect::Tell(workload));
    }

    /// Carries out what the sentry has decided. The decision on the job that is offered is the answer; `None`: it is held.
    fn carry_out(&mut self, offered: Option<JobId>, cx: &mut Ctx<'_>) -> Option<Verdict> {
        let mut answer = None;
        self.next_wake = loop {
            let (job, verdict) = match self.sentry.poll(cx.now) {
                SentryAction::Admit(job, _) => (job, Verdict::Admit(self.grant(cx.now))),
                SentryAction::Refuse(job, why) => (job, Verdict::Refuse(refusal(why))),
                SentryAction::WakeAt(at) => break at,
            };
            match verdict {
                of_offer if offered == Some(job) => answer = Some(of_offer),
                Verdict::Admit(grant) => cx.effects.push(Effect::Release(job, grant)),
                Verdict::Refuse(refusal) => cx.effects.push(Effect::Refuse(job, refusal)),
                Verdict::Hold | Verdict::ComeBack(_) => {}
            }
        };
        self.attained.set_in_service(self.sentry.in_flight());
        answer
    }

    /// The grant of a job that is admitted now: its cookie is the service attained so far, nanoseconds.
    fn grant(&mut self, now: Timestamp) -> Grant {
        Grant::new(u64::try_from(self.attained.read(now).as_nanos()).unwrap_or(u64::MAX))
    }

    /// What an ended job used (equation 2): the CPU time that the host measured, and the rest of what it attained as time
    /// blocked on data. Without a measured CPU time all of it counts as that.
    fn usage(&mut self, grant: Grant, timing: Timing, cost: Option<Duration>, now: Timestamp) -> ResourceUsage {
        let attained = self.attained.read(now).saturating_sub(Duration::from_nanos(grant.cookie));
        let cpu = cost.unwrap_or(attained);
        ResourceUsage { cpu, data: attained.saturating_sub(cpu), actual: timing.ended.since(timing.offered) }
    }
}

fn name(tags: &Tags) -> UrlName<'static> {
    UrlName::Kind(tags.kind)
}

fn refusal(why: SentryRefusal) -> Refusal {
    Refusal::new(why.reason())
}

impl Machine for SentryPolicy {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        let ending = u32::from(matches!(seen, Seen::Ended { .. }));
        let reports = self.reports;
        let seated = self.seated(ending, cx);
        match *seen {
            Seen::Ended { tags, grant, outcome, timing, cost, .. } => {
                let served = outcome == Outcome::Served;
                let usage = served.then(|| seated.usage(grant, timing, cost, cx.now));
                let permit = seated.sentry.permit(tags.class, name(&tags));
                seated.sentry.ended(cx.now, permit, usage, cx.random);
            }
            Seen::Left(id) => _ = seated.sentry.leave(cx.now, id),
            Seen::Load(LoadSample::Cpu(share)) => {
                seated.sentry.observe(cx.now, share);
                if reports {
                    seated.report(share, cx);
                }
            }
            Seen::Peer(report) => seated.hear(report, cx),
            _ => {}
        }
        seated.carry_out(None, cx);
    }

    fn next_wake(&self) -> Option<Timestamp> {
        self.seated.as_ref().map(|seated| seated.next_wake)
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        self.seated(0, cx).carry_out(None, cx);
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        match &self.seated {
            Some(seated) => seated.sentry.gauges(visit),
            None => visit(Policing::GAUGE, self.plan.policing.initial().gauge()),
        }
    }
}

impl Policy for SentryPolicy {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        let seated = self.seated(0, cx);
        let request = SentryRequest { id: job.id, class: job.tags.class, url: name(&job.tags) };
        seated.sentry.offer(cx.now, request, job.id, cx.random);
        seated.carry_out(Some(job.id), cx).unwrap_or(Verdict::Hold)
    }
}
