//! The part of an experiment that says what is measured.

use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};

use analysis::text::suggestion;
use controllers::{Class, Criticality, catalogue::parse_time};
use schemars::JsonSchema;
use target_app::{
    spec::{
        ChecksumSpec, ClassRule, Discipline, Durability, EdgeSpec, EmulatedSpec, Health, OnRefuse, ServiceTime,
        StageSpec,
    },
    synthetic::Law,
};

use super::{
    arms::{self, Policy},
    client::{by_class, criticality_by_class, criticality_of_all},
    fields::{Fields, count_in, join},
    keys::{Table, by, choice, count, first_of, flag, free, keys_of, names, number, table, table_or_default, time},
    plan::{App, Arashi, Mail, Target, Work},
    problem::Problems,
    raw::{Node, Value},
    refusal::{OnRefuseKey, refusal},
    tree::TreeKeys,
    users::rate,
};

const IDLE: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(3600);
const SERVICE: RangeInclusive<Duration> = Duration::from_micros(1)..=Duration::from_secs(60);
/// Most values of an empirical law.
const MOST_VALUES: usize = 10_000;

/// What a target serves.
#[derive(Debug, Clone, Copy, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum AppName {
    Arashi,
    Checksum,
    Emulated,
    Tree,
}

const APPS: &[(&str, AppName)] = &[
    ("arashi", AppName::Arashi),
    ("checksum", AppName::Checksum),
    ("emulated", AppName::Emulated),
    ("tree", AppName::Tree),
];

