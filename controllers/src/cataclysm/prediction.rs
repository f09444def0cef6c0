//! The arrival rate of the next provisioning period, from those of the last one (WWW'05, section 4.1).

/// How far ahead a prediction looks, in slots of observation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrendPredictor {
    /// The slots of the period that is predicted, at least 1.
    pub period: u32,
    /// The last slots, whose mean is the present rate, at least 1.
    pub recent: u32,
    /// The prediction is at most this many times the present rate, and at least the present rate over this; at least 1.
    pub limit: f64,
}

impl TrendPredictor {
    /// The mean rate of the next period: the value of the least-squares line through `rates`, the oldest first, at the
    /// middle of that period, within the limit around the present rate. 0 without observations.
    #[must_use]
    pub fn predict(&self, rates: &[f64]) -> f64 {
        let recent = &rates[rates.len().saturating_sub(self.recent as usize)..];
        let present = mean(recent);
        let middle = (rates.len() as f64 - 1.0) / 2.0;
        let (mut products, mut squares) = (0.0, 0.0);
        for (slot, rate) in rates.iter().enumerate() {
            let from_middle = slot as f64 - middle;
            products += from_middle * rate;
            squares += from_middle * from_middle;
        }
        if squares == 0.0 {
            return present; // one observation, or none
        }
        // Slot `i` has its middle at i + 1/2, and the period that of rates.len() + period / 2.
        let ahead = rates.len() as f64 + f64::from(self.period) / 2.0 - 0.5 - middle;
        let line = mean(rates) + products / squares * ahead;
        line.clamp(present / self.limit, present * self.limit)
    }
}

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }

    #[test]
    fn a_line_by_hand() {
        // 100, 110, 120, 130: ten more each slot. The next four slots are 140 to 170, 155 on average.
        let predictor = TrendPredictor { period: 4, recent: 2, limit: 2.0 };
        close(predictor.predict(&[100.0, 110.0, 120.0, 130.0]), 155.0);
        // 130 down to 100: 90 to 60, 75.
        close(predictor.predict(&[130.0, 120.0, 110.0, 100.0]), 75.0);
        // Of 0, 0, 0, 6 the line has the slope (0.5 · 0 + 1.5 · 6) / 5 = 1.8: 1.5 + 1.8 · 4 = 8.7, and twice the 3 is 6.
        close(predictor.predict(&[0.0, 0.0, 0.0, 6.0]), 6.0);
        // The same downwards: half of the present 3.
        close(predictor.predict(&[30.0, 6.0, 6.0, 0.0]), 1.5);
    }

    #[test]
    fn without_a_trend_the_present_goes_on() {
        let predictor = TrendPredictor { period: 30, recent: 5, limit: 2.0 };
        close(predictor.predict(&[]), 0.0);
        close(predictor.predict(&[7.0]), 7.0);
        close(predictor.predict(&[7.0; 30]), 7.0);
    }
}
