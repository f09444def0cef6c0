//! `virtual`: what only a run in virtual time needs to know.

use schemars::JsonSchema;
use serde::Serialize;

/// What only a run in virtual time needs to know.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Simulation {
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
pub(super) struct Costs {
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
    /// The only service of a tree that it hits, by its name [default: all].
    service: Option<String>,
}
