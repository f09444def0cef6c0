//! The part of an experiment that says who sends, and when.

use std::{collections::BTreeMap, ops::RangeInclusive, path::PathBuf, time::Duration};

use controllers::{Class, Criticality, catalogue::parse_time};
use schemars::JsonSchema;
use traces::Think;
use workloads::plan::{Behaviour, ConnectionHabit, FailureRule, Marks, Patience, PreviousPage};

use super::{
    client::{client_key, criticality_by_class, customer_by_class},
    fields::Fields,
    keys::{
        Case, Either, Table, by, choice, count, first_of, flag, free, number, one_of, read_one_of, shapes, table, time,
    },
    load::{PhaseKeys, TIMES, phases},
    named_file,
    paths::{PathsKey, paths},
    plan::{ClientPolicy, Model, UsersPlan},
    policy::Policy,
    problem::Problems,
    raw::{Node, Value},
    recording::{TraceKey, recording},
};

const ANY_TIME: RangeInclusive<Duration> = Duration::ZERO..=Duration::MAX;
const PAUSES: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(3600);

table! {
    /// Who sends.
    pub(super) struct UsersKeys as "Users" {
        model = free::<String>(), "`arashi` (figure 46 of the thesis), `url`, or the path of a user model; not needed with a `trace`";
        trace = free::<TraceKey>(), "Recorded sessions in place of drawn ones: a file, or `{file: mail.trace.zst, pace: clock, speed: 10, from: 60s, for: 5m, copies: 3, sample: 0.5}`; `pace` is `clock` or `sessions` ([traces](traces.md))";
        path = free::<String>().otherwise("/"), "url: what is asked for";
        paths = free::<PathsKey>(), "url: several requests with their weights, in place of `path`: `[{name: list, path: /items, weight: 8}, {name: buy, method: POST, path: /buy, body: '{}', headers: {Content-Type: application/json}}]`, a file with such a list under `requests:`, a HAR file of a browser, or an access log of a web server (its GET requests)";
        previous_page: Option<PreviousPage> = choice::<_, String>(PREVIOUS_PAGE).otherwise("as in the trace that the model was fitted to, else literal"), "Where users go after a delete or refile: the very page, or the list";
        think = free::<Either<ZeroOrTime, PauseLaw>>().otherwise("the model's own, page by page or transition by transition"), "Pauses: `20ms`, `{exponential: 5s}`, `{uniform: {min, max}}`, `{lognormal: {median, sigma}}`";
        timeout: Duration = time(TIMES).or(Duration::from_secs(60)), "Longest wait for an answer";
        connect_timeout: Duration = time(TIMES).or(Duration::from_secs(10)), "Longest wait for a connection";
        drain: Duration = time(PAUSES).or(Duration::from_secs(10)), "Longest wait after the last phase for what is in flight";
        on_reject: FailureRule = by::<TroubleKeys, _>(trouble).otherwise("`{then: login, wait: 5s}`"), "What a user does that is refused. Whatever is written here, a user whose connection is refused or lost backs off, up to 1 s: [validity.md](validity.md#a-service-that-is-down)";
        on_failure: FailureRule = by::<TroubleKeys, _>(trouble).otherwise("`{then: login, wait: 5s}`"), "What a user does whose request fails";
        patience: Option<Patience> = by::<PatienceKeys, _>(patience).otherwise("without end"), "How long a user waits, and what comes then";
        redirects: u32 = count(0..=50).or(Behaviour::default().redirects), "Most redirects in a row that are followed";
        refresh: bool = flag().or(true), "Follow `Refresh`";
        retry_after: Option<Duration> = time(TIMES), "Wait as long as `Retry-After` says, up to this";
        // A budget of all requests is none.
        retry_budget: Option<f64> = number(0.0..=0.999), "Most retries, as a share of requests";
        heed_dont_retry: bool = flag().or(true), "Not to try the same again after an answer with `X-Retry: never`";
        connections: ConnectionHabit = by::<Either<String, MixedKeys>, _>(connections).otherwise("per-user"), "`per-user`, `per-session`, `per-request` or `{keep: 0.1}`";
        sources: u32 = count(1..=65_536).or(1), "Source addresses of 127.0.0.0/8 that users are spread over";
        criticality: BTreeMap<Class, Criticality> = by::<BTreeMap<u8, String>, _>(criticality_by_class), "What the requests of a class say of themselves in `X-Criticality` (`CRITICAL_PLUS`, `CRITICAL`, `SHEDDABLE_PLUS`, `SHEDDABLE`): `{0: SHEDDABLE}`; a class that is not named says nothing";
        customer: BTreeMap<Class, u32> = by::<BTreeMap<u8, u32>, _>(customer_by_class), "Who pays for the requests of a class (`X-Customer`): `{0: 3}`";
        client: Option<ClientPolicy> = by::<Policy, _>(client_key), "A policy on the users' own side, for all arms that name none: `throttle`, or `throttle: {scope: all}` (`user`, `{group: 50}`); see [Policies on the users' side](#policies-on-the-users-side)";
        phases = free::<Vec<PhaseKeys>>(), "One after another; not needed with a `trace`: then there is one, `replay`";
    }

    /// What a user does after a failed request.
    pub(super) struct TroubleKeys as "Trouble" {
        then: Option<Then> = choice::<_, Then>(THEN).wanted("login"), "Begin again with a login, try the same again at once or after a pause, or leave";
        wait: Duration = time(PAUSES).or(Duration::from_secs(5)), "login: the pause before it";
        attempts: u8 = count(1..=100).or(3), "retry, backoff: most attempts, the first among them";
        base: Duration = time(TIMES).or(Duration::from_millis(100)), "backoff: longest first pause";
        cap: Duration = time(TIMES).or(Duration::from_secs(10)), "backoff: longest pause";
    }

    /// How long a user waits, and what comes then.
    pub(super) struct PatienceKeys as "Patience" {
        lasts: Option<Think> = by::<Either<ZeroOrTime, PauseLaw>, _>(law).wanted("10s"), "A time or a law, as `think`";
        then: bool = first_of(&[("leave", false), ("reload", true)]), "What the user does";
    }

    /// Some users keep their connections.
    pub(super) struct MixedKeys as "MixedConnections" {
        keep: f64 = number(0.0..=1.0).or(0.1), "Share of the users that keep their connection; the others open one for each request";
    }

    /// `{uniform: …}`
    pub(super) struct UniformKeys as "UniformPauses" {
        min: Option<Duration> = time(PAUSES).wanted("5s"), "The shortest pause";
        max: Option<Duration> = time(PAUSES).wanted("10s"), "The longest pause";
    }

    /// `{lognormal: …}`
    pub(super) struct LognormalKeys as "LognormalPauses" {
        median: Option<Duration> = time(PAUSES).wanted("5s"), "The median pause";
        sigma: Option<f64> = number(0.0..=5.0).wanted("1"), "Standard deviation of the logarithm";
    }
}

