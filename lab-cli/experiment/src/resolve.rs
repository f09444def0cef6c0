//! Resolution of an experiment's plan into what a target and a generator take.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use analysis::summary::Capacity;
use controllers::{
    Class, Objective, Place, Settings,
    catalogue::{PolicySpec, Setting},
    random::seed_for,
};
use installed::catalogue;
use service_core::mail;
use spec::{
    self, EdgeSpec, EmulatedSpec, ServiceTime, StageSpec, TargetSpec,
    proxy::{HeaderSpec, HealthSpec, LimitSpec, LogLevel, ProxySpec, RefusalSpec, TimeoutSpec},
    services::{CallSpec, HostedService, ServiceSpec, TreeSpec},
};
use workloads::{
    background::{BackgroundRole, HEALTH},
    plan::{self, Account, ClientSpec, LoadPlan, MailUsers, ScriptUsers, UrlUsers},
};

use crate::plan::{
    AppPlan, ArashiPlan, ArmPlan, Experiment, LoadStream, Mail, Model, Tree, TreeService, UsersPlan, Work,
};

/// Listen queue where connections are not limited: as long as kernels allow by default.
const LONG_BACKLOG: u32 = 4096;
/// Most requests inside of a plant of a service that takes all that come.
const MOST_AT_ONCE: u32 = 10_000;
/// Listen queue of targets: short, so that clients feel the kernel's own back-off soon.
const SHORT_BACKLOG: u32 = 16;

/// Spec of one arm's target. `cpu`: the processor that it is kept to.
pub fn target_spec(
    experiment: &Experiment,
    arm: &ArmPlan,
    database: Option<PathBuf>,
    work: f64,
    seed: u64,
    cpu: Option<usize>,
) -> TargetSpec {
    let target = arm.target(experiment);
    let app = match &target.app {
        AppPlan::Arashi(arashi) => spec::App::Arashi {
            database: database.unwrap_or_default(),
            work: arashi.work_at(work),
            spec: arashi.spec.clone(),
        },
        AppPlan::Checksum(page) => spec::App::Checksum(page.clone()),
        AppPlan::Emulated(emulated) => spec::App::Emulated(emulated.clone()),
        AppPlan::Generation(tokens) => spec::App::Generation(*tokens),
        // In a plant alone: live it is behind the lab's proxy ([`crate::plan::OwnService`]).
        AppPlan::Own(_) => return plant_of_own(experiment, arm, seed),
        // Who starts a tree takes [`tree_spec`]; of one target there is only the first service.
        AppPlan::Tree(tree) => spec::App::Emulated(tree.services[0].emulated.clone()),
    };
    let mut stage_defaults = target.stage_defaults.clone();
    let mut stages = target.stages.clone();
    if let Some(on_refuse) = &arm.on_refuse {
        stage_defaults.on_refuse = on_refuse.clone();
        stages.values_mut().for_each(|stage| stage.on_refuse = on_refuse.clone());
    }
    TargetSpec {
        machines: target.machines.clone(),
        stage_defaults,
        stages,
        edge: EdgeSpec {
            backlog: backlog(experiment, arm),
            kept: target.kept,
            hosts: target.hosts.clone(),
            ..EdgeSpec::default()
        },
        class: target.class.clone(),
        criticality: target.criticality.clone(),
        health: target.health,
        waiting_room: target.waiting_room.clone(),
        seed: seed_for(seed, "target"),
        cpus: cpu.into_iter().collect(),
        ..TargetSpec::new(app, arm.policy.clone(), objective(experiment))
    }
}

/// Requests that a service of one's own works on side by side, as far as policies with a queue know.
fn concurrency(experiment: &Experiment) -> u32 {
    let AppPlan::Own(own) = &experiment.target.app else { return 1 };
    let measured = experiment.simulation.costs.service.as_ref().map(|service| service.servers);
    own.concurrency.or(measured).unwrap_or(ProxySpec::default().concurrency)
}

