//! The control plane of a tree by hand: what its host is told, and when.

use std::time::Duration;

use controllers::{Moments, Objective, PeerReport, SiteId, Timestamp, catalogue::PolicySpec};
use spec::{
    App, EmulatedSpec, ServiceTime, TargetSpec,
    plant::PlantSpec,
    platform::{ApplicationSpec, SlaTierSpec},
    services::{CallSpec, HostedService, ServiceSpec, WireCosts},
};

use super::*;
use crate::tree::{TreeMachines, TreeTurn};

const SITE: SiteId = SiteId(3);

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn service(name: &str, tasks: u32, calls: Option<&str>) -> HostedService {
    let app = App::Emulated(EmulatedSpec::one(ServiceTime::Constant(Duration::from_millis(10))));
    let policy = PolicySpec { name: "none".to_owned(), place: None, settings: controllers::Settings::new() };
    let objective = Objective { percentile: 0.95, response_time: secs(1) };
    let calls = calls.map(CallSpec::to).into_iter().collect();
    let spec = ServiceSpec { name: name.to_owned(), tasks, calls, ..ServiceSpec::default() };
    let task = TargetSpec::new(app, policy, objective);
    HostedService { spec, task, costs: PlantSpec::default(), wire: WireCosts::default() }
}

/// Services `other`, `front` and `back`: front's tasks are the sentries of back.
fn tree(nodes: u32) -> TreeSpec {
    let platform = PlatformSpec {
        nodes,
        applications: vec![ApplicationSpec {
            sentries: "front".to_owned(),
            servers: "back".to_owned(),
            min_servers: 2,
            revenue: vec![1.0],
            sla: vec![SlaTierSpec { below_per_s: None, response: secs(1) }],
        }],
        period: secs(1800),
        drop_share: 0.5,
        drop_window: secs(5),
        step: 1,
        apart: secs(5),
        trend_limit: 2.0,
        high_cpu: 0.8,
        high_for: secs(3),
        low_cpu: 0.2,
        low_for: secs(10),
    };
    TreeSpec {
        services: vec![service("other", 1, None), service("front", nodes, Some("back")), service("back", nodes, None)],
        entries: Vec::new(),
        machines: Vec::new(),
        platform: Some(Box::new(platform)),
    }
}

/// The machines of a tree, and whatever they have said.
struct Host {
    machines: TreeMachines,
    changes: Vec<TreeChange>,
    told: Vec<PeerReport>,
}

impl Host {
    fn of(nodes: u32) -> Self {
        Self { machines: TreeMachines::new(&tree(nodes)).expect("valid"), changes: Vec::new(), told: Vec::new() }
    }

    /// What is to be changed at this second.
    fn turn(&mut self, at: u64) -> Vec<TreeChange> {
        let TreeTurn { told, changes, .. } = self.machines.turn(Timestamp::from_secs(at));
        self.told.extend(told);
        self.changes.extend(changes.clone());
        changes
    }

    /// The same, with every task started at once, until nothing changes.
    fn settle(&mut self, at: u64) -> Vec<TreeChange> {
        let mut all = Vec::new();
        loop {
            let changes = self.turn(at);
            if changes.is_empty() {
                return all;
            }
            for change in &changes {
                if let TreeChange::Start(task) = change {
                    self.machines.started(*task);
                }
            }
            all.extend(changes);
        }
    }

    /// A sentry's report of one second.
    fn hear(&mut self, at: u64, sentry: usize, (offered, refused): (u64, u64), cpu: f64) {
        // One task of `other` comes before those of `front`.
        let from = |report| crate::tree::global(1 + sentry, report);
        let now = Timestamp::from_secs(at);
        self.machines.hear(now, from(PeerReport::Arrivals { from: SITE, rank: 0, offered }));
        let (service, interarrival) = (Moments::default(), Moments::default());
        self.machines.hear(now, from(PeerReport::Workload { from: SITE, refused, service, interarrival, cpu }));
    }

    fn gauge(&self, row: &str, gauge: &str) -> f64 {
        let rows = self.machines.gauges();
        rows.iter().find(|shown| shown.name == row).expect("a row of that name").policy[gauge]
    }
}

fn front(task: usize) -> TaskId {
    TaskId { service: 1, task }
}

fn back(task: usize) -> TaskId {
    TaskId { service: 2, task }
}

fn callees(sentry: usize, tasks: &[usize]) -> TreeChange {
    TreeChange::Callees { caller: front(sentry), call: 0, tasks: tasks.to_vec() }
}

fn users(tasks: &[usize]) -> TreeChange {
    TreeChange::Users { service: 1, tasks: tasks.to_vec() }
}

