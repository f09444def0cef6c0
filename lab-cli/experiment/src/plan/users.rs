//! Senders of the load, and its amount.

use std::{ops::Range, path::PathBuf, time::Duration};

use analysis::sha256;
use serde::{Deserialize, Serialize, Serializer};
use workloads::{
    background::BackgroundRole,
    plan::{
        AnswerCheck, ArrivalLaw, Behaviour, ClientPolicy, Conduct, ConnectionHabit, FailureRule, Marks, PreviousPage,
        TestPlan, UrlRequest, step_gap,
    },
};

use super::{AppPlan, Recording};
use crate::rate::Rate;

/// Senders of the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsersPlan {
    /// Model of their requests.
    pub model: Model,
    /// Recording that they replay where a phase says nothing else.
    pub trace: Option<Recording>,
    /// Behaviour when things go wrong.
    pub behaviour: Behaviour,
    /// Habit of keeping connections.
    pub connections: ConnectionHabit,
    /// Longest wait for an answer.
    #[serde(with = "controllers::millis")]
    pub timeout: Duration,
    /// Longest wait for a connection.
    #[serde(with = "controllers::millis")]
    pub connect_timeout: Duration,
    /// Longest wait after the last phase for what is in flight.
    #[serde(with = "controllers::millis")]
    pub drain: Duration,
    /// Time between two arrivals where the number of users jumps.
    #[serde(with = "controllers::millis", default = "step_gap::usual", skip_serializing_if = "step_gap::is_usual")]
    pub step_gap: Duration,
    /// Source addresses that users are spread over.
    pub sources: u32,
    /// Marks that their requests carry.
    pub marks: Marks,
    /// Policy on their own side, in arms that do not say otherwise.
    pub client: Option<ClientPolicy>,
    /// Each attempt of a request, or of a call for it, draws a new service time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redraw: bool,
    /// Stretches of load.
    pub phases: Vec<PhasePlan>,
}

impl UsersPlan {
    /// Nothing that is sent to a service depends on its answers, and requests cost what they cost by themselves.
    pub(crate) fn is_open(&self, app: &AppPlan) -> bool {
        // A user of one request that is told to log in again leaves.
        let gives_in = |trouble: &FailureRule| matches!(trouble, FailureRule::Login { .. } | FailureRule::Leave);
        let alone = !matches!(app, AppPlan::Generation(_));
        alone && gives_in(&self.behaviour.on_reject) && gives_in(&self.behaviour.on_failure) && self.wants_openly(app)
    }

    /// First attempts do not depend on answers, though repetitions may.
    pub(crate) fn wants_openly(&self, app: &AppPlan) -> bool {
        // What an autoscaler gives depends on what is refused.
        self.asks_openly(app) && !matches!(app, AppPlan::Tree(tree) if tree.is_autoscaled())
    }

    /// The same, whatever serves them.
    pub(crate) fn asks_openly(&self, app: &AppPlan) -> bool {
        let one = |load: &LoadStream| matches!(load, LoadStream::Requests { .. } | LoadStream::Wave { .. });
        self.phases.iter().flat_map(|phase| &phase.loads).all(one)
            && !self.behaviour.patience.as_ref().is_some_and(|patience| patience.reload)
            && matches!(self.model, Model::Url { .. })
            && matches!(app, AppPlan::Emulated(_) | AppPlan::Generation(_) | AppPlan::Checksum(_) | AppPlan::Tree(_))
    }
}