/// Plant of a service of one's own: the lab's proxy before it is the gate at dispatch before a stage that takes all
/// that it lets in; what requests take is in the plant file.
fn plant_of_own(experiment: &Experiment, arm: &ArmPlan, seed: u64) -> TargetSpec {
    let app = spec::App::Emulated(EmulatedSpec::one(ServiceTime::Constant(Duration::from_millis(1))));
    let policy = PolicySpec { place: Some(Place::Single), ..arm.policy.clone() };
    // Policies that wait for a worker are told the room of these; all others decide before them.
    let workers =
        if policy.counts_workers(catalogue(), Place::Single) { concurrency(experiment) } else { MOST_AT_ONCE };
    let stage = StageSpec { workers, batch: 1, ..StageSpec::default() };
    TargetSpec {
        stages: [("dispatch".to_owned(), StageSpec { workers: MOST_AT_ONCE, ..StageSpec::default() })].into(),
        stage_defaults: stage,
        class: experiment.target.class.clone(),
        criticality: experiment.target.criticality.clone(),
        waiting_room: arm.target(experiment).waiting_room.clone(),
        // The other keys of its connections are for services of the lab's.
        edge: EdgeSpec { backlog: LONG_BACKLOG, kept: arm.target(experiment).kept, ..EdgeSpec::default() },
        seed: seed_for(seed, "target"),
        ..TargetSpec::new(app, policy, objective(experiment))
    }
}

/// The lab's proxy before a service of one's own at `url`. `cpu`: the processor that it is kept to.
pub fn proxy_spec(experiment: &Experiment, arm: &ArmPlan, url: &str, seed: u64, cpu: Option<usize>) -> ProxySpec {
    ProxySpec {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        to: vec![url.to_owned()],
        // The proxy knows where a policy sits before a whole service.
        policy: PolicySpec { place: None, ..arm.policy.clone() },
        concurrency: concurrency(experiment),
        objective: Some(objective(experiment)),
        class: experiment.target.class.clone(),
        criticality: experiment.target.criticality.clone(),
        waiting_room: arm.target(experiment).waiting_room.as_ref().map(|rooms| rooms.room.clone()),
        // Nothing but the policy is to decide: neither limits nor the health of the one service.
        limits: LimitSpec {
            backlog: LONG_BACKLOG,
            backend_connections: 65_535,
            held: 65_535,
            checks: u16::MAX,
            ..LimitSpec::default()
        },
        health_path: HEALTH.to_owned(),
        health: HealthSpec { failures: 0, ..HealthSpec::default() },
        // Users are told what the policy says, or the experiment: users with `retry_after`, and those of a test plan, wait as told.
        refusal: RefusalSpec { retry_after: arm.target(experiment).kept.retry_after, ..RefusalSpec::default() },
        // The senders are the lab's own users.
        headers: HeaderSpec { trust_forwarded: true, trust_criticality: true, ..HeaderSpec::default() },
        timeouts: TimeoutSpec {
            response: experiment.users.timeout.max(Duration::from_secs(60)),
            ..TimeoutSpec::default()
        },
        log: LogLevel::Off,
        seed: seed_for(seed, "target"),
        cpus: cpu.into_iter().collect(),
        ..ProxySpec::default()
    }
}

/// The policy whose sites report to a control plane.
const SENTRY: &str = "sentry";

/// The lab's proxy that has the waiting room before a service of the lab's, whose policy sits in the service.
pub fn room_spec(experiment: &Experiment, arm: &ArmPlan, seed: u64, cpu: Option<usize>) -> ProxySpec {
    let none = PolicySpec { name: "none".to_owned(), place: None, settings: Settings::new() };
    ProxySpec { policy: none, ..proxy_spec(experiment, arm, "", seed, cpu) }
}

