//! ARRIVALS: users that were to come independently did.

use super::{
    context::Context,
    gate::{Check, Reasons, ValidityGate},
    limits::{ARRIVALS_CHANCE, ARRIVALS_PER_WINDOW, ARRIVALS_WINDOWS},
    reading::greatest,
};
use crate::summary::{Arm, Dispersion, Validity};

pub(super) const ARRIVALS: ValidityGate = ValidityGate {
    code: "ARRIVALS",
    verdicts: &[Validity::Warn],
    finds: "users that were to come independently came too evenly or in bunches (variance over mean in windows of 100 ms)",
    limit: "0.60 to 1.54 for 100 windows; one sound arm in a thousand is outside",
    remedy: "mend LAG or HICCUP if found too; else another seed",
    checks: &[Check::Arm(check)],
    reading: |run| {
        run.most(
            |arm| {
                greatest(arm.phases.iter().filter_map(|p| p.measures.arrivals).map(|found| (found.index - 1.0).abs()))
            },
            |far, _| format!("{far:.2} from 1"),
        )
    },
};

/// A caution: one sound arm in a thousand is found by chance, and a generator that does not keep to its plan is found by LAG
/// and UNSENT. What is left for this one is a plan that is not what its law says.
fn check(arm: &Arm, _: &Context, reasons: &mut Reasons) {
    let judged: Vec<(&str, Dispersion)> = arm
        .phases
        .iter()
        .filter_map(|phase| Some((phase.name.as_str(), phase.measures.arrivals?)))
        .filter(|(_, found)| found.windows >= ARRIVALS_WINDOWS && found.per_window >= ARRIVALS_PER_WINDOW)
        .collect();
    for (phase, found) in &judged {
        let (low, high) = dispersion(found.windows, ARRIVALS_CHANCE / judged.len() as f64);
        if found.index < low || found.index > high {
            reasons.warn(
                format!("{phase}: dispersion {:.2} over {} windows of 100 ms", found.index, found.windows),
                format!("{low:.2} to {high:.2} (one sound arm in a thousand is outside)"),
                "arrivals were to be independent, and came too evenly or in bunches",
                "if LAG or HICCUP is found as well, mend that; else run with another seed, and report it if it stays",
            );
        }
    }
}

/// Within what the variance over the mean of independent arrivals lies, but for this chance: chi-squared over its degrees of
/// freedom, by Wilson and Hilferty's cube (1931). For 100 windows and one in a thousand that is 0.60 to 1.54.
fn dispersion(windows: u64, chance: f64) -> (f64, f64) {
    let freedom = windows.saturating_sub(1).max(1) as f64;
    let spread = 2.0 / (9.0 * freedom);
    let at = |z: f64| {
        let root = 1.0 - spread + z * spread.sqrt();
        root.max(0.0) * root * root
    };
    let z = normal_quantile(chance / 2.0);
    (at(-z), at(z))
}

/// Value that a standard normal variable exceeds with this chance.
fn normal_quantile(chance: f64) -> f64 {
    let over = |z: f64| 0.5 * libm::erfc(z / std::f64::consts::SQRT_2);
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if over(middle) > chance { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dispersion_of_independent_arrivals_is_that_of_the_tables() {
        // Chi-squared with 99 degrees of freedom, one in two thousand on each side, over 99.
        let (low, high) = dispersion(100, 0.001);
        assert!((low - 0.60).abs() < 0.01 && (high - 1.535).abs() < 0.01, "{low} {high}");
        let (tighter, _) = dispersion(1000, 0.001);
        assert!(tighter > 0.85);
        assert!((normal_quantile(0.025) - 1.959_964).abs() < 1e-6);
    }
}
