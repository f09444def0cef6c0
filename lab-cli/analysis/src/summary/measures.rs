//! Measures of a run beside its counts and times: whether it settled, how it recovered, what was wasted, who was served.

use measure::{Dispersion, Fairness, Undelayed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Recovery;
use crate::text::{percent, rate};

/// Measures of one phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Measures {
    /// The load that was planned, where it stays the same for the whole phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<PlannedLoad>,
    /// What the phase is for by the plan; `None` where the plan has no overload and no fault, or its load is near the capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<PhaseRole>,
    /// Goodput fell to nearly nothing, and stayed there until the phase ended. Of overload and faults alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collapse: Option<Collapse>,
    /// Attempts for each request that users wanted: `planned / (planned - retries)`. `None`: they wanted nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amplification: Option<f64>,
    /// Share of the answers that came in this phase which were of no use: late, or with nobody there to take them. `None`:
    /// none came, or the service did not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wasted: Option<f64>,
    /// How evenly users were served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_fairness: Option<Fairness>,
    /// Jain's index of the share of what they wanted that the classes were given: 1 if it was the same. `None` for one class,
    /// or if none was given anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_fairness: Option<f64>,
    /// Whether the phase settled; `None` where that cannot be told: its load changes, or it is short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steadiness: Option<Steadiness>,
    /// How independently users came, where they were to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Dispersion>,
    /// Response times without what the generator itself may have added; `None` in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undelayed: Option<Undelayed>,
    /// Goodput that is missing, as a share of that under the same load before more was asked for, or before a fault: of the second half of
    /// either phase. `None`: no such phase was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hysteresis: Option<f64>,
    /// How the service recovered from what was before this phase, or from the last fault in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
}

/// A measure of whole phases: a name in thresholds, and a column of reports where it has one. Times are milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measure {
    pub name: &'static str,
    /// Meaning, for the reference.
    pub about: &'static str,
    /// Unit, for the reference: `time`, `number`, `share` or `1/s`.
    pub unit: &'static str,
    /// Reason for which there is none, where there is none.
    pub unknown: &'static str,
    pub value: fn(&Measures) -> Option<f64>,
    pub bound: fn(&Measures) -> Option<f64>,
    pub column: Option<MeasureColumn>,
}

/// A column of reports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeasureColumn {
    /// From the left.
    place: u8,
    pub head: &'static str,
    /// Meaning, for pages; columns with one in common have it at the first of them.
    pub meaning: Option<&'static str>,
    pub cell: fn(&Measures) -> Option<String>,
    /// True if the phase is worth a line for it.
    pub tells: fn(&Measures) -> bool,
}

/// The rest of a row that has no bound, and no column.
const EMPTY: Measure =
    Measure { name: "", about: "", unit: "number", unknown: "", value: |_| None, bound: |_| None, column: None };

