//! The reference of keys, `docs/reference/keys.md`: every table of an experiment file with its keys, made of their rows.

use std::fmt::Write as _;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use super::{
    arms::ArmKeys,
    client::{ClientKeys, GroupKeys},
    exported_metrics::MetricsKeys,
    figure::{FigureKeys, PanelKeys, PaperCurveKeys},
    hindsight::BestStaticKeys,
    keys::{Row, Table},
    load::{self, LoadKeys, PhaseKeys},
    paths::RequestKeys,
    pauses,
    platform::{ApplicationKeys, PlatformKeys, SlaTierKeys},
    read::{CompareKeys, ExperimentKeys, ObjectiveKeys},
    recording::TraceKeys,
    refusal::RedirectKeys,
    schema,
    script::{BranchKeys, CheckKeys, ExtractKeys, StepKeys, TestPlanKeys},
    simulation::{CostKeys, FaultKeys, LinkKeys, SimulationKeys},
    stage,
    target::{ClassKeys, MailKeys, StageKeys, TargetKeys},
    thresholds::ThresholdKeys,
    tree::{CallChangeKeys, CallKeys, ServiceKeys, SlowKeys},
    users::{self, PatienceKeys, TroubleKeys, UsersKeys},
    waiting_room::WaitingRoomKeys,
};

mod examples;

/// A table of an experiment file.
#[derive(Debug)]
struct Section {
    /// Where it is, as a path of keys.
    path: &'static str,
    about: &'static str,
    /// The name of its table in the JSON Schema.
    table: String,
    rows: Vec<Row>,
}

fn section<T: Table + JsonSchema>(path: &'static str, about: &'static str) -> Section {
    Section { path, about, table: T::schema_name().into_owned(), rows: T::rows() }
}

/// All tables, from the whole file to its parts.
fn sections() -> Vec<Section> {
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
        section::<MailKeys>("target.mail", "The generated mail of `arashi`."),
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
        section::<CallKeys>("target.services.NAME.calls[]", "A call is the name of a service, or a table."),
        section::<MetricsKeys>(
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
        section::<CallChangeKeys>(
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
        section::<CostKeys>(
            "virtual.costs",
            "CPU times of a whole core, and memory. Nothing costs anything at an emulated server unless it is given here.",
        ),
        section::<LinkKeys>("virtual.link", "The network between users and service."),
        section::<FaultKeys>("virtual.faults[]", "Either `capacity` or `latency`."),
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
        section::<users::MixedKeys>("connections: {keep: …}", "Some users keep their connection."),
        section::<GroupKeys>("scope: {group: …}", "Users that share a policy."),
        section::<RedirectKeys>("on_refuse: {redirect: …}", "Where a refused request is sent."),
    ]
}

const HEAD: &str = "\
# Keys of an experiment file

Generated from the program: do not edit. `INSTA_UPDATE=always cargo test --workspace --test reference` writes it anew.

Unknown keys are errors. Durations are written `20ms`, `5s`, `15m`; sizes `10k`, `1m`; rates `100/s` or, as a multiple of the capacity, \
`0.5x`; shares are numbers from 0 to 1. A key in **bold** is required. Most examples are taken from the experiments of the library. \
`lab schema experiment` prints the same as a JSON Schema, for completion in editors.
";

/// The page.
pub fn keys() -> String {
    let schema = schema::experiment().to_value();
    let sections = sections();
    let examples = examples::of(&sections);
    let mut page = HEAD.to_owned();
    page.push_str("\n| section | what it holds |\n|---|---|\n");
    for Section { path, about, .. } in &sections {
        let heading = heading(path);
        let _ = writeln!(
            page,
            "| [{heading}](#{}) | {} |",
            anchor(&heading),
            about.split_inclusive(". ").next().unwrap_or(about).trim()
        );
    }
    for (section, examples) in sections.iter().zip(examples) {
        let _ = write!(page, "\n## {}\n\n{}\n\n", heading(section.path), section.about);
        let with_of = section.rows.iter().any(|row| !row.of.is_empty());
        let of_head = if with_of { ("of | ", "---|") } else { ("", "") };
        let _ = writeln!(page, "| key | {}type | values | default | example | meaning |", of_head.0);
        let _ = writeln!(page, "|---|{}---|---|---|---|---|", of_head.1);
        for (row, example) in section.rows.iter().zip(examples) {
            let key = if row.required { format!("**`{}`**", row.key) } else { format!("`{}`", row.key) };
            let of = if with_of { format!("{} | ", row.of) } else { String::new() };
            let kind = kind(row, &schema["$defs"], &sections);
            let (values, about) = (in_cell(&row.values), in_cell(&linked(row.about)));
            let default = default(row);
            let _ = writeln!(page, "| {key} | {of}{kind} | {values} | {default} | {} | {about} |", in_code(&example));
        }
    }
    page
}

fn heading(path: &str) -> String {
    if path.is_empty() { "The file".to_owned() } else { format!("`{path}`") }
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase().chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c)).collect::<String>();
    kept.replace(' ', "-")
}

