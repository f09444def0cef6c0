//! JSON Schema of experiment files, for editors. The shape is written down once more here, in the words of a schema; a test
//! holds its keys against those that the reader knows.

use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;

/// The schema of an experiment file.
pub fn experiment() -> Schema {
    schema_for!(Experiment)
}

/// One experiment.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Experiment {
    /// Names the results folder: letters, digits, - and _.
    name: String,
    /// One line.
    about: Option<String>,
    /// Figure and paper.
    source: Option<String>,
    target: Target,
    objective: Objective,
    users: Users,
    /// Policies: `none`, or `seda: {scope: single}`. Keys `as`, `place`, `on_refuse`, `backlog`, `client`, `services`, `calls` and `target` are the lab's, all others the policy's (`lab policies NAME`).
    arms: Vec<Policy>,
    /// How often every arm is run.
    repeat: Option<u32>,
    /// Root of all randomness.
    seed: Option<u64>,
    /// `seda.spike.response_time.p90 < 2s`
    thresholds: Option<Vec<Threshold>>,
    /// How arms are compared.
    compare: Option<Compare>,
    /// Conditions that would otherwise be held against the run.
    declares: Option<Vec<Declared>>,
    /// For `--virtual` alone.
    #[serde(rename = "virtual")]
    simulation: Option<Simulation>,
}

/// What must hold.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Threshold {
    Text(String),
    Table(ThresholdTable),
}

/// A threshold that may end the run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct ThresholdTable {
    /// `seda.spike.response_time.p90 < 2s`
    check: String,
    /// Ends the run once it has failed for the grace time, second by second.
    abort: Option<bool>,
    /// `10s`
    grace: Option<String>,
}

/// How arms are compared: fixed before the run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Compare {
    /// The arm that the others are held against [default: the first].
    baseline: Option<String>,
    /// What decides [default: goodput].
    metric: Option<crate::judge::compare::Metric>,
    /// In which phase [default: the baseline's with the most requests].
    phase: Option<String>,
    /// What matters in practice, as a share: `0.05` [default: 0.05 of goodput, 0.1 of a percentile, 0.02 in a fraction].
    margin: Option<f64>,
    /// The run is there to decide: if it is inconclusive, the program ends with code 4.
    decide: Option<bool>,
}

/// What only a run in virtual time needs to know.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Simulation {
    /// What things cost: a file that `lab calibrate` has written [default: measured on the machine of docs/fidelity.md].
    plant: Option<String>,
    costs: Option<Costs>,
    link: Option<Link>,
    faults: Option<Vec<Fault>>,
    /// A live run is refused: it would not be what the experiment is about.
    only: Option<bool>,
}

/// What things cost, where it is not as in the plant file: times of a whole core.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Costs {
    /// To take a connection: `0.05ms`.
    accept: Option<String>,
    /// To read a request, whatever becomes of it.
    read: Option<String>,
    /// To refuse one that was read.
    refuse: Option<String>,
    /// To answer a health check, beside reading it.
    check: Option<String>,
    /// To have a connection open, for each second.
    idle: Option<String>,
    /// Memory of an open connection, bytes: `40k`.
    connection: Option<serde_json::Value>,
    /// Memory that there is, bytes: `512m`; without it nobody asks how much is in use.
    memory: Option<serde_json::Value>,
}

/// The way between users and service.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Link {
    /// One way: `5ms`.
    delay: Option<String>,
    /// Up to this much longer, uniformly.
    jitter: Option<String>,
    /// Share of messages that are lost and sent again.
    loss: Option<f64>,
}

/// Something goes wrong for a while: either `capacity` or `latency`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Fault {
    /// From the start of the run.
    at: String,
    /// How long.
    #[serde(rename = "for")]
    lasts: String,
    /// The cores work at this share of their speed; 0 is a pause.
    capacity: Option<f64>,
    /// Every request takes this much longer.
    latency: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
enum Declared {
    KernelBacklog,
    ClosedOverload,
}

/// A policy's name, or its name with settings.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Policy {
    Name(String),
    Settings(std::collections::BTreeMap<String, Option<std::collections::BTreeMap<String, serde_json::Value>>>),
}

/// What is measured.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Target {
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
    /// arashi: with `on_refuse: degrade`, copies of lists up to this age are shown: `30s`.
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

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Objective {
    /// 0 to 100.
    percentile: Option<f64>,
    /// `1s`
    response_time: String,
}

/// Who sends.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Users {
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

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Trouble {
    then: Then,
    wait: Option<String>,
    attempts: Option<u8>,
    base: Option<String>,
    cap: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
enum Then {
    Login,
    Retry,
    Backoff,
    Leave,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Patience {
    /// A time or a law, as `think`.
    lasts: serde_json::Value,
    /// `leave` or `reload`.
    then: Option<String>,
}

/// A stretch of load: one of `users`, `sessions`, `requests`, or several `loads`.
#[derive(Debug, Serialize, JsonSchema)]
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

#[derive(Debug, Serialize, JsonSchema)]
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::spec::{read, simulation, target, thresholds, tree, users};

    #[test]
    fn the_schema_and_the_reader_know_the_same_keys() {
        let schema = serde_json::to_value(experiment()).expect("a schema is JSON");
        let keys = |path: &str| {
            let object = schema.pointer(path).unwrap_or_else(|| panic!("no {path}")).as_object().expect("an object");
            object.keys().cloned().collect::<BTreeSet<_>>()
        };
        let known = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(keys("/properties"), known(read::KEYS));
        assert_eq!(keys("/$defs/Objective/properties"), known(read::OBJECTIVE_KEYS));
        assert_eq!(keys("/$defs/Compare/properties"), known(read::COMPARE_KEYS));
        assert_eq!(keys("/$defs/ThresholdTable/properties"), known(thresholds::KEYS));
        assert_eq!(keys("/$defs/Target/properties"), known(target::KEYS));
        assert_eq!(keys("/$defs/Mail/properties"), known(target::MAIL_KEYS));
        assert_eq!(keys("/$defs/Service/properties"), known(tree::SERVICE_KEYS));
        assert_eq!(keys("/$defs/Slow/properties"), known(tree::SLOW_KEYS));
        assert_eq!(keys("/$defs/Call/properties"), known(tree::CALL_KEYS));
        assert_eq!(keys("/$defs/Stage/properties"), known(target::STAGE_KEYS));
        assert_eq!(keys("/$defs/Class/properties"), known(target::CLASS_KEYS));
        assert_eq!(keys("/$defs/Users/properties"), known(users::KEYS));
        assert_eq!(keys("/$defs/Phase/properties"), known(users::PHASE_KEYS));
        assert_eq!(keys("/$defs/Load/properties"), known(users::LOAD_KEYS));
        assert_eq!(keys("/$defs/Simulation/properties"), known(simulation::KEYS));
        assert_eq!(keys("/$defs/Costs/properties"), known(simulation::COSTS_KEYS));
        assert_eq!(keys("/$defs/Link/properties"), known(simulation::LINK_KEYS));
        assert_eq!(keys("/$defs/Fault/properties"), known(simulation::FAULT_KEYS));
        assert_eq!(keys("/$defs/Trouble/properties"), known(users::TROUBLE_KEYS));
    }
}
