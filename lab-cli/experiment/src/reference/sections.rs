//! Sections of the reference: the tables of an experiment file, each with its place and its rows.

use schemars::JsonSchema;

use crate::{
    arms::ArmKeys,
    autoscale::AutoscaleKeys,
    calls::{CallChanges, CallKeys, CallLinkKeys},
    client::{ClientKeys, GroupKeys},
    costs::CostChanges,
    exported_metrics::ExportedMetrics,
    figure::{FigureKeys, PanelKeys, PaperCurveKeys},
    hindsight::BestStaticKeys,
    keys::{Row, Table},
    load::{self, LoadKeys, PhaseKeys},
    mail::Mail,
    paths::RequestKeys,
    pauses,
    platform::{ApplicationKeys, PlatformKeys, SlaTierKeys},
    read::{CompareKeys, ExperimentKeys, ObjectiveKeys},
    recording::TraceKeys,
    refusal::RedirectKeys,
    script::{BranchKeys, CheckKeys, ExtractKeys, StepKeys, TestPlanKeys},
    simulation::{FaultKeys, LinkKeys, RampKeys, SimulationKeys},
    stage,
    target::{ClassKeys, StageKeys, TargetKeys},
    thresholds::ThresholdKeys,
    tree::{ServiceKeys, SlowKeys},
    users::{self, PatienceKeys, TroubleKeys, UsersKeys},
    waiting_room::WaitingRoomKeys,
};

/// A table of an experiment file.
#[derive(Debug)]
pub(super) struct Section {
    /// Path of keys that leads to it.
    pub path: &'static str,
    pub about: &'static str,
    /// The name of its table in the JSON Schema.
    pub table: String,
    pub rows: Vec<Row>,
}

fn section<T: Table + JsonSchema>(path: &'static str, about: &'static str) -> Section {
    Section { path, about, table: T::schema_name().into_owned(), rows: T::rows() }
}

/// All tables, from the whole file to its parts.
pub(super) fn sections() -> Vec<Section> {
    [of_the_file(), of_the_target(), of_trees(), of_users(), of_plans(), of_arms(), of_virtual_time(), of_figures()]
        .into_iter()
        .flatten()
        .chain(of_values())
        .collect()
}

fn of_the_file() -> Vec<Section> {
    vec![
        section::<ExperimentKeys>("", "Keys at the top level."),
        section::<ObjectiveKeys>("objective", "What goodput counts: an answer that takes longer is late."),
        section::<CompareKeys>(
            "compare",
            "Fixed before the run. [Comparisons](../experiments.md#arms-and-comparisons).",
        ),
        section::<ThresholdKeys>(
            "thresholds[]",
            "A threshold is a line, or a table where it may end the run. Metrics: [metrics.md](metrics.md).",
        ),
    ]
}

fn of_the_target() -> Vec<Section> {
    vec![
        section::<TargetKeys>(
            "target",
            "`of` names the apps that have a key. `own` is a service of your own: it has no `app` but a `url` or a `command`, \
             and apart from these only `class`, `criticality` and `waiting_room`.",
        ),
        section::<Mail>("target.mail", "The generated mail of `arashi`."),
        section::<StageKeys>("target.stages.NAME", "One stage that differs from the others."),
        section::<ClassKeys>("target.class", "One of these."),
        section::<WaitingRoomKeys>(
            "target.waiting_room",
            "[Front doors](../front-doors.md); its gauges: [experiments](../experiments.md#waiting-rooms).",
        ),
    ]
}

fn of_trees() -> Vec<Section> {
    vec![
        section::<ServiceKeys>(
            "target.services.NAME",
            "One service of `app: tree`. [Several services](../experiments.md#several-services).",
        ),
        section::<SlowKeys>("target.services.NAME.slow", "The first tasks of a service, slower than the others."),
        section::<AutoscaleKeys>(
            "target.services.NAME.autoscale",
            "Kubernetes' law. [Tasks that come and go](../experiments.md#tasks-that-come-and-go).",
        ),
        section::<CallKeys>("target.services.NAME.calls[]", "A call is the name of a service, or a table."),
        section::<CallLinkKeys>("target.services.NAME.calls[].link", "The way to the called service."),
        section::<ExportedMetrics>(
            "target.metrics",
            "What a service of your own exports. [Your service](../your-service.md#3-run-it).",
        ),
        section::<PlatformKeys>(
            "target.platform",
            "[Tasks that come and go](../experiments.md#tasks-that-come-and-go).",
        ),
        section::<ApplicationKeys>(
            "target.platform.applications.NAME",
            "One application: its sentries and their servers.",
        ),
        section::<SlaTierKeys>("target.platform.applications.NAME.sla[]", "One tier of the contract."),
    ]
}

