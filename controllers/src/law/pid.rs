//! Proportional, derivative and (windowed) integral feedback.

use std::collections::VecDeque;

/// `out = p × e + d × de/dt + i × ∫e dt`, the integral being over the last `window` steps by the trapezoid rule. Time
/// in seconds.
#[derive(Debug, Clone)]
pub struct Pid {
    proportional: f64,
    derivative: f64,
    integral: f64,
    window: usize,
    trapezoids: VecDeque<f64>,
    last_error: f64,
}

impl Pid {
    /// Creates a law with these gains on the error, its derivative and its integral.
    pub fn new(proportional: f64, derivative: f64, integral: f64, window: usize) -> Self {
        Self {
            proportional,
            derivative,
            integral,
            window,
            trapezoids: VecDeque::with_capacity(window),
            last_error: 0.0,
        }
    }

    /// The change of the setting, `dt` seconds (over 0) after the previous step.
    pub fn step(&mut self, error: f64, dt: f64) -> f64 {
        let slope = (error - self.last_error) / dt;
        if self.trapezoids.len() == self.window {
            self.trapezoids.pop_front();
        }
        self.trapezoids.push_back((self.last_error + error) / 2.0 * dt);
        self.last_error = error;
        // Summed in each step: a running sum would drift.
        let area: f64 = self.trapezoids.iter().sum();
        self.proportional * error + self.derivative * slope + self.integral * area
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_steps_by_hand() {
        let mut pid = Pid::new(1.0, -0.5, 0.002, 100);
        // e 0 → 0.5 in 2 s: slope 0.25, area (0 + 0.5) / 2 × 2 = 0.5. 0.5 − 0.5 × 0.25 + 0.002 × 0.5 = 0.376.
        assert!((pid.step(0.5, 2.0) - 0.376).abs() < 1e-12);
        // e 0.5 → −1 in 1 s: slope −1.5, area 0.5 − 0.25 = 0.25. −1 + 0.75 + 0.0005 = −0.2495.
        assert!((pid.step(-1.0, 1.0) + 0.2495).abs() < 1e-12);
    }

    #[test]
    fn the_integral_forgets_what_left_the_window() {
        let mut pid = Pid::new(0.0, 0.0, 1.0, 2);
        // Steps of 1 s with errors 1, 1, 1: trapezoids 0.5, 1, 1; the last two count.
        pid.step(1.0, 1.0);
        pid.step(1.0, 1.0);
        assert!((pid.step(1.0, 1.0) - 2.0).abs() < 1e-12);
    }
}