/// The measures: a field of [`Measures`] and a row here are all that thresholds, reports and the reference need.
pub(crate) static MEASURES: &[Measure] = &[
    Measure {
        name: "recovery",
        about: "Recovery time: seconds after a phase of more load, or after a fault, until goodput stays at 95 % of what is normal \
                (offered, less what was late before it, at most the objective's share; or the baseline's calm, where that was better) and the objective holds, in the next 10 s (or half of the phase) and in all that follows.",
        unit: "time",
        unknown: "there was nothing to recover from: recovery needs a fault in this phase or in all of the one before it, or a phase of \
                  more load before it with as much load as now before that",
        value: |m| Some(m.recovery.as_ref()?.after_s? * 1e3),
        bound: |m| Some(m.recovery.as_ref()?.after_s_at_least? * 1e3),
        column: Some(MeasureColumn {
            place: 7,
            head: "recovery time",
            meaning: Some(
                "Recovery time: after more load or a fault, until goodput was 95 % of what it was and the objective was kept for 10 s. \
                 Metastable: goodput was still under 80 % at the end, though it was watched for a minute and six times the trigger.",
            ),
            cell: |m| m.recovery.as_ref().map(Recovery::in_words),
            tells: |m| m.recovery.is_some(),
        }),
    },
    Measure {
        name: "metastable",
        about: "1 if goodput is still under 80 % of what is normal at the end of the phase, though it lasted a minute and six times the \
                trigger; 0 if the service recovered.",
        unknown: "undecided: it was not watched for long enough, or there was nothing to recover from",
        value: |m| match m.recovery.as_ref()?.verdict.as_str() {
            "metastable" => Some(1.0),
            "recovered" => Some(0.0),
            _ => None,
        },
        ..EMPTY
    },
    Measure {
        name: "hysteresis",
        about: "Share of the goodput that is missing under a load on the way down, of that under the same load on the way up: of the second \
                half of either phase. 0: nothing is missing.",
        unit: "share",
        unknown: "it takes a phase with the same load before, and more load or a fault in between; both of 4 s at least",
        value: |m| m.hysteresis,
        column: Some(MeasureColumn {
            place: 6,
            head: "hysteresis",
            meaning: Some(
                "Hysteresis: the share of goodput that is missing on the way down, of that under the same load on the way up.",
            ),
            cell: |m| m.hysteresis.map(percent),
            tells: |m| m.hysteresis.is_some(),
        }),
        ..EMPTY
    },
    Measure {
        name: "wasted",
        about: "Share of what the service finished that came late or that nobody waited for.",
        unit: "share",
        unknown: "the service finished nothing, or did not say",
        value: |m| m.wasted,
        column: Some(MeasureColumn {
            place: 1,
            head: WASTED,
            meaning: Some("Wasted: the share of what the service finished that came late, or to nobody."),
            cell: |m| m.wasted.map(percent),
            tells: |m| m.wasted.is_some_and(|share| share >= 0.01),
        }),
        ..EMPTY
    },
    Measure {
        name: "user_fairness",
        about: "Jain's index of the share that each user got of what it wanted: 1 is equal.",
        unknown: "it takes two users, and one who was given something",
        value: |m| Some(m.user_fairness?.jain),
        column: Some(MeasureColumn {
            place: 2,
            head: "user fairness",
            meaning: Some(
                "Fairness: Jain's index over what users, or classes, got of what they wanted: 1 if it was the same for all. Worst decile: what the \
                 tenth of the users with the least got.",
            ),
            cell: |m| Some(format!("{:.2}", m.user_fairness?.jain)),
            tells: |m| m.user_fairness.is_some_and(|found| found.jain < UNFAIR),
        }),
        ..EMPTY
    },
    Measure {
        name: "worst_tenth",
        about: "Worst decile: what the tenth of the users that got the least got of what it wanted.",
        unknown: "it takes two users, and one who was given something",
        value: |m| Some(m.user_fairness?.worst_tenth),
        column: Some(MeasureColumn {
            place: 3,
            head: "worst decile",
            meaning: None,
            cell: |m| Some(percent(m.user_fairness?.worst_tenth)),
            tells: |_| false,
        }),
        ..EMPTY
    },
    Measure {
        name: "class_fairness",
        about: "Jain's index over classes of users.",
        unknown: "it takes two classes, and one that was given something",
        value: |m| m.class_fairness,
        column: Some(MeasureColumn {
            place: 4,
            head: "class fairness",
            meaning: None,
            cell: |m| Some(format!("{:.2}", m.class_fairness?)),
            tells: |m| m.class_fairness.is_some_and(|jain| jain < UNFAIR),
        }),
        ..EMPTY
    },
    Measure {
        name: "growth",
        about: "Requests in flight gained per second, where that is a steady trend: the service is not stable; else 0.",
        unit: "1/s",
        unknown: "the load changes, or the phase is shorter than 20 s",
        value: |m| Some(m.steadiness?.growth_per_s),
        column: Some(MeasureColumn {
            place: 5,
            head: "backlog",
            meaning: Some("Backlog: steady, or by how much the requests in flight kept growing."),
            cell: |m| match m.steadiness?.growth_per_s {
                growth if growth > 0.0 => Some(format!("+{}/s", rate(growth))),
                _ => Some("steady".to_owned()),
            },
            tells: Measures::is_unstable,
        }),
        ..EMPTY
    },
    Measure {
        name: "warm_up",
        about: "Length of the beginning that differs from the last third of the phase.",
        unit: "time",
        unknown: "the load changes, or the phase is too short for its queue (WARM-UP in validity.md)",
        value: |m| m.steadiness.filter(|found| found.judged).map(|found| found.warm_up_s * 1e3),
        ..EMPTY
    },
];

