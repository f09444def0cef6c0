//! Which transitions users made.

use std::sync::atomic::Ordering::Relaxed;

use serde::{Deserialize, Serialize};

use super::{Counts, model::State};

/// How often users went from one state to another by the model's rows.
///
/// `made` is what is to be held against the model: whether a page offers every state of a row is known before the draw, so
/// these draws are as the model says if the walk is right. The rest tells how often pages stood in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransitionCount {
    /// State that they came there from, if the model has a row of second order for the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// State they were in.
    pub from: String,
    /// State they drew.
    pub to: String,
    /// Times it was drawn on a page that offered every state of the row, and therefore made.
    pub made: u64,
    /// Times it was drawn on a page that did not offer every state of the row, but did offer this one.
    pub made_elsewhere: u64,
    /// Times it was drawn where the page did not offer it: the user listed messages instead.
    pub substituted: u64,
}

/// How a drawn state met its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Met {
    OnWholePage,
    Elsewhere,
    NotOffered,
}

impl Counts {
    /// `after`: the state before, where a row of second order was drawn from.
    pub(super) fn count(&self, after: Option<State>, from: State, to: State, met: Met) {
        let after = after.map_or(State::COUNT, |after| after as usize);
        self.0[after][from as usize][to as usize][met as usize].fetch_add(1, Relaxed);
    }

    pub(super) fn seen(&self) -> Vec<TransitionCount> {
        let mut seen = Vec::new();
        // Those of the first order come first.
        let afters = std::iter::once(None).chain(State::ALL.map(Some));
        for (after, from) in afters.flat_map(|after| State::ALL.map(|from| (after, from))) {
            let counts = &self.0[after.map_or(State::COUNT, |after| after as usize)][from as usize];
            for to in State::ALL {
                let [made, made_elsewhere, substituted] = [0, 1, 2].map(|met| counts[to as usize][met].load(Relaxed));
                if made + made_elsewhere + substituted > 0 {
                    let after = after.map(|after| after.name().to_owned());
                    let (from, to) = (from.name().to_owned(), to.name().to_owned());
                    seen.push(TransitionCount { after, from, to, made, made_elsewhere, substituted });
                }
            }
        }
        seen
    }
}
