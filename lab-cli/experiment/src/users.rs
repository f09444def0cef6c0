//! The part of an experiment that says who sends, and when.

use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};

use controllers::{Class, Criticality};
use schemars::JsonSchema;
use traces::Think;
use workloads::{
    background::BackgroundRole,
    plan::{ArrivalLaw, Behaviour, ConnectionHabit, FailureRule, Marks, Patience, PreviousPage},
};

use super::{
    client::{client_key, criticality_by_class, customer_by_class},
    fields::{Fields, join},
    keys::{Or, Table, by, choice, count, first_of, flag, free, keys_of, number, table, text, time},
    model::model,
    paths::PathsKey,
    pauses::{PAUSES, PauseLaw, ZeroOrTime, law},
    plan::{ClientPolicy, LoadStream, PhasePlan, Rate, Recording, UsersPlan},
    policy::Policy,
    problem::Problems,
    raw::{Node, Value},
    recording::{TraceKey, recording},
    script::{ConductKeys, PlanKey},
};

const TIMES: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(3600);
/// Most users at once: they are data in memory, and ids have room for far more.
const MAX_USERS: u32 = 2_000_000;

table! {
    /// Who sends.
    pub(super) struct UsersKeys as "Users" {
        model = free::<String>(), "`arashi` (figure 46 of the thesis), `url`, `script` (a test plan), or the path of a user model; not needed with a `trace`";
        trace = free::<TraceKey>(), "Recorded sessions in place of drawn ones: a file, or `{file: mail.trace.zst, pace: clock, speed: 10, from: 60s, for: 5m, copies: 3, sample: 0.5}`; `pace` is `clock` or `sessions` ([traces](traces.md))";
        path = free::<String>().otherwise("/"), "url: what is asked for";
        paths = free::<PathsKey>(), "url: several requests with their weights, in place of `path`: `[{name: list, path: /items, weight: 8}, {name: buy, method: POST, path: /buy, body: '{}', headers: {Content-Type: application/json}}]`, a file with such a list under `requests:`, a HAR file of a browser, or an access log of a web server (its GET requests)";
        plan = free::<PlanKey>(), "script: the [test plan](#test-plans), written in place or the path of its file";
        conduct = keys_of::<ConductKeys>("script");
        previous_page: Option<PreviousPage> = choice::<_, String>(PREVIOUS_PAGE).otherwise("as in the trace that the model was fitted to, else literal"), "Where users go after a delete or refile: the very page, or the list";
        think = free::<Or<ZeroOrTime, PauseLaw>>().otherwise("the model's own, page by page or transition by transition"), "Pauses: `20ms`, `{exponential: 5s}`, `{uniform: {min, max}}`, `{lognormal: {median, sigma}}`";
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
        connections: ConnectionHabit = by::<Or<String, MixedKeys>, _>(connections).otherwise("per-user"), "`per-user`, `per-session`, `per-request` or `{keep: 0.1}`";
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
        lasts: Option<Think> = by::<Or<ZeroOrTime, PauseLaw>, _>(law).wanted("10s"), "A time or a law, as `think`";
        then: bool = first_of(&[("leave", false), ("reload", true)]), "What the user does";
    }

    /// A stretch of load: one of `users`, `sessions`, `requests`, or several `loads`.
    pub(super) struct PhaseKeys as "Phase" {
        name: Option<String> = text().otherwise("phase0, phase1, …"), "What it is called: letters, digits, - and _";
        r#for: Option<Duration> = time(Duration::from_millis(100)..=Duration::from_secs(24 * 3600)).wanted("30s"), "How long";
        planned = keys_of::<PlannedKeys>("");
        arrivals = keys_of::<ArrivalKeys>("");
        loads = free::<Vec<LoadKeys>>(), "Several at once";
        fresh_policy: bool = flag().or(false), "The arm's policy begins the phase as new, as in a run of its own";
        steady: Option<bool> = flag().otherwise("true if its load stays the same for a minute or more"), "Its figures are to be read as those of a steady state or not; see [validity.md](validity.md)";
    }

    /// One of a phase's loads: one of `users`, `sessions`, `requests`, `idle`, `checks` and `churn`.
    pub(super) struct LoadKeys as "Load" {
        planned = keys_of::<PlannedKeys>("");
        background = keys_of::<BackgroundKeys>("");
        arrivals = keys_of::<ArrivalKeys>("");
    }

    /// Users, sessions or requests.
    struct PlannedKeys as "Planned" {
        users = free::<Or<UsersCount, UsersSpan>>(), "Users at once (closed): `1000`, or `{from: 3, to: 1000}`";
        sessions = free::<Or<String, RateSpan>>(), "Sessions that begin (partly open): `5/s`, `0.5x` (times the capacity), or `{from: 1/s, to: 5/s}`";
        requests = free::<Or<String, RateSpan>>(), "Requests (open), written as `sessions` are";
    }

    /// Background connections and health checks.
    struct BackgroundKeys as "Background" {
        idle = free::<Or<UsersCount, UsersSpan>>(), "Connections that are kept open without a request: `1000`, or `{from: 3, to: 1000}`";
        checks = free::<Or<UsersCount, UsersSpan>>(), "Those who check the service's health, each on a connection that it keeps";
        every: Option<Duration> = time(TIMES), "checks: so often each";
        anew: bool = flag().or(false), "checks: on a new connection each time";
        churn = free::<Or<String, RateSpan>>(), "Connections that come and go: `100/s`";
        ask: bool = flag().or(false), "churn: with a health check each";
    }

    /// From so many users to so many.
    pub(super) struct UsersSpan as "UsersSpan" {
        from: Option<u32> = count(0..=MAX_USERS).wanted("3"), "At the start of the phase";
        to: Option<u32> = count(0..=MAX_USERS).wanted("1000"), "At its end";
    }

    /// From one rate to another.
    pub(super) struct RateSpan as "RateSpan" {
        from: Option<Rate> = by::<String, _>(rate_of).required(), "At the start of the phase: `10/s`, `0.5x`";
        to: Option<Rate> = by::<String, _>(rate_of).required(), "At its end";
    }

    /// Some users keep their connections.
    pub(super) struct MixedKeys as "MixedConnections" {
        keep: f64 = number(0.0..=1.0).or(0.1), "Share of the users that keep their connection; the others open one for each request";
    }

    /// How they arrive.
    struct ArrivalKeys as "Arrivals" {
        law: ArrivalLaw = first_of(&[("poisson", ArrivalLaw::Poisson), ("constant", ArrivalLaw::Constant)]), "Gaps between arrivals: exponential, or all the same";
        class: u8 = count(0..=255).or(0), "Class of the requests";
    }
}

