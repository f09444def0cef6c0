//! Terms of comparisons, as the experiment says them.

use serde::{Deserialize, Serialize};

use super::{ComparisonFamily, Metric, SequentialRule};
use crate::summary::Arm;

/// Terms of a comparison. Fixed before the run, in the file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Compare {
    /// The arm that the others are compared with; `None`: the first.
    pub baseline: Option<String>,
    /// Metric that decides.
    pub metric: Metric,
    /// Phase that is compared; `None`: the baseline's busiest.
    pub phase: Option<String>,
    /// Margin that matters in practice, as a share; `None`: the metric's own.
    pub margin: Option<f64>,
    /// The run is there to decide: one that is inconclusive ends with code 4.
    pub decide: bool,
    /// Blocks are added until it is decided, by this rule; `None`: their number is fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_decided: Option<SequentialRule>,
}

impl Compare {
    /// For arms in this order, of which some know what no policy can know. A baseline that was left out of the run gives way to the
    /// first.
    pub fn family<'a>(&'a self, order: &'a [String], hindsight: &'a [String]) -> ComparisonFamily<'a> {
        let baseline = self.baseline.as_deref().filter(|baseline| order.iter().any(|name| name == baseline));
        ComparisonFamily {
            order,
            hindsight,
            baseline,
            phase: self.phase.as_deref(),
            primary: self.metric,
            margin: self.margin,
            looks: None,
        }
    }

    /// The same, with the looks that these arms have come to: all that ran, in every block.
    pub fn family_of<'a>(&'a self, ran: &[Arm], order: &'a [String], hindsight: &'a [String]) -> ComparisonFamily<'a> {
        let looks = self.until_decided.as_ref().map(|rule| rule.reached(ran, order));
        ComparisonFamily { looks, ..self.family(order, hindsight) }
    }
}
