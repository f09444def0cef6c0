//! `<arm>-<block>.record.json`: all that an arm's figures and verdict are made from.
//!
//! What was seen and cannot be seen again (the books of service and kernel, the joined requests) is kept as it was read;
//! what the users measured is kept as counts and histograms. Every figure of the summary is computed from these, here, by the
//! code that computed it when the run ended.

mod part;

use measure::{RecordError, Report, ReportRecord};
use serde::{Deserialize, Serialize};
use traces::UserModel;

use crate::{
    arm_metrics,
    judge::{
        gates::{self, Context},
        measures::{self, MeasuresPlan},
    },
    live::TimelineSecond,
    summary::{Arm, ClockConditions, Conditions, Generator, SCHEMA, Validity},
};

pub use part::{PartFacts, PartStart};

/// An arm's record.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ArmRecord {
    /// Schema of the summary.
    pub schema: u32,
    /// Context of the gates.
    pub context: Context,
    /// Plan of the measures.
    pub plan: MeasuresPlan,
    /// The arm without what is computed; of a bound, which nobody ran, all of it.
    pub seen: Arm,
    /// Report on what users measured; `None`: nothing was run, or it is in the records of parts.
    pub measured: Option<ReportRecord>,
    /// Facts about the part of the users that it is of; `None`: of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartFacts>,
    /// Number of parts whose records it is the sum of; 0: it has its own figures.
    #[serde(default, skip_serializing_if = "is_none")]
    pub parts: u32,
    /// Names of the agents that were to send them, in the order of parts; empty: no agents did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_none(parts: &u32) -> bool {
    *parts == 0
}

impl ArmRecord {
    /// Record of an arm that was run. `in_parts`: the phases whose twentieths are asked for.
    pub fn of(
        arm: &Arm,
        context: Context,
        plan: MeasuresPlan,
        report: &Report,
        in_parts: impl Fn(&str) -> bool,
    ) -> Self {
        let seen = Arm {
            generator: Generator::default(),
            conditions: with_seen(&Conditions::default(), &arm.conditions),
            wasted: None,
            phases: Vec::new(),
            walk: Vec::new(),
            offered: Vec::new(),
            replayed: None,
            reasons: Vec::new(),
            verdict: Validity::default(),
            valid: true,
            ..arm.clone()
        };
        Self {
            schema: SCHEMA,
            context,
            plan,
            seen,
            measured: Some(report.record(in_parts)),
            part: None,
            parts: 0,
            agents: Vec::new(),
        }
    }

    /// Record of a bound.
    pub fn of_bound(arm: &Arm, context: Context, plan: MeasuresPlan) -> Self {
        Self {
            schema: SCHEMA,
            context,
            plan,
            seen: arm.clone(),
            measured: None,
            part: None,
            parts: 0,
            agents: Vec::new(),
        }
    }

    /// The arm, computed and judged, and the report that it was computed from. `seconds`: those of the arm, in order.
    ///
    /// # Errors
    /// If the record makes no sense.
    pub fn arm(
        &self,
        model: Option<&UserModel>,
        seconds: &[TimelineSecond],
    ) -> Result<(Arm, Option<Report>), RecordError> {
        let Some(measured) = &self.measured else { return Ok((self.seen.clone(), None)) };
        let report = measured.report()?;
        let mut arm = Arm {
            generator: arm_metrics::generator(&report),
            conditions: with_seen(&arm_metrics::conditions(&report), &self.seen.conditions),
            phases: report.phases.iter().map(arm_metrics::phase).collect(),
            walk: arm_metrics::walk(&report, model),
            offered: report.offered.clone(),
            replayed: report.replayed,
            ..self.seen.clone()
        };
        measures::fill_in(&mut arm, seconds, &self.plan);
        gates::stamp(&mut arm, &self.context);
        Ok((arm, Some(report)))
    }
}

/// These conditions, with what only the lab could see from others: no report holds it.
fn with_seen(known: &Conditions, seen: &Conditions) -> Conditions {
    let ClockConditions { source, source_at_end, .. } = seen.clocks.clone();
    Conditions {
        noise: seen.noise,
        kernel_noise: seen.kernel_noise,
        neighbours: seen.neighbours.clone(),
        carried: seen.carried,
        service_silent_max_ms: seen.service_silent_max_ms,
        clocks: ClockConditions { source, source_at_end, ..known.clocks.clone() },
        ..known.clone()
    }
}

/// The name of an arm's record.
pub fn file_name(arm: &str, block: u32) -> String {
    format!("{arm}-{block}.record.json")
}
