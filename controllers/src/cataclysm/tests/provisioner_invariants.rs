//! What holds for the control plane whatever happens, by random operations.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use proptest::prelude::*;

use super::nodes;
use crate::{
    Moments, Timestamp,
    cataclysm::{
        AppId, HostedApplication, Invocation, NodeId, ProvisionAction, ProvisionFact, ProvisionPlan, Provisioner, Sla,
        WorkloadReport,
    },
};

#[derive(Debug, Clone)]
enum Operation {
    /// Offered requests by class, and the percentage of them that is refused.
    Workload {
        app: usize,
        arrivals: [u64; 2],
        refused_percent: u64,
        service_ms: u64,
    },
    Cpu {
        node: u32,
        percent: u8,
    },
    Wait,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => (0..3_usize, [0..60_000_u64, 0..60_000_u64], 0..=100_u64, 1..1500_u64).prop_map(
            |(app, arrivals, refused_percent, service_ms)| {
                Operation::Workload { app, arrivals, refused_percent, service_ms }
            }
        ),
        4 => (0..16_u32, prop_oneof![Just(10_u8), Just(95), 0..=100_u8])
            .prop_map(|(node, percent)| Operation::Cpu { node, percent }),
        2 => Just(Operation::Wait),
    ]
}

/// Follows the actions from outside: who has which node.
struct Follower {
    control: Provisioner,
    plan: ProvisionPlan,
    free: BTreeSet<NodeId>,
    servers: Vec<BTreeSet<NodeId>>,
    sentries: Vec<BTreeSet<NodeId>>,
    splits: BTreeMap<usize, Vec<(NodeId, Vec<NodeId>)>>,
    last_reactive: Option<Timestamp>,
    /// The invocation in progress, and the servers that it added by application.
    invoked: Option<(Invocation, BTreeMap<usize, u32>)>,
}

impl Follower {
    fn new(plan: &ProvisionPlan, count: u32) -> Self {
        let control = Provisioner::new(Timestamp::ZERO, plan.clone(), &nodes(count)).expect("a plan in range");
        Self {
            control,
            free: nodes(count).into_iter().collect(),
            servers: vec![BTreeSet::new(); plan.applications.len()],
            sentries: vec![BTreeSet::new(); plan.applications.len()],
            splits: BTreeMap::new(),
            plan: plan.clone(),
            last_reactive: None,
            invoked: None,
        }
    }

    fn apply(&mut self, now: Timestamp, operation: &Operation) -> Result<(), TestCaseError> {
        match operation {
            Operation::Workload { app, arrivals, refused_percent, service_ms } => {
                let offered: u64 = arrivals.iter().sum();
                let mean_s = *service_ms as f64 / 1000.0;
                let report = WorkloadReport {
                    arrivals: arrivals.to_vec(),
                    refused: offered * refused_percent / 100,
                    service: Moments { count: 10, sum: 10.0 * mean_s, squares: 15.0 * mean_s * mean_s },
                    interarrival: Moments { count: 10, sum: 0.1, squares: 0.002 },
                };
                self.control.observe(now, ProvisionFact::Workload(AppId(*app), &report));
            }
            Operation::Cpu { node, percent } => {
                let cpu = f64::from(*percent) / 100.0;
                self.control.observe(now, ProvisionFact::SentryCpu(NodeId(*node), cpu));
            }
            Operation::Wait => {}
        }
        self.poll(now)
    }

    fn poll(&mut self, now: Timestamp) -> Result<(), TestCaseError> {
        self.invoked = None;
        loop {
            match self.control.poll(now) {
                ProvisionAction::WakeAt(wake) => {
                    prop_assert!(wake > now);
                    return self.check();
                }
                action => self.carry_out(now, action)?,
            }
        }
    }