/// A time with its unit; 0 has none.
type ZeroOrTime = Either<String, u8>;

shapes! {
    PauseLaw as "PauseLaw" = |generator| one_of(PAUSE_LAWS, generator);
}

const PAUSE_LAWS: &[Case<Think>] = &[
    Case::new::<String>("constant", |fields, key| fields.time(key, ANY_TIME).map(Think::Constant)),
    Case::new::<String>("exponential", |fields, key| {
        fields.time(key, ANY_TIME).map(|mean| Think::Exponential { mean })
    }),
    Case::new::<UniformKeys>("uniform", |fields, key| {
        let UniformKeys { min, max } = fields.table(key)?;
        Some(Think::Uniform { min: min?, max: max? })
    }),
    Case::new::<LognormalKeys>("lognormal", |fields, key| {
        let LognormalKeys { median, sigma } = fields.table(key)?;
        Some(Think::Lognormal { median: median?, sigma: sigma? })
    }),
];

/// What a user does after a failed request.
#[derive(Debug, Clone, Copy, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum Then {
    Login,
    Retry,
    Backoff,
    Leave,
}

const THEN: &[(&str, Then)] =
    &[("login", Then::Login), ("retry", Then::Retry), ("backoff", Then::Backoff), ("leave", Then::Leave)];
