//! Each policy's goodput as a share of the oracle's, and of the bound of who does not know sizes.

use crate::summary::{Arm, PhaseSummary};

/// Fills in the shares, phase by phase and block by block. `told_costs`: arms that know what requests cost, of which the
/// first in a block counts. Without one, or where it answered nothing, there are no shares.
pub fn fill_in(arms: &mut [Arm], told_costs: &[String]) {
    let told = arms.iter().filter(|arm| told_costs.contains(&arm.name)).cloned();
    let (blind, oracles): (Vec<Arm>, Vec<Arm>) = told.partition(is_blind);
    for arm in arms.iter_mut() {
        let of = |arms: &[Arm], phase: &PhaseSummary| {
            arms.iter().find(|other| other.block == arm.block).and_then(|other| share(phase, other))
        };
        let own = |phase: &PhaseSummary| of_bound(phase, *arm.blind_per_s.get(&phase.name)?);
        let shares: Vec<_> =
            arm.phases.iter().map(|phase| (of(&oracles, phase), own(phase).or_else(|| of(&blind, phase)))).collect();
        for (phase, shares) in arm.phases.iter_mut().zip(shares) {
            (phase.of_oracle, phase.of_blind) = shares;
        }
    }
}

/// The bound of who does not know sizes says what chance may add, and no other arm does.
fn is_blind(arm: &Arm) -> bool {
    arm.phases.iter().any(|phase| phase.by_chance_per_s.is_some())
}

fn share(phase: &PhaseSummary, oracle: &Arm) -> Option<f64> {
    let same = oracle.phases.iter().find(|other| other.name == phase.name)?;
    of_bound(phase, same.measured.goodput_per_s)
}

fn of_bound(phase: &PhaseSummary, best_per_s: f64) -> Option<f64> {
    (best_per_s > 0.0).then(|| phase.measured.goodput_per_s / best_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Measured;

    fn arm(name: &str, block: u32, goodput_per_s: f64) -> Arm {
        let measured = Measured { goodput_per_s, ..Measured::default() };
        let phases = vec![PhaseSummary { name: "spike".to_owned(), measured, ..PhaseSummary::default() }];
        Arm { name: name.to_owned(), block, phases, ..Arm::default() }
    }

    #[test]
    fn shares_are_of_the_oracle_of_the_same_block() {
        let mut arms = [arm("seda", 1, 6.0), arm("oracle", 1, 8.0), arm("seda", 2, 6.0), arm("oracle", 2, 12.0)];
        fill_in(&mut arms, &["oracle".to_owned()]);
        let shares = arms.each_ref().map(|arm| arm.phases[0].of_oracle);
        assert_eq!(shares, [Some(0.75), Some(1.0), Some(0.5), Some(1.0)]);
    }

    #[test]
    fn an_arm_that_was_given_tasks_of_its_own_is_held_against_what_they_can_do() {
        let mut arms = [arm("seda", 1, 6.0), arm("none", 1, 6.0)];
        arms[0].blind_per_s = [("spike".to_owned(), 8.0)].into();
        fill_in(&mut arms, &[]);
        assert_eq!(arms.each_ref().map(|arm| arm.phases[0].of_blind), [Some(0.75), None]);
    }

    #[test]
    fn without_an_oracle_or_of_nothing_there_is_no_share() {
        let mut arms = [arm("seda", 1, 6.0), arm("none", 1, 8.0), arm("seda", 2, 1.0), arm("oracle", 2, 0.0)];
        fill_in(&mut arms, &["oracle".to_owned()]);
        assert!(arms.iter().all(|arm| arm.phases[0].of_oracle.is_none()), "{arms:?}");
    }
}
