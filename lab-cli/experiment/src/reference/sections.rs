//! Sections of the reference: the tables of an experiment file, each with its place and its rows.

use schemars::JsonSchema;

use crate::{
    arms::ArmKeys,
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
    proxy_arm::OwnProxyKeys,
    read::{CompareKeys, ExperimentKeys, ObjectiveKeys},
    recording::TraceKeys,
    refusal::RedirectKeys,
    refusal_marks::RefusalMarksKeys,
    script::{BranchKeys, CheckKeys, ExtractKeys, StepKeys, TestPlanKeys},
    simulation::{FaultKeys, LinkKeys, RampKeys, SimulationKeys},
    stage,
    target::{ClassKeys, StageKeys, TargetKeys},
    thresholds::ThresholdKeys,
    tree::{AutoscaleKeys, ServiceKeys, SlowKeys},
    users::{self, PatienceKeys, TroubleKeys, UsersKeys},
    waiting_room::WaitingRoomKeys,
};

/// A table of an experiment file.
#[derive(Debug)]
pub(super) struct Section {
    /// Path of keys that leads to it.
    pub path: &'static str,
    pub about: String,
    /// The name of its table in the JSON Schema.
    pub table: String,
    pub rows: Vec<Row>,
}

fn section<T: Table + JsonSchema>(path: &'static str) -> Section {
    Section { path, about: linked(T::ABOUT.trim()), table: T::schema_name().into_owned(), rows: T::rows() }
}

/// All tables, from the whole file to its parts; those without a place of their own are values.
pub(super) fn sections() -> Vec<Section> {
    vec![
        section::<ExperimentKeys>(""),
        section::<ObjectiveKeys>("objective"),
        section::<CompareKeys>("compare"),
        section::<ThresholdKeys>("thresholds[]"),
        section::<TargetKeys>("target"),
        section::<Mail>("target.mail"),
        section::<StageKeys>("target.stages.NAME"),
        section::<ClassKeys>("target.class"),
        section::<WaitingRoomKeys>("target.waiting_room"),
        section::<ServiceKeys>("target.services.NAME"),
        section::<SlowKeys>("target.services.NAME.slow"),
        section::<AutoscaleKeys>("target.services.NAME.autoscale"),
        section::<CallKeys>("target.services.NAME.calls[]"),
        section::<CallLinkKeys>("target.services.NAME.calls[].link"),
        section::<ExportedMetrics>("target.metrics"),
        section::<PlatformKeys>("target.platform"),
        section::<ApplicationKeys>("target.platform.applications.NAME"),
        section::<SlaTierKeys>("target.platform.applications.NAME.sla[]"),
        section::<UsersKeys>("users"),
        section::<PhaseKeys>("users.phases[]"),
        section::<LoadKeys>("users.phases[].loads[]"),
        section::<TroubleKeys>("users.on_reject, users.on_failure"),
        section::<PatienceKeys>("users.patience"),
        section::<RequestKeys>("users.paths[]"),
        section::<TraceKeys>("users.trace"),
        section::<ClientKeys>("users.client.POLICY"),
        section::<TestPlanKeys>("users.plan"),
        section::<StepKeys>("users.plan.steps[]"),
        section::<BranchKeys>("users.plan.steps[].choose[]"),
        section::<ExtractKeys>("users.plan.steps[].extract.NAME"),
        section::<CheckKeys>("users.plan.steps[].check"),
        section::<ArmKeys>("arms[].POLICY"),
        section::<CallChanges>("arms[].POLICY.calls"),
        section::<OwnProxyKeys>("arms[].proxy"),
        section::<RefusalMarksKeys>("users.refused, arms[].proxy.refused"),
        section::<BestStaticKeys>("arms[].best-static"),
        section::<SimulationKeys>("virtual"),
        section::<CostChanges>("virtual.costs"),
        section::<LinkKeys>("virtual.link"),
        section::<FaultKeys>("virtual.faults[]"),
        section::<RampKeys>("virtual.faults[].ramp"),
        section::<FigureKeys>("figure"),
        section::<PanelKeys>("figure.panels[]"),
        section::<PaperCurveKeys>("figure.panels[].paper[]"),
        section::<stage::ExponentialKeys>("service: {exponential: …}"),
        section::<stage::LognormalKeys>("service: {lognormal: …}"),
        section::<stage::ParetoKeys>("service: {pareto: …}"),
        section::<stage::UniformKeys>("service: {uniform: …}"),
        section::<stage::BimodalKeys>("service: {bimodal: …}"),
        section::<pauses::UniformKeys>("think: {uniform: …}"),
        section::<pauses::LognormalKeys>("think: {lognormal: …}"),
        section::<load::UsersSpan>("users: {from, to}"),
        section::<load::RateSpan>("requests: {from, to}, sessions: {from, to}"),
        section::<load::WaveKeys>("requests: {sine}"),
        section::<load::SineKeys>("requests: {sine: …}"),
        section::<load::BurstKeys>("law: {burst: …}"),
        section::<users::MixedKeys>("connections: {keep: …}"),
        section::<GroupKeys>("scope: {group: …}"),
        section::<RedirectKeys>("on_refuse: {redirect: …}"),
    ]
}

/// Links of a row or a table, which are written as from `docs/`.
pub(super) fn linked(text: &str) -> String {
    let of_sections = text.replace("](#", "](../experiments.md#");
    let pages = ["validity", "fidelity", "traces", "front-doors", "your-service", "peers"];
    pages.iter().fold(of_sections, |text, page| text.replace(&format!("]({page}.md"), &format!("](../{page}.md")))
}