/// Model of what users do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Walk a Markov model of web-mail use.
    Mail {
        /// The model.
        model: traces::UserModel,
        /// Path of the file; `None`: built in. The manifest has its name alone: folders say whose machine it was.
        #[serde(serialize_with = "name_only")]
        file: Option<PathBuf>,
        /// Meaning of "the previous page".
        previous_page: PreviousPage,
    },
    /// Ask for one URL, or for one of several.
    Url {
        /// Path and query.
        path: String,
        /// Requests to draw from; empty: `path` is the only one.
        #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "without_contents")]
        requests: Vec<UrlRequest>,
        /// Parts of the file of requests that are not sent, in a sentence.
        #[serde(skip)]
        left_out: Option<String>,
        /// Check that an answer counts as served.
        #[serde(default, skip_serializing_if = "AnswerCheck::is_none")]
        check: AnswerCheck,
        /// Pause after an answer.
        think: traces::Think,
    },
    /// Walk a test plan.
    Script {
        /// The plan; a manifest has neither its header values nor its bodies.
        #[serde(serialize_with = "super::script::without_contents")]
        plan: TestPlan,
        /// Path of the file; `None`: written in the experiment. The manifest has its name alone.
        #[serde(serialize_with = "name_only")]
        file: Option<PathBuf>,
        /// Conduct of users who are told to wait.
        conduct: Conduct,
    },
}

impl Model {
    /// Parts of a file of requests that are not sent, in a sentence.
    pub fn left_out(&self) -> Option<String> {
        match self {
            Self::Url { left_out, .. } => left_out.clone(),
            Self::Mail { .. } | Self::Script { .. } => None,
        }
    }
}

/// A stretch of load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhasePlan {
    /// Unique name within the experiment.
    pub name: String,
    /// Length of the phase.
    #[serde(with = "controllers::millis")]
    pub duration: Duration,
    /// The phase begins with a fresh policy, as the run did.
    pub fresh_policy: bool,
    /// Declared as steady or not: its figures are to be read so; `None`: they are if it has one load and is long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady: Option<bool>,
    /// Loads that arrive side by side.
    pub loads: Vec<LoadStream>,
}

impl PhasePlan {
    /// A phase of one load, whose figures are not read as those of a steady state.
    pub fn of_load(name: &str, duration: Duration, load: LoadStream) -> Self {
        Self { name: name.to_owned(), duration, fresh_policy: false, steady: Some(false), loads: vec![load] }
    }
}

/// A stream of users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadStream {
    /// The recording ([`UsersPlan::trace`]).
    Replay,
    /// Closed.
    Users {
        /// Number at the start of the phase.
        from: u32,
        /// Number at the end.
        to: u32,
        /// Class of these users.
        class: u8,
    },
    /// Partly open.
    Sessions {
        /// A second, at the start.
        from: Rate,
        /// Rate at the end.
        to: Rate,
        /// Law of the spacing.
        law: ArrivalLaw,
        /// Class of these users.
        class: u8,
    },
    /// Open.
    Requests {
        /// A second, at the start.
        from: Rate,
        /// Rate at the end.
        to: Rate,
        /// Law of the spacing.
        law: ArrivalLaw,
        /// Class of these users.
        class: u8,
    },
    /// Open, at a rate that follows a sine.
    Wave {
        /// Mean rate.
        mean: Rate,
        /// Highest deviation from it.
        amplitude: Rate,
        /// Time from crest to crest.
        #[serde(with = "controllers::millis")]
        period: Duration,
        /// Law of the spacing.
        law: ArrivalLaw,
        /// Class of these users.
        class: u8,
    },
    /// They are there without asking for anything: idle connections, health checks.
    Present {
        /// Number at the start of the phase.
        from: u32,
        /// Number at the end.
        to: u32,
        /// Role of these connections.
        role: BackgroundRole,
        /// Class of these users.
        class: u8,
    },
    /// Connections that come and go.
    Churn {
        /// A second, at the start.
        from: Rate,
        /// Rate at the end.
        to: Rate,
        /// Law of the spacing.
        law: ArrivalLaw,
        /// True with a health check on each.
        ask: bool,
        /// Class of these users.
        class: u8,
    },
}

