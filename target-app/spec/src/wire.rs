//! The values on the control port, as JSON. Times in milliseconds, rates per second, fractions 0 to 1.

use std::{collections::BTreeMap, net::SocketAddr};

use controllers::{PolicyEvent, catalogue::PolicySpec};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use crate::{choice, token::Token};

pub use controllers::site::StageGauges;

/// The one line that a target prints on standard output once it takes requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// Process id.
    pub pid: u32,
    /// `http://127.0.0.1:port` of the service.
    pub url: String,
    /// `http://127.0.0.1:port` of the control port.
    pub control: String,
    /// The token of the control port, unless it was given in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
    /// `http://address/metrics` of a proxy's metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<String>,
    /// Who can reach a proxy that listens beyond loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<String>,
    /// What people are told of a proxy when it starts: backends that took no connection, settings that do nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// All gauges of one moment (`GET /gauges`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Gauges {
    /// Milliseconds since the target started.
    pub at_ms: f64,
    /// The policy in force.
    pub policy: String,
    /// The service's own ledger.
    pub ledger: ServerLedger,
    /// The gauges of the stages, in the order of the stage graph.
    pub stages: Vec<StageGauges>,
    /// CPU seconds used by the process.
    pub cpu_s: f64,
    /// Resident memory, bytes.
    pub rss_bytes: u64,
    /// Open descriptors.
    pub open_files: u32,
    /// Panics caught.
    pub panics: u64,
    /// Events that readers of the stream were too slow for.
    #[serde(default)]
    pub events_dropped: u64,
    /// The calls of a task, if the target is one of several services.
    #[serde(default)]
    pub calls: CallBooks,
}

/// What a target that was halted had counted, all of one moment (`POST /halt`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Halted {
    /// Its gauges.
    pub gauges: Gauges,
    /// The numbers of the requests that it had read.
    pub requests: ReadRequests,
}

/// Calls that a task has read and made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallBooks {
    /// The ledger of other services' calls, which are not in the task's ledger of users' requests.
    pub read: ServerLedger,
    /// The task's own calls, in the order of its service's.
    pub made: Vec<MadeCalls>,
}

/// Calls of a task to one service.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MadeCalls {
    /// The called service.
    pub to: String,
    /// Counts of attempts by how they ended.
    pub counts: CallCounts,
    /// Attempts that were written to a connection.
    pub written: u64,
    /// Attempts that were refused here, since each task of the called service was at its limit of calls.
    #[serde(default)]
    pub turned_back: u64,
    /// The gauges of the client-side policy.
    #[serde(default)]
    pub client: BTreeMap<String, f64>,
    /// Calls whose end that policy was told of though they were not in flight there.
    #[serde(default)]
    pub contradictions: u64,
}

/// The service's ledger: `requests_read = served + refused + errors + at_fault + client_gone + in_flight`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerLedger {
    /// Connections accepted.
    pub connections_accepted: u64,
    /// Connections refused by a limit.
    pub connections_refused: u64,
    /// Accepted connections that were closed to make room for others.
    #[serde(default)]
    pub connections_evicted: u64,
    /// Open now.
    pub connections_open: u64,
    /// Accept failures (descriptors ran out, …).
    pub accept_errors: u64,
    /// Requests whose head was read whole.
    pub requests_read: u64,
    /// Heads that were no acceptable HTTP, or did not come in time: answered 4xx and closed; not in `requests_read`.
    pub malformed: u64,
    /// Answered as requested (any status that is not a refusal or a failure of the service).
    pub served: u64,
    /// Answered 4xx by a proxy itself: the request's body was too large, malformed, or came too slowly.
    #[serde(default)]
    pub at_fault: u64,
    /// Refused, by reason (`controllers::Reason`).
    pub refused: BTreeMap<String, u64>,
    /// Failed: 5xx that is not a refusal.
    pub errors: u64,
    /// The client was gone before the answer was ready or taken.
    pub client_gone: u64,
    /// In progress.
    pub in_flight: u64,
    /// Health checks that were read: none of them is in `requests_read`.
    #[serde(default)]
    pub checks: u64,
    /// Answers that say that they are less than was requested, or older (`X-Degraded`): part of those served.
    #[serde(default)]
    pub degraded: u64,
}

/// The numbers of the requests that the service has read, as the client gave them (`GET /requests`). Ledger and numbers
/// are of one moment: `requests_read` is the sum of the numbers that were read, `again` and `unnumbered`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadRequests {
    /// The service's own ledger.
    pub ledger: ServerLedger,
    /// First and last of each run of numbers, in order.
    pub read: Vec<[u64; 2]>,
    /// Requests whose number had been read before.
    pub again: u64,
    /// Requests without a number.
    pub unnumbered: u64,
}

impl ServerLedger {
    /// True if every request that was read is counted exactly once.
    #[must_use]
    pub fn balances(&self) -> bool {
        let refused: u64 = self.refused.values().sum();
        self.requests_read == self.answered() + refused + self.errors + self.client_gone + self.in_flight
    }

    /// Requests that were answered as they deserved.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.served + self.at_fault
    }
}

