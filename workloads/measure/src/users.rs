//! Figures of users beside their requests: transitions of their model, and results of recorded requests. Hosts fill
//! them in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counts of a transition between two states, drawn from the model's rows.
///
/// `made` is the count to compare with the model: whether a page offers every state of a row is known before the draw,
/// so these draws follow the model if the walk is right. The other counts tell how often pages did not offer every
/// state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransitionCount {
    /// The state before `from`, if the model has a row of second order for the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The state that users were in.
    pub from: String,
    /// The state that they drew.
    pub to: String,
    /// How often they drew it.
    #[serde(flatten)]
    pub drawn: WalkCell,
}

/// How often one transition was drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WalkCell {
    /// And made, on a page that offered every state of the row.
    pub made: u64,
    /// And made, on a page that did not offer every state of the row.
    pub made_elsewhere: u64,
    /// And not made, since the page did not offer it: the user listed messages instead.
    pub substituted: u64,
    /// Of `substituted`: on the page in place of a message that the user itself had deleted or refiled, to which the model led it back.
    #[serde(skip_serializing_if = "super::health::is_zero")]
    pub gone: u64,
}

/// How often pages offered the state that users drew, in one minute of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Offered {
    /// The number of draws of a next page.
    pub drawn: u64,
    /// Of these, draws that the page did not offer, so that the user listed messages instead; without those on the page
    /// of a message that the user knew to be gone.
    pub not_offered: u64,
}

/// Results of recorded requests: `recorded = asked + passed_over + cut_off`. A host counts those of sessions that
/// began; the owner of the recording adds the others ([`Replayed::of`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replayed {
    /// Requests in the recording.
    pub recorded: u64,
    /// Of these: requested, once or with retries.
    pub asked: u64,
    /// Of these: skipped, since no page offered them or users do not make such requests.
    pub passed_over: u64,
    /// Of these: not reached, since the time was over first, or the user had given up.
    pub cut_off: u64,
}

impl Replayed {
    /// The same counts for this number of recorded requests, with those of sessions that never began.
    #[must_use]
    pub fn of(self, recorded: u64) -> Self {
        let recorded = recorded.max(self.recorded);
        Self { recorded, cut_off: recorded - self.asked.saturating_add(self.passed_over).min(recorded), ..self }
    }
}
