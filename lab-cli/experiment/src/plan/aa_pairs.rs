//! An arm against itself: what differs there is the noise of the lab.

use super::{ArmPlan, Experiment};

impl Experiment {
    /// Pairs of arms that are the same but for their names, each with the first of its kind.
    pub fn twins(&self) -> Vec<[String; 2]> {
        let unnamed = |arm: &ArmPlan| ArmPlan { label: String::new(), ..arm.clone() };
        let twin = |(index, arm): (usize, &ArmPlan)| {
            let first = self.arms[..index].iter().find(|other| unnamed(other) == unnamed(arm))?;
            Some([first.label.clone(), arm.label.clone()])
        };
        self.arms.iter().enumerate().filter_map(twin).collect()
    }

    /// Says of twins that they say nothing in virtual time.
    pub(super) fn void_twins(&self) -> Option<String> {
        let [first, twin] = self.twins().into_iter().next()?;
        Some(format!(
            "in virtual time {twin} and {first} are the same bits: such an A/A is void, it says nothing about noise (live it does; \
             what chance does in virtual time show other seeds, --repeat)"
        ))
    }
}