table! {
    /// What is measured.
    pub(super) struct TargetKeys as "Target" {
        app: Option<AppName> = choice::<_, AppName>(APPS).wanted("arashi"), "What it serves: web mail, a service with a quality knob, service times by a law, or several emulated services that call each other ([Several services](#several-services))";
        arashi = keys_of::<ArashiKeys>("arashi");
        checksum = keys_of::<ChecksumKeys>("checksum");
        answer = keys_of::<AnswerKeys>("checksum, emulated");
        emulated = keys_of::<EmulatedKeys>("emulated");
        tree = keys_of::<TreeKeys>("tree");
        pool = keys_of::<PoolKeys>("");
        stages = free::<BTreeMap<String, StageKeys>>(), "Stages that differ, by name: `{search: {workers: 1}}`";
        machines = free::<Vec<Policy>>(), "Pool sizing, batching, monitors (`lab policies`): `[thread-pool]`";
        class: ClassRule = by::<ClassKeys, _>(class), "Where a request's class is found; the lab's users say their class, unless it is 0, in the header that the target reads, and no user sends a class cookie";
        criticality: BTreeMap<Class, Criticality> = by::<BTreeMap<u8, String>, _>(criticality_by_class).otherwise("CRITICAL"), "How important requests of a class are that do not say so themselves (`X-Criticality`): `{0: SHEDDABLE, 3: CRITICAL_PLUS}`";
        health: Health = first_of(&[("outside", Health::Outside), ("inside", Health::Inside)]), "Who answers `GET /health`: the edge, whatever policies say (`outside`), or dispatch, if the policy there lets it in; policies learn nothing from it";
        backlog: Option<u32> = count(1..=65_535), "Length of the kernel's listen queue";
        keep_alive: bool = flag().or(true), "Keep connections open between requests";
        idle_timeout: Duration = time(IDLE).or(EdgeSpec::default().idle_timeout), "Longest time that a kept connection may be idle";
        connection_requests: u32 = count(0..=1_000_000_000).or(EdgeSpec::default().connection_requests), "Most requests of one connection, 0 for any number; the last answer says that the connection ends, and users open a new one";
        hosts: Vec<String> = by::<Vec<String>, _>(hosts), "Names that it answers to, with `localhost` and addresses";
    }

    /// Keys of the web mail.
    pub(super) struct ArashiKeys as "Arashi" {
        mail: MailKeys = table_or_default(), "The generated corpus: kept between runs, copied for each arm";
        database = choice::<_, String>(&[("sqlite", ())]), "Where the mail is kept";
        capacity = free::<String>(), "Solve the work knob for this rate before the first arm: `100/s`";
        work: Option<f64> = number(0.0..=1e6).otherwise(0), "Extra database operations a request, instead of `capacity`";
        connections: u32 = count(1..=256).or(4), "Connections to the database";
        session: bool = first_of(&[("cookie", false), ("link", true)]), "Where the session key is: `link` as in the paper";
        search: bool = first_of(&[("substring", false), ("full-text", true)]), "How search works: `substring` as in the paper";
        durability: Durability = first_of(&[("normal", Durability::Normal), ("full", Durability::Full)]), "What an acknowledged change survives: a kill of the process (`normal`), or a power cut as well, at the cost of a sync a change; results at different levels do not compare";
        stale: Duration = time(Duration::ZERO..=Duration::from_secs(86_400)).or(Duration::ZERO).otherwise("none"), "A list is answered with a copy that is at most so old, if there is one (each user's own, of the same page and order): with `on_refuse: degrade` one that is refused, and with a policy that lowers the quality any, as long as the quality of its stage is under 1. A copy costs a plant what a list costs without the database. 0: no copies. See [Degraded answers](#degraded-answers)";
    }

    /// Whose mail.
    pub(super) struct MailKeys as "Mail" {
        folders = choice::<_, String>(&[("generated", ())]), "Where folders come from";
        seed: u64 = count(0..=1 << 53).or(7), "Root of the corpus' randomness";
        accounts: u32 = count(1..=100_000).or(100), "Accounts; users with the same account share its mail";
        inbox: Option<u32> = count(1..=1_000_000), "Messages in every inbox, for long runs whose users would empty small ones";
    }

    /// Keys of the checksum service.
    pub(super) struct ChecksumKeys as "Checksum" {
        rounds: u32 = count(1..=100_000).or(50), "Rounds at quality 1";
        fixed_rounds: u32 = count(0..=100_000).or(0), "Rounds more that are done in full at any quality";
        reads: u32 = count(1..=100_000).or(100), "Reads a round";
    }

    /// The answer of a synthetic service.
    pub(super) struct AnswerKeys as "Answer" {
        answer: Option<u32> = count(0..=1_000_000).in_unit("bytes").otherwise("8192, emulated 1024"), "Length of the answer";
    }

    /// Emulated service times.
    pub(super) struct EmulatedKeys as "Emulated" {
        service: Option<ServiceTime> = by::<serde_json::Value, _>(service).required(), "Service times: `10ms`, `{exponential: 10ms}`, `{lognormal: {median, sigma}}`, `{pareto: {min, alpha}}`, `{uniform: {min, max}}`, `{bimodal: {short, long, long_share}}`, `{empirical: [5ms, 90ms]}`";
        servers: u32 = count(1..=1024).or(1), "Servers that work side by side; no more are busy than there are `workers`";
        discipline: Discipline = first_of(&[("fifo", Discipline::Fifo), ("processor-sharing", Discipline::ProcessorSharing)]), "How servers share the work";
        degradable: f64 = number(0.0..=1.0).or(0.0), "Share of the work that shrinks with the quality that a policy sets";
        class_work: BTreeMap<Class, f64> = by::<BTreeMap<String, f64>, _>(class_work), "By class, how many times the drawn work a request is, 0.001 to 1000: `{2: 5}`; 1 for the others. Capacity (`0.5x`) is reckoned with 1";
    }

    /// Queue, workers and refusals of a stage.
    pub(super) struct PoolKeys as "Pool" {
        queue: Option<u32> = count(1..=1_000_000).otherwise(StageSpec::default().queue), "Longest queue of a stage";
        workers: Option<u32> = count(1..=1024).otherwise(StageSpec::default().workers), "Workers of a stage";
        batch: Option<u32> = count(1..=10_000).otherwise(StageSpec::default().batch), "Most jobs that a worker takes at once";
        on_refuse: Option<OnRefuse> = by::<OnRefuseKey, _>(on_refuse).otherwise("reject"), "What is done with a request that the next stage refuses (what a policy at `accept` or of scope `single` refuses gets its 503): a 503 page (`reject`); wait, with one of the workers of dispatch (2, and 10 000 places before them; `stages: {dispatch: …}`), so that what comes behind waits too, whatever its stage (`block`); a cheap answer (`degrade`); or with `{redirect: URL}` a 307 to the same page on another node (`http://127.0.0.1:8081`: scheme, host and port). See [Redirects](#redirects)";
        drop_abandoned: Option<bool> = flag().otherwise(false), "Do not work on requests whose client has gone";
    }

    /// A stage that differs.
    pub(super) struct StageKeys as "Stage" {
        pool = keys_of::<PoolKeys>("").otherwise("as in `target`");
        criticality: Option<Criticality> = by::<String, _>(criticality_of_all), "How important jobs are from this stage on, whatever they said: for its policy, and for calls on their behalf. At `dispatch`, for the policy there as well";
    }

    /// How a request's class is found: one of these.
    pub(super) struct ClassKeys as "Class" {
        header = free::<String>(), "A number in this header: `User-Class`";
        cookie = free::<String>(), "A number in this cookie";
        address = free::<BTreeMap<String, u8>>(), "By source address: `{127.1.0.0/16: 1}`, the first prefix that fits, else 0";
        path = free::<BTreeMap<String, u8>>(), "By the start of path and query: `{/search: 1}`, the first that fits, else 0";
    }
}

