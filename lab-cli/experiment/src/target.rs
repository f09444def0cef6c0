//! The part of an experiment that says what is measured.

use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};

use analysis::text::suggestion;
use controllers::{Class, ClassRule, Criticality, NamedClasses};
use schemars::JsonSchema;
use service_core::mail::KINDS;
use spec::{ArashiSpec, ChecksumSpec, ConnectionSpec, Durability, HealthChecks, StageSpec, waiting_room::RoomsSpec};

use super::{
    client::{criticality_by_class, criticality_of_all},
    fields::{Fields, count_in, join},
    keys::{Table, by, choice, count, first_of, flag, free, keys_of, names, number, table, table_or_default, time},
    load::TIMES,
    mail::Mail,
    own_service::{OwnService, is_own, own_service},
    plan::{AppPlan, ArashiPlan, TargetPlan, Work},
    policy::{Policy, machine},
    problem::Problems,
    rate::per_second,
    raw::{Node, Value},
    stage::{EmulatedKeys, GenerationKeys, PoolKeys, SEQUENCES, emulated, generation, stage},
    tree::TreeKeys,
    waiting_room::{WaitingRoomKeys, waiting_room},
};

const IDLE: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(3600);

/// What a target serves.
#[derive(Debug, Clone, Copy, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub(super) enum AppName {
    Arashi,
    Checksum,
    Emulated,
    Tree,
    Generation,
    #[schemars(skip)]
    Own,
}

const APPS: &[(&str, AppName)] = &[
    ("arashi", AppName::Arashi),
    ("checksum", AppName::Checksum),
    ("emulated", AppName::Emulated),
    ("tree", AppName::Tree),
    ("generation", AppName::Generation),
];

/// Name of a service of one's own where keys say whose they are.
const OWN: &str = "own";
/// Keys that the proxy before such a service goes by.
const OF_PROXY: [&str; 4] = ["class", "criticality", "waiting_room", "retry_after"];

