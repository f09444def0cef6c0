//! The load that a task reports on its answers, in the form of Open Request Cost Aggregation (gRFC A51; Envoy's HTTP header).

use std::fmt;

/// The header of a [`LoadReport`] on an answer: `TEXT cpu_utilization=0.5,rps_fractional=40,eps=0`.
pub const LOAD_METRICS: &str = "endpoint-load-metrics";

/// What a task reports of itself: its utilization, and the answers of the same time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LoadReport {
    /// CPU time used, as a share of what is available to the task, 0 to 1.
    pub utilization: f64,
    /// Answers a second, whatever their status.
    pub answers_per_s: f64,
    /// Of these, answers a second that are errors or refusals.
    pub errors_per_s: f64,
}

impl LoadReport {
    /// Reads the value of the header. Keys that are not known are skipped, as others may be added; `None`: it is another format, or its
    /// utilization or rate is missing or no number of at least 0.
    #[must_use]
    pub fn read(value: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(value).ok()?.trim().strip_prefix("TEXT")?;
        let metric = |name: &str| {
            let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
            let (_, number) = pairs.into_iter().find(|(key, _)| key.trim() == name)?;
            number.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)
        };
        // What the application says of itself goes before the CPU's, as in gRFC A58.
        let utilization = metric("application_utilization").or_else(|| metric("cpu_utilization"))?;
        let errors_per_s = metric("eps").unwrap_or_default();
        Some(Self { utilization, answers_per_s: metric("rps_fractional")?, errors_per_s })
    }

    /// The capability of the task: answers a second at full utilization, where errors count as utilization (gRFC A58, with its default
    /// penalty of 1). `None`: it has answered nothing, or used nothing.
    #[must_use]
    pub fn capability(&self) -> Option<f64> {
        let Self { utilization, answers_per_s, errors_per_s } = *self;
        let capability = answers_per_s / (utilization + errors_per_s / answers_per_s);
        (answers_per_s > 0.0 && utilization > 0.0 && capability > 0.0).then_some(capability)
    }
}

/// The value of the header.
impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { utilization, answers_per_s, errors_per_s } = self;
        write!(f, "TEXT cpu_utilization={utilization:.4},rps_fractional={answers_per_s:.3},eps={errors_per_s:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let report = LoadReport { utilization: 0.25, answers_per_s: 40.0, errors_per_s: 1.5 };
        assert_eq!(report.to_string(), "TEXT cpu_utilization=0.2500,rps_fractional=40.000,eps=1.500");
        assert_eq!(LoadReport::read(report.to_string().as_bytes()), Some(report));
        let of_others =
            b" TEXT mem_utilization=0.9, rps_fractional=40, application_utilization=0.5,cpu_utilization=0.1";
        let found = LoadReport { utilization: 0.5, answers_per_s: 40.0, errors_per_s: 0.0 };
        assert_eq!(LoadReport::read(of_others), Some(found));
        for wrong in
            [&b"JSON {}"[..], b"TEXT", b"TEXT rps_fractional=1", b"TEXT cpu_utilization=nan,rps_fractional=1", b"\xff"]
        {
            assert_eq!(LoadReport::read(wrong), None, "{wrong:?}");
        }
        assert_eq!(LoadReport::read(b"TEXT cpu_utilization=-1,rps_fractional=1"), None);
    }

    #[test]
    fn capability_is_answers_by_utilization_and_errors_count_as_utilization() {
        let of = |utilization, answers_per_s, errors_per_s| {
            LoadReport { utilization, answers_per_s, errors_per_s }.capability()
        };
        // 40 at half of the CPU are 80 at all of it; with a quarter of them errors, 40 / (0.5 + 0.25).
        assert_eq!(of(0.5, 40.0, 0.0), Some(80.0));
        assert!((of(0.5, 40.0, 10.0).expect("known") - 53.333).abs() < 1e-3);
        // A task that refuses all at next to no cost is worth less than one answer for each that it refuses.
        assert!((of(0.01, 100.0, 100.0).expect("known") - 99.0).abs() < 0.1);
        assert_eq!((of(0.0, 40.0, 0.0), of(0.5, 0.0, 0.0)), (None, None));
    }
}