#[test]
fn it_starts_a_sentry_and_the_least_servers_and_then_lets_users_in() {
    let mut host = Host::of(5);
    assert_eq!(host.machines.on_demand().collect::<Vec<_>>(), [1, 2]);
    // Node 0 becomes the sentry, 1 and 2 servers.
    assert_eq!(host.turn(0), [TreeChange::Start(front(0)), TreeChange::Start(back(1)), TreeChange::Start(back(2))]);
    host.machines.started(front(0));
    assert_eq!(host.turn(0), [], "a sentry without servers is no use");
    host.machines.started(back(2));
    assert_eq!(host.turn(0), [callees(0, &[2]), users(&[0])]);
    host.machines.started(back(1));
    assert_eq!(host.turn(0), [callees(0, &[1, 2])]);
    let servers =
        |report: &PeerReport| if let PeerReport::Servers { servers, .. } = report { Some(*servers) } else { None };
    assert_eq!(host.told.iter().filter_map(servers).collect::<Vec<_>>(), [1, 2]);
    assert!(
        host.told.iter().any(|report| matches!(report, PeerReport::Target { response, .. } if *response == secs(1)))
    );
    assert_eq!((host.gauge("platform/back", "servers"), host.gauge("platform", "free")), (2.0, 2.0));
}

#[test]
fn refusals_add_a_server_which_gets_requests_once_it_has_started() {
    let mut host = Host::of(5);
    host.settle(0);
    let mut started = Vec::new();
    for at in 1..=12 {
        host.hear(at, 0, (100, 60), 0.5);
        started.extend(host.turn(at).into_iter().map(|change| (at, change)));
    }
    // Its window of 5 s is full then, and 5 s later the last node follows.
    assert_eq!(started, [(5, TreeChange::Start(back(3))), (10, TreeChange::Start(back(4)))]);
    host.machines.started(back(3));
    assert_eq!(host.turn(13), [callees(0, &[1, 2, 3])]);
    assert_eq!(host.gauge("platform", "invoked_by_drops"), 2.0);
}

#[test]
fn a_busy_sentry_gets_another_and_an_idle_one_is_drained() {
    let mut host = Host::of(5);
    host.settle(0);
    let mut changes = Vec::new();
    for at in 1..=4 {
        host.hear(at, 0, (100, 0), 0.9);
        changes.extend(host.settle(at));
    }
    // Node 3; the two servers are split.
    assert_eq!(changes[0], TreeChange::Start(front(3)));
    assert_eq!(changes[1..], [callees(0, &[1]), callees(3, &[2]), users(&[0, 3])]);
    assert!((host.gauge("platform/back", "first_sentry_cpu") - 0.9).abs() < 1e-9);
    let mut changes = Vec::new();
    for at in 5..=16 {
        host.hear(at, 0, (10, 0), 0.5);
        host.hear(at, 3, (10, 0), 0.05);
        changes.extend(host.settle(at));
    }
    // Users first, so that nothing new comes to the sentry that goes.
    assert_eq!(changes, [callees(0, &[1, 2]), users(&[0]), TreeChange::Drain(front(3))]);
    assert_eq!(host.gauge("platform/back", "sentries"), 1.0);
    host.machines.drained(front(3));
    assert_eq!(host.turn(17), []);
}

#[test]
fn what_a_server_reports_goes_to_its_sentry() {
    let mut host = Host::of(5);
    host.settle(0);
    host.told.clear();
    // Five tasks of `front` come before those of `back`; nodes 1 and 2 are the first and second server.
    for server in [2, 1, 4] {
        let (queueing, in_service) = (Duration::from_millis(30), 7);
        let report = PeerReport::Nucleus { from: SITE, queueing, in_service };
        host.machines.hear(Timestamp::from_secs(1), crate::tree::global(6 + server, report));
    }
    host.turn(1);
    let places: Vec<u32> = host
        .told
        .iter()
        .map(|report| match report {
            PeerReport::Server { server, in_service: 7, .. } => *server,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(places, [1, 0], "node 4 is free: nobody is told of it");
}

#[test]
fn a_node_has_one_role_at_a_time() {
    let mut nodes = Nodes::new(1);
    nodes.want(0, Some(Role::server(0)));
    assert_eq!(nodes.due().start, [(0, Role::server(0))]);
    nodes.want(0, Some(Role::server(1)));
    assert!(nodes.due().is_empty(), "it is starting");
    nodes.started(0);
    assert_eq!(nodes.due().drain, [(0, Role::server(0))]);
    assert!(nodes.due().is_empty() && nodes.running(Role::server(0)).is_empty());
    nodes.drained(0);
    assert_eq!(nodes.due().start, [(0, Role::server(1))]);
    nodes.drained(0);
    assert_eq!(nodes.role(0), Some(Role::server(1)), "it is not draining");
}

#[test]
fn a_platform_that_cannot_be_says_why() {
    let error = |change: fn(&mut TreeSpec)| {
        let mut spec = tree(5);
        change(&mut spec);
        TreeMachines::new(&spec).expect_err("invalid").to_string()
    };
    fn platform(tree: &mut TreeSpec) -> &mut PlatformSpec {
        tree.platform.as_mut().expect("there is one")
    }
    assert_eq!(
        error(|tree| tree.services[2].tasks = 4),
        "platform: back has 4 tasks: one for each of the 5 nodes is needed"
    );
    assert_eq!(
        error(|tree| tree.services[1].calls.clear()),
        "platform: the sentries front do not call the servers back"
    );
    assert_eq!(
        error(|tree| platform(tree).applications[0].servers = "none".to_owned()),
        "platform: there is no service called none"
    );
    assert!(error(|tree| platform(tree).drop_share = 1.5).contains("drop_share"));
    assert!(error(|tree| platform(tree).nodes = 2).contains("nodes"));
}
