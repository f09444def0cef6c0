//! Arms that did the same, though they were set to different things: a setting that never acted.

use crate::summary::{Arm, PhaseSummary};

/// Each arm that did exactly what an earlier one (in the order of the file) did in every block, with that one. `twins`: pairs
/// that are meant to be the same. With a real service two runs are never equal to the last digit.
pub fn identical(arms: &[Arm], order: &[String], twins: &[[String; 2]]) -> Vec<[String; 2]> {
    let meant = |first: &String, other: &String| {
        twins.iter().any(|[a, b]| (a, b) == (first, other) || (b, a) == (first, other))
    };
    let of = |(index, label): (usize, &String)| {
        let first = order[..index].iter().find(|first| !meant(first, label) && same(arms, first, label))?;
        Some([first.clone(), label.clone()])
    };
    order.iter().enumerate().filter_map(of).collect()
}

fn same(arms: &[Arm], first: &str, other: &str) -> bool {
    let of = |label: &str| -> Vec<&Arm> { arms.iter().filter(|arm| arm.shown_name() == label).collect() };
    let (first, other) = (of(first), of(other));
    let sent = |arm: &Arm| arm.phases.iter().any(|phase| phase.measured.planned > 0);
    !first.is_empty()
        && first.len() == other.len()
        && first.iter().zip(&other).all(|(a, b)| {
            let phases =
                a.phases.len() == b.phases.len() && a.phases.iter().zip(&b.phases).all(|(a, b)| measured_alike(a, b));
            a.block == b.block && !a.bound && !b.bound && sent(a) && phases
        })
}

fn measured_alike(a: &PhaseSummary, b: &PhaseSummary) -> bool {
    a.name == b.name && a.measured == b.measured && a.by_type == b.by_type && a.by_class == b.by_class
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Measured;

    fn arm(name: &str, block: u32, goodput: f64) -> Arm {
        let measured = Measured { planned: 10, sent: 10, goodput_per_s: goodput, ..Measured::default() };
        let phase = PhaseSummary { name: "spike".to_owned(), measured, ..PhaseSummary::default() };
        Arm { name: name.to_owned(), policy: name.to_owned(), block, phases: vec![phase], ..Arm::default() }
    }

    #[test]
    fn arms_that_differ_in_one_block_are_not_the_same_and_twins_are_meant_to_be() {
        let order = ["none", "budget", "seda", "again"].map(str::to_owned);
        let block = |block: u32, seda: f64| {
            [arm("none", block, 5.0), arm("budget", block, 5.0), arm("seda", block, seda), arm("again", block, seda)]
        };
        let arms: Vec<Arm> = block(1, 5.0).into_iter().chain(block(2, 6.0)).collect();
        let twins = [["seda".to_owned(), "again".to_owned()]];
        assert_eq!(identical(&arms, &order, &twins), [["none".to_owned(), "budget".to_owned()]]);
        let all = identical(&arms, &order, &[]);
        assert_eq!(all[1], ["seda".to_owned(), "again".to_owned()]);
        // Nothing was asked of them.
        let mut idle = arms.clone();
        idle.iter_mut().for_each(|arm| arm.phases[0].measured = Measured::default());
        assert_eq!(identical(&idle, &order, &twins), [] as [[String; 2]; 0]);
    }
}
