//! The ways through a test plan, which may lead back to steps before.

use std::collections::BTreeSet;

use super::program::Instruction;
use crate::plan::PlanStep;

/// The places that may follow a place. The one behind the last is the end of a session.
fn next_of(code: &[Instruction], place: usize) -> Vec<usize> {
    match &code[place] {
        Instruction::Ask(_) => vec![place + 1],
        Instruction::Choose(branches) => branches.iter().map(|(_, to)| *to).collect(),
        Instruction::Jump(to) => vec![*to],
    }
}

/// For each place the values that every way to it has extracted; `None` where no way leads. `written`: the steps by their numbers.
pub(super) fn known<'a>(code: &[Instruction], written: &[(&'a PlanStep, usize)]) -> Vec<Option<BTreeSet<&'a str>>> {
    let mut known: Vec<Option<BTreeSet<&str>>> = vec![None; code.len() + 1];
    known[0] = Some(BTreeSet::new());
    let mut changed = vec![0];
    // Sets only become smaller: this ends.
    while let Some(place) = changed.pop() {
        let (Some(mut here), true) = (known[place].clone(), place < code.len()) else { continue };
        if let Instruction::Ask(step) = code[place] {
            here.extend(written[step].0.extract.iter().map(|extraction| extraction.name.as_str()));
        }
        for next in next_of(code, place) {
            let there = known[next].as_ref().map_or_else(|| here.clone(), |before| before & &here);
            if known[next].as_ref() != Some(&there) {
                known[next] = Some(there);
                changed.push(next);
            }
        }
    }
    known
}

/// For each place, whether a way leads from it to the end of the session.
pub(super) fn that_end(code: &[Instruction]) -> Vec<bool> {
    let mut ends = vec![false; code.len() + 1];
    ends[code.len()] = true;
    let mut grows = true;
    while grows {
        grows = false;
        for place in (0..code.len()).rev().filter(|&place| !ends[place]).collect::<Vec<_>>() {
            ends[place] = next_of(code, place).into_iter().any(|next| ends[next]);
            grows |= ends[place];
        }
    }
    ends
}
