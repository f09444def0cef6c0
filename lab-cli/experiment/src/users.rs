//! The part of an experiment that says who sends, and when.

use std::{ops::RangeInclusive, path::PathBuf, time::Duration};

use controllers::catalogue::parse_time;
use traces::Think;
use workloads::{
    background::BackgroundRole,
    plan::{ArrivalLaw, Behaviour, ConnectionHabit, OnTrouble, Patience, PreviousPage},
};

use super::{
    client::{client_key, marks},
    fields::{Fields, join},
    named_file,
    plan::{Load, Model, Phase, Rate, Users},
    problem::Problems,
    raw::{Node, Value},
    recording::{Recording, recording},
};

/// Keys of `users`.
pub const KEYS: &[&str] = &[
    "model",
    "trace",
    "path",
    "previous_page",
    "think",
    "timeout",
    "connect_timeout",
    "drain",
    "on_reject",
    "on_failure",
    "patience",
    "redirects",
    "refresh",
    "retry_after",
    "retry_budget",
    "heed_dont_retry",
    "connections",
    "sources",
    "criticality",
    "customer",
    "client",
    "phases",
];
/// Keys of one of `users.phases`.
pub const PHASE_KEYS: &[&str] =
    &["name", "for", "users", "sessions", "requests", "law", "class", "loads", "fresh_policy", "steady"];
/// Keys of one of a phase's `loads`.
pub const LOAD_KEYS: &[&str] =
    &["users", "sessions", "requests", "idle", "checks", "every", "anew", "churn", "ask", "law", "class"];
/// Keys of `users.on_reject` and `users.on_failure`.
pub const TROUBLE_KEYS: &[&str] = &["then", "wait", "attempts", "base", "cap"];

const TIMES: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(3600);
const PAUSES: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(3600);
/// Most users at once: they are data in memory, and ids have room for far more.
const MAX_USERS: u64 = 2_000_000;

/// Reads `users`.
pub fn users(node: &Node, problems: &Problems) -> Option<Users> {
    let fields = Fields::of(node, "users", KEYS, problems)?;
    let model = model(&fields);
    let trace = fields.node("trace").and_then(|node| recording(node, problems));
    let five_seconds = OnTrouble::Login { wait: Duration::from_secs(5) };
    let behaviour = Behaviour {
        on_reject: trouble(&fields, "on_reject").unwrap_or_else(|| five_seconds.clone()),
        on_failure: trouble(&fields, "on_failure").unwrap_or(five_seconds),
        patience: patience(&fields),
        redirects: fields.count("redirects", 0..=50).map_or(Behaviour::default().redirects, |n| n as u32),
        refresh: fields.flag("refresh").unwrap_or(true),
        retry_after_at_most: fields.time("retry_after", TIMES),
        heed_dont_retry: fields.flag("heed_dont_retry").unwrap_or(true),
        // A budget of all requests is none.
        retry_budget: fields.number("retry_budget", 0.0..=0.999),
    };
    Some(Users {
        model: model?,
        behaviour,
        connections: connections(&fields),
        timeout: fields.time("timeout", TIMES).unwrap_or(Duration::from_secs(60)),
        connect_timeout: fields.time("connect_timeout", TIMES).unwrap_or(Duration::from_secs(10)),
        drain: fields.time("drain", PAUSES).unwrap_or(Duration::from_secs(10)),
        sources: fields.count("sources", 1..=65_536).map_or(1, |n| n as u32),
        marks: marks(&fields),
        client: client_key(&fields, "client"),
        phases: phases(&fields, trace.as_ref()),
        trace,
    })
}

fn model(fields: &Fields<'_>) -> Option<Model> {
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
        return Some(Model::Url { path, think: think(fields).unwrap_or(Think::Constant(Duration::ZERO)) });
    }
    if fields.node("path").is_some() {
        fields.problem("path", "belongs to model: url", "");
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
    let words = [("literal", PreviousPage::Literal), ("list", PreviousPage::List)];
    // A model that was fitted to a trace knows which reading its users had.
    let fitted = model.fitted.as_deref().map(|fitted| fitted.previous_page).unwrap_or_default();
    Some(Model::Mail { model, file, previous_page: fields.choice("previous_page", &words).unwrap_or(fitted) })
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
        Value::Table(entries) if entries.len() == 1 => {
            let (name, inner) = (entries[0].key.as_str(), &entries[0].node);
            let path = join(&fields.path(key), name);
            let of = |keys: &[&str]| Fields::of(inner, &path, keys, fields.problems());
            match (name, &inner.value) {
                ("constant" | "exponential", Value::Text(text)) => {
                    let Some(time) = parse_time(text) else { return wrong() };
                    Some(if name == "constant" { Think::Constant(time) } else { Think::Exponential { mean: time } })
                }
                ("uniform", _) => {
                    let inner = of(&["min", "max"])?;
                    Some(Think::Uniform { min: inner.time("min", PAUSES)?, max: inner.time("max", PAUSES)? })
                }
                ("lognormal", _) => {
                    let inner = of(&["median", "sigma"])?;
                    Some(Think::Lognormal {
                        median: inner.time("median", PAUSES)?,
                        sigma: inner.number("sigma", 0.0..=5.0)?,
                    })
                }
                _ => wrong(),
            }
        }
        _ => wrong(),
    }
}

