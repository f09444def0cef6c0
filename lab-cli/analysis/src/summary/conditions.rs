//! The conditions under which an arm was measured: what validity gates read apart from the requests themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NeighbourUse;

/// The machine, its clocks and the generator while an arm ran. In virtual time nothing of it can go wrong, and all is zero.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Conditions {
    /// CPU time of other programs on the processors of generator and target, as a share of one; `None`: it was not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<f64>,
    /// The same of the kernel's own threads; part of it is work on behalf of generator and target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_noise: Option<f64>,
    /// What the machine's clocks did.
    pub clocks: ClockConditions,
    /// Actual send minus intended send: its 99.9th percentile, and its maximum where there are too few for one.
    pub send_lag_p999_ms: f64,
    /// 999 of 1000 wake-ups of the generator came no later than this; `None` with too few of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hiccup_p999_ms: Option<f64>,
    /// The longest time that the service's control port did not answer; 0 where it was not asked. It is asked four times a
    /// second.
    pub service_silent_max_ms: f64,
    /// Most users at a request at once.
    pub busy_users_max: u32,
    /// How many the generator could have had there; 0: any number.
    pub busy_users_limit: u32,
    /// Times that a user was due and all of those were taken.
    pub waited_for_turn: u64,
    /// Requests that waited because all connections that users share were in use. The wait is part of their response times.
    #[serde(skip_serializing_if = "super::sides::is_zero")]
    pub waited_for_connection: u64,
    /// Kept connections on which the service sent bytes that no request had asked for.
    #[serde(skip_serializing_if = "super::sides::is_zero")]
    pub unasked: u64,
    /// Most requests written in one second.
    pub sent_per_s_max: f64,
    /// How fast the generator's processor was; `None`: too few seconds, or not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generator_speed: Option<Speed>,
    /// The same for the service's, where it has one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_speed: Option<Speed>,
    /// What others did to the processors of the run; `None`: it was not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<NeighbourUse>,
    /// How a service that runs on was found after the arm before; `None`: every arm had its own, or this was the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carried: Option<CarriedOver>,
}

/// How a service that runs on from arm to arm was found before an arm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CarriedOver {
    /// It answered as before the first arm, in the end.
    pub settled: bool,
    /// How long that was waited for, in seconds.
    pub waited_s: f64,
    /// How long an answer took before the first arm.
    pub before_ms: f64,
    /// How long the last one took; `None`: there was none in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_ms: Option<f64>,
}

/// How fast a processor did a fixed piece of work, in millions of its steps a second of CPU time: medians of a reading a
/// second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Speed {
    /// Of the whole arm.
    pub median: f64,
    /// Of the first half of its readings.
    pub first_half: f64,
    /// Of the second half.
    pub second_half: f64,
    /// What each of the three may be off by, as the readings scatter ([`Notches`]); 0 in files of before.
    #[serde(default)]
    pub notches: Notches,
}

/// Half the width of the notches of a box plot: 1.57 times the distance of the quartiles by the root of their number. Two medians whose
/// notches do not touch differ at about the level of 5 % (McGill, Tukey and Larsen, "Variations of box plots", 1978).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Notches {
    /// Of the whole arm.
    pub median: f64,
    /// Of the first half.
    pub first_half: f64,
    /// Of the second half.
    pub second_half: f64,
}

/// What the machine's clocks did while an arm ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Clocks")]
pub struct ClockConditions {
    /// The kernel's source of time as the arm began: `tsc`, `kvm-clock`. Empty where it does not say.
    pub source: String,
    /// The same as it ended.
    pub source_at_end: String,
    /// By how much the wall clock, or the hardware's counter, ran faster or slower than the clock that times are taken from.
    pub drift_ppm: f64,
    /// The most that the wall clock was set by.
    pub step_ms: f64,
    /// How long the machine slept.
    pub suspended_ms: f64,
}

/// What the generator can do on this machine, measured against a service that does nothing, before the first arm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Headroom {
    /// Requests a second at the most.
    pub ceiling_per_s: f64,
    /// Requests a second at which the response times below were measured: half of that.
    pub probed_per_s: f64,
    /// Their 99th percentile: what generator and machine add to every response time. `None`: too few answers.
    pub response_p99_ms: Option<f64>,
}
