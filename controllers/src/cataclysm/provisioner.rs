//! The control plane as one machine (WWW'05, section 4).

use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};

use super::{
    partition::partition,
    pool::NodeId,
    setup_error::{SetupError, require},
    workload::WorkloadReport,
};
use crate::Timestamp;

mod application;
mod nodes;
mod plan;
mod scaling;

use application::Application;
use nodes::Nodes;
pub use plan::{HostedApplication, ProvisionPlan, SentryScaling};
use scaling::{SentryLoads, SentryNeed};

/// An application: its index in the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppId(pub usize);

/// A fact that the control plane learns of. Facts of applications and sentries that it does not have are ignored.
#[derive(Debug, Clone, Copy)]
pub enum ProvisionFact<'a> {
    /// What a sentry of an application saw since its last report ([`super::Sentry::take_report`]). Every sentry reports
    /// several times in a slot, a fifth of the window of refused requests.
    Workload(AppId, &'a WorkloadReport),
    /// The CPU utilization of a sentry, 0 to 1.
    SentryCpu(NodeId, f64),
}

/// Why servers are provisioned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invocation {
    /// Predictive: a period has passed.
    Period,
    /// Reactive: an application refuses too many requests.
    Drops,
}

/// The next action of the control plane's host.
///
/// A node that is drained, or released as a sentry, finishes what it has before the host uses it for what a later
/// action says.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub enum ProvisionAction {
    /// Servers are provisioned; what changes follows.
    Invoked(Invocation),
    /// Tell the sentries of the application this response time.
    Target(AppId, Duration),
    /// Take this server from the application.
    DrainServer(AppId, NodeId),
    /// Run the application on this free node.
    AddServer(AppId, NodeId),
    /// Take this sentry from the application.
    RemoveSentry(AppId, NodeId),
    /// Run a sentry of the application on this free node.
    AddSentry(AppId, NodeId),
    /// These are the servers of each sentry of the application: every one has its own, in equal parts.
    Split(AppId, Vec<(NodeId, Vec<NodeId>)>),
    /// Poll again at this time or later.
    WakeAt(Timestamp),
}

/// The control plane: provisions the servers and sentries of applications from one pool of nodes.
///
/// Each application has one sentry and its minimum of servers at the start. Every decision comes from
/// [`Provisioner::poll`], which is to be called after each other call until it returns [`ProvisionAction::WakeAt`].
#[derive(Debug)]
pub struct Provisioner {
    plan: ProvisionPlan,
    now: Timestamp,
    applications: Vec<Application>,
    nodes: Nodes,
    loads: SentryLoads,
    slot_began: Timestamp,
    period_began: Timestamp,
    last_reactive: Option<Timestamp>,
    /// Applications whose servers or sentries have changed since they were split.
    to_split: BTreeSet<usize>,
    ready: VecDeque<ProvisionAction>,
}

impl Provisioner {
    /// Creates a control plane of these nodes, all of them free.
    ///
    /// # Errors
    /// If a setting of the plan is out of its range, or there are too few nodes.
    pub fn new(now: Timestamp, plan: ProvisionPlan, nodes: &[NodeId]) -> Result<Self, SetupError> {
        let free: BTreeSet<NodeId> = nodes.iter().copied().collect();
        require(free.len() == nodes.len(), "nodes", "a node must not be named twice")?;
        plan.check(nodes.len())?;
        let applications = plan.applications.iter().map(|hosted| Application::new(hosted.clone(), &plan)).collect();
        let mut this = Self {
            nodes: Nodes::new(free, plan.applications.len()),
            loads: SentryLoads::new(plan.sentries),
            plan,
            now,
            applications,
            slot_began: now,
            period_began: now,
            last_reactive: None,
            to_split: BTreeSet::new(),
            ready: VecDeque::new(),
        };
        this.start();
        Ok(this)
    }

