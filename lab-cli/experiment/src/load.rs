//! The load of an experiment: its phases, and who or what arrives in each.

use std::{ops::RangeInclusive, time::Duration};

use workloads::{background::BackgroundRole, plan::ArrivalLaw};

use super::{
    fields::{Fields, join},
    keys::{
        Case, Either, Table, by, count, flag, free, keys_of, number, one_of, read_one_of, shapes, table, table_of,
        text, time,
    },
    plan::{LoadStream, PhasePlan, Recording},
    rate::{Rate, rate, rate_of},
    raw::Value,
};

pub(super) const TIMES: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(3600);

/// Periods of a sine: from one of a few requests to a day.
const PERIODS: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(24 * 3600);

/// Most users at once: they are data in memory, and ids have room for far more.
const MAX_USERS: u32 = 20_000_000;

table! {
    /// A phase has one of `users`, `sessions`, `requests` and `loads`.
    pub(super) struct PhaseKeys as "Phase" {
        name: Option<String> = text().otherwise("phase0, phase1, …"), "Name: letters, digits, - and _";
        duration: Option<Duration> = time(Duration::from_millis(100)..=Duration::from_secs(24 * 3600)).wanted("30s").key("for"), "Length of the phase";
        planned = keys_of::<PlannedKeys>("");
        arrivals = keys_of::<ArrivalKeys>("");
        loads = free::<Vec<LoadKeys>>(), "Several loads at once";
        fresh_policy: bool = flag().or(false), "Begin the phase with a new instance of the arm's policy, as in a run of its own";
        steady: Option<bool> = flag().otherwise("true if its load stays the same for a minute or more"), "Whether its figures are read as those of a steady state; see [validity.md](validity.md)";
    }

    /// A load has one of `users`, `sessions`, `requests`, `idle`, `checks` and `churn` ([connections and health
    /// checks](#connections-and-health-checks)).
    pub(super) struct LoadKeys as "Load" {
        planned = keys_of::<PlannedKeys>("");
        background = keys_of::<BackgroundKeys>("");
        arrivals = keys_of::<ArrivalKeys>("");
    }

    /// Users, sessions or requests.
    struct PlannedKeys as "Planned" {
        users = free::<Either<UsersCount, UsersSpan>>(), "Closed load: this many users at once, or `{from, to}`";
        sessions = free::<Either<String, RateSpan>>(), "Partly open load: sessions that begin per second, `5/s` or `0.5x` (times the capacity), or `{from, to}`";
        requests = free::<Either<String, Either<RateSpan, WaveKeys>>>(), "Open load: requests per second, written as `sessions` are, or `{sine: …}`";
    }

    /// Background connections and health checks.
    struct BackgroundKeys as "Background" {
        idle = free::<Either<UsersCount, UsersSpan>>(), "Connections that are kept open without a request, a number or `{from, to}`";
        checks = free::<Either<UsersCount, UsersSpan>>(), "Clients that check the service's health, each on a connection that it keeps";
        every: Option<Duration> = time(TIMES), "checks: time between two checks of one client";
        anew: bool = flag().or(false), "checks: a new connection for each check";
        churn = free::<Either<String, RateSpan>>().example("50/s"), "Connections that are opened and closed, per second";
        ask: bool = flag().or(false), "churn: send a health check on each";
    }

    /// A number that changes linearly over a phase.
    pub(super) struct UsersSpan as "UsersSpan" {
        from: Option<u32> = count(0..=MAX_USERS).wanted("3"), "At the start of the phase";
        to: Option<u32> = count(0..=MAX_USERS).wanted("1000"), "At its end";
    }

    /// A rate that changes linearly over a phase.
    pub(super) struct RateSpan as "RateSpan" {
        from: Option<Rate> = by::<String, _>(rate_of).required(), "At the start of the phase: `10/s`, `0.5x`";
        to: Option<Rate> = by::<String, _>(rate_of).required(), "At its end";
    }

    /// A rate that goes up and down.
    pub(super) struct WaveKeys as "Wave" {
        sine: Option<SineKeys> = table_of::<SineKeys>().required().example("{mean: 0.9x, amplitude: 0.6x, period: 10m}"), "Mean, amplitude and period of a sine, which begins at its mean and rises";
    }

    /// A sine.
    pub(super) struct SineKeys as "Sine" {
        mean: Option<Rate> = by::<String, _>(rate_of).required().example("0.9x"), "Mean rate: `100/s`, `0.9x`";
        amplitude: Option<Rate> = by::<String, _>(rate_of).required().example("0.6x"), "Highest deviation from the mean, at most the mean";
        period: Option<Duration> = time(PERIODS).wanted("10m"), "Time from crest to crest";
    }

    /// How they arrive.
    struct ArrivalKeys as "Arrivals" {
        law: ArrivalLaw = by::<LawText, _>(law).otherwise("poisson").example("constant"), "Gaps between arrivals: exponential (`poisson`), all equal (`constant`), or in bursts (`{burst: …}`)";
        class: u8 = count(0..=255).or(0), "Class of the requests";
    }
}