/// Reads `target`.
pub fn target(node: &Node, problems: &Problems) -> Option<Target> {
    let fields = Fields::of_table::<TargetKeys>(node, "target", problems)?;
    let keys = TargetKeys::read(&fields);
    let stage_defaults = stage(&fields, &StageSpec::default());
    let app = keys.app.and_then(|name| app(name, &fields, &stage_defaults));
    let graph = app.as_ref().map(App::graph);
    let known: Option<Vec<&str>> = graph.as_ref().map(|graph| graph.sized().collect());
    let mut stages = BTreeMap::new();
    if let Some(Node { value: Value::Table(entries), .. }) = fields.node("stages") {
        for entry in entries {
            let path = join("target.stages", &entry.key);
            if let Some(known) = known.as_ref().filter(|known| !known.contains(&entry.key.as_str())) {
                problems.add(&entry.place, &path, "there is no such stage", suggestion(&entry.key, known));
            }
            if let Some(fields) = Fields::of_table::<StageKeys>(&entry.node, &path, problems) {
                let StageKeys { criticality } = StageKeys::read(&fields);
                stages.insert(entry.key.clone(), StageSpec { criticality, ..stage(&fields, &stage_defaults) });
            }
        }
    } else if fields.node("stages").is_some() {
        fields.problem("stages", "a table is wanted here", "write {search: {workers: 1}}");
    }
    // All of them are read before a wrong app ends it: a person sees every problem at once.
    let reports = matches!(app, Some(App::Tree(_)));
    let machines = fields.list("machines").iter().filter_map(|node| arms::machine(node, reports, problems)).collect();
    Some(Target {
        app: app?,
        stage_defaults,
        stages,
        machines,
        class: keys.class,
        criticality: keys.criticality,
        health: keys.health,
        backlog: keys.backlog,
        keep_alive: keys.keep_alive,
        idle_timeout: keys.idle_timeout,
        connection_requests: keys.connection_requests,
        hosts: keys.hosts,
    })
}

fn hosts(fields: &Fields<'_>, key: &str) -> Vec<String> {
    let name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c));
    let mut hosts = Vec::new();
    for node in fields.list(key) {
        match &node.value {
            Value::Text(text) if name(text) => hosts.push(text.clone()),
            other => fields.problem(key, format!("not {}", other.shown()), "write [mail.example]"),
        }
    }
    hosts
}

fn app(name: AppName, fields: &Fields<'_>, stage_defaults: &StageSpec) -> Option<App> {
    // Keys of another app are slips, not silently ignored.
    let (word, _) = APPS[name as usize];
    let (own, others): (Vec<_>, Vec<_>) = TargetKeys::rows()
        .into_iter()
        .filter(|row| !row.of.is_empty())
        .partition(|row| row.of.split(", ").any(|of| of == word));
    let own: Vec<_> = own.iter().map(|row| row.key).collect();
    for row in others.iter().filter(|row| fields.node(row.key).is_some()) {
        fields.problem(row.key, "does not belong to this app", format!("it has: {}", own.join(", ")));
    }
    let answer_bytes = |usual| AnswerKeys::read(fields).answer.unwrap_or(usual);
    Some(match name {
        AppName::Arashi => App::Arashi(arashi(fields)),
        AppName::Checksum => {
            let ChecksumKeys { rounds, fixed_rounds, reads } = ChecksumKeys::read(fields);
            App::Checksum(ChecksumSpec { rounds, fixed_rounds, reads, answer_bytes: answer_bytes(8192) })
        }
        AppName::Emulated => App::Emulated(emulated(fields, answer_bytes(1024))?),
        AppName::Tree => App::Tree(super::tree::tree(fields, stage_defaults)?),
    })
}