    /// Takes in a fact.
    pub fn observe(&mut self, now: Timestamp, fact: ProvisionFact<'_>) {
        self.advance(now);
        match fact {
            ProvisionFact::Workload(AppId(app), report) => {
                if let Some(application) = self.applications.get_mut(app) {
                    application.hear(report);
                }
            }
            ProvisionFact::SentryCpu(sentry, cpu) => self.hear_of_sentry(sentry, cpu),
        }
    }

    /// Performs the work that is due, and returns the host's next action.
    pub fn poll(&mut self, now: Timestamp) -> ProvisionAction {
        self.advance(now);
        self.ready.pop_front().unwrap_or_else(|| ProvisionAction::WakeAt(self.slot_began + self.plan.slot()))
    }

    /// Nodes without a role.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.nodes.free()
    }

    /// The servers and the sentries of an application; 0 if there is no such application.
    #[must_use]
    pub fn servers_and_sentries(&self, AppId(app): AppId) -> (u32, u32) {
        if app < self.applications.len() { (self.nodes.servers(app), self.nodes.sentries(app)) } else { (0, 0) }
    }

    /// `R_sla` of an application. `None`: there is no such application.
    #[must_use]
    pub fn target(&self, AppId(app): AppId) -> Option<Duration> {
        self.applications.get(app).map(|application| application.target)
    }

    fn start(&mut self) {
        for app in 0..self.applications.len() {
            self.ready.push_back(ProvisionAction::Target(AppId(app), self.applications[app].target));
            self.add_sentry(app);
            self.resize(app, self.applications[app].hosted.min_servers);
        }
        self.split();
    }

    fn advance(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        if self.now.since(self.slot_began) < self.plan.slot() {
            return;
        }
        let lasted = self.now.since(self.slot_began);
        self.applications.iter_mut().for_each(|application| application.close_slot(lasted));
        self.slot_began = self.now;
        if self.now.since(self.period_began) >= self.plan.period {
            self.period_began = self.now;
            self.predictive();
        } else if self.last_reactive.is_none_or(|last| self.now.since(last) >= self.plan.apart) {
            self.reactive();
        }
        self.split();
    }

    /// Partitions the servers by the revenue of the next period. An application of which nothing is known keeps its
    /// servers and its target.
    fn predictive(&mut self) {
        self.ready.push_back(ProvisionAction::Invoked(Invocation::Period));
        let models: Vec<_> = (0..self.applications.len())
            .map(|app| {
                let application = &self.applications[app];
                if !application.is_known() {
                    return application.revenue_model(&[], self.nodes.servers(app));
                }
                application.revenue_model(&application.predicted_rates(), self.least_servers(app))
            })
            .collect();
        for app in 0..self.applications.len() {
            if self.applications[app].is_known() {
                let rates = self.applications[app].predicted_rates();
                self.set_target(app, &rates);
            }
        }
        let counts = partition(self.nodes.servers_and_free(), &models);
        // Nodes must be free before they are given away.
        for (app, count) in counts.iter().enumerate() {
            self.resize(app, self.nodes.servers(app).min(*count));
        }
        for (app, count) in counts.iter().enumerate() {
            self.resize(app, *count);
        }
    }

    /// Adds servers to applications that refuse too much, those first that gain the most by one.
    fn reactive(&mut self) {
        let is_overloaded =
            |application: &Application| application.refused_share().is_some_and(|share| share > self.plan.drop_share);
        let gain = |app: usize| {
            let application = &self.applications[app];
            let model = application.revenue_model(&application.present_rates(), 0);
            model.gain_per_s(self.nodes.servers(app))
        };
        let overloaded = (0..self.applications.len()).filter(|app| is_overloaded(&self.applications[*app]));
        let mut overloaded: Vec<(usize, f64)> = overloaded.map(|app| (app, gain(app))).collect();
        if overloaded.is_empty() {
            return;
        }
        overloaded.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        self.last_reactive = Some(self.now);
        self.ready.push_back(ProvisionAction::Invoked(Invocation::Drops));
        for (app, _) in &overloaded {
            let rates = self.applications[*app].present_rates();
            self.set_target(*app, &rates);
            let servers = self.nodes.servers(*app);
            // That it refuses requests shows that it needs at least one more, whatever the model says.
            let missing = self.applications[*app].needed().map_or(1, |needed| needed.saturating_sub(servers));
            let missing = missing.clamp(1, self.plan.step);
            while self.nodes.free() < missing && self.take_from_another(&overloaded) {}
            self.resize(*app, servers + missing.min(self.nodes.free()));
        }
    }

    /// Frees a server of the application that has the most to spare. False: none has.
    fn take_from_another(&mut self, overloaded: &[(usize, f64)]) -> bool {
        let donors = (0..self.applications.len()).filter(|app| overloaded.iter().all(|(other, _)| other != app));
        let spare = |app: usize| {
            let needed = self.applications[app].needed()?.max(self.least_servers(app));
            Some((self.nodes.servers(app).saturating_sub(needed), std::cmp::Reverse(app)))
        };
        let Some((most, std::cmp::Reverse(donor))) = donors.filter_map(spare).max() else { return false };
        if most > 0 {
            self.resize(donor, self.nodes.servers(donor) - 1);
        }
        most > 0
    }

    /// The fewest servers of an application: its minimum, and one for each sentry.
    fn least_servers(&self, app: usize) -> u32 {
        self.applications[app].hosted.min_servers.max(self.nodes.sentries(app))
    }

    fn set_target(&mut self, app: usize, rates: &[f64]) {
        let application = &mut self.applications[app];
        let target = application.hosted.sla.response(rates.iter().sum());
        if target != application.target {
            application.target = target;
            application.changed();
            self.ready.push_back(ProvisionAction::Target(AppId(app), target));
        }
    }

    /// Adds or drains servers until an application has `servers`, or there are no free nodes.
    fn resize(&mut self, app: usize, servers: u32) {
        let before = self.nodes.servers(app);
        for _ in servers..before {
            let drained = self.nodes.remove_server(app);
            self.ready.extend(drained.map(|node| ProvisionAction::DrainServer(AppId(app), node)));
        }
        for _ in before..servers {
            let added = self.nodes.add_server(app);
            self.ready.extend(added.map(|node| ProvisionAction::AddServer(AppId(app), node)));
        }
        if self.nodes.servers(app) != before {
            self.applications[app].changed();
            self.to_split.insert(app);
        }
    }

    fn hear_of_sentry(&mut self, sentry: NodeId, cpu: f64) {
        let Some(app) = self.nodes.application_of(sentry) else { return };
        match self.loads.observe(self.now, sentry, cpu) {
            // A sentry without a server would have nothing to guard.
            SentryNeed::Another if self.nodes.sentries(app) < self.nodes.servers(app) => self.add_sentry(app),
            SentryNeed::Release if self.nodes.sentries(app) > 1 => {
                self.nodes.remove_sentry(app, sentry);
                self.loads.forget(sentry);
                self.ready.push_back(ProvisionAction::RemoveSentry(AppId(app), sentry));
                self.to_split.insert(app);
            }
            SentryNeed::Nothing | SentryNeed::Another | SentryNeed::Release => {}
        }
        self.split();
    }

    fn add_sentry(&mut self, app: usize) {
        let Some(node) = self.nodes.add_sentry(app) else { return };
        self.ready.push_back(ProvisionAction::AddSentry(AppId(app), node));
        self.to_split.insert(app);
    }

    /// Splits the servers of each application that has changed. Its sentries' loads are other ones from now on.
    fn split(&mut self) {
        for app in std::mem::take(&mut self.to_split) {
            let split = self.nodes.split(app);
            split.iter().for_each(|(sentry, _)| self.loads.forget(*sentry));
            self.ready.push_back(ProvisionAction::Split(AppId(app), split));
        }
    }
}
