use super::*;
use crate::{
    arms::ArmKeys,
    client::{ClientKeys, GroupKeys},
    figure::{FigureKeys, PanelKeys, PaperCurveKeys},
    hindsight::BestStaticKeys,
    load::{self, LoadKeys, PhaseKeys},
    paths::RequestKeys,
    pauses,
    platform::{ApplicationKeys, PlatformKeys, SlaTierKeys},
    read::{CompareKeys, ExperimentKeys, ObjectiveKeys},
    recording::TraceKeys,
    refusal::RedirectKeys,
    script::{BranchKeys, CheckKeys, ExtractKeys, StepKeys, TestPlanKeys},
    simulation::{CostKeys, FaultKeys, LinkKeys, SimulationKeys},
    stage,
    target::{ClassKeys, MailKeys, StageKeys, TargetKeys},
    thresholds::ThresholdKeys,
    tree::{CallChangeKeys, CallKeys, ServiceKeys, SlowKeys},
    users::{self, PatienceKeys, TroubleKeys, UsersKeys},
    waiting_room::WaitingRoomKeys,
};

fn markdown<T: Table>() -> String {
    let line = |row: Row| {
        let limits = row.limits();
        let Row { key, of, about, .. } = row;
        format!("| `{key}` | {of} | {limits} | {about} |\n")
    };
    let head = "| key | of | values | means |\n|---|---|---|---|\n".to_owned();
    head + &T::rows().into_iter().map(line).collect::<String>()
}

/// Keys of values that are tables, in one table.
fn values() -> String {
    fn lines<T: Table>(of: &str) -> String {
        let line = |row: Row| format!("| {of} | `{}` | {} | {} |\n", row.key, row.limits(), row.about);
        T::rows().into_iter().map(line).collect()
    }
    "| value | key | values | means |\n|---|---|---|---|\n".to_owned()
        + &lines::<stage::ExponentialKeys>("`service: {exponential: …}`")
        + &lines::<stage::LognormalKeys>("`service: {lognormal: …}`")
        + &lines::<stage::ParetoKeys>("`service: {pareto: …}`")
        + &lines::<stage::UniformKeys>("`service: {uniform: …}`")
        + &lines::<stage::BimodalKeys>("`service: {bimodal: …}`")
        + &lines::<pauses::UniformKeys>("`think: {uniform: …}`")
        + &lines::<pauses::LognormalKeys>("`think: {lognormal: …}`")
        + &lines::<load::UsersSpan>("`users: {…}` of a phase")
        + &lines::<load::RateSpan>("`requests: {…}`, `sessions: {…}`")
        + &lines::<users::MixedKeys>("`connections: {…}`")
        + &lines::<GroupKeys>("`scope: {…}` of a `client`")
        + &lines::<RedirectKeys>("`on_refuse: {…}`")
}

#[test]
fn the_page_on_experiments_has_every_key() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/experiments.md"));
    let page = page.expect("readable");
    let tables = [
        markdown::<TargetKeys>(),
        markdown::<MailKeys>(),
        markdown::<StageKeys>(),
        markdown::<ClassKeys>(),
        markdown::<WaitingRoomKeys>(),
        markdown::<ServiceKeys>(),
        markdown::<SlowKeys>(),
        markdown::<CallKeys>(),
        markdown::<PlatformKeys>(),
        markdown::<ApplicationKeys>(),
        markdown::<SlaTierKeys>(),
        markdown::<ArmKeys>(),
        markdown::<BestStaticKeys>(),
        markdown::<CallChangeKeys>(),
        markdown::<TraceKeys>(),
        markdown::<SimulationKeys>(),
        markdown::<CostKeys>(),
        markdown::<LinkKeys>(),
        markdown::<FaultKeys>(),
        markdown::<UsersKeys>(),
        markdown::<ClientKeys>(),
        markdown::<TroubleKeys>(),
        markdown::<PatienceKeys>(),
        markdown::<PhaseKeys>(),
        markdown::<LoadKeys>(),
        markdown::<RequestKeys>(),
        markdown::<TestPlanKeys>(),
        markdown::<StepKeys>(),
        markdown::<BranchKeys>(),
        markdown::<ExtractKeys>(),
        markdown::<CheckKeys>(),
        markdown::<ExperimentKeys>(),
        markdown::<ObjectiveKeys>(),
        markdown::<CompareKeys>(),
        markdown::<ThresholdKeys>(),
        markdown::<FigureKeys>(),
        markdown::<PanelKeys>(),
        markdown::<PaperCurveKeys>(),
        values(),
    ];
    let missing: Vec<_> = tables.iter().filter(|table| !page.contains(*table)).map(String::as_str).collect();
    assert!(missing.is_empty(), "put this into docs/experiments.md:\n{}", missing.join("\n"));
}