fn arashi(fields: &Fields<'_>) -> Arashi {
    let keys = ArashiKeys::read(fields);
    let work = match (fields.node("capacity"), keys.work) {
        (Some(_), Some(_)) => {
            fields.problem("work", "capacity and work are two ways to set one knob", "keep one of them");
            Work::Operations(0.0)
        }
        (Some(node), None) => match rate(node) {
            Some(super::plan::Rate::PerSecond(rate)) if (1.0..=100_000.0).contains(&rate) => Work::Capacity(rate),
            _ => {
                fields.problem("capacity", format!("not {}", node.value.shown()), "write 100/s, from 1/s to 100000/s");
                Work::Operations(0.0)
            }
        },
        (None, operations) => Work::Operations(operations.unwrap_or(0.0)),
    };
    let MailKeys { seed, accounts, inbox } = keys.mail;
    Arashi {
        mail: Mail { seed, accounts, inbox },
        work,
        connections: keys.connections,
        session_in_links: keys.session,
        full_text: keys.search,
        durability: keys.durability,
        stale: keys.stale,
    }
}

/// Emulated servers, of a target or of one of its services.
pub(super) fn emulated(fields: &Fields<'_>, answer_bytes: u32) -> Option<EmulatedSpec> {
    let EmulatedKeys { service, servers, discipline, degradable, class_work } = EmulatedKeys::read(fields);
    let class_work = class_work.into_iter().collect();
    Some(EmulatedSpec { service: service?, servers, discipline, answer_bytes, degradable, class_work })
}

fn class_work(fields: &Fields<'_>, key: &str) -> BTreeMap<Class, f64> {
    by_class(fields, key, "{2: 5}", times)
}

/// How many times the usual work.
fn times(node: &Node) -> Result<f64, (String, String)> {
    match &node.value {
        Value::Number(times) if (0.001..=1000.0).contains(times) => Ok(*times),
        other => Err((format!("not {}", other.shown()), "a number between 0.001 and 1000".to_owned())),
    }
}

fn service(fields: &Fields<'_>, _: &str) -> Option<ServiceTime> {
    let law = service_law(fields)?;
    Law::new(&law).map_err(|error| fields.problem("service", error.to_string(), "")).ok()?;
    Some(law)
}

fn service_law(fields: &Fields<'_>) -> Option<ServiceTime> {
    let example = "service: 10ms, or {exponential: 10ms}, {lognormal: {median: 10ms, sigma: 1}}, \
                   {pareto: {min: 5ms, alpha: 2}}, {uniform: {min: 5ms, max: 15ms}}, \
                   {bimodal: {short: 5ms, long: 100ms, long_share: 0.05}}, {empirical: [5ms, 7ms, 90ms]}";
    let Some(node) = fields.node("service") else {
        fields.missing("service", "10ms");
        return None;
    };
    match &node.value {
        Value::Text(text) => match parse_time(text).filter(|time| SERVICE.contains(time)) {
            Some(time) => Some(ServiceTime::Constant(time)),
            None => {
                fields.problem("service", format!("{text:?} is no service time"), example);
                None
            }
        },
        Value::Table(entries) if entries.len() == 1 => law(fields, &entries[0].key, &entries[0].node, example),
        other => {
            fields.problem("service", format!("not {}", other.shown()), example);
            None
        }
    }
}

