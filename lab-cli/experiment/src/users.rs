//! The part of an experiment that says who sends, and when; users say their class where the target looks for it, or the plan has a
//! problem: else every request would be of class 0, and no figure would tell.

use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};

use controllers::{Class, ClassRule, Criticality};
use schemars::JsonSchema;
use traces::Think;
use workloads::{
    headers::is_reserved,
    plan::{
        Behaviour, CLASS_HEADER, ClientPolicy, ConnectionHabit, FailureRule, Marks, Patience, PreviousPage,
        RefusalMarks, step_gap::STEP_GAP,
    },
};

use super::{
    client::{client_key, criticality_by_class, customer_by_class},
    fields::Fields,
    keys::{Either, Table, by, choice, count, first_of, flag, free, keys_of, number, table, time},
    load::{PhaseKeys, TIMES, phases},
    model::model,
    paths::PathsKey,
    pauses::{PAUSES, PauseLaw, ZeroOrTime, law},
    plan::{TargetPlan, UsersPlan, classes},
    policy::Policy,
    problem::Problems,
    raw::{Node, Value},
    recording::{TraceKey, recording},
    refusal_marks::{RefusalMarksKeys, refusal_marks},
    script::{ConductKeys, PlanKey},
};

/// Times between two arrivals: users who come more slowly than one a minute are no jump.
const STEP_GAPS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(60);

table! {
    /// Who sends. `of: script` marks the keys of users with a test plan.
    pub(super) struct UsersKeys as "Users" {
        model = free::<String>(), "`arashi` (figure 46 of the thesis), `url`, `script` (a test plan), or the path of a user model; not needed with a `trace`";
        trace = free::<TraceKey>().example("monday.trace.zst"), "Recorded sessions to replay: a file, or a table ([traces](traces.md))";
        path = free::<String>().otherwise("/"), "url: the path to request";
        paths = free::<PathsKey>().example("[{path: /items, weight: 8}, {path: /buy, method: POST}]"), "url: several requests with their weights, in place of `path`; or a file with such a list under `requests:`, a HAR file of a browser, or an access log of a web server (its GET requests)";
        plan = free::<PlanKey>().example("buy-ticket.yaml"), "script: the [test plan](#test-plans), or the path of its file";
        conduct = keys_of::<ConductKeys>("script");
        previous_page: Option<PreviousPage> = choice::<_, String>(PREVIOUS_PAGE).otherwise("as in the trace that the model was fitted to, else literal"), "Where users go after a delete or refile: the very page, or the list";
        think = free::<Either<ZeroOrTime, PauseLaw>>().otherwise("the model's own, page by page or transition by transition"), "Pause between an answer and the next request: a duration, or a law (`{exponential: 5s}`, `{uniform: {min, max}}`, `{lognormal: {median, sigma}}`)";
        timeout: Duration = time(TIMES).or(Duration::from_secs(60)), "Longest wait for an answer";
        connect_timeout: Duration = time(TIMES).or(Duration::from_secs(10)), "Longest wait for a connection";
        drain: Duration = time(PAUSES).or(Duration::from_secs(10)), "Longest wait after the last phase for requests in flight";
        step_gap: Duration = time(STEP_GAPS).or(STEP_GAP).example("1ms"), "Time between two arrivals where the number of users jumps, and less where the phase is too short for it: a million come within 100 s. Users of many machines can come closer (`10us`)";
        behaviour = keys_of::<BehaviourKeys>("");
        redraw: bool = flag().or(false), "Draw a new service time for each attempt of a request, and of a call for it, as if a repetition asked for something else. Without it a request that is heavy is heavy again";
        connections: ConnectionHabit = by::<Either<String, MixedKeys>, _>(connections).otherwise("per-user"), "Who keeps a connection: `per-user`, `per-session`, `per-request`, `{keep: 0.1}`, or `{shared: 4000}` for all together";
        sources: u32 = count(1..=65_536).or(1), "Source addresses in 127.0.0.0/8 over which users are spread";
        criticality: BTreeMap<Class, Criticality> = by::<BTreeMap<u8, String>, _>(criticality_by_class), "What the requests of a class state in `X-Criticality` (`CRITICAL_PLUS`, `CRITICAL`, `SHEDDABLE_PLUS`, `SHEDDABLE`); other classes state nothing";
        customer: BTreeMap<Class, u32> = by::<BTreeMap<u8, u32>, _>(customer_by_class), "The customer who pays for the requests of a class (`X-Customer`)";
        client: Option<ClientPolicy> = by::<Policy, _>(client_key).example("throttle"), "A policy on the users' own side, for all arms that name none; see [Policies on the users' side](#policies-on-the-users-side)";
        phases = free::<Vec<PhaseKeys>>(), "Phases of the load, one after another; not needed with a `trace`: then there is one, `replay`";
    }

    /// What users do when things go wrong.
    struct BehaviourKeys as "Behaviour" for Behaviour {
        on_reject: FailureRule = by::<TroubleKeys, _>(trouble).otherwise("`{then: login, wait: 5s}`"), "What a user does after a refusal. In any case, a user whose connection is refused or lost backs off, up to 1 s: [validity.md](validity.md#a-service-that-is-down)";
        on_failure: FailureRule = by::<TroubleKeys, _>(trouble).otherwise("`{then: login, wait: 5s}`"), "What a user does after a failed request";
        patience: Option<Patience> = by::<PatienceKeys, _>(patience).otherwise("without end"), "How long a user waits, and what it does then";
        redirects: u32 = count(0..=50).or(Behaviour::default().redirects).example("5"), "Most redirects in a row that users follow";
        refresh: bool = flag().or(true), "Whether users follow `Refresh`";
        retry_after_at_most: Option<Duration> = time(TIMES).key("retry_after").example("30s"), "Users wait as long as `Retry-After` says, at most this; without it they ignore the header";
        // A budget of all requests is none.
        retry_budget: Option<f64> = number(0.0..=0.999).example("0.1"), "Most retries, as a share of requests";
        refused: RefusalMarks = by::<RefusalMarksKeys, _>(marks).otherwise("{status: [429, 503]}").example("{status: 420}"), "What counts as a refusal because of load";
        heed_dont_retry: bool = flag().or(true), "Do not repeat a request after an answer with `X-Retry: never`";
    }

    /// What a user does after a request that was not served.
    pub(super) struct TroubleKeys as "Trouble" {
        then: Option<Then> = choice::<_, Then>(THEN).wanted("login"), "Begin again with a login, repeat the request at once or after a pause, or leave";
        wait: Duration = time(PAUSES).or(Duration::from_secs(5)), "login: the pause before it";
        attempts: u8 = count(1..=100).or(3), "retry, backoff: most attempts, including the first";
        base: Duration = time(TIMES).or(Duration::from_millis(100)), "backoff: longest first pause";
        cap: Duration = time(TIMES).or(Duration::from_secs(10)), "backoff: longest pause";
    }

    /// How long a user waits for an answer.
    pub(super) struct PatienceKeys as "Patience" {
        lasts: Option<Think> = by::<Either<ZeroOrTime, PauseLaw>, _>(law).wanted("10s"), "How long a user waits: a duration or a law, as `think`";
        reload: bool = first_of(&[("leave", false), ("reload", true)]).key("then"), "What the user does then";
    }

    /// Some users keep their connection, or users take turns on some.
    pub(super) struct MixedKeys as "MixedConnections" {
        shared: Option<u32> = count(1..=1_000_000).example("4000"), "Kept connections that all users take turns on, at most. Where all are in use a request waits, and the wait is part of its response time";
        keep: f64 = number(0.0..=1.0).or(0.1).example("0.5"), "Share of the users that keep their connection; the others open one for each request";
    }

}