table! {
    /// Arrivals in bursts: Poisson, with a rate that switches between two multiples of its mean after exponential
    /// times.
    pub(super) struct BurstKeys as "Burst" {
        peak: Option<f64> = number(1.0..=1e6).wanted("3"), "Multiple of the mean rate while it is on, at most (on + off) / on. While it is off the rate is what keeps the mean";
        on: Option<Duration> = time(TIMES).wanted("2s"), "Mean time on";
        off: Option<Duration> = time(TIMES).wanted("8s"), "Mean time off";
    }
}

shapes! {
    LawWord as "ArrivalWord" = |generator| {
        let mut words = <String as schemars::JsonSchema>::json_schema(generator);
        words.insert("enum".to_owned(), LAW_WORDS.map(|(word, _)| word).to_vec().into());
        words
    };
    BurstLaw as "ArrivalBurst" = |generator| one_of(BURST, generator);
}

/// A word, or `{burst: …}`.
type LawText = Either<LawWord, BurstLaw>;

const LAW_WORDS: [(&str, ArrivalLaw); 2] = [("poisson", ArrivalLaw::Poisson), ("constant", ArrivalLaw::Constant)];

const BURST: &[Case<ArrivalLaw>] = &[Case::new::<BurstKeys>("burst", "In bursts", |fields, key| {
    let BurstKeys { peak, on, off } = fields.table::<BurstKeys>(key)?;
    let law = ArrivalLaw::Burst { peak: peak?, on: on?, off: off? };
    match law.problem() {
        Some(wrong) => fields.wrong(key, wrong, "for example {burst: {peak: 3, on: 2s, off: 8s}}"),
        None => Some(law),
    }
})];

/// Reads `poisson`, `constant`, `{burst: {peak: 3, on: 2s, off: 8s}}`.
fn law(fields: &Fields<'_>, key: &str) -> ArrivalLaw {
    let of_table = match fields.node(key).map(|node| &node.value) {
        Some(Value::Table(_)) => read_one_of(BURST, fields, key),
        Some(_) => Ok(fields.choice(key, &LAW_WORDS)),
        None => Ok(None),
    };
    let wrong = |()| {
        fields.wrong(key, "expected a law of arrivals", "poisson, constant, or {burst: {peak: 3, on: 2s, off: 8s}}")
    };
    of_table.unwrap_or_else(wrong).unwrap_or(ArrivalLaw::Poisson)
}

/// A whole number, which may be written `10k`.
type UsersCount = Either<u32, String>;