table! {
    /// What is measured. `of` names the apps that have a key. `own` is a service of your own: it has no `app` but a
    /// `url` or a `command`, and apart from these only `class`, `criticality` and `waiting_room`.
    pub(super) struct TargetKeys as "Target" {
        app: Option<AppName> = choice::<_, AppName>(APPS).shared(), "The service: web mail, a service with adjustable quality, service times by a law, several emulated services that call each other ([Several services](#several-services)), or, in virtual time alone, [token generation](#token-generation)";
        arashi = keys_of::<ArashiKeys>("arashi");
        checksum = keys_of::<ChecksumKeys>("checksum");
        answer = keys_of::<AnswerKeys>("checksum, emulated");
        emulated = keys_of::<EmulatedKeys>("emulated");
        tree = keys_of::<TreeKeys>("tree");
        generation = keys_of::<GenerationKeys>("generation");
        own = keys_of::<OwnService>(OWN);
        pool = keys_of::<PoolKeys>("");
        stages = free::<BTreeMap<String, StageKeys>>().example("{search: {workers: 1}}"), "Stages that differ from the others, by name";
        machines = free::<Vec<Policy>>(), "Machines of the catalogue: pool sizing, batching, monitors";
        class: ClassRule = by::<ClassKeys, _>(class).shared(), "Where a request's class is found. The lab's users send their class, unless it is 0, in the header that the target reads; no user sends a class cookie";
        criticality: BTreeMap<Class, Criticality> = by::<BTreeMap<u8, String>, _>(criticality_by_class).otherwise("CRITICAL").shared().example("{0: SHEDDABLE}"), "Importance of requests, by class, that do not state their own (`X-Criticality`)";
        health: HealthChecks = first_of(&[("outside", HealthChecks::Outside), ("inside", HealthChecks::Inside)]), "Who answers `GET /health`: the edge, whatever policies decide (`outside`), or dispatch, if the policy there admits it (`inside`). Policies learn nothing from it";
        backlog: Option<u32> = count(1..=65_535).example("128"), "Length of the kernel's listen queue";
        kept = keys_of::<ConnectionKeys>("");
        waiting_room: Option<RoomsSpec> = by::<WaitingRoomKeys, _>(waiting_room).otherwise("none"), "Waiting rooms before the service ([WebQ](front-doors.md)): a request that does not fit into the current second is told when to come back, by `Refresh`, with a token. In a tree, before the service that users ask, in virtual time alone. Elsewhere, live, there is one, a proxy before the service, whose counts are used";
        hosts: Vec<String> = by::<Vec<String>, _>(hosts).example("[mail.example]"), "Host names that it answers to, besides `localhost` and addresses";
    }

    /// What comes of a connection after an answer.
    struct ConnectionKeys as "Connection" for ConnectionSpec {
        keep_alive: bool = flag().or(true), "Keep connections open between requests";
        refusal_closes: bool = flag().or(false), "Close a connection after a refusal, as the SEDA papers' server does";
        retry_after: Option<Duration> = time(TIMES).example("2s"), "`Retry-After` of a refusal where the policy advises nothing, whole seconds, rounded up. Users obey it who have `users.retry_after`";
        idle_timeout: Duration = time(IDLE).or(ConnectionSpec::default().idle_timeout), "Longest time that a kept connection may be idle";
        connection_requests: u32 = count(0..=1_000_000_000).or(ConnectionSpec::default().connection_requests), "Most requests per connection, 0 for no limit. The last answer announces the end of the connection, and users open a new one";
    }

    /// Keys of the web mail.
    pub(super) struct ArashiKeys as "Arashi" {
        mail: Mail = table_or_default::<Mail>().shared(), "The generated mail: kept between runs, copied for each arm";
        database = choice::<_, String>(&[("sqlite", ())]).shared(), "Where the mail is kept";
        capacity = free::<String>().shared(), "The capacity to reach: before the first arm the lab searches for the work per request that gives it";
        work: Option<f64> = number(0.0..=1e6).otherwise(0).shared(), "Extra database operations per request, in place of `capacity`";
        work_weights: BTreeMap<String, f64> = by::<BTreeMap<String, f64>, _>(work_weights).otherwise("those of USITS'03, figure 9, at 16 users").example("{login: 1.2, show message: 1}"), "Extra work of each request type, relative to the others; types that are left out keep their own. `capacity` takes it into account";
        work_spread: f64 = number(0.0..=5.0).or(0.0).example("0.5"), "Spread of the extra work over mailboxes: each has a factor with mean 1, whose logarithm has this standard deviation. 0: all cost the same. `capacity` takes it into account";
        spec = keys_of::<ArashiSpecKeys>("");
    }

    /// How the web mail works.
    struct ArashiSpecKeys as "ArashiSpec" for ArashiSpec {
        connections: u32 = count(1..=256).or(4), "Connections to the database";
        session_in_links: bool = first_of(&[("cookie", false), ("link", true)]).key("session"), "Where the session key is: `link` as in the paper";
        full_text: bool = first_of(&[("substring", false), ("full-text", true)]).key("search"), "How search works: `substring` as in the paper";
        durability: Durability = first_of(&[("normal", Durability::Normal), ("full", Durability::Full)]), "What an acknowledged change survives: a kill of the process (`normal`), or a power failure too, at the cost of a sync per change (`full`). Do not compare results of different levels";
        stale: Duration = time(Duration::ZERO..=Duration::from_secs(86_400)).or(Duration::ZERO).otherwise("none").example("30s"), "Largest age of a copy that may answer a list (each user has its own copies, of the same page and order). With `on_refuse: degrade` it answers a refused list; with a policy that lowers the quality any list, while the quality of its stage is under 1. In virtual time a copy costs what a list costs without the database. 0: no copies. See [Degraded answers](#degraded-answers)";
    }

    /// Keys of the checksum service.
    pub(super) struct ChecksumKeys as "Checksum" for ChecksumSpec {
        rounds: u32 = count(1..=100_000).or(50), "Rounds at quality 1";
        fixed_rounds: u32 = count(0..=100_000).or(0), "Additional rounds that are always done, at any quality";
        reads: u32 = count(1..=100_000).or(100), "Reads per round";
        ..ChecksumSpec::default()
    }

    /// The answer of a synthetic service.
    pub(super) struct AnswerKeys as "Answer" {
        answer: Option<u32> = count(0..=1_000_000).in_unit("bytes").otherwise("8192, emulated 1024"), "Length of the answer";
    }

    /// One stage that differs from the others.
    pub(super) struct StageKeys as "Stage" {
        pool = keys_of::<PoolKeys>("").otherwise("as in `target`");
        criticality: Option<Criticality> = by::<String, _>(criticality_of_all).example("CRITICAL"), "Importance of requests from this stage on, whatever they stated: for its policy, and for calls on their behalf. At `dispatch`, for the policy there as well";
    }

    /// How a request's class is found: one of these.
    pub(super) struct ClassKeys as "Class" {
        header = free::<String>(), "A number in this header, or one of `values`";
        values = free::<BTreeMap<String, u8>>().example("{gold: 2, paid: 1}"), "Class by the header's value; all others are 0. The lab's users send these values";
        cookie = free::<String>().example("plan"), "A number in this cookie";
        address = free::<BTreeMap<String, u8>>().example("{127.1.0.0/16: 1}"), "By source address: the first prefix that fits, else 0";
        path = free::<BTreeMap<String, u8>>().example("{/search: 1}"), "By the start of path and query: the first that fits, else 0";
    }
}

