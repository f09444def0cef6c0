//! Events of a run, as they happen: one stream that the recorder, the progress lines and the live view all read.

use std::collections::BTreeMap;

use controllers::catalogue::PolicySpec;
use measure::Shard;
use serde::{Deserialize, Serialize};

mod touch;

pub use touch::{NOT_DONE, Touch, value_in_words};
// The types of what users measure are those of `measure`.
pub use measure::Group;

use crate::summary::{Arm, LatencyObjective, Mode, RunSummary, Touched};

/// One event of a run. Texts may come from the target: whoever prints them scrubs them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum LiveEvent {
    /// The run begins. Comes first.
    RunStarted(Shape),
    /// A line for people: calibration, snapshots, warnings.
    Note {
        /// The line.
        text: String,
    },
    /// An arm begins.
    ArmStarted {
        /// Name of the arm.
        arm: String,
        /// Repetition, from 1.
        block: u32,
        /// The policy that it begins with, as the experiment has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<PolicySpec>,
    },
    /// The load of the current arm begins, with second 0 of its timeline. Live alone.
    LoadStarted {
        /// Wall-clock time in UTC to the millisecond (RFC 3339): to lay its seconds beside what other programs
        /// recorded.
        at: String,
    },
    /// A phase of the current arm begins; the time after the last phase, while open requests end, is named `drain`.
    PhaseStarted {
        /// Name of the phase.
        phase: String,
        /// Second of the arm.
        second: u32,
    },
    /// A second of the current arm is over.
    Second(Box<TimelineSecond>),
    /// Progress of a run in virtual time, whose arms are computed side by side and told one after the other. For
    /// those who watch: it is not recorded.
    Computing {
        /// Seconds of virtual time that have been computed, over all arms.
        done_s: f64,
        /// Seconds in all.
        of_s: f64,
    },
    /// The target's policy did something worth a line: switched, degraded, resized.
    Policy {
        /// Second of the arm.
        second: f64,
        /// Stage.
        stage: String,
        /// Text for people.
        text: String,
    },
    /// A person changed the run.
    Touched {
        /// Second of the arm.
        second: f64,
        /// Change that was made.
        #[serde(flatten)]
        touch: Touch,
    },
    /// The arm is over and judged.
    ArmFinished(Box<Arm>),
    /// The person (or a signal) asked to stop: arrivals end, what is open is awaited, what was measured is saved.
    Stopping,
    /// The run could not be carried out to its end. Comes last, for those who read its folder.
    RunFailed {
        /// Reason in a line.
        why: String,
    },
    /// The run is over. Comes last.
    RunFinished(Box<RunSummary>),
}

impl LiveEvent {
    /// Change by a person, as the summary has it.
    pub fn touched(&self) -> Option<Touched> {
        match self {
            Self::Touched { second, touch } => Some(Touched { second: *second, what: touch.in_words() }),
            _ => None,
        }
    }
}

/// Shape of a run before it begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// Name of the experiment.
    pub experiment: String,
    /// World of the run: live or in virtual time.
    #[serde(default)]
    pub mode: Mode,
    /// One line about it.
    pub about: String,
    /// The promise.
    pub objective: LatencyObjective,
    /// Arms by name, in order of the file.
    pub arms: Vec<String>,
    /// Repetitions.
    pub blocks: u32,
    /// Requests a second that the service can serve, where that is known before it is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_per_s: Option<f64>,
    /// Stretches in which faults make it another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacity_changes: Vec<CapacityChange>,
    /// Phases, in order.
    pub phases: Vec<PhaseShape>,
}

impl Shape {
    /// End of each phase, in seconds from the beginning of an arm.
    pub fn ends(&self) -> Vec<f64> {
        let end = |at: &mut f64, phase: &PhaseShape| {
            *at += phase.seconds;
            Some(*at)
        };
        self.phases.iter().scan(0.0, end).collect()
    }

    /// Requests a second that the service can serve at a second of an arm, faults included.
    pub fn capacity_at(&self, second: f64) -> Option<f64> {
        let change = self.capacity_changes.iter().find(|change| (change.from..change.to).contains(&second));
        change.map(|change| change.per_s).or(self.capacity_per_s)
    }

    /// Length of an arm, in seconds.
    pub fn seconds(&self) -> f64 {
        self.phases.iter().map(|phase| phase.seconds).sum()
    }
}

/// A stretch of an arm in which a fault makes the capacity another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityChange {
    /// Begin, in seconds from the beginning of the arm.
    pub from: f64,
    /// End, in the same seconds.
    pub to: f64,
    /// Requests a second that the service can serve meanwhile.
    pub per_s: f64,
}

/// One phase of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseShape {
    /// Name of the phase.
    pub name: String,
    /// Length of the phase.
    pub seconds: f64,
    /// Load in words: `1000 users`, `120 requests/s`.
    pub load: String,
}