/// A whole number, which may be written `10k`.
type UsersCount = Or<u32, String>;

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

/// Reads `users`. `accounts`: whether the target has accounts to sign in with.
pub fn users(node: &Node, accounts: bool, problems: &Problems) -> Option<UsersPlan> {
    let fields = Fields::of_table::<UsersKeys>(node, "users", problems)?;
    let keys = UsersKeys::read(&fields);
    let model = model(&fields, keys.previous_page, accounts);
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

/// A replay without phases is one phase, as long as the recording.
fn phases(fields: &Fields<'_>, trace: Option<&Recording>) -> Vec<PhasePlan> {
    let nodes = fields.list("phases");
    if let (true, Some(trace)) = (nodes.is_empty(), trace) {
        let (name, duration) = ("replay".to_owned(), trace.lasts().max(Duration::from_millis(100)));
        return vec![PhasePlan {
            name,
            duration,
            fresh_policy: false,
            steady: Some(false),
            loads: vec![LoadStream::Replay],
        }];
    }
    if nodes.is_empty() && fields.node("trace").is_none() {
        fields.missing("phases", "[{name: spike, users: 1000, for: 30s}]");
    }
    let mut phases: Vec<PhasePlan> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let path = join("users.phases", &index.to_string());
        let Some(inner) = Fields::of_table::<PhaseKeys>(node, &path, fields.problems()) else { continue };
        let PhaseKeys { name, r#for: duration, fresh_policy, steady } = PhaseKeys::read(&inner);
        let name = name.unwrap_or_else(|| format!("phase{index}"));
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') || name.is_empty() {
            inner.problem("name", format!("{name:?} cannot name a phase"), "letters, digits, - and _");
        }
        if phases.iter().any(|phase| phase.name == name) {
            inner.problem("name", format!("there are two phases called {name:?}"), "give each its own name");
        }
        let loads = match inner.node("loads") {
            None if trace.is_some() && !says_who(&inner) => vec![LoadStream::Replay],
            None => load(&inner).into_iter().collect(),
            Some(_) => {
                let path = join(&path, "loads");
                let part = |node| load(&Fields::of_table::<LoadKeys>(node, &path, fields.problems())?);
                inner.list("loads").iter().filter_map(part).collect()
            }
        };
        if let Some(duration) = duration {
            phases.push(PhasePlan { name, duration, fresh_policy, steady, loads });
        }
    }
    phases
}

