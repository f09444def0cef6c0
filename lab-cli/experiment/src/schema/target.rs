//! `target`: what is measured.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Policy, simulation::Costs};

/// What is measured.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Target {
    app: AppName,
    /// arashi: whose mail.
    mail: Option<Mail>,
    /// arashi: `sqlite`.
    database: Option<String>,
    /// arashi: solve the work knob for this rate: `100/s`.
    capacity: Option<String>,
    /// arashi: extra database operations a request, instead of `capacity`.
    work: Option<f64>,
    /// arashi: connections to the database.
    connections: Option<u32>,
    /// arashi: `cookie`, or `link` as in the paper.
    session: Option<String>,
    /// arashi: `substring` as in the paper, or `full-text`.
    search: Option<String>,
    /// arashi: `normal` survives a kill of the process, `full` a power cut as well, at the cost of a sync a change.
    durability: Option<String>,
    /// arashi: copies of lists up to this age are shown where the list is refused (`on_refuse: degrade`) or the policy asks for
    /// less than full quality: `30s`.
    stale: Option<String>,
    /// checksum: rounds at quality 1.
    rounds: Option<u32>,
    /// checksum: rounds more, done in full at any quality.
    fixed_rounds: Option<u32>,
    /// checksum: reads a round.
    reads: Option<u32>,
    /// checksum, emulated: bytes of the answer.
    answer: Option<u32>,
    /// emulated: `10ms`, `{exponential: 10ms}`, …
    service: Option<serde_json::Value>,
    /// emulated: how many side by side.
    servers: Option<u32>,
    /// emulated: `fifo` or `processor-sharing`.
    discipline: Option<String>,
    /// emulated: share of the work that shrinks with the quality at which a policy lets the service work, 0 to 1.
    degradable: Option<f64>,
    /// emulated: by class, how many times the usual work a request is, 0.001 to 1000: `{2: 5}`.
    class_work: Option<std::collections::BTreeMap<String, f64>>,
    /// tree: services by name, callers before those that they call.
    services: Option<std::collections::BTreeMap<String, Service>>,
    /// tree: the service that users ask, or by class `{0: proxy, 1: back}` [default: the first].
    entry: Option<serde_json::Value>,
    /// Longest queue of a stage.
    queue: Option<u32>,
    /// Workers of a stage.
    workers: Option<u32>,
    /// Most jobs that a worker takes at once.
    batch: Option<u32>,
    /// What is done with requests that a stage refuses.
    on_refuse: Option<OnRefuse>,
    /// Do not work on requests whose client has gone.
    drop_abandoned: Option<bool>,
    /// Stages that differ, by name.
    stages: Option<std::collections::BTreeMap<String, Stage>>,
    /// Pool sizing, batching, monitors.
    machines: Option<Vec<Policy>>,
    /// How a request's class is found.
    class: Option<Class>,
    /// How important requests of a class are that do not say so themselves: `{0: SHEDDABLE, 3: CRITICAL_PLUS}`.
    criticality: Option<std::collections::BTreeMap<u8, String>>,
    /// Who answers health checks (`GET /health`): the edge (`outside`), or dispatch, if its policy lets them in (`inside`).
    health: Option<String>,
    /// Length of the kernel's listen queue.
    backlog: Option<u32>,
    /// Keep connections open between requests.
    keep_alive: Option<bool>,
    /// Longest time that a kept connection may be idle: `15s`.
    idle_timeout: Option<String>,
    /// Most requests of one connection, 1000 unless set; 0: any number.
    connection_requests: Option<u32>,
    /// Names that it answers to beside `localhost` and addresses.
    hosts: Option<Vec<String>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
enum AppName {
    Arashi,
    Checksum,
    Emulated,
    Tree,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Mail {
    /// `generated`.
    folders: Option<String>,
    seed: Option<u64>,
    accounts: Option<u32>,
    /// Messages in every inbox.
    inbox: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Stage {
    queue: Option<u32>,
    workers: Option<u32>,
    batch: Option<u32>,
    on_refuse: Option<OnRefuse>,
    /// Do not work on requests whose client has gone.
    drop_abandoned: Option<bool>,
    /// How important jobs are from here on, whatever was said before: `SHEDDABLE`.
    criticality: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
enum OnRefuse {
    Reject,
    Block,
    Degrade,
    /// To this node: `http://127.0.0.1:8081`.
    Redirect(String),
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Class {
    /// A number in this header.
    header: Option<String>,
    /// A number in this cookie.
    cookie: Option<String>,
    /// By source address: `{127.1.0.0/16: 1}`, the first prefix that fits.
    address: Option<std::collections::BTreeMap<String, u8>>,
    /// By the start of path and query: `{/search: 1}`, the first that fits.
    path: Option<std::collections::BTreeMap<String, u8>>,
}

/// A service of a tree.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Service {
    /// Service times: `10ms`, `{exponential: 10ms}`, …
    service: serde_json::Value,
    /// How many side by side in one task.
    servers: Option<u32>,
    /// `fifo` or `processor-sharing`.
    discipline: Option<String>,
    /// Share of the work that shrinks with quality, 0 to 1.
    degradable: Option<f64>,
    /// By class, how many times the usual work a request is, 0.001 to 1000: `{2: 5}`.
    class_work: Option<std::collections::BTreeMap<String, f64>>,
    /// Equal tasks.
    tasks: Option<u32>,
    /// Which task a request goes to: `round-robin`, `random`, `least-loaded`.
    balancer: Option<String>,
    /// What is balanced: `request` or `connection`.
    per: Option<String>,
    slow: Option<Slow>,
    /// Most requests under way at a task: the balancer refuses what is beyond. With `per: request`.
    cap: Option<u32>,
    /// What it asks of services below: their names, or tables.
    calls: Option<Vec<CallOrName>>,
    /// All calls at once instead of one after the other.
    fan_out: Option<bool>,
    costs: Option<Costs>,
    queue: Option<u32>,
    workers: Option<u32>,
    batch: Option<u32>,
    on_refuse: Option<OnRefuse>,
    drop_abandoned: Option<bool>,
    /// How important requests are here, and calls on their behalf, whatever was said before: `SHEDDABLE`.
    criticality: Option<String>,
}

/// Tasks that are slower than the others.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Slow {
    /// How many.
    tasks: Option<u32>,
    /// Their speed; that of the others is 1.
    speed: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum CallOrName {
    Name(String),
    Call(Call),
}

/// Calls on behalf of each request.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Call {
    to: String,
    /// Calls for each request.
    times: Option<u32>,
    /// Most attempts of a call, the first among them.
    attempts: Option<u8>,
    /// "Don't retry" ends the attempts; true if not given.
    heed_dont_retry: Option<bool>,
    /// What a request is answered for which a call was refused: `overloaded`, `dont-retry`, `degrade`.
    when_refused: Option<String>,
    /// Longest wait, all attempts together: `10s`.
    timeout: Option<String>,
    /// Most connections of a task; 0: any number.
    connections: Option<u32>,
    /// A policy on the caller's side.
    client: Option<Policy>,
}