/// Reads `target`.
pub fn target(node: &Node, problems: &Problems) -> Option<TargetPlan> {
    let fields = Fields::of_table::<TargetKeys>(node, "target", problems)?;
    let keys = TargetKeys::read(&fields);
    let own = is_own(&fields);
    match (fields.node("app"), own) {
        (Some(_), true) => {
            fields.problem("app", "a service of your own is no app of the lab's", "leave one of them out");
        }
        (None, false) => fields.missing("app", "arashi"),
        _ => {}
    }
    let name = if own { Some(AppName::Own) } else { keys.app };
    let stage_defaults = stage(&fields, &usual_stage(name));
    let app = name.and_then(|name| app(name, &fields, &stage_defaults));
    let graph = app.as_ref().map(AppPlan::graph);
    let known: Option<Vec<&str>> = graph.as_ref().map(|graph| graph.sized().collect());
    let mut stages = BTreeMap::new();
    for entry in fields.entries("stages", "write {search: {workers: 1}}") {
        let path = join("target.stages", &entry.key);
        if let Some(known) = known.as_ref().filter(|known| !known.contains(&entry.key.as_str())) {
            problems.add(&entry.place, &path, "there is no such stage", suggestion(&entry.key, known));
        }
        if let Some(fields) = Fields::of_table::<StageKeys>(&entry.node, &path, problems) {
            let StageKeys { criticality } = StageKeys::read(&fields);
            stages.insert(entry.key.clone(), StageSpec { criticality, ..stage(&fields, &stage_defaults) });
        }
    }
    // All of them are read before a wrong app ends it: a person sees every problem at once.
    let reports = matches!(app, Some(AppPlan::Tree(_)));
    let machines = fields.list("machines").iter().filter_map(|node| machine(node, reports, problems)).collect();
    if let (Some(_), Some(AppPlan::Tree(tree))) = (&keys.waiting_room, &app)
        && let Some(name) = tree.entry_of_several_tasks()
    {
        let hint = "it is before the service that users ask: give that one task, with more servers";
        fields.problem("waiting_room", format!("{name} has several tasks"), hint);
    }
    Some(TargetPlan {
        app: app?,
        waiting_room: keys.waiting_room,
        stage_defaults,
        stages,
        machines,
        class: keys.class,
        criticality: keys.criticality,
        health: keys.health,
        backlog: keys.backlog,
        kept: ConnectionKeys::read(&fields),
        hosts: keys.hosts,
    })
}

/// A stage of which nothing is said. A worker that takes several requests keeps them from servers that are free, so emulated
/// servers, whose capacity is to be known exactly, are given one at a time.
fn usual_stage(app: Option<AppName>) -> StageSpec {
    let usual = StageSpec::default();
    match app {
        Some(AppName::Emulated | AppName::Tree) => StageSpec { batch: 1, ..usual },
        Some(AppName::Generation) => StageSpec { workers: SEQUENCES, batch: 1, ..usual },
        _ => usual,
    }
}

fn hosts(fields: &Fields<'_>, key: &str) -> Vec<String> {
    let name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c));
    let mut hosts = Vec::new();
    for node in fields.list(key) {
        match &node.value {
            Value::Text(text) if name(text) => hosts.push(text.clone()),
            other => fields.problem(key, other.unexpected(), "write [mail.example]"),
        }
    }
    hosts
}

fn app(name: AppName, fields: &Fields<'_>, stage_defaults: &StageSpec) -> Option<AppPlan> {
    // Keys of another app are slips, not silently ignored.
    let word = APPS.get(name as usize).map_or(OWN, |(word, _)| *word);
    let (own, others): (Vec<_>, Vec<_>) = TargetKeys::rows()
        .into_iter()
        .filter(|row| !row.of.is_empty())
        .partition(|row| row.of.split(", ").any(|of| of == word));
    let own: Vec<_> = own.iter().map(|row| row.key).collect();
    for row in others.iter().filter(|row| fields.node(row.key).is_some()) {
        fields.problem(row.key, "does not belong to this app", format!("it has: {}", own.join(", ")));
    }
    if matches!(name, AppName::Own) {
        not_of_own(fields, &own);
    }
    let answer_bytes = |usual| AnswerKeys::read(fields).answer.unwrap_or(usual);
    Some(match name {
        AppName::Arashi => AppPlan::Arashi(arashi(fields)),
        AppName::Checksum => {
            AppPlan::Checksum(ChecksumSpec { answer_bytes: answer_bytes(8192), ..ChecksumKeys::read(fields) })
        }
        AppName::Emulated => AppPlan::Emulated(emulated(fields, answer_bytes(1024))?),
        AppName::Tree => AppPlan::Tree(super::tree::tree(fields, stage_defaults)?),
        AppName::Generation => AppPlan::Generation(generation(fields)?),
        AppName::Own => AppPlan::Own(own_service(fields)?),
    })
}

