//! What was seen in one epoch, and the same in subunits (section IV-B, equations 4 to 7).
//!
//! # Deviations from the paper
//!
//! - Equation 6 divides the sum of response times; a mean is meant, as the text says and the released code does.
//! - The text names load y and power ratio x, the equations the other way round: here x is the load.

use std::time::Duration;

/// One epoch, by request type. All three lists have one element for each type.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochSample {
    /// Its length.
    pub length: Duration,
    /// Requests that arrived.
    pub arrived: Vec<u64>,
    /// Requests that were answered well: goodput times length.
    pub served: Vec<u64>,
    /// The sum of their response times, seconds.
    pub response_s: Vec<f64>,
}

/// One epoch in subunits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScaledPoint {
    /// Load, subunits a second (equation 4).
    pub load: f64,
    /// Power ratio: goodput in subunits a second (equation 5) by the mean response time of a subunit in seconds
    /// (equations 6 and 7).
    pub power: f64,
}

impl EpochSample {
    /// The epoch as it is for requests of this hardness; `None` without an arrival or an answer.
    #[must_use]
    pub fn scaled(&self, hardness: &[f64]) -> Option<ScaledPoint> {
        let (arrived, served) = (self.arrived.iter().sum::<u64>(), self.served.iter().sum::<u64>());
        let (length, response) = (self.length.as_secs_f64(), self.response_s.iter().sum::<f64>());
        if arrived == 0 || served == 0 || length <= 0.0 || response <= 0.0 {
            return None;
        }
        let weighted = |counts: &[u64]| counts.iter().zip(hardness).map(|(n, h)| *n as f64 * h).sum::<f64>();
        let work = weighted(&self.arrived);
        let mean_hardness = work / arrived as f64; // Σ m_i·H_i
        let mean_response = response / served as f64 / mean_hardness;
        Some(ScaledPoint { load: work / length, power: weighted(&self.served) / length / mean_response })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let sample = EpochSample {
            length: Duration::from_secs(10),
            arrived: vec![600, 200],
            served: vec![600, 150],
            response_s: vec![30.0, 45.0],
        };
        // x = 80/s, m = (0.75, 0.25), Σ m·H = 0.75 + 0.25·4 = 1.75: x_s = 140.
        // g_s = 60 + 15·4 = 120; mean response 75/750 = 0.1 s, r_s = 0.1/1.75; y_s = 120·1.75/0.1 = 2100.
        let point = sample.scaled(&[1.0, 4.0]).expect("a busy epoch");
        assert!((point.load - 140.0).abs() < 1e-9 && (point.power - 2100.0).abs() < 1e-9, "{point:?}");
    }

    #[test]
    fn an_idle_epoch_is_no_point() {
        let idle =
            EpochSample { length: Duration::from_secs(10), arrived: vec![3], served: vec![0], response_s: vec![0.0] };
        assert_eq!(idle.scaled(&[1.0]), None);
    }
}
