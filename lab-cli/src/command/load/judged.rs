//! The result of a load: the output of `--output json`.

use std::time::Duration;

use analysis::summary::{Arm, GateFinding, Generator, Measured, PhaseSummary, SCHEMA, ThresholdResult, Validity};
use measure::{Replayed, Replies, Report};
use serde::Serialize;

use super::pace::{self, MissedRate};

/// The result of a load.
#[derive(Debug, Serialize)]
pub struct LoadResult {
    schema: u32,
    pub(super) url: String,
    pub(super) seconds: f64,
    pub(super) verdict: Validity,
    pub(super) valid: bool,
    partial: bool,
    /// The service was gone for so long that the rest of the requests were not made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gave_up: Option<GaveUp>,
    pub(super) reasons: Vec<GateFinding>,
    pub(super) generator: Generator,
    pub(super) requests_per_s: f64,
    /// The service was asked, and nothing was answered as asked: it failed, whatever the figures are worth.
    pub(super) nothing_served: bool,
    /// Requests that waited because all of `-c` connections were in use; the wait is part of their response times.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) waited_for_connection: u64,
    /// The rate that was asked for was not kept, since all of `-c` connections were in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) missed_rate: Option<MissedRate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) replayed: Option<Replayed>,
    /// Conditions of `--fail-if`, each as its opposite, which was to hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) thresholds: Vec<ThresholdResult>,
    /// `--fail-if` as typed; each has a threshold a phase.
    #[serde(skip)]
    pub(super) conditions: Vec<String>,
    /// The steps of a ramp.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) steps: Vec<PhaseSummary>,
    /// The folder of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) folder: Option<String>,
    /// The time after which an answer is late, where one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deadline_ms: Option<f64>,
    #[serde(flatten)]
    pub(super) measured: Measured,
    #[serde(flatten)]
    pub(super) replies: Replies,
    /// Bytes of the bodies of answers a second, where there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) body_bytes_per_s: Option<f64>,
}

/// A count of requests that was not reached.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct GaveUp {
    /// Seconds in a row without a connection or an answer.
    pub(super) after_s: u64,
    /// Requests that were asked for.
    pub(super) asked: u64,
    /// Requests that were made, whether or not they found a connection.
    pub(super) made: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl LoadResult {
    /// Builds the result from an arm that is judged. `total`: all its phases as one. `planned`: how long they were to
    /// last; `given_up`: a count of requests that was not reached, since the service was gone.
    pub(super) fn of(
        url: &str,
        arm: &Arm,
        (report, total): (&Report, PhaseSummary),
        planned: Duration,
        given_up: Option<u64>,
        partial: bool,
    ) -> Self {
        let PhaseSummary { mut measured, replies, .. } = total;
        let verdict = arm.verdict;
        // With a count of requests the phase may end long before its time.
        let seconds = report.seconds.min(planned.as_secs_f64());
        if seconds > 0.0 {
            measured.offered_per_s = measured.first_attempts() as f64 / seconds;
            measured.goodput_per_s = measured.served as f64 / seconds;
        }
        let gave_up = given_up.filter(|asked| measured.planned < *asked).map(|asked| GaveUp {
            after_s: pace::GIVES_UP_AFTER.as_secs(),
            asked,
            made: measured.planned,
        });
        let answered = measured.served + measured.served_late + measured.rejected + measured.failed;
        // What is open when a person ends a load might have been served.
        let waited_for = if partial { measured.in_flight } else { 0 };
        let lost = measured.sent - waited_for + measured.connect_failed;
        Self {
            schema: SCHEMA,
            url: url.to_owned(),
            seconds,
            verdict,
            valid: verdict != Validity::Invalid,
            partial,
            gave_up,
            reasons: arm.reasons.clone(),
            generator: arm.generator.clone(),
            waited_for_connection: arm.conditions.waited_for_connection,
            missed_rate: None,
            replayed: report.replayed,
            requests_per_s: if seconds > 0.0 { answered as f64 / seconds } else { 0.0 },
            nothing_served: lost > 0 && measured.served + measured.served_late == 0,
            thresholds: Vec::new(),
            conditions: Vec::new(),
            steps: if arm.phases.len() > 1 { arm.phases.clone() } else { Vec::new() },
            folder: None,
            deadline_ms: None,
            measured,
            body_bytes_per_s: (seconds > 0.0 && replies.body_bytes > 0).then(|| replies.body_bytes as f64 / seconds),
            replies,
        }
    }

    /// True if a condition that was to hold does not. Of an INVALID load those alone are judged that its verdict leaves
    /// standing; one whose service was gone has failed them all.
    pub(super) fn fails(&self) -> bool {
        let all = self.valid || self.gave_up.is_some();
        self.thresholds.iter().any(|threshold| !threshold.held && (all || threshold.judged))
    }
}