    fn carry_out(&mut self, now: Timestamp, action: ProvisionAction) -> Result<(), TestCaseError> {
        match action {
            ProvisionAction::Invoked(why) => {
                if why == Invocation::Drops {
                    let apart = self.last_reactive.replace(now).map(|last| now.since(last));
                    prop_assert!(apart.is_none_or(|apart| apart >= self.plan.apart), "{apart:?} apart");
                }
                self.invoked = Some((why, BTreeMap::new()));
            }
            ProvisionAction::Target(AppId(app), target) => {
                let sla = &self.plan.applications[app].sla;
                let contracted = [0.0, 5000.0, 50_000.0].map(|rate| sla.response(rate));
                prop_assert!(contracted.contains(&target));
            }
            ProvisionAction::DrainServer(AppId(app), node) => {
                prop_assert!(self.servers[app].remove(&node));
                self.free.insert(node);
            }
            ProvisionAction::AddServer(AppId(app), node) => {
                prop_assert!(self.free.remove(&node), "{node:?} is not free");
                self.servers[app].insert(node);
                if let Some((Invocation::Drops, added)) = &mut self.invoked {
                    let added = added.entry(app).or_default();
                    *added += 1;
                    prop_assert!(*added <= self.plan.step);
                }
            }
            ProvisionAction::RemoveSentry(AppId(app), node) => {
                prop_assert!(self.sentries[app].remove(&node));
                self.free.insert(node);
            }
            ProvisionAction::AddSentry(AppId(app), node) => {
                prop_assert!(self.free.remove(&node), "{node:?} is not free");
                self.sentries[app].insert(node);
            }
            ProvisionAction::Split(AppId(app), split) => _ = self.splits.insert(app, split),
            ProvisionAction::WakeAt(_) => {}
        }
        Ok(())
    }

    /// Between two calls: minima, one sentry at least, and servers in equal parts, each at one sentry.
    fn check(&self) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.control.free() as usize, self.free.len());
        for (app, hosted) in self.plan.applications.iter().enumerate() {
            let (servers, sentries) = (&self.servers[app], &self.sentries[app]);
            prop_assert_eq!(
                self.control.servers_and_sentries(AppId(app)),
                (servers.len() as u32, sentries.len() as u32)
            );
            prop_assert!(servers.len() as u32 >= hosted.min_servers);
            prop_assert!((1..=servers.len()).contains(&sentries.len()));
            let split = &self.splits[&app];
            prop_assert_eq!(&split.iter().map(|(sentry, _)| *sentry).collect::<BTreeSet<_>>(), sentries);
            let guarded: Vec<NodeId> = split.iter().flat_map(|(_, servers)| servers.clone()).collect();
            prop_assert_eq!(guarded.len(), servers.len());
            prop_assert_eq!(&guarded.into_iter().collect::<BTreeSet<_>>(), servers);
            let sizes = || split.iter().map(|(_, servers)| servers.len());
            prop_assert!(sizes().max().unwrap_or(0) - sizes().min().unwrap_or(0) <= 1, "{split:?}");
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_application_falls_below_its_minimum_and_no_node_has_two_roles(
        minima in prop::collection::vec(1..4_u32, 1..3),
        spare in 0..8_u32,
        step in 1..4_u32,
        operations in prop::collection::vec((operation(), 0..90_u64), 1..200),
    ) {
        let hosted = |min: &u32| HostedApplication { sla: Sla::table_1(), revenue: vec![3.0, 1.0], min_servers: *min };
        let applications = minima.iter().map(hosted).collect();
        let plan = ProvisionPlan { step, period: Duration::from_secs(1200), ..ProvisionPlan::of(applications) };
        let count = minima.iter().map(|min| min + 1).sum::<u32>() + spare;
        let mut follower = Follower::new(&plan, count);
        follower.poll(Timestamp::ZERO)?;
        let mut now = Timestamp::ZERO;
        for (operation, pause_s) in &operations {
            now = now + Duration::from_secs(*pause_s);
            follower.apply(now, operation)?;
        }
    }
}