/// True if a phase has a load of its own; without one it takes the recording's.
fn says_who(phase: &Fields<'_>) -> bool {
    ["users", "sessions", "requests"].into_iter().any(|key| phase.node(key).is_some())
}

/// `users: 3`, `users: {from: 3, to: 100}`, `requests: 100/s`, `sessions: {from: 1/s, to: 5/s}`.
fn load(fields: &Fields<'_>) -> Option<LoadStream> {
    let ArrivalKeys { law, class } = ArrivalKeys::read(fields);
    let all = ["users", "sessions", "requests", "idle", "checks", "churn"];
    let kinds: Vec<&str> = all.into_iter().filter(|key| fields.node(key).is_some()).collect();
    let [kind] = kinds[..] else {
        let known = "one of users, sessions, requests, and in loads also idle, checks and churn is wanted";
        fields.problem("users", known, "for example users: 100");
        return None;
    };
    for (key, of) in [("every", "checks"), ("anew", "checks"), ("ask", "churn")] {
        if fields.node(key).is_some() && kind != of {
            fields.problem(key, format!("belongs to {of}"), format!("leave it out of {kind}"));
        }
    }
    let role = match kind {
        "idle" => Some(BackgroundRole::Idle),
        "checks" => {
            if fields.node("every").is_none() {
                fields.missing("every", "10s");
            }
            let BackgroundKeys { every, anew, .. } = BackgroundKeys::read(fields);
            Some(BackgroundRole::Checker { every: every?, anew })
        }
        _ => None,
    };
    if kind == "users" || role.is_some() {
        let (from, to) = match &fields.node(kind)?.value {
            Value::Table(_) => {
                let UsersSpan { from, to } = fields.table(kind)?;
                (from?, to?)
            }
            _ => {
                let users = fields.count(kind, 0..=MAX_USERS.into())? as u32;
                (users, users)
            }
        };
        return Some(match role {
            None => LoadStream::Users { from, to, class },
            Some(role) => LoadStream::Present { from, to, role, class },
        });
    }
    let node = fields.node(kind)?;
    let (from, to) = match &node.value {
        Value::Table(_) => {
            let RateSpan { from, to } = fields.table(kind)?;
            (from, to)
        }
        _ => (rate(node), rate(node)),
    };
    let (Some(from), Some(to)) = (from, to) else {
        fields.problem(
            kind,
            "a rate is wanted here",
            "write 100/s, 0.5x (times the capacity) or {from: 10/s, to: 100/s}",
        );
        return None;
    };
    Some(match kind {
        "sessions" => LoadStream::Sessions { from, to, law, class },
        "churn" => LoadStream::Churn { from, to, law, ask: BackgroundKeys::read(fields).ask, class },
        _ => LoadStream::Requests { from, to, law, class },
    })
}

/// The same, of a key.
fn rate_of(fields: &Fields<'_>, key: &str) -> Option<Rate> {
    rate(fields.node(key)?)
}

/// `100/s`, `10k/s`, `60/m`, `0.5x`.
pub fn rate(node: &Node) -> Option<Rate> {
    let Value::Text(text) = &node.value else { return None };
    let number = |digits: &str, factor: f64| {
        let (digits, factor) = match digits.strip_suffix('k') {
            Some(digits) => (digits, factor * 1e3),
            None => (digits, factor),
        };
        let rate = digits.trim().parse::<f64>().ok()? * factor;
        (rate.is_finite() && rate >= 0.0).then_some(rate)
    };
    if let Some(times) = text.strip_suffix('x') {
        return number(times, 1.0).map(Rate::OfCapacity);
    }
    let (digits, unit) = text.split_once('/')?;
    let factor = match unit.trim() {
        "s" => 1.0,
        "m" | "min" => 1.0 / 60.0,
        _ => return None,
    };
    number(digits, factor).map(Rate::PerSecond)
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