/// Conduct of a user after a failed request.
#[derive(Debug, Clone, Copy, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub(super) enum Then {
    Login,
    Retry,
    Backoff,
    Leave,
}

const THEN: &[(&str, Then)] =
    &[("login", Then::Login), ("retry", Then::Retry), ("backoff", Then::Backoff), ("leave", Then::Leave)];
const PREVIOUS_PAGE: &[(&str, PreviousPage)] = &[("literal", PreviousPage::Literal), ("list", PreviousPage::List)];

/// Reads `users`. `accounts`: whether the target has accounts to sign in with; `hosts`: what it is called.
pub fn users(node: &Node, accounts: bool, hosts: &[String], problems: &Problems) -> Option<UsersPlan> {
    let fields = Fields::of_table::<UsersKeys>(node, "users", problems)?;
    let keys = UsersKeys::read(&fields);
    let model = model(&fields, keys.previous_page, accounts, hosts);
    let trace = fields.node("trace").and_then(|node| recording(node, problems));
    Some(UsersPlan {
        model: model?,
        behaviour: BehaviourKeys::read(&fields),
        connections: keys.connections,
        timeout: keys.timeout,
        connect_timeout: keys.connect_timeout,
        drain: keys.drain,
        step_gap: keys.step_gap,
        sources: keys.sources,
        marks: Marks { criticality: keys.criticality, customer: keys.customer, ..Marks::default() },
        client: keys.client,
        redraw: keys.redraw,
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
    fields.table::<TroubleKeys>(key).and_then(read).unwrap_or(FailureRule::Login { wait: Duration::from_secs(5) })
}

fn marks(fields: &Fields<'_>, key: &str) -> RefusalMarks {
    refusal_marks(fields, key).unwrap_or_default()
}

fn patience(fields: &Fields<'_>, key: &str) -> Option<Patience> {
    let PatienceKeys { lasts, reload } = fields.table::<PatienceKeys>(key)?;
    Some(Patience { lasts: lasts?, reload })
}

fn connections(fields: &Fields<'_>, _: &str) -> ConnectionHabit {
    match fields.node("connections") {
        Some(node) if matches!(node.value, Value::Table(_)) => {
            let MixedKeys { shared, keep } =
                fields.table::<MixedKeys>("connections").unwrap_or(MixedKeys { shared: None, keep: 0.1 });
            if node.get("shared").and(node.get("keep")).is_some() {
                let hint = "write {shared: 4000}, or {keep: 0.1}";
                fields.problem("connections", "users keep their connections, or share some", hint);
            }
            shared.map_or(ConnectionHabit::Mixed { keep }, |most| ConnectionHabit::Shared { most: Some(most) })
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

/// Has users send the header that the target reads. `node`: the target as written.
pub fn agree(target: &TargetPlan, users: &mut UsersPlan, node: &Node, problems: &Problems) {
    let told = classes(users);
    let place = &node.get("class").unwrap_or(node).place;
    match &target.class {
        ClassRule::Header(name) if name.eq_ignore_ascii_case(CLASS_HEADER) => {}
        // Also where all are of class 0: the target would take what it finds there for a class.
        ClassRule::Header(name) if is_reserved(name) => {
            let message = format!("requests carry {name} for another purpose: no class can be said in it");
            problems.add(place, "target.class.header", message, format!("write {{header: {CLASS_HEADER}}}"));
        }
        ClassRule::Header(name) => users.marks.class_header = Some(name.clone()),
        ClassRule::Named(named) if is_reserved(&named.header) => {
            let message = format!("requests carry {} for another purpose: no class can be said in it", named.header);
            problems.add(place, "target.class.header", message, "name the header in which your clients say it");
        }
        ClassRule::Named(named) => {
            for class in told.iter().filter(|class| **class > 0) {
                match named.value(Class(*class)) {
                    Some(value) => drop(users.marks.class_values.insert(Class(*class), value.to_owned())),
                    None => {
                        let message = format!("users are of class {class}, and no value says so");
                        problems.add(place, "target.class.values", message, format!("write {{gold: {class}}}"));
                    }
                }
            }
            users.marks.class_header = Some(named.header.clone());
        }
        ClassRule::Cookie(name) => {
            if !told.is_empty() {
                let message =
                    format!("users say their class in a header, and send no cookie {name}: all would be class 0");
                problems.add(place, "target.class.cookie", message, format!("write {{header: {CLASS_HEADER}}}"));
            }
        }
        ClassRule::None | ClassRule::Address(_) | ClassRule::Path(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    fn users(set: &[&str]) -> Result<UsersPlan, String> {
        let changes = Changes { set: set.iter().map(|&set| set.to_owned()).collect(), ..Changes::default() };
        read(FILE, &changes).map(|found| found.users).map_err(|problems| problems[0].to_string())
    }

    #[test]
    fn a_jump_is_spaced_as_written_and_a_plan_that_does_not_say_is_as_it_was() {
        let written = |users: &UsersPlan| serde_json::to_value(users).expect("JSON").get("step_gap").cloned();
        let usual = users(&[]).expect("good");
        assert_eq!((usual.step_gap, written(&usual)), (Duration::from_micros(100), None));
        assert_eq!(users(&["users.step_gap=100us"]).expect("good"), usual);
        for (text, gap, ms) in [("0s", Duration::ZERO, 0.0), ("0.1us", Duration::from_nanos(100), 0.0001)] {
            let users = users(&[&format!("users.step_gap={text}")]).expect("good");
            assert_eq!((users.step_gap, written(&users)), (gap, Some(ms.into())));
            let again: UsersPlan = serde_json::from_value(serde_json::to_value(&users).expect("JSON")).expect("a plan");
            assert_eq!(again, users);
        }
        let told = users(&["users.step_gap=61s"]).expect_err("no jump");
        assert!(told.contains("users.step_gap") && told.contains("0s"), "{told}");
    }

    #[test]
    fn users_keep_connections_or_share_some() {
        let of = |text: &str| users(&[&format!("users.connections={text}")]).map(|users| users.connections);
        assert_eq!(of("{shared: 4000}"), Ok(ConnectionHabit::Shared { most: Some(4000) }));
        assert_eq!(of("{keep: 0.5}"), Ok(ConnectionHabit::Mixed { keep: 0.5 }));
        for (text, told) in
            [("{shared: 0}", "users.connections.shared"), ("{shared: 9, keep: 0.5}", "write {shared: 4000}, or")]
        {
            let problem = of(text).expect_err(text);
            assert!(problem.contains(told), "{problem}");
        }
    }
}