const PREVIOUS_PAGE: &[(&str, PreviousPage)] = &[("literal", PreviousPage::Literal), ("list", PreviousPage::List)];

/// Reads `users`.
pub fn users(node: &Node, problems: &Problems) -> Option<UsersPlan> {
    let fields = Fields::of_table::<UsersKeys>(node, "users", problems)?;
    let keys = UsersKeys::read(&fields);
    let model = model(&fields, keys.previous_page);
    let trace = fields.node("trace").and_then(|node| recording(node, problems));
    let behaviour = Behaviour {
        on_reject: keys.on_reject,
        on_failure: keys.on_failure,
        patience: keys.patience,
        redirects: keys.redirects,
        refresh: keys.refresh,
        retry_after_at_most: keys.retry_after,
        heed_dont_retry: keys.heed_dont_retry,
        retry_budget: keys.retry_budget,
    };
    Some(UsersPlan {
        model: model?,
        behaviour,
        connections: keys.connections,
        timeout: keys.timeout,
        connect_timeout: keys.connect_timeout,
        drain: keys.drain,
        sources: keys.sources,
        marks: Marks { criticality: keys.criticality, customer: keys.customer, class_header: None },
        client: keys.client,
        phases: phases(&fields, trace.as_ref()),
        trace,
    })
}

fn model(fields: &Fields<'_>, previous_page: Option<PreviousPage>) -> Option<Model> {
    let Some(name) = fields.text("model") else {
        if fields.node("model").is_none() && fields.node("trace").is_none() {
            fields.missing("model", "arashi");
        }
        if fields.node("model").is_some() {
            return None;
        }
        // Web-mail users walk the trace; the model is what a capacity is solved on.
        let (model, previous_page) = (workloads::mail::arashi(), PreviousPage::default());
        return Some(Model::Mail { model, file: None, previous_page });
    };
    if name == "url" {
        let path = fields.text("path").unwrap_or_else(|| "/".to_owned());
        if !path.starts_with('/') || path.contains(|c: char| c.is_whitespace() || c.is_control()) {
            fields.problem("path", format!("{path:?} is no path"), "it begins with / and has no spaces");
        }
        let requests = match fields.node("paths") {
            Some(_) if fields.node("path").is_some() => {
                fields.problem("path", "path and paths are two ways to say what is asked for", "keep one of them");
                Vec::new()
            }
            Some(_) => paths(fields, "paths"),
            None => Vec::new(),
        };
        let think = think(fields).unwrap_or(Think::Constant(Duration::ZERO));
        return Some(Model::Url { path, requests, think });
    }
    for key in ["path", "paths"].into_iter().filter(|key| fields.node(key).is_some()) {
        fields.problem(key, "belongs to model: url", "");
    }
    let (mut model, file) = if name == "arashi" {
        (workloads::mail::arashi(), None)
    } else {
        let path = PathBuf::from(&name);
        match read_model(&path) {
            Ok(model) => {
                if let Err(problem) = workloads::mail::check_model(&model) {
                    fields.problem(
                        "model",
                        format!("{name} {problem}"),
                        "states are Arashi's request types: docs/traces.md",
                    );
                    return None;
                }
                (model, Some(path))
            }
            Err(message) => {
                fields.problem("model", message, "arashi, url, or the path of a user model (.yaml)");
                return None;
            }
        }
    };
    let profile = match fields.node("think").map(|node| &node.value) {
        Some(Value::Text(name)) => model.with_think_profile(name).ok(),
        _ => None,
    };
    if let Some(profile) = profile {
        model = profile;
    } else if let Some(law) = think(fields) {
        model = model.with_think(&law);
    }
    // A model that was fitted to a trace knows which reading its users had.
    let fitted = model.fitted.as_deref().map(|fitted| fitted.previous_page).unwrap_or_default();
    Some(Model::Mail { model, file, previous_page: previous_page.unwrap_or(fitted) })
}