/// A replay without phases is one phase, as long as the recording.
pub(super) fn phases(fields: &Fields<'_>, trace: Option<&Recording>) -> Vec<PhasePlan> {
    let nodes = fields.list("phases");
    if let (true, Some(trace)) = (nodes.is_empty(), trace) {
        let duration = trace.lasts().max(Duration::from_millis(100));
        return vec![PhasePlan::of_load("replay", duration, LoadStream::Replay)];
    }
    if nodes.is_empty() && fields.node("trace").is_none() {
        fields.missing("phases", "[{name: spike, users: 1000, for: 30s}]");
    }
    let mut phases: Vec<PhasePlan> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let path = join("users.phases", &index.to_string());
        let Some(inner) = Fields::of_table::<PhaseKeys>(node, &path, fields.problems()) else { continue };
        let PhaseKeys { name, duration, fresh_policy, steady } = PhaseKeys::read(&inner);
        let name = name.unwrap_or_else(|| format!("phase{index}"));
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') || name.is_empty() {
            inner.problem("name", format!("{name:?} is not a valid phase name"), "letters, digits, - and _");
        }
        if phases.iter().any(|phase| phase.name == name) {
            inner.problem("name", format!("there are two phases called {name:?}"), "give each its own name");
        }
        let loads = match inner.node("loads") {
            // A phase without a load of its own takes the recording's.
            None if trace.is_some()
                && ["users", "sessions", "requests"].iter().all(|key| inner.node(key).is_none()) =>
            {
                vec![LoadStream::Replay]
            }
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

/// `users: 3`, `users: {from: 3, to: 100}`, `requests: 100/s`, `sessions: {from: 1/s, to: 5/s}`.
fn load(fields: &Fields<'_>) -> Option<LoadStream> {
    let ArrivalKeys { law, class } = ArrivalKeys::read(fields);
    let all = ["users", "sessions", "requests", "idle", "checks", "churn"];
    let kinds: Vec<&str> = all.into_iter().filter(|key| fields.node(key).is_some()).collect();
    let [kind] = kinds[..] else {
        let known = "expected one of users, sessions and requests (in loads also idle, checks and churn)";
        return fields.wrong("users", known, "for example users: 100");
    };
    for (key, of) in [("every", "checks"), ("anew", "checks"), ("ask", "churn")] {
        if fields.node(key).is_some() && kind != of {
            fields.problem(key, format!("belongs to {of}"), format!("leave it out of {kind}"));
        }
    }
    let role = match kind {
        "idle" => Some(BackgroundRole::Idle),
        "checks" => {
            fields.wanted("every", "10s");
            let BackgroundKeys { every, anew, .. } = BackgroundKeys::read(fields);
            Some(BackgroundRole::Checker { every: every?, anew })
        }
        _ => None,
    };
    if kind == "users" || role.is_some() {
        let (from, to) = match &fields.node(kind)?.value {
            Value::Table(_) => {
                let UsersSpan { from, to } = fields.table::<UsersSpan>(kind)?;
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
        Value::Table(_) if kind == "requests" && node.get("sine").is_some() => {
            let (mean, amplitude, period) = sine(fields)?;
            return Some(LoadStream::Wave { mean, amplitude, period, law, class });
        }
        Value::Table(_) => {
            let RateSpan { from, to } = fields.table::<RateSpan>(kind)?;
            (from, to)
        }
        _ => (rate(node), rate(node)),
    };
    let (Some(from), Some(to)) = (from, to) else {
        let hint = "write 100/s, 0.5x (times the capacity) or {from: 10/s, to: 100/s}";
        return fields.wrong(kind, format!("expected a rate, got {}", node.value.shown()), hint);
    };
    Some(match kind {
        "sessions" => LoadStream::Sessions { from, to, law, class },
        "churn" => LoadStream::Churn { from, to, law, ask: BackgroundKeys::read(fields).ask, class },
        _ => LoadStream::Requests { from, to, law, class },
    })
}

/// `requests: {sine: {mean: 0.9x, amplitude: 0.6x, period: 10m}}`
fn sine(fields: &Fields<'_>) -> Option<(Rate, Rate, Duration)> {
    let within = Fields::of_table::<WaveKeys>(fields.node("requests")?, &fields.path("requests"), fields.problems())?;
    let SineKeys { mean, amplitude, period } = WaveKeys::read(&within).sine?;
    let of_sine = within.inside("sine")?;
    let (Some(mean), Some(amplitude)) = (mean, amplitude) else {
        let key = if mean.is_none() { "mean" } else { "amplitude" };
        return of_sine.wrong(key, "expected a rate", "for example {mean: 0.9x, amplitude: 0.6x, period: 10m}");
    };
    let ((Rate::PerSecond(mean_value), Rate::PerSecond(highest))
    | (Rate::OfCapacity(mean_value), Rate::OfCapacity(highest))) = (mean, amplitude)
    else {
        return of_sine.wrong("amplitude", "is of another kind than the mean", "both as 0.5x, or both as 100/s");
    };
    if highest > mean_value {
        let message = "is higher than the mean: the rate would be negative";
        return of_sine.wrong("amplitude", message, "at most the mean");
    }
    Some((mean, amplitude, period?))
}
