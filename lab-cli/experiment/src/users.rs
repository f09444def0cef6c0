//! The part of an experiment that says who sends, and when.

use std::{collections::BTreeMap, time::Duration};

use controllers::{Class, Criticality};
use schemars::JsonSchema;
use traces::Think;
use workloads::plan::{Behaviour, ConnectionHabit, FailureRule, Marks, Patience, PreviousPage};

use super::{
    client::{client_key, criticality_by_class, customer_by_class},
    fields::Fields,
    keys::{Either, Table, by, choice, count, first_of, flag, free, keys_of, number, table, time},
    load::{PhaseKeys, TIMES, phases},
    model::model,
    paths::PathsKey,
    pauses::{PAUSES, PauseLaw, ZeroOrTime, law},
    plan::{ClientPolicy, UsersPlan},
    policy::Policy,
    problem::Problems,
    raw::{Node, Value},
    recording::{TraceKey, recording},
    script::{ConductKeys, PlanKey},
};

table! {
    /// Who sends.
    pub(super) struct UsersKeys as "Users" {
        model = free::<String>(), "`arashi` (figure 46 of the thesis), `url`, `script` (a test plan), or the path of a user model; not needed with a `trace`";
        trace = free::<TraceKey>(), "Recorded sessions in place of drawn ones: a file, or `{file: mail.trace.zst, pace: clock, speed: 10, from: 60s, for: 5m, copies: 3, sample: 0.5}`; `pace` is `clock` or `sessions` ([traces](traces.md))";
        path = free::<String>().otherwise("/"), "url: what is asked for";
        paths = free::<PathsKey>(), "url: several requests with their weights, in place of `path`: `[{name: list, path: /items, weight: 8}, {name: buy, method: POST, path: /buy, body: '{}', headers: {Content-Type: application/json}}]`, a file with such a list under `requests:` or with a URL or path and its weight a line, a HAR file of a browser, or an access log of a web server (its GET requests)";
        plan = free::<PlanKey>(), "script: the [test plan](#test-plans), written in place or the path of its file";
        conduct = keys_of::<ConductKeys>("script");
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

}

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