fn default(row: &Row) -> String {
    match row.default.as_str() {
        _ if row.required => "required".to_owned(),
        "" => "none".to_owned(),
        text if text.contains(' ') || row.kind.is_empty() && !text.starts_with(['[', '/']) => in_cell(&linked(text)),
        "none" => "none".to_owned(),
        text if text.starts_with('`') => text.to_owned(),
        text => in_code(text),
    }
}

/// The type of a row's values; tables are links to their section.
fn kind(row: &Row, definitions: &Value, sections: &[Section]) -> String {
    if row.kind.is_empty() {
        kind_of(&row.described_schema(&mut SchemaGenerator::default()), definitions, sections)
    } else {
        row.kind.to_owned()
    }
}

fn kind_of(schema: &Value, definitions: &Value, sections: &[Section]) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        let of_table = sections.iter().find(|section| section.table == name);
        return match (of_table, name) {
            (Some(section), _) => format!("[table](#{})", anchor(&heading(section.path))),
            (None, "Policy" | "Arm") => "[policy](policies.md)".to_owned(),
            (None, "ServiceLaw" | "PauseLaw") => "law".to_owned(),
            (None, name) => kind_of(&definitions[name], definitions, sections),
        };
    }
    for several in ["anyOf", "oneOf"] {
        if let Some(shapes) = schema[several].as_array() {
            let mut words: Vec<String> = Vec::new();
            for word in shapes.iter().map(|shape| kind_of(shape, definitions, sections)).filter(|word| word != "null") {
                if !words.contains(&word) {
                    words.push(word);
                }
            }
            return words.join(" or ");
        }
    }
    let word = match &schema["type"] {
        Value::Array(words) => words.iter().find(|word| **word != "null").and_then(Value::as_str),
        word => word.as_str(),
    };
    match word {
        Some("array") => format!("list of {}", plural(&kind_of(&schema["items"], definitions, sections))),
        Some("object") if !values_of(schema).is_null() => {
            format!("map to {}", plural(&kind_of(values_of(schema), definitions, sections)))
        }
        Some("object") => "table".to_owned(),
        Some("string") if schema["enum"].is_array() => "word".to_owned(),
        Some("string") if schema["pattern"].is_string() => "duration".to_owned(),
        Some(word) => word.to_owned(),
        None => "any".to_owned(),
    }
}

/// The shape of a map's values, whatever its keys are; null for a table with keys of its own.
fn values_of(schema: &Value) -> &Value {
    let of_patterns = schema["patternProperties"].as_object().and_then(|patterns| patterns.values().next());
    of_patterns.unwrap_or(match &schema["additionalProperties"] {
        any @ Value::Object(_) => any,
        _ => &Value::Null,
    })
}

fn plural(words: &str) -> String {
    let one = |word: &str| match (word.strip_prefix("[table]"), word.strip_prefix("[policy]")) {
        (Some(link), _) => format!("[tables]{link}"),
        (_, Some(link)) => format!("[policies]{link}"),
        _ if word == "any" => "values".to_owned(),
        _ => format!("{word}s"),
    };
    words.split(" or ").map(one).collect::<Vec<_>>().join(" or ")
}

/// Links of a row, which are written as from `docs/`.
fn linked(text: &str) -> String {
    let of_sections = text.replace("](#", "](../experiments.md#");
    let pages = ["validity", "fidelity", "traces", "front-doors", "your-service"];
    pages.iter().fold(of_sections, |text, page| text.replace(&format!("]({page}.md"), &format!("](../{page}.md")))
}

/// A bar ends a cell.
fn in_cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn in_code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{}`", in_cell(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_an_example() {
        let sections = sections();
        let missing: Vec<String> = sections
            .iter()
            .zip(examples::of(&sections))
            .flat_map(|(section, examples)| {
                let of = |(row, example): (&Row, String)| {
                    example.is_empty().then(|| format!("{}: {}", section.path, row.key))
                };
                section.rows.iter().zip(examples).filter_map(of).collect::<Vec<_>>()
            })
            .collect();
        assert!(missing.is_empty(), "declare one with .example(…): {missing:#?}");
    }

    #[test]
    fn links_lead_to_headings() {
        let page = keys();
        let headings: Vec<String> = page.lines().filter_map(|line| line.strip_prefix("## ")).map(anchor).collect();
        let links: Vec<&str> = page.split("](#").skip(1).filter_map(|rest| rest.split(')').next()).collect();
        assert!(links.len() > 60, "{}", links.len());
        for link in links {
            assert!(headings.iter().any(|heading| heading == link), "{link}");
        }
    }
}
