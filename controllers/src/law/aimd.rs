//! Additive increase, multiplicative decrease, with a dead band in between.

/// The law of USITS'03, section 3.2, and its relatives. Errors are relative: (measured − target) / target.
#[derive(Debug, Clone, Copy)]
pub struct Aimd {
    /// Decrease when the error is above this (`err_d`).
    pub decrease_above: f64,
    /// Divide by this (`adj_d`); over 1.
    pub decrease_factor: f64,
    /// Increase when the error is below this (`err_i`).
    pub increase_below: f64,
    /// The amount of an increase.
    pub increase: Increase,
    /// Smallest setting.
    pub min: f64,
    /// Largest setting.
    pub max: f64,
}

/// The amount of an increase.
#[derive(Debug, Clone, Copy)]
pub enum Increase {
    /// A constant amount.
    Constant(f64),
    /// −(error − `zero_at`) × `gain`: zero at `zero_at` (`c_i`), and proportional to the distance below it (`adj_i`).
    Proportional {
        /// `adj_i`.
        gain: f64,
        /// `c_i`.
        zero_at: f64,
    },
}

/// The direction of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AimdStep {
    /// Over the target: decrease.
    Down,
    /// Well below the target: increase.
    Up,
    /// In the dead band: keep.
    Stay,
}

impl Aimd {
    /// The direction for an error.
    pub fn direction(&self, error: f64) -> AimdStep {
        if error > self.decrease_above {
            AimdStep::Down
        } else if error < self.increase_below {
            AimdStep::Up
        } else {
            AimdStep::Stay
        }
    }

    /// The setting after a decrease.
    pub fn decreased(&self, setting: f64) -> f64 {
        self.divided(setting, self.decrease_factor)
    }

    /// The setting divided by `factor`, within bounds.
    pub fn divided(&self, setting: f64, factor: f64) -> f64 {
        (setting / factor).clamp(self.min, self.max)
    }

    /// The setting after an increase.
    pub fn increased(&self, setting: f64, error: f64) -> f64 {
        let more = match self.increase {
            Increase::Constant(step) => step,
            Increase::Proportional { gain, zero_at } => (-(error - zero_at) * gain).max(0.0),
        };
        (setting + more).clamp(self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USITS03: Aimd = Aimd {
        decrease_above: 0.0,
        decrease_factor: 1.2,
        increase_below: -0.5,
        increase: Increase::Proportional { gain: 2.0, zero_at: -0.1 },
        min: 0.05,
        max: 5000.0,
    };

    #[test]
    fn the_published_steps() {
        // Twice the target: error 1, 100 / 1.2 = 83.33.
        assert_eq!(USITS03.direction(1.0), AimdStep::Down);
        assert!((USITS03.decreased(100.0) - 83.333_333_333).abs() < 1e-6);
        // 40 % of the target: error −0.6, −(−0.6 + 0.1) × 2 = 1.0 more.
        assert_eq!(USITS03.direction(-0.6), AimdStep::Up);
        assert!((USITS03.increased(100.0, -0.6) - 101.0).abs() < 1e-9);
        // The most there is, at error −1: −(−1 + 0.1) × 2 = 1.8 a run.
        assert!((USITS03.increased(100.0, -1.0) - 101.8).abs() < 1e-9);
        // Between half the target and the target nothing happens; the ends belong to the band.
        for error in [-0.5, -0.2, 0.0] {
            assert_eq!(USITS03.direction(error), AimdStep::Stay);
        }
    }

    #[test]
    fn settings_stay_in_bounds() {
        assert!((USITS03.decreased(0.05) - 0.05).abs() < 1e-12);
        assert!((USITS03.increased(5000.0, -1.0) - 5000.0).abs() < 1e-9);
    }
}
