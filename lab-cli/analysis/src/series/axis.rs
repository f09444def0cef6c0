//! The axis of a panel, of a picture or a terminal.

/// Axis: values as shares of a panel.
#[derive(Debug)]
pub struct Axis {
    /// Lower end; the logarithm of it where `log`.
    pub from: f64,
    /// Upper end, the same.
    pub to: f64,
    /// Values that are labelled.
    pub ticks: Vec<f64>,
    /// True of factors of ten.
    pub log: bool,
}

impl Axis {
    /// Axis from zero.
    pub fn linear(_: f64, most: f64) -> Self {
        Self { from: 0.0, to: if most > 0.0 { most * 1.05 } else { 1.0 }, ticks: Vec::new(), log: false }
            .with_round_ticks(4.0)
    }

    /// Axis by factors of ten, over whole decades.
    pub fn decades(least: f64, most: f64) -> Self {
        let low = libm::floor(libm::log10(least.clamp(1e-3, 1e4)));
        let high = libm::ceil(libm::log10(most.clamp(1e-3, 1e4))).max(low + 1.0);
        let count = (high - low) as i32;
        let ticks = (0..=count).map(|step| libm::pow(10.0, low + f64::from(step))).collect();
        Self { from: low, to: high, ticks, log: true }
    }

    /// About so many ticks, at 1, 2 or 5 times a power of ten.
    pub fn with_round_ticks(mut self, about: f64) -> Self {
        let rough = (self.to - self.from) / about;
        let power = libm::pow(10.0, libm::floor(libm::log10(rough)));
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|step| *step >= rough * 0.999);
        let step = step.unwrap_or(rough);
        let count = ((self.to - self.from) / step + 1e-9) as u32;
        self.ticks = (0..=count).map(|n| f64::from(n) * step).collect();
        self
    }

    /// Place of a value, from 0 to 1.
    pub fn at(&self, value: f64) -> f64 {
        let value = if self.log { libm::log10(value.max(1e-6)) } else { value };
        ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0)
    }
}

/// A tick in words.
pub fn shown(tick: f64) -> String {
    let rounded = (tick * 1000.0).round() / 1000.0;
    format!("{rounded}")
}
