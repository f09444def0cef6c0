//! Metrics that arms are compared in, each with its scale and its margin.

/// What is compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Intents met within the objective, a second.
    #[default]
    Goodput,
    /// Rejected of those sent.
    RejectFraction,
    /// 90th percentile of the time to an answer, of all requests.
    P90All,
    /// 99th percentile of it.
    P99All,
    /// 90th percentile of response time, of what was answered.
    P90,
    /// 99th percentile.
    P99,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Goodput, Self::RejectFraction, Self::P90, Self::P99, Self::P90All, Self::P99All];

    /// Name in the summary.
    pub fn name(self) -> &'static str {
        match self {
            Self::Goodput => "goodput_per_s",
            Self::RejectFraction => "reject_fraction",
            Self::P90All => "response_time_all_ms.p90",
            Self::P99All => "response_time_all_ms.p99",
            Self::P90 => "response_time_ms.p90",
            Self::P99 => "response_time_ms.p99",
        }
    }

    /// The one with this name in the summary.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// The one that thresholds call so.
    pub fn of_threshold(name: &str) -> Option<Self> {
        let in_thresholds = |metric: &Self| metric.name().replace("_per_s", "").replace("_ms", "");
        Self::ALL.into_iter().find(|metric| in_thresholds(metric) == name)
    }

    /// Margin that matters in practice unless the file says otherwise: 5 % of goodput, 10 % of a percentile, 2 points
    /// of a fraction.
    pub fn margin(self) -> f64 {
        match self {
            Self::Goodput => 0.05,
            Self::RejectFraction => 0.02,
            Self::P90All | Self::P99All | Self::P90 | Self::P99 => 0.10,
        }
    }

    /// The margin in a family whose primary metric may have been given one.
    pub(super) fn margin_in(self, primary: Self, given: Option<f64>) -> f64 {
        given.filter(|_| self == primary).unwrap_or_else(|| self.margin())
    }

    /// Fractions are compared by their difference, all else by the ratio.
    pub(super) fn is_ratio(self) -> bool {
        self != Self::RejectFraction
    }

    /// A percentile of times.
    pub(super) fn is_time(self) -> bool {
        !matches!(self, Self::Goodput | Self::RejectFraction)
    }

    /// A percentile of what was answered alone.
    pub(super) fn is_of_answers(self) -> bool {
        matches!(self, Self::P90 | Self::P99)
    }

    /// A percentile of all requests.
    pub(super) fn is_of_all(self) -> bool {
        self.is_time() && !self.is_of_answers()
    }

    /// A margin on the scale of the differences.
    pub(super) fn scaled_margin(self, margin: f64) -> f64 {
        if self.is_ratio() { libm::log1p(margin) } else { margin }
    }

    /// Value on the scale of the differences.
    pub(super) fn scaled(self, number: f64) -> f64 {
        if self.is_ratio() { libm::log(number) } else { number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_have_names_for_all_and_for_no_other() {
        let names = [
            "goodput",
            "reject_fraction",
            "response_time.p90",
            "response_time.p99",
            "response_time_all.p90",
            "response_time_all.p99",
        ];
        assert_eq!(names.map(Metric::of_threshold), Metric::ALL.map(Some));
        assert_eq!(["goodput_per_s", "response_time.p95", ""].map(Metric::of_threshold), [None; 3]);
    }
}
