//! Extent of a run that ended before its plan did.

use std::collections::BTreeSet;

use measure::Shard;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Arm;
use crate::text::counted;

/// What there is of a partial run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Stopped {
    /// Repetitions of every arm that were planned.
    pub blocks_planned: u32,
    /// Those in which every arm ran to its end.
    pub blocks_whole: u32,
    /// Turns of arms that were planned.
    pub turns_planned: u32,
    /// Those that ran to their end.
    pub turns_whole: u32,
    /// The part of the users that there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub part: Option<Shard>,
}

impl Stopped {
    /// `arms`: those that ran; `names`: all that were planned, in each of so many blocks.
    pub fn of(arms: &[Arm], names: &[String], blocks_planned: u32) -> Self {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let whole = || arms.iter().filter(|arm| arm.is_whole());
        Self {
            blocks_planned,
            blocks_whole: count(whole_blocks(arms, names.len()).len()),
            turns_planned: blocks_planned.saturating_mul(count(names.len())),
            turns_whole: count(whole().count()),
            part: arms.first().and_then(|arm| arm.part),
        }
    }

    /// `2 of 121 blocks ran to their end`; of one block, arms.
    pub fn in_words(&self) -> String {
        let Self { blocks_planned, blocks_whole, turns_planned, turns_whole, part } = self;
        if let Some(part) = part {
            return format!("part {part} of the users");
        }
        if *blocks_planned > 1 {
            format!("{blocks_whole} of {} ran to their end", counted(*blocks_planned as usize, "block"))
        } else {
            format!("{turns_whole} of {} ran to their end", counted(*turns_planned as usize, "arm"))
        }
    }
}

/// Blocks in which each of so many arms ran to its end.
pub fn whole_blocks(arms: &[Arm], of: usize) -> BTreeSet<u32> {
    let blocks: BTreeSet<u32> = arms.iter().map(|arm| arm.block).collect();
    let whole = |block: &u32| arms.iter().filter(|arm| arm.block == *block && arm.is_whole()).count() >= of;
    blocks.into_iter().filter(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::PhaseSummary;

    fn arm(name: &str, block: u32, cut_off: bool) -> Arm {
        let phase = |name: &str, cut_off| PhaseSummary { name: name.to_owned(), cut_off, ..PhaseSummary::default() };
        let phases = vec![phase("before", false), phase("spike", cut_off)];
        Arm { policy: name.to_owned(), block, phases, ..Arm::default() }
    }

    #[test]
    fn a_block_is_whole_if_every_arm_ran_to_its_end_in_it() {
        let names = ["none", "seda"].map(str::to_owned);
        let arms = [arm("none", 1, false), arm("seda", 1, false), arm("seda", 2, false), arm("none", 2, true)];
        let stopped = Stopped::of(&arms, &names, 121);
        assert_eq!(
            stopped,
            Stopped { blocks_planned: 121, blocks_whole: 1, turns_planned: 242, turns_whole: 3, part: None }
        );
        assert_eq!(stopped.in_words(), "1 of 121 blocks ran to their end");
        let one = Stopped::of(&arms[2..], &names, 1);
        assert_eq!(one.in_words(), "1 of 2 arms ran to their end");
        assert_eq!(Stopped::of(&arms[..1], &names, 2).blocks_whole, 0, "one arm is missing");
    }
}