/// Jain's index below which it is told.
const UNFAIR: f64 = 0.9;
/// Head of the one column that is known of whole arms too.
pub(crate) const WASTED: &str = "wasted";

/// In thresholds it is a ratio of counts, known of groups of requests and parts of phases too.
const AMPLIFICATION: MeasureColumn = MeasureColumn {
    place: 0,
    head: "retry amplification",
    meaning: Some("Retry amplification: attempts for each request that users wanted."),
    cell: |m| Some(format!("{:.2}", m.amplification?)),
    tells: |m| m.amplification.is_some_and(|times| times >= 1.05),
};

impl MeasureColumn {
    /// All of them, from the left.
    pub fn all() -> Vec<Self> {
        let mut all = vec![AMPLIFICATION];
        all.extend(MEASURES.iter().filter_map(|measure| measure.column));
        all.sort_by_key(|column| column.place);
        all
    }

    /// `-` where nothing is known.
    pub fn shown(&self, measures: &Measures) -> String {
        (self.cell)(measures).unwrap_or_else(|| "-".to_owned())
    }
}

/// What a phase is for, by the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseRole {
    /// Less than the service can serve, before any overload or fault.
    Calm,
    /// More than the service can serve.
    Overload,
    /// A fault begins in it.
    Fault,
    /// Less than the service can serve, after an overload or a fault.
    After,
}

impl PhaseRole {
    /// Word as it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::Overload => "overload",
            Self::Fault => "fault",
            Self::After => "after",
        }
    }

    /// The service is asked for more than it can do.
    pub fn is_stress(self) -> bool {
        matches!(self, Self::Overload | Self::Fault)
    }
}

/// A congestion collapse: goodput under a tenth of the highest that the arm had had.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Collapse {
    /// Seconds from the beginning of the phase until it was there.
    pub after_s: f64,
    /// Goodput from then to the end of the phase, a second.
    pub goodput_per_s: f64,
    /// The highest goodput of the arm over five seconds until the phase ended, a second.
    pub peak_per_s: f64,
}

/// A load that stays the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlannedLoad {
    /// Users.
    Users(u32),
    /// Sessions a second.
    SessionsPerS(f64),
    /// Requests a second.
    RequestsPerS(f64),
}

/// Whether a phase settled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Steadiness {
    /// Its figures are to be read as those of a steady state; `None`: the file does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declared: Option<bool>,
    /// By the plan its subject is a change: a spike, a fault, or what comes after either.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub transient: bool,
    /// Length of one of the 24 parts that are compared, in seconds; 0 in a phase that is too short for so many.
    pub part_s: f64,
    /// Whether it is long enough, for what is in flight, to tell a warm-up from chance.
    pub judged: bool,
    /// How much of its beginning lies outside of what its last third shows, in seconds: the longest over goodput, median response time and
    /// requests in flight.
    pub warm_up_s: f64,
    /// By how much the figures of the warm-up differ from those of the last third, as a share of the latter: the most of the three.
    pub warm_up_effect: f64,
    /// How much of its end lies outside of what its first third shows, in seconds.
    pub late_s: f64,
    /// By how much, as a share of the latter.
    pub late_effect: f64,
    /// Requests in flight, or waiting at the service, grew by so many a second, the more of the two; 0 if it may be chance, or too little to matter.
    pub growth_per_s: f64,
}

impl Measures {
    /// True if there is nothing to write.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Steadiness of a phase, unless the file says that it is not to be read as a steady state.
    pub fn steady_state(&self) -> Option<Steadiness> {
        self.steadiness.filter(|found| found.declared != Some(false))
    }

    /// True if its percentiles depend on how long the phase was.
    pub fn is_unstable(&self) -> bool {
        self.steady_state().is_some_and(|found| found.growth_per_s > 0.0)
    }
}

impl PlannedLoad {
    /// The value as a number, in its own unit.
    pub fn amount(self) -> f64 {
        match self {
            Self::Users(users) => users.into(),
            Self::SessionsPerS(rate) | Self::RequestsPerS(rate) => rate,
        }
    }

    /// Unit of the amount.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Users(_) => "users",
            Self::SessionsPerS(_) => "sessions/s",
            Self::RequestsPerS(_) => "requests/s",
        }
    }
}