fn read_model(path: &std::path::Path) -> Result<traces::UserModel, String> {
    traces::UserModel::from_yaml(&named_file::text(path)?).map_err(|error| format!("{}: {error}", path.display()))
}

/// `20ms`, `{exponential: 5s}`, `{uniform: {min: 5s, max: 10s}}`.
fn think(fields: &Fields<'_>) -> Option<Think> {
    law(fields, "think")
}

fn law(fields: &Fields<'_>, key: &str) -> Option<Think> {
    let node = fields.node(key)?;
    let hint = "write 20ms, {exponential: 5s}, {uniform: {min: 5s, max: 10s}} or {lognormal: {median: 5s, sigma: 1}}";
    let wrong = || {
        fields.problem(key, format!("a law of pauses is wanted here, not {}", node.value.shown()), hint);
        None
    };
    match &node.value {
        Value::Text(text) => parse_time(text).map(Think::Constant).or_else(wrong),
        Value::Number(number) if *number == 0.0 => Some(Think::Constant(Duration::ZERO)),
        _ => read_one_of(PAUSE_LAWS, fields, key).unwrap_or_else(|()| wrong()),
    }
}

fn trouble(fields: &Fields<'_>, key: &str) -> FailureRule {
    let read = |TroubleKeys { then, wait, attempts, base, cap }| match then? {
        Then::Login => Some(FailureRule::Login { wait }),
        Then::Retry => Some(FailureRule::RetryNow { attempts }),
        Then::Backoff => Some(FailureRule::Backoff { base, cap, attempts }),
        Then::Leave => Some(FailureRule::Leave),
    };
    fields.table(key).and_then(read).unwrap_or(FailureRule::Login { wait: Duration::from_secs(5) })
}

fn patience(fields: &Fields<'_>, key: &str) -> Option<Patience> {
    let PatienceKeys { lasts, then: reload } = fields.table(key)?;
    Some(Patience { lasts: lasts?, reload })
}

fn connections(fields: &Fields<'_>, _: &str) -> ConnectionHabit {
    match fields.node("connections").map(|node| &node.value) {
        Some(Value::Table(_)) => {
            let keep = fields.table("connections").map_or(0.1, |MixedKeys { keep }| keep);
            ConnectionHabit::Mixed { keep }
        }
        _ => {
            let words = [
                ("per-user", ConnectionHabit::PerUser),
                ("per-session", ConnectionHabit::PerSession),
                ("per-request", ConnectionHabit::PerRequest),
            ];
            fields.choice("connections", &words).unwrap_or(ConnectionHabit::PerUser)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Changes, read};

    const FILE: &str = "name: x\ntarget: {app: emulated, service: 10ms}\nobjective: {percentile: 90, response_time: 1s}\nusers: {model: url, phases: [{name: x, requests: 5/s, for: 3s}]}\narms: [none]\n";

    #[test]
    fn what_is_missing_in_a_law_or_a_span_is_named() {
        for (key, written, missing) in [
            ("users.think", "{uniform: {min: 1s}}", "users.think.uniform.max"),
            ("users.think", "{lognormal: {median: 1s}}", "users.think.lognormal.sigma"),
            ("target.service", "{bimodal: {short: 1ms, long: 9ms}}", "target.service.bimodal.long_share"),
            ("users.phases.x", "{name: x, users: {to: 5}, for: 3s}", "users.phases.0.users.from"),
        ] {
            let changes = Changes { set: vec![format!("{key}={written}")], ..Changes::default() };
            let problems = read(FILE, &changes).expect_err("a part is missing");
            let told: Vec<_> = problems.iter().map(ToString::to_string).collect();
            assert!(
                told.len() == 1 && told[0].contains(&format!("{missing}: is missing")),
                "{key}={written}: {told:?}"
            );
        }
    }
}
