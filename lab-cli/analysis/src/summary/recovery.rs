//! Recovery from overload and faults.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::time;

/// How a service recovered: from a phase of more load, or from a fault.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Recovery {
    /// Name of the phase, or `fault`.
    pub from: String,
    /// How long that lasted, in seconds.
    pub trigger_s: f64,
    /// The arm's own goodput before it, a second; 0: the run began with it.
    pub goodput_before_per_s: f64,
    /// What counts as normal: what was offered before it, less the share that was not in time then, of which the objective's own share is the
    /// most that counts; by the calm of the baseline, where that was better. The objective's share of what was offered after a fault with which
    /// the run began.
    pub normal_per_s: f64,
    /// Seconds from its end until goodput stayed at 95 % of what is normal, and the objective kept, in the next 10 s and in all that followed; `None`: not in this phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_s: Option<f64>,
    /// Not within this many seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_s_at_least: Option<f64>,
    /// Goodput at the end of the phase, a second.
    pub goodput_at_end_per_s: f64,
    /// How long it was watched after the trigger was gone, in seconds.
    pub watched_s: f64,
    /// How long it has to be watched to be called metastable, in seconds.
    pub watch_needed_s: f64,
    /// Users tried again what had failed: without that nothing can keep a bad state alive.
    pub retries: bool,
    /// `recovered`, `metastable` or `undecided`.
    pub verdict: String,
    /// What it is judged by, in no file: the summary holds it against the baseline's calm.
    #[serde(skip)]
    pub watched: Watched,
}

/// What was normal before a trigger, and the seconds after it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Watched {
    /// Users wait for answers, and ask for less where these are late.
    pub closed: bool,
    /// What was offered before the trigger, a second.
    pub offered_before_per_s: f64,
    /// The share of it that has to be in time.
    pub in_time: f64,
    /// In order.
    pub seconds: Vec<WatchedSecond>,
}

/// Requests of one second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WatchedSecond {
    /// That came.
    pub offered: u64,
    /// Wants that were met in time.
    pub goodput: u64,
    /// Answered in time.
    pub served: u64,
    /// Answered late, or waited for in vain.
    pub late: u64,
}

impl Recovery {
    /// `after 4.00 s`, `not within 60.0 s: metastable`.
    pub fn in_words(&self) -> String {
        let seconds = |s: f64| if s < 1.0 { "at once".to_owned() } else { format!("after {}", time(s * 1e3)) };
        let when = match (self.after_s, self.after_s_at_least) {
            (Some(after), _) => seconds(after),
            (None, Some(least)) => format!("not within {}", time(least * 1e3)),
            (None, None) => "-".to_owned(),
        };
        match self.verdict.as_str() {
            "recovered" => when,
            "metastable" => format!("{when}: metastable"),
            _ => format!("{when}; watched for {} s of {}", self.watched_s, self.watch_needed_s),
        }
    }
}