/// Notes settings that a target of the lab's can be told, and a service of somebody else's cannot.
fn not_of_own(fields: &Fields<'_>, own: &[&str]) {
    let rows = TargetKeys::rows().into_iter().filter(|row| row.of.is_empty() && !OF_PROXY.contains(&row.key));
    for row in rows.filter(|row| row.key != "app" && fields.node(row.key).is_some()) {
        let hint = format!("a service of your own has: {}, {}", own.join(", "), OF_PROXY.join(", "));
        fields.problem(row.key, "is for services of the lab's", hint);
    }
}

fn arashi(fields: &Fields<'_>) -> ArashiPlan {
    let keys = ArashiKeys::read(fields);
    let work = match (fields.node("capacity"), keys.work) {
        (Some(_), Some(_)) => {
            fields.problem("work", "capacity and work are two ways to set one knob", "keep one of them");
            Work::Operations(0.0)
        }
        (Some(_), None) => per_second(fields, "capacity", 1.0..=100_000.0, "write 100/s, from 1/s to 100000/s")
            .map_or(Work::Operations(0.0), Work::Capacity),
        (None, operations) => Work::Operations(operations.unwrap_or(0.0)),
    };
    let ArashiKeys { mail, work_weights, work_spread, .. } = keys;
    ArashiPlan { mail, work, work_weights, work_spread, spec: ArashiSpecKeys::read(fields) }
}

fn work_weights(fields: &Fields<'_>, key: &str) -> BTreeMap<String, f64> {
    let mut weights = BTreeMap::new();
    for entry in fields.entries(key, "write {login: 1.2, show message: 1}") {
        let name = entry.key.as_str();
        let inner = format!("{key}.{name}");
        match entry.node.value {
            _ if !KINDS.contains(&name) => {
                fields.problem(&inner, "there is no such type", suggestion(name, &KINDS));
            }
            Value::Number(weight) if (0.0..=1e6).contains(&weight) => _ = weights.insert(name.to_owned(), weight),
            ref other => fields.problem(&inner, other.unexpected(), "write a number from 0 on"),
        }
    }
    weights
}

fn class(fields: &Fields<'_>, _: &str) -> ClassRule {
    let keys = names::<ClassKeys>();
    let Some(inner) = fields.fields("class", &keys) else { return ClassRule::None };
    let named = inner.node("values").is_some();
    let given: Vec<&str> = keys.into_iter().filter(|key| *key != "values" && inner.node(key).is_some()).collect();
    let [key] = given[..] else {
        fields.problem("class", "expected one of header, cookie, address and path", "write {header: User-Class}");
        return ClassRule::None;
    };
    if named && key != "header" {
        inner.problem("values", "values are those of a header", "write {header: X-Plan, values: {gold: 2, paid: 1}}");
    }
    let rule = match key {
        "header" if named => inner
            .text(key)
            .zip(classes_by(&inner, "values"))
            .map(|(header, values)| ClassRule::Named(NamedClasses { header, values: values.into_iter().collect() })),
        "header" => inner.text(key).map(ClassRule::Header),
        "cookie" => inner.text(key).map(ClassRule::Cookie),
        "address" => classes_by(&inner, key).map(ClassRule::Address),
        _ => classes_by(&inner, key).map(ClassRule::Path),
    };
    let Some(rule) = rule else { return ClassRule::None };
    for bad in rule.read().err().unwrap_or_default() {
        inner.problem(key, bad.message, "");
    }
    rule
}

/// `{127.1.0.0/16: 1, 127.0.0.0/8: 0}`: the first that fits counts.
fn classes_by(fields: &Fields<'_>, key: &str) -> Option<Vec<(String, u8)>> {
    let example = match key {
        "path" => "{/search: 1, /: 0}",
        "values" => "{gold: 2, paid: 1}",
        _ => "{127.1.0.0/16: 1, 127.0.0.0/8: 0}",
    };
    let Value::Table(entries) = &fields.node(key)?.value else {
        return fields.wrong(key, "expected a table of classes", format!("write {example}"));
    };
    let class = |node: &Node| count_in(node, 0..=255).ok().map(|class| class as u8);
    let rules: Option<Vec<_>> = entries.iter().map(|entry| Some((entry.key.clone(), class(&entry.node)?))).collect();
    if rules.is_none() {
        fields.problem(key, "a class is a whole number from 0 to 255", format!("write {example}"));
    }
    rules
}