fn trouble(fields: &Fields<'_>, key: &str) -> Option<OnTrouble> {
    let inner = fields.fields(key, TROUBLE_KEYS)?;
    #[derive(Clone, Copy)]
    enum Then {
        Login,
        Retry,
        Backoff,
        Leave,
    }
    let words = [("login", Then::Login), ("retry", Then::Retry), ("backoff", Then::Backoff), ("leave", Then::Leave)];
    if inner.node("then").is_none() {
        inner.missing("then", "login");
    }
    let attempts = inner.count("attempts", 1..=100).map_or(3, |n| n as u8);
    Some(match inner.choice("then", &words)? {
        Then::Login => OnTrouble::Login { wait: inner.time("wait", PAUSES).unwrap_or(Duration::from_secs(5)) },
        Then::Retry => OnTrouble::RetryNow { attempts },
        Then::Backoff => OnTrouble::Backoff {
            base: inner.time("base", TIMES).unwrap_or(Duration::from_millis(100)),
            cap: inner.time("cap", TIMES).unwrap_or(Duration::from_secs(10)),
            attempts,
        },
        Then::Leave => OnTrouble::Leave,
    })
}

fn patience(fields: &Fields<'_>) -> Option<Patience> {
    let inner = fields.fields("patience", &["lasts", "then"])?;
    if inner.node("lasts").is_none() {
        inner.missing("lasts", "10s");
    }
    let lasts = law(&inner, "lasts")?;
    Some(Patience { lasts, reload: inner.choice("then", &[("leave", false), ("reload", true)]).unwrap_or(false) })
}

fn connections(fields: &Fields<'_>) -> ConnectionHabit {
    match fields.node("connections").map(|node| &node.value) {
        Some(Value::Table(_)) => {
            let keep = fields.fields("connections", &["keep"]).and_then(|inner| inner.number("keep", 0.0..=1.0));
            ConnectionHabit::Mixed { keep: keep.unwrap_or(0.1) }
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
fn phases(fields: &Fields<'_>, trace: Option<&Recording>) -> Vec<Phase> {
    let nodes = fields.list("phases");
    if let (true, Some(trace)) = (nodes.is_empty(), trace) {
        let (name, duration) = ("replay".to_owned(), trace.lasts().max(Duration::from_millis(100)));
        return vec![Phase { name, duration, fresh_policy: false, steady: Some(false), loads: vec![Load::Replay] }];
    }
    if nodes.is_empty() && fields.node("trace").is_none() {
        fields.missing("phases", "[{name: spike, users: 1000, for: 30s}]");
    }
    let mut phases: Vec<Phase> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let path = join("users.phases", &index.to_string());
        let Some(inner) = Fields::of(node, &path, PHASE_KEYS, fields.problems()) else { continue };
        let name = inner.text("name").unwrap_or_else(|| format!("phase{index}"));
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') || name.is_empty() {
            inner.problem("name", format!("{name:?} cannot name a phase"), "letters, digits, - and _");
        }
        if phases.iter().any(|phase| phase.name == name) {
            inner.problem("name", format!("there are two phases called {name:?}"), "give each its own name");
        }
        if inner.node("for").is_none() {
            inner.missing("for", "30s");
        }
        let duration = inner.time("for", Duration::from_millis(100)..=Duration::from_secs(24 * 3600));
        let loads = match inner.node("loads") {
            None if trace.is_some() && !says_who(&inner) => vec![Load::Replay],
            None => load(&inner).into_iter().collect(),
            Some(_) => {
                let parts = inner.list("loads").iter();
                parts
                    .filter_map(|node| load(&Fields::of(node, &join(&path, "loads"), LOAD_KEYS, fields.problems())?))
                    .collect()
            }
        };
        if let Some(duration) = duration {
            let fresh_policy = inner.flag("fresh_policy").unwrap_or(false);
            let steady = inner.flag("steady");
            phases.push(Phase { name, duration, fresh_policy, steady, loads });
        }
    }
    phases
}

/// A phase that does not say who comes is one of the recording.
fn says_who(phase: &Fields<'_>) -> bool {
    ["users", "sessions", "requests"].into_iter().any(|key| phase.node(key).is_some())
}

/// `users: 3`, `users: {from: 3, to: 100}`, `requests: 100/s`, `sessions: {from: 1/s, to: 5/s}`.
fn load(fields: &Fields<'_>) -> Option<Load> {
    let class = fields.count("class", 0..=255).map_or(0, |n| n as u8);
    let law = fields
        .choice("law", &[("poisson", ArrivalLaw::Poisson), ("constant", ArrivalLaw::Constant)])
        .unwrap_or(ArrivalLaw::Poisson);
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
            let every = fields.time("every", TIMES)?;
            Some(BackgroundRole::Checker { every, anew: fields.flag("anew").unwrap_or(false) })
        }
        _ => None,
    };
    if kind == "users" || role.is_some() {
        let (from, to) = match &fields.node(kind)?.value {
            Value::Table(_) => {
                let inner = fields.fields(kind, &["from", "to"])?;
                (inner.count("from", 0..=MAX_USERS)?, inner.count("to", 0..=MAX_USERS)?)
            }
            _ => {
                let users = fields.count(kind, 0..=MAX_USERS)?;
                (users, users)
            }
        };
        let (from, to) = (from as u32, to as u32);
        return Some(match role {
            None => Load::Users { from, to, class },
            Some(role) => Load::Present { from, to, role, class },
        });
    }
    let node = fields.node(kind)?;
    let (from, to) = match &node.value {
        Value::Table(_) => {
            let inner = fields.fields(kind, &["from", "to"])?;
            (inner.node("from").and_then(rate), inner.node("to").and_then(rate))
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
        "sessions" => Load::Sessions { from, to, law, class },
        "churn" => Load::Churn { from, to, law, ask: fields.flag("ask").unwrap_or(false), class },
        _ => Load::Requests { from, to, law, class },
    })
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