/// Spec of one arm's services. `cpu`: the processor that they are kept to.
pub fn tree_spec(experiment: &Experiment, arm: &ArmPlan, tree: &Tree, seed: u64, cpu: Option<usize>) -> TreeSpec {
    let of_tree = |machine: &&controllers::catalogue::PolicySpec| machine.name == "quota-server";
    let (machines, beside): (Vec<_>, Vec<_>) = experiment.target.machines.iter().partition(of_tree);
    let one = |service: &TreeService| {
        let mut task = target_spec(experiment, arm, None, 0.0, seed, cpu);
        task.app = spec::App::Emulated(service.emulated.clone());
        task.policy = arm.services.get(&service.name).unwrap_or(&arm.policy).clone();
        if tree.platform.as_ref().is_some_and(|platform| platform.is_guarded_by(&service.name))
            && task.policy.name == SENTRY
        {
            task.policy.settings.entry("reports".to_owned()).or_insert(Setting::Flag(true));
        }
        // Calls do not wait: a room is before the services that users ask.
        task.waiting_room = task.waiting_room.filter(|_| tree.entries.iter().any(|(_, entry)| *entry == service.name));
        task.machines = beside.iter().copied().cloned().collect();
        task.draws = Some(seed_for(task.seed, &format!("service of {}", service.name)));
        task.stage_defaults = service.stage.clone();
        if let Some(on_refuse) = &arm.on_refuse {
            task.stage_defaults.on_refuse = on_refuse.clone();
        }
        let mut costs = experiment.simulation.emulated_costs();
        service.costs.apply(&mut costs);
        let spec = ServiceSpec {
            balancer: arm.balancer.unwrap_or(service.balancer),
            calls: service.calls.iter().map(|call| call_spec(experiment, arm, call)).collect(),
            ..service.spec.clone()
        };
        HostedService { spec, task, costs, wire: service.costs.wire() }
    };
    TreeSpec {
        services: tree.services.iter().map(one).collect(),
        entries: tree.entries.clone(),
        machines: machines.into_iter().cloned().collect(),
        platform: tree.platform.clone().map(Box::new),
    }
}

fn call_spec(experiment: &Experiment, arm: &ArmPlan, call: &CallSpec) -> CallSpec {
    let changes = &arm.calls;
    let client = changes.client.as_ref().or(call.client.as_ref());
    CallSpec {
        attempts: changes.attempts.unwrap_or(call.attempts),
        heed_dont_retry: changes.heed_dont_retry.unwrap_or(call.heed_dont_retry),
        when_refused: changes.when_refused.unwrap_or(call.when_refused),
        client: client.cloned(),
        redraw: experiment.users.redraw,
        ..call.clone()
    }
}

/// Extra operations a request of an arm.
pub fn work(experiment: &Experiment, arm: &ArmPlan, capacity: Option<&Capacity>) -> f64 {
    match (&experiment.target.app, capacity) {
        (_, Some(found)) => found.own_operations.get(&arm.label).copied().unwrap_or(found.operations),
        (AppPlan::Arashi(ArashiPlan { work: Work::Operations(operations), .. }), None) => *operations,
        _ => 0.0,
    }
}

fn backlog(experiment: &Experiment, arm: &ArmPlan) -> u32 {
    let by_place = if arm.policy.works_at_accept(catalogue()) { SHORT_BACKLOG } else { LONG_BACKLOG };
    arm.backlog.or(arm.target(experiment).backlog).unwrap_or(by_place)
}

/// Accounts that may sign in.
pub fn accounts(app: &AppPlan) -> Vec<Account> {
    if let AppPlan::Arashi(arashi) = app { accounts_of(arashi.mail) } else { Vec::new() }
}

/// Accounts of this mail.
pub fn accounts_of(generated: Mail) -> Vec<Account> {
    let all = mail::accounts(&generated.corpus()).into_iter();
    all.map(|(user, password)| Account { user, password }).collect()
}

/// Load of one arm: the same for every arm of a block, but for the policy on the users' own side.
pub fn load_plan(
    experiment: &Experiment,
    arm: &ArmPlan,
    accounts: &[Account],
    target: plan::Target,
    seed: u64,
    capacity: Option<f64>,
) -> LoadPlan {
    let users = &experiment.users;
    let mut behaviour = users.behaviour.clone();
    if let Some(marks) = arm.proxy.as_ref().and_then(|proxy| proxy.refused.as_ref()) {
        behaviour.refused = marks.clone();
    }
    let who = match &users.model {
        Model::Mail { model, previous_page, .. } => plan::Users::Mail(MailUsers {
            model: model.clone(),
            previous_page: *previous_page,
            accounts: accounts.to_vec(),
            behaviour,
            connections: users.connections,
        }),
        Model::Url { path, requests, check, think, .. } => {
            let (requests, think, connections) = (requests.clone(), think.clone(), users.connections);
            let check = check.clone();
            plan::Users::Url(UrlUsers { requests, check, think, behaviour, connections, ..UrlUsers::new(path) })
        }
        Model::Script { plan, conduct, .. } => plan::Users::Script(ScriptUsers {
            plan: plan.clone(),
            conduct: conduct.clone(),
            accounts: accounts.to_vec(),
            behaviour,
            connections: users.connections,
        }),
    };
    LoadPlan {
        seed: seed_for(seed, "load"),
        shard: None,
        target,
        users: who,
        phases: users.phases.iter().map(|phase| resolved(phase, users, capacity)).collect(),
        timeout: users.timeout,
        connect_timeout: users.connect_timeout,
        objective: of_ms(experiment.objective.response_time_ms),
        class_objectives: experiment.class_objectives.iter().map(|(class, ms)| (*class, of_ms(*ms))).collect(),
        drain: users.drain,
        step_gap: users.step_gap,
        sources: users.sources,
        marks: users.marks.clone(),
        client: client_spec(experiment, arm),
        redraw: users.redraw,
    }
}