/// The catalogue as the control port shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policies {
    /// The policy at each site, by the site's name.
    pub sites: BTreeMap<String, String>,
    /// The machines of each stage that has some, by its name; those of the whole process under `system`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub machines: BTreeMap<String, Vec<String>>,
    /// Names that `PUT /policy` takes.
    pub names: Vec<String>,
}

/// A change of policy while running (`PUT /policy`), at one stage or all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetPolicy {
    /// Stage name; `None`: all sites of the policy.
    pub stage: Option<String>,
    /// The new policy with its settings.
    pub policy: PolicySpec,
}

/// A policy in any form that a file has, or one with its stage.
impl<'de> Deserialize<'de> for SetPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Staged {
            #[serde(default)]
            stage: Option<String>,
            #[serde(with = "choice")]
            policy: PolicySpec,
        }
        let value = serde_json::Value::deserialize(deserializer)?;
        if ["policy", "stage"].iter().all(|key| value.get(key).is_none()) {
            let policy = choice::deserialize(value).map_err(D::Error::custom)?;
            return Ok(Self { stage: None, policy });
        }
        let Staged { stage, policy } = serde_json::from_value(value).map_err(D::Error::custom)?;
        Ok(Self { stage, policy })
    }
}

/// A change of machines while running (`PUT /machines`). They take the place of those that there are; the stages have the workers and the
/// batch of their start again.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SetMachines {
    /// Stage name; `None`: every stage that the target's machines are for, and the whole process.
    pub stage: Option<String>,
    /// The machines with their settings; none: there are none any more.
    pub machines: Vec<PolicySpec>,
}

/// A list of machines in any form that a file has, or one with its stage.
impl<'de> Deserialize<'de> for SetMachines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Written(#[serde(with = "choice")] PolicySpec);
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Staged {
            #[serde(default)]
            stage: Option<String>,
            machines: Vec<Written>,
        }
        let value = serde_json::Value::deserialize(deserializer)?;
        let staged = if value.is_array() {
            serde_json::from_value(value).map(|machines| Staged { stage: None, machines })
        } else {
            serde_json::from_value(value)
        };
        let Staged { stage, machines } = staged.map_err(D::Error::custom)?;
        Ok(Self { stage, machines: machines.into_iter().map(|Written(machine)| machine).collect() })
    }
}

/// The tasks of a called service from now on (`PUT /callees`). Calls under way go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetCallees {
    /// Which of the task's calls: the index among those of its service.
    pub call: usize,
    /// As many as the target started with, each with its address if calls may go there.
    pub tasks: Vec<Option<SocketAddr>>,
}

/// A fault for a limited time (`PUT /hinder`), which replaces the active fault of the same kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum InjectFault {
    /// Its workers do only a share of the work that they could do: emulated work takes longer, all other work is
    /// delayed so that the process keeps to that share of its processors' time.
    Capacity {
        /// 0 (they stand still), or 0.01 to 1 (full capacity).
        share: f64,
        /// Duration, milliseconds: over 0, to an hour.
        for_ms: f64,
    },
    /// Every request is read this much later.
    Delay {
        /// Milliseconds, 0 (no delay) to a minute.
        by_ms: f64,
        /// Duration, milliseconds: over 0, to an hour.
        for_ms: f64,
    },
}

/// One line of the event stream (`GET /events`, JSON Lines).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamedEvent {
    /// Milliseconds since the target started.
    pub at_ms: f64,
    /// The name of the stage.
    pub stage: String,
    /// The event.
    #[serde(flatten)]
    pub event: PolicyEvent,
}

/// All problems of a request to the control port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problems {
    /// The problems, each with its key.
    pub problems: Vec<String>,
}

/// Counts of attempts by how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCounts {
    /// Attempts, in all.
    pub attempts: u64,
    /// Attempts after the first of a call.
    pub retries: u64,
    /// Attempts that the caller's own policy refused.
    pub refused_locally: u64,
    /// Attempts that the called service refused.
    pub refused: u64,
    /// Attempts that were answered.
    pub answered: u64,
    /// Attempts that failed or were not answered in time.
    pub failed: u64,
    /// Attempts that are under way or held by the caller's own policy.
    pub open: u64,
}

impl CallCounts {
    /// True if every attempt is counted exactly once by how it ended.
    #[must_use]
    pub fn balances(&self) -> bool {
        self.attempts == self.refused_locally + self.refused + self.answered + self.failed + self.open
    }

    /// Counts an attempt: the first of a call is number 0.
    pub fn begins(&mut self, attempt: u8) {
        self.attempts += 1;
        self.open += 1;
        self.retries += u64::from(attempt > 0);
    }

    /// Counts a refusal by the caller's own policy.
    pub fn refused_at_home(&mut self) {
        self.open -= 1;
        self.refused_locally += 1;
    }

    /// Adds the counts of another task.
    pub fn add(&mut self, one: &Self) {
        self.attempts += one.attempts;
        self.retries += one.retries;
        self.refused_locally += one.refused_locally;
        self.refused += one.refused;
        self.answered += one.answered;
        self.failed += one.failed;
        self.open += one.open;
    }
}
