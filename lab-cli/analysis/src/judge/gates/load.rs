//! MODEL, CAP, ARRIVALS, SAMPLES and HEADROOM: was it the load that was meant, and enough of it to say something?

use measure::least_samples;

use super::{
    Context, fraction, invalid,
    limits::{ARRIVALS_CHANCE, ARRIVALS_PER_WINDOW, ARRIVALS_WINDOWS, HEADROOM, NULL_SHARE, OVERLOADED},
    warn,
};
use crate::summary::{Arm, Dispersion, Measured, Reason};

pub(super) fn check(arm: &Arm, context: &Context, reasons: &mut Vec<Reason>) {
    model(arm, context, reasons);
    cap(arm, reasons);
    arrivals(arm, reasons);
    samples(arm, context, reasons);
    headroom(arm, context, reasons);
}

/// In a closed loop, users who wait do not ask: a collapse under open load would not be seen (Schroeder, Wierman and
/// Harchol-Balter, NSDI'06). A caution: whether a claim is about open arrivals stands in no file.
fn model(arm: &Arm, context: &Context, reasons: &mut Vec<Reason>) {
    if !context.closed {
        return;
    }
    let worst = arm.phases.iter().map(|phase| (overloaded(&phase.measured), phase.name.as_str()));
    let Some((share, phase)) = worst.max_by(|a, b| a.0.total_cmp(&b.0)) else { return };
    if share > OVERLOADED {
        reasons.push(warn(
            "MODEL",
            format!("{:.1} % of the requests of {phase} not served in time", share * 100.0),
            format!("{:.0} %", OVERLOADED * 100.0),
            "a closed load under overload: users who wait do not ask, so offered load falls with the service",
            "read it as an experiment with a fixed number of users; for open arrivals see overload-sweep",
        ));
    }
}

pub(super) fn overloaded(measured: &Measured) -> f64 {
    let not_in_time = measured.served_late
        + measured.rejected
        + measured.refused_locally
        + measured.timed_out
        + measured.connect_failed;
    fraction(not_in_time, measured.planned)
}

/// An open load whose generator has no room for one more user has silently become a closed one.
fn cap(arm: &Arm, reasons: &mut Vec<Reason>) {
    let conditions = &arm.conditions;
    let full = conditions.busy_users_limit > 0 && conditions.busy_users_max >= conditions.busy_users_limit;
    if full || conditions.waited_for_turn > 0 {
        reasons.push(warn(
            "CAP",
            format!(
                "{} users at a request at once, of {}; {} times one had to wait for its turn",
                conditions.busy_users_max, conditions.busy_users_limit, conditions.waited_for_turn
            ),
            "fewer than there can be".to_owned(),
            "the generator had no room for more users: an open load has become a closed one",
            "raise the limit on open files (ulimit -n), shorten the time-out, or lower the load",
        ));
    }
}

/// A caution: one sound arm in a thousand is found by chance, and a generator that does not keep to its plan is found by LAG
/// and UNSENT. What is left for this one is a plan that is not what its law says.
fn arrivals(arm: &Arm, reasons: &mut Vec<Reason>) {
    let judged: Vec<(&str, Dispersion)> = arm
        .phases
        .iter()
        .filter_map(|phase| Some((phase.name.as_str(), phase.measures.arrivals?)))
        .filter(|(_, found)| found.windows >= ARRIVALS_WINDOWS && found.per_window >= ARRIVALS_PER_WINDOW)
        .collect();
    for (phase, found) in &judged {
        let (low, high) = dispersion(found.windows, ARRIVALS_CHANCE / judged.len() as f64);
        if found.index < low || found.index > high {
            reasons.push(warn(
                "ARRIVALS",
                format!("{phase}: dispersion {:.2} over {} windows of 100 ms", found.index, found.windows),
                format!("{low:.2} to {high:.2} (one sound arm in a thousand is outside)"),
                "arrivals were to be independent, and came too evenly or in bunches",
                "if LAG or HICCUP is found as well, mend that; else run with another seed, and report it if it stays",
            ));
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

/// What a standard normal variable is over with this chance.
fn normal_quantile(chance: f64) -> f64 {
    let over = |z: f64| 0.5 * libm::erfc(z / std::f64::consts::SQRT_2);
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if over(middle) > chance { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// The objective is about a percentile: with too few samples it is not known whether it was kept. `lab load` has none.
fn samples(arm: &Arm, context: &Context, reasons: &mut Vec<Reason>) {
    let Some(busiest) = arm.phases.iter().max_by_key(|phase| phase.measured.planned) else { return };
    let times = &busiest.measured.response_time_ms;
    let (count, least) = (times.count + times.censored, least_samples(context.objective.percentile));
    if context.own_target && busiest.measured.sent > 0 && count < least {
        reasons.push(warn(
            "SAMPLES",
            format!("{} has {count} response times", busiest.name),
            format!("{least} for the {}th percentile", context.objective.percentile),
            "too few for the percentile that the objective is about: it is not given",
            "make the phase longer; a policy that refuses nearly all has no response times to be judged by",
        ));
    }
}

/// Against a service that does nothing, on the same machine, before the first arm.
fn headroom(arm: &Arm, context: &Context, reasons: &mut Vec<Reason>) {
    let Some(headroom) = context.headroom else { return };
    let wanted = HEADROOM * arm.conditions.sent_per_s_max;
    if headroom.ceiling_per_s < wanted {
        reasons.push(invalid(
            "HEADROOM",
            format!(
                "{:.0} requests in a second, of {:.0} that the generator can send here",
                arm.conditions.sent_per_s_max, headroom.ceiling_per_s
            ),
            format!("half of what it can ({wanted:.0} would do)"),
            "the generator has too little in hand: what it shows may be its own limit",
            "lower the load, or raise the work a request (target.capacity)",
        ));
    }
    let limit = context.objective.response_time_ms * NULL_SHARE;
    if let Some(p99) = headroom.response_p99_ms.filter(|p99| *p99 > limit) {
        reasons.push(invalid(
            "HEADROOM",
            format!("a service that does nothing has a p99 of {p99:.1} ms"),
            format!("{limit:.1} ms (a tenth of the objective)"),
            "generator and machine alone add that much to every response time",
            "run on a quieter machine, or with a longer objective",
        ));
    }
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
