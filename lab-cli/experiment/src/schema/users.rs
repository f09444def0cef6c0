//! `users`: who sends.

use schemars::JsonSchema;

use super::Policy;

/// Who sends.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Users {
    /// `arashi`, `url`, or the path of a user model.
    model: Option<String>,
    /// url: what is asked for.
    path: Option<String>,
    /// After a delete or refile: `literal` (the very page) or `list`.
    previous_page: Option<String>,
    /// `20ms`, `{exponential: 5s}`, `{uniform: {min: 5s, max: 10s}}`.
    think: Option<serde_json::Value>,
    timeout: Option<String>,
    connect_timeout: Option<String>,
    /// Longest wait after the last phase for what is in flight.
    drain: Option<String>,
    on_reject: Option<Trouble>,
    on_failure: Option<Trouble>,
    patience: Option<Patience>,
    /// Most redirects in a row that are followed.
    redirects: Option<u32>,
    /// Follow `Refresh`.
    refresh: Option<bool>,
    /// Wait as long as `Retry-After` says, up to this.
    retry_after: Option<String>,
    /// Most retries, as a share of requests.
    retry_budget: Option<f64>,
    /// Not to try the same again after an answer with `X-Retry: never`; true if not given.
    heed_dont_retry: Option<bool>,
    /// `per-user`, `per-session`, `per-request` or `{keep: 0.1}`.
    connections: Option<serde_json::Value>,
    /// Source addresses of 127.0.0.0/8 that users are spread over.
    sources: Option<u32>,
    /// How important the requests of a class are: `{0: SHEDDABLE, 1: CRITICAL}`.
    criticality: Option<std::collections::BTreeMap<u8, String>>,
    /// Who pays for the requests of a class: `{0: 3}`.
    customer: Option<std::collections::BTreeMap<u8, u32>>,
    /// A policy on the users' own side: `throttle`, or `throttle: {scope: all}` (`user`, `{group: 50}`). The default of all arms.
    client: Option<Policy>,
    /// Recorded sessions in place of drawn ones: a file, or `{file: mail.trace.zst, pace: clock, speed: 10, from: 60s, for: 5m,
    /// copies: 3, sample: 0.5}`.
    trace: Option<serde_json::Value>,
    /// Not needed with a `trace`: then there is one, `replay`.
    phases: Option<Vec<Phase>>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Trouble {
    then: Then,
    wait: Option<String>,
    attempts: Option<u8>,
    base: Option<String>,
    cap: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Then {
    Login,
    Retry,
    Backoff,
    Leave,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Patience {
    /// A time or a law, as `think`.
    lasts: serde_json::Value,
    /// `leave` or `reload`.
    then: Option<String>,
}

/// A stretch of load: one of `users`, `sessions`, `requests`, or several `loads`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Phase {
    name: Option<String>,
    #[schemars(rename = "for")]
    duration: String,
    /// `1000`, or `{from: 3, to: 1000}`.
    users: Option<serde_json::Value>,
    /// `5/s`, `0.5x` (times the capacity), or `{from: 1/s, to: 5/s}`.
    sessions: Option<serde_json::Value>,
    /// As `sessions`.
    requests: Option<serde_json::Value>,
    /// `poisson` or `constant`.
    law: Option<String>,
    class: Option<u8>,
    loads: Option<Vec<Load>>,
    /// The arm's policy begins anew with this phase.
    fresh_policy: Option<bool>,
    /// Its figures are to be read as those of a steady state. Not given: yes, if its load stays the same for a minute or more.
    steady: Option<bool>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Load {
    users: Option<serde_json::Value>,
    sessions: Option<serde_json::Value>,
    requests: Option<serde_json::Value>,
    /// Connections that are kept open without a request: `1000`, or `{from: 3, to: 1000}`.
    idle: Option<serde_json::Value>,
    /// Those who check the service's health, each on a connection that it keeps.
    checks: Option<serde_json::Value>,
    /// checks: so often each.
    every: Option<String>,
    /// checks: on a new connection each time.
    anew: Option<bool>,
    /// Connections that come and go: `100/s`.
    churn: Option<serde_json::Value>,
    /// churn: with a health check each.
    ask: Option<bool>,
    law: Option<String>,
    class: Option<u8>,
}