/// One second of one arm: also a line of `timeline.jsonl`. Counts are of this second alone, unless they say "now".
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
#[schemars(rename = "Second")]
pub struct TimelineSecond {
    /// The arm.
    pub arm: String,
    /// Its repetition, from 1.
    pub block: u32,
    /// From 0, since the arm began.
    pub second: u32,
    /// The phase that it lies in.
    pub phase: String,
    /// Users there now.
    pub users: u32,
    /// Users by what they do now: `thinking`, `waiting`, `backing off`, `queued`, `connecting`, `in request`; and `gone`, those
    /// who were to stay and have left by themselves since the arm began, who are not in `users`.
    pub users_by_state: BTreeMap<String, u32>,
    /// Intended starts in this second, retries included.
    pub planned: u64,
    /// First attempts among them.
    pub offered: u64,
    /// Written to a connection.
    pub sent: u64,
    /// Ended in this second: answered in time.
    pub served: u64,
    /// Intents that were met in this second within the objective, over all their attempts.
    pub goodput: u64,
    /// Answered too late.
    pub served_late: u64,
    /// Refused on the users' own side: never sent.
    pub refused_locally: u64,
    /// Refused.
    pub rejected: u64,
    /// Given up by the time-out.
    pub timed_out: u64,
    /// Failed.
    pub failed: u64,
    /// Given up by the user.
    pub abandoned: u64,
    /// Connections that did not come about.
    pub connect_failed: u64,
    /// Open now.
    pub in_flight: u64,
    /// By request type; those without any request are left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub by_type: BTreeMap<String, Group>,
    /// By class, where there are several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub by_class: BTreeMap<String, Group>,
    /// Median response time of what was served in this second; `None` with too few.
    pub p50_ms: Option<f64>,
    /// 90th percentile.
    pub p90_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// Where requests that were given up in this second hide the median: at least this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_at_least_ms: Option<f64>,
    /// The same for the 90th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90_at_least_ms: Option<f64>,
    /// The same for the 99th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_at_least_ms: Option<f64>,
    /// Response times of the requests that ended in the five seconds up to this one, in every fifth second: what the SEDA
    /// papers' figures over time show. Of all (`users`), and of each type and class (`users/login`, `users/class-1`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reported: BTreeMap<String, ReportedTimes>,
    /// The generator's health in this second.
    pub generator: GeneratorSecond,
    /// How fast the processors were; `None` where that was not measured, as in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<CoreSpeeds>,
    /// What the target showed of itself, if it answered.
    pub target: Option<TargetSecond>,
    /// Agents that sent the load, where agents did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentSecond>,
}

impl TimelineSecond {
    /// Without what types, classes and users did, and without most of what stages did, nearly all of its size: what measures
    /// over an arm look at.
    #[must_use]
    pub fn outline(mut self) -> Self {
        for groups in [&mut self.by_type, &mut self.by_class] {
            groups.clear();
        }
        self.users_by_state.clear();
        if let Some(target) = &mut self.target {
            target.stages = target.stages.iter().filter_map(StageSecond::outline).collect();
        }
        self
    }
}

/// Response times of the requests that ended in a report window. A percentile that time-outs hide is the bound that they leave;
/// `None` with too few.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct ReportedTimes {
    /// Answers in it.
    pub count: u64,
    /// Median.
    pub p50_ms: Option<f64>,
    /// 90th percentile.
    pub p90_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
}

impl ReportedTimes {
    /// The name of all requests together, under which thresholds ask for these figures, as for the gauges of a stage.
    pub const OF_ALL: &str = "users";

    /// The figure of this name.
    pub fn shows(&self, name: &str) -> Option<f64> {
        match name {
            "count" => Some(self.count as f64),
            "p50_ms" => self.p50_ms,
            "p90_ms" => self.p90_ms,
            "p99_ms" => self.p99_ms,
            _ => None,
        }
    }
}

/// How fast processors did a fixed piece of work: millions of its steps in a second of CPU time. To be held against the same
/// figure of another second or run: it has no meaning of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct CoreSpeeds {
    /// The generator's processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generator: Option<f64>,
    /// The service's; `None` where both have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<f64>,
}

/// An agent in a second of a load that several send.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AgentSecond {
    /// Its name.
    pub name: String,
    /// Its part of the users.
    #[schemars(with = "String")]
    pub shard: Shard,
    /// Requests that it sent in this second.
    pub sent: u64,
    /// Its send lag, 99th percentile.
    pub send_lag_p99_ms: f64,
    /// Share of a core that it used.
    pub cpu: f64,
    /// Its clock ahead of the coordinator's by so much: what its start was corrected by. Clocks count from the start of a program.
    pub offset_ms: f64,
    /// The most by which that may be wrong: half of the shortest round trip.
    pub clock_error_ms: f64,
    /// The time since its last answer.
    pub silent_ms: f64,
    /// The reason why it is no longer counted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