impl LoadStream {
    /// Class of its users, unless it is recorded.
    pub fn class(&self) -> Option<u8> {
        match *self {
            Self::Replay => None,
            Self::Users { class, .. }
            | Self::Sessions { class, .. }
            | Self::Requests { class, .. }
            | Self::Wave { class, .. }
            | Self::Present { class, .. }
            | Self::Churn { class, .. } => Some(class),
        }
    }

    /// The rates by which they arrive, if it is by a rate that they do: at the start and at the end, or mean and amplitude.
    pub fn rates(&self) -> Option<[Rate; 2]> {
        match *self {
            Self::Sessions { from, to, .. } | Self::Requests { from, to, .. } | Self::Churn { from, to, .. } => {
                Some([from, to])
            }
            Self::Wave { mean, amplitude, .. } => Some([mean, amplitude]),
            Self::Replay | Self::Users { .. } | Self::Present { .. } => None,
        }
    }

    /// Span of its amount, or of its rate, from the start to the end, or from the trough to the crest; nothing is said of
    /// what is recorded.
    pub fn span(&self, capacity: Option<f64>) -> [f64; 2] {
        let rates = self.rates().map_or([0.0; 2], |rates| rates.map(|rate| rate.per_second(capacity)));
        match *self {
            Self::Users { from, to, .. } | Self::Present { from, to, .. } => [from, to].map(f64::from),
            Self::Wave { .. } => [rates[0] - rates[1], rates[0] + rates[1]],
            _ => rates,
        }
    }
}

/// Prefix in a manifest for a header's value or a body: two runs can be compared by it, and nobody can read the text.
const DIGEST: &str = "sha256:";

/// A text, or that of a manifest, as a manifest has it.
pub(super) fn hidden(text: &str) -> String {
    match text.starts_with(DIGEST) {
        true => text.to_owned(),
        false => format!("{DIGEST}{}", sha256::of(text.as_bytes())),
    }
}

/// The same requests without values that may be confidential; those of a manifest stay as they are.
pub fn concealed(requests: &[UrlRequest]) -> Vec<UrlRequest> {
    let one = |request: &UrlRequest| UrlRequest {
        headers: request.headers.iter().map(|(name, value)| (name.clone(), hidden(value))).collect(),
        body: request.body.as_deref().map(hidden),
        ..request.clone()
    };
    requests.iter().map(one).collect()
}

fn without_contents<S: Serializer>(requests: &[UrlRequest], serializer: S) -> Result<S::Ok, S::Error> {
    concealed(requests).serialize(serializer)
}

fn name_only<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    let name = path.as_ref().and_then(|path| path.file_name());
    serializer.serialize_some(&name.map(|name| name.to_string_lossy()))
}

/// The starts of the phases that ask for a fresh policy; the first one always has one.
pub fn policy_resets(phases: &[PhasePlan]) -> Vec<Duration> {
    let mut at = Duration::ZERO;
    let mut starts = Vec::new();
    for phase in phases {
        if phase.fresh_policy && !at.is_zero() {
            starts.push(at);
        }
        at += phase.duration;
    }
    starts
}

/// Stretches of the recording that phases replay.
pub fn replayed(phases: &[PhasePlan]) -> Vec<Range<Duration>> {
    let (mut now, mut spans) = (Duration::ZERO, Vec::<Range<Duration>>::new());
    for phase in phases {
        let until = now + phase.duration;
        if phase.loads.iter().any(|load| matches!(load, LoadStream::Replay)) {
            match spans.last_mut() {
                Some(last) if last.end == now => last.end = until,
                _ => spans.push(now..until),
            }
        }
        now = until;
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_later_phases_that_ask_for_it_begin_anew() {
        let phase = |seconds, fresh_policy| PhasePlan {
            name: String::new(),
            duration: Duration::from_secs(seconds),
            fresh_policy,
            steady: None,
            loads: Vec::new(),
        };
        let phases = [phase(10, true), phase(5, false), phase(7, true), phase(1, true)];
        assert_eq!(policy_resets(&phases), [Duration::from_secs(15), Duration::from_secs(22)]);
    }
}