fn of_users() -> Vec<Section> {
    vec![
        section::<UsersKeys>("users", "`of: script` marks the keys of users with a test plan."),
        section::<PhaseKeys>("users.phases[]", "A phase has one of `users`, `sessions`, `requests` and `loads`."),
        section::<LoadKeys>(
            "users.phases[].loads[]",
            "A load has one of `users`, `sessions`, `requests`, `idle`, `checks` and `churn`. \
             [Connections and health checks](../experiments.md#connections-and-health-checks).",
        ),
        section::<TroubleKeys>(
            "users.on_reject, users.on_failure",
            "What a user does after a request that was not served.",
        ),
        section::<PatienceKeys>("users.patience", "How long a user waits for an answer."),
        section::<RequestKeys>(
            "users.paths[]",
            "One of several requests. The manifest has digests in place of header values and bodies.",
        ),
        section::<TraceKeys>("users.trace", "A trace that is replayed. [Traces](../traces.md#in-an-experiment)."),
        section::<ClientKeys>(
            "users.client.POLICY",
            "Settings of the lab beside those of the policy. [Policies on the users' side](../experiments.md#policies-on-the-users-side).",
        ),
    ]
}

fn of_plans() -> Vec<Section> {
    vec![
        section::<TestPlanKeys>("users.plan", "[Test plans](../experiments.md#test-plans)."),
        section::<StepKeys>("users.plan.steps[]", "A request, or a choice between lists of steps."),
        section::<BranchKeys>("users.plan.steps[].choose[]", "One of the lists."),
        section::<ExtractKeys>("users.plan.steps[].extract.NAME", "A regular expression for the body, or a table."),
        section::<CheckKeys>("users.plan.steps[].check", "What counts as served."),
    ]
}

fn of_arms() -> Vec<Section> {
    vec![
        section::<ArmKeys>(
            "arms[].POLICY",
            "Settings of the lab beside those of the policy ([policies.md](policies.md)). \
             A policy's own parameter of the same name comes first.",
        ),
        section::<CallChanges>(
            "arms[].POLICY.calls",
            "What is different about all calls of a tree; the rest is as each call has it.",
        ),
        section::<BestStaticKeys>(
            "arms[].best-static",
            "Other keys are settings of the policy whose limit is searched for. [Two bounds](../experiments.md#two-arms-that-know-more).",
        ),
    ]
}

fn of_virtual_time() -> Vec<Section> {
    vec![
        section::<SimulationKeys>(
            "virtual",
            "For runs in virtual time. [In virtual time](../experiments.md#in-virtual-time).",
        ),
        section::<CostChanges>(
            "virtual.costs",
            "CPU times of a whole core, and memory. Nothing costs anything at an emulated server unless it is given here.",
        ),
        section::<LinkKeys>("virtual.link", "The network between users and service."),
        section::<FaultKeys>("virtual.faults[]", "One of `capacity`, `ramp`, `latency`, `errors` and `crash`."),
        section::<RampKeys>("virtual.faults[].ramp", "Shares of the usual speed."),
    ]
}

fn of_figures() -> Vec<Section> {
    vec![
        section::<FigureKeys>("figure", "What `lab reproduce` draws. [Figures](../experiments.md#figures)."),
        section::<PanelKeys>("figure.panels[]", "One panel."),
        section::<PaperCurveKeys>("figure.panels[].paper[]", "One curve of the paper."),
    ]
}

/// Values that are small tables.
fn of_values() -> Vec<Section> {
    vec![
        section::<stage::ExponentialKeys>("service: {exponential: …}", "Exponential service times."),
        section::<stage::LognormalKeys>("service: {lognormal: …}", "Lognormal service times."),
        section::<stage::ParetoKeys>("service: {pareto: …}", "Service times with a heavy tail."),
        section::<stage::UniformKeys>("service: {uniform: …}", "Uniform service times."),
        section::<stage::BimodalKeys>("service: {bimodal: …}", "Two service times."),
        section::<pauses::UniformKeys>("think: {uniform: …}", "Uniform pauses."),
        section::<pauses::LognormalKeys>("think: {lognormal: …}", "Lognormal pauses."),
        section::<load::UsersSpan>("users: {from, to}", "A number that changes linearly over a phase."),
        section::<load::RateSpan>(
            "requests: {from, to}, sessions: {from, to}",
            "A rate that changes linearly over a phase.",
        ),
        section::<load::WaveKeys>("requests: {sine}", "A rate that goes up and down."),
        section::<load::SineKeys>("requests: {sine: …}", "A sine."),
        section::<load::BurstKeys>("law: {burst: …}", "Arrivals in bursts."),
        section::<users::MixedKeys>("connections: {keep: …}", "Some users keep their connection."),
        section::<GroupKeys>("scope: {group: …}", "Users that share a policy."),
        section::<RedirectKeys>("on_refuse: {redirect: …}", "Where a refused request is sent."),
    ]
}