/// The generator's health in a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct GeneratorSecond {
    /// Share of its core.
    pub cpu: f64,
    /// Send lag, 99th percentile.
    pub send_lag_p99_ms: f64,
    /// How late its clock watch was at most.
    pub loop_gap_ms: f64,
    /// Open descriptors now.
    pub open_files: u64,
    /// Threads of the process that sends, which is the lab's own, now; `None` in virtual time, where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// Its resident memory now, in millions of bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<f64>,
}

impl GeneratorSecond {
    /// The worse of two generators, figure by figure.
    #[must_use]
    pub fn busier(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.max(other.cpu),
            send_lag_p99_ms: self.send_lag_p99_ms.max(other.send_lag_p99_ms),
            loop_gap_ms: self.loop_gap_ms.max(other.loop_gap_ms),
            open_files: self.open_files.max(other.open_files),
            threads: self.threads.max(other.threads),
            memory_mb: self.memory_mb.into_iter().chain(other.memory_mb).reduce(f64::max),
        }
    }

    /// The name under which thresholds ask for these figures, as for the gauges of a stage.
    pub const STAGE: &str = "generator";

    /// The figure of this name, where there is a generator.
    pub fn shows(&self, name: &str) -> Option<f64> {
        let threads = self.threads?;
        match name {
            "cpu" => Some(self.cpu),
            "threads" => Some(threads as f64),
            "memory_mb" => self.memory_mb,
            "open_files" => Some(self.open_files as f64),
            "send_lag_p99_ms" => Some(self.send_lag_p99_ms),
            "loop_gap_ms" => Some(self.loop_gap_ms),
            _ => None,
        }
    }
}

/// What the target showed at the end of a second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct TargetSecond {
    /// Share of its core.
    pub cpu: f64,
    /// Resident memory, bytes.
    pub rss_bytes: u64,
    /// Open connections.
    pub connections: u64,
    /// Users' requests answered as asked, in this second.
    pub answered: u64,
    /// Users' requests whose client had gone before the answer was ready or taken, in this second.
    pub client_gone: u64,
    /// In the order of the stage graph.
    pub stages: Vec<StageSecond>,
}

impl TargetSecond {
    /// The name under which thresholds ask for the figures of the whole process, as for the gauges of a stage.
    pub const STAGE: &str = "target";

    /// The figure of this name; `None` for memory where nobody knows it.
    pub fn shows(&self, name: &str) -> Option<f64> {
        match name {
            "cpu" => Some(self.cpu),
            "memory_mb" => (self.rss_bytes > 0).then_some(self.rss_bytes as f64 / 1e6),
            "connections" => Some(self.connections as f64),
            _ => None,
        }
    }
}

/// The row of stages that holds the metrics which a service of one's own exports.
pub const EXPORTED_ROW: &str = "service";

/// One stage at the end of a second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct StageSecond {
    /// Its name.
    pub name: String,
    /// Jobs waiting now.
    pub queue: u32,
    /// Workers now.
    pub workers: u32,
    /// Of these, busy now.
    pub busy: u32,
    /// Most jobs that a worker takes at once.
    pub batch: u32,
    /// Jobs that asked, in this second.
    pub offered: u64,
    /// Let in.
    pub admitted: u64,
    /// Turned away.
    pub refused: u64,
    /// Finished.
    pub completed: u64,
    /// What its policy shows: `admission_rate_per_s`, `p90_ms`, `quality`, `limit`; with a class: `name[class]`; and what
    /// else was counted in this second, such as `attempt_1`, the first retries that came.
    pub gauges: BTreeMap<String, f64>,
}

impl StageSecond {
    /// Stage with the work that waits there; `None` if none does.
    fn outline(&self) -> Option<Self> {
        (self.queue > 0).then(|| Self { queue: self.queue, ..Self::default() })
    }

    /// True for the metrics that a service of one's own exports, which has nothing but gauges.
    pub fn is_exported(&self) -> bool {
        self.name == EXPORTED_ROW
    }

    /// A gauge of its policy, or one of its own counts by name.
    pub fn shows(&self, name: &str) -> Option<f64> {
        let count = |n: u64| Some(n as f64);
        self.gauges.get(name).copied().or_else(|| match name {
            // Nobody counts them there: what is not read is not known.
            _ if self.is_exported() => None,
            "queue" => Some(self.queue.into()),
            "workers" => Some(self.workers.into()),
            "busy" => Some(self.busy.into()),
            "batch" => Some(self.batch.into()),
            "offered" => count(self.offered),
            "admitted" => count(self.admitted),
            "refused" => count(self.refused),
            "completed" => count(self.completed),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_exported_row_does_not_have_is_not_known() {
        let gauges: BTreeMap<String, f64> = [("queue".to_owned(), 7.0)].into();
        let stage =
            |name: &str| StageSecond { name: name.to_owned(), gauges: gauges.clone(), ..StageSecond::default() };
        assert_eq!(stage(EXPORTED_ROW).shows("queue"), Some(7.0));
        assert_eq!((stage(EXPORTED_ROW).shows("busy"), stage("work").shows("busy")), (None, Some(0.0)));
    }
}