fn law(fields: &Fields<'_>, name: &str, node: &Node, example: &str) -> Option<ServiceTime> {
    let path = join(&fields.path("service"), name);
    let of = |keys: &[&str]| Fields::of(node, &path, keys, fields.problems());
    match name {
        "exponential" => match &node.value {
            Value::Text(text) if parse_time(text).is_some_and(|time| SERVICE.contains(&time)) => {
                Some(ServiceTime::Exponential { mean: parse_time(text)? })
            }
            _ => Some(ServiceTime::Exponential { mean: of(&["mean"])?.time("mean", SERVICE)? }),
        },
        "lognormal" => {
            let inner = of(&["median", "sigma"])?;
            Some(ServiceTime::Lognormal {
                median: inner.time("median", SERVICE)?,
                sigma: inner.number("sigma", 0.0..=5.0)?,
            })
        }
        "pareto" => {
            let inner = of(&["min", "alpha"])?;
            Some(ServiceTime::Pareto { min: inner.time("min", SERVICE)?, alpha: inner.number("alpha", 1.01..=100.0)? })
        }
        "uniform" => {
            let inner = of(&["min", "max"])?;
            Some(ServiceTime::Uniform { min: inner.time("min", SERVICE)?, max: inner.time("max", SERVICE)? })
        }
        "bimodal" => {
            let inner = of(&["short", "long", "long_share"])?;
            Some(ServiceTime::Bimodal {
                short: inner.time("short", SERVICE)?,
                long: inner.time("long", SERVICE)?,
                long_share: inner.number("long_share", 0.0..=1.0)?,
            })
        }
        "empirical" => match &node.value {
            Value::List(nodes) if nodes.len() <= MOST_VALUES => {
                let one = |node: &Node| match &node.value {
                    Value::Text(text) => parse_time(text).filter(|time| SERVICE.contains(time)),
                    _ => None,
                };
                let times: Option<Vec<_>> = nodes.iter().map(one).collect();
                if times.is_none() {
                    fields.problem("service", "not all of these are service times", example);
                }
                times.map(ServiceTime::Empirical)
            }
            _ => {
                fields.problem("service", format!("a list of up to {MOST_VALUES} times is wanted here"), example);
                None
            }
        },
        _ => {
            fields.problem("service", format!("{name:?} is no law of service times"), example);
            None
        }
    }
}

pub(super) fn stage(fields: &Fields<'_>, otherwise: &StageSpec) -> StageSpec {
    let PoolKeys { queue, workers, batch, on_refuse, drop_abandoned } = PoolKeys::read(fields);
    StageSpec {
        queue: queue.unwrap_or(otherwise.queue),
        workers: workers.unwrap_or(otherwise.workers),
        batch: batch.unwrap_or(otherwise.batch),
        drop_abandoned: drop_abandoned.unwrap_or(otherwise.drop_abandoned),
        on_refuse: on_refuse.unwrap_or_else(|| otherwise.on_refuse.clone()),
        criticality: otherwise.criticality,
    }
}

fn on_refuse(fields: &Fields<'_>, key: &str) -> Option<OnRefuse> {
    refusal(fields.node(key)?).map_err(|(message, hint)| fields.problem(key, message, hint)).ok()
}

fn class(fields: &Fields<'_>, _: &str) -> ClassRule {
    let keys = names::<ClassKeys>();
    let Some(inner) = fields.fields("class", &keys) else { return ClassRule::None };
    let given: Vec<&str> = keys.into_iter().filter(|key| inner.node(key).is_some()).collect();
    let [key] = given[..] else {
        fields.problem("class", "one of header, cookie, address and path is wanted", "write {header: User-Class}");
        return ClassRule::None;
    };
    let rule = match key {
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
    let example = if key == "path" { "{/search: 1, /: 0}" } else { "{127.1.0.0/16: 1, 127.0.0.0/8: 0}" };
    let Value::Table(entries) = &fields.node(key)?.value else {
        fields.problem(key, "a table of classes is wanted here", format!("write {example}"));
        return None;
    };
    let class = |node: &Node| count_in(node, 0..=255).ok().map(|class| class as u8);
    let rules: Option<Vec<_>> = entries.iter().map(|entry| Some((entry.key.clone(), class(&entry.node)?))).collect();
    if rules.is_none() {
        fields.problem(key, "a class is a whole number from 0 to 255", format!("write {example}"));
    }
    rules
}