fn client_spec(experiment: &Experiment, arm: &ArmPlan) -> Option<ClientSpec> {
    let phases = experiment.users.phases.iter().enumerate();
    let renewed_in = phases.filter(|(_, phase)| phase.fresh_policy).map(|(index, _)| index).collect();
    arm.client.as_ref()?.spec(objective(experiment), renewed_in)
}

/// The objective, as policies take it.
pub fn objective(experiment: &Experiment) -> Objective {
    Objective {
        percentile: experiment.objective.percentile,
        response_time: of_ms(experiment.objective.response_time_ms),
    }
}

fn of_ms(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1e3)
}

fn resolved(phase: &crate::plan::PhasePlan, users: &UsersPlan, capacity: Option<f64>) -> plan::Phase {
    let load = |load: &LoadStream| {
        let [from_per_s, to_per_s] = load.span(capacity);
        let class = Class(load.class().unwrap_or_default());
        match *load {
            LoadStream::Replay => match (&users.trace, &users.model) {
                // What the paths of a service of one's own are made of.
                (Some(trace), Model::Url { .. }) => trace.load(trace.played().with_texts()),
                (Some(trace), Model::Mail { .. } | Model::Script { .. }) => trace.load(trace.played()),
                (None, _) => unreachable!("the reader gives such a load only where there is a trace"),
            },
            LoadStream::Users { from, to, .. } => plan::Load::Users { from, to, class },
            LoadStream::Sessions { law, .. } => plan::Load::Sessions { from_per_s, to_per_s, law, class },
            LoadStream::Requests { law, .. } => plan::Load::Requests { from_per_s, to_per_s, law, class },
            LoadStream::Wave { mean, amplitude, period, law, .. } => {
                let [mean_per_s, amplitude_per_s] = [mean, amplitude].map(|rate| rate.per_second(capacity));
                plan::Load::Wave { mean_per_s, amplitude_per_s, period, law, class }
            }
            LoadStream::Present { from, to, role, .. } => plan::Load::Present { from, to, role, class },
            LoadStream::Churn { law, ask, .. } => plan::Load::Churn { from_per_s, to_per_s, law, ask, class },
        }
    };
    plan::Phase { name: phase.name.clone(), duration: phase.duration, loads: phase.loads.iter().map(load).collect() }
}

/// Load of a phase in words.
pub fn load_in_words(phase: &crate::plan::PhasePlan, capacity: Option<f64>) -> String {
    let one = |load: &LoadStream| {
        let unit = match load {
            LoadStream::Replay => return "recorded sessions".to_owned(),
            LoadStream::Users { .. } => "users",
            LoadStream::Sessions { .. } => "sessions/s",
            LoadStream::Requests { .. } => "requests/s",
            LoadStream::Wave { .. } => "requests/s in waves",
            LoadStream::Present { role: BackgroundRole::Checker { .. }, .. } => "health checkers",
            LoadStream::Present { .. } => "idle connections",
            LoadStream::Churn { .. } => "connections/s that come and go",
        };
        let [from, to] = load.span(capacity);
        if from == to { format!("{to:.0} {unit}") } else { format!("{from:.0} to {to:.0} {unit}") }
    };
    let all: Vec<String> = phase.loads.iter().map(one).collect();
    all.join(" and ")
}
