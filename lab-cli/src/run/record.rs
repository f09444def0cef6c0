//! `<arm>-<block>.record.json`: all that an arm's figures and verdict are made from.
//!
//! What was seen and cannot be seen again (the books of service and kernel, the joined requests) is kept as it was read;
//! what the users measured is kept as counts and histograms. Every figure of the summary is computed from these, here, by the
//! code that computed it when the run ended.

use serde::{Deserialize, Serialize};
use traces::UserModel;
use workloads::measure::{Record, RecordError, Report};

use super::assemble;
use crate::{
    judge::gates::{self, Context},
    summary::{Arm, Generator, SCHEMA, Verdict},
};

/// An arm's record.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ArmRecord {
    /// As in the summary.
    pub schema: u32,
    /// What the gates knew of the plan.
    pub context: Context,
    /// The arm without what is computed; of a bound, which nobody ran, all of it.
    pub seen: Arm,
    /// What users measured; `None`: nothing was run.
    pub measured: Option<Record>,
}

impl ArmRecord {
    /// Of an arm that was run. `in_parts`: the phases whose twentieths are asked for.
    pub fn of(arm: &Arm, context: Context, report: &Report, in_parts: impl Fn(&str) -> bool) -> Self {
        let seen = Arm {
            generator: Generator::default(),
            phases: Vec::new(),
            walk: Vec::new(),
            reasons: Vec::new(),
            verdict: Verdict::default(),
            valid: true,
            ..arm.clone()
        };
        Self { schema: SCHEMA, context, seen, measured: Some(report.record(in_parts)) }
    }

    /// Of a bound.
    pub fn of_bound(arm: &Arm, context: Context) -> Self {
        Self { schema: SCHEMA, context, seen: arm.clone(), measured: None }
    }

    /// The arm, computed and judged, and the report that it was computed from.
    ///
    /// # Errors
    /// If the record makes no sense.
    pub fn arm(&self, model: Option<&UserModel>) -> Result<(Arm, Option<Report>), RecordError> {
        let Some(measured) = &self.measured else { return Ok((self.seen.clone(), None)) };
        let report = measured.report()?;
        let mut arm = Arm {
            generator: assemble::generator(&report),
            phases: report.phases.iter().map(assemble::phase).collect(),
            walk: assemble::walk(&report, model),
            ..self.seen.clone()
        };
        gates::stamp(&mut arm, &self.context);
        Ok((arm, Some(report)))
    }
}

/// The name of an arm's record.
pub fn file_name(arm: &str, block: u32) -> String {
    format!("{arm}-{block}.record.json")
}
