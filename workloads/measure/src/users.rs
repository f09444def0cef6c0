//! What users did beside sending: how they walked their model, and what became of recorded requests. Filled in by hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Of `substituted`: on the page in place of a message that the user itself had deleted or refiled, to which the model led it
    /// back (the literal reading of "the previous page").
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gone: u64,
}

/// By reference, as serde asks.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How often pages offered what users drew, in one minute of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Offered {
    /// Times that a next page was drawn.
    pub drawn: u64,
    /// Of these: times that the page did not offer it, so that the user listed messages instead; without those on the page of a
    /// message that the user knew to be gone.
    pub not_offered: u64,
}

/// What became of recorded requests: `recorded = asked + passed_over + cut_off`. A host knows of those whose sessions began, and whoever
/// has the recording of the others ([`Replayed::of`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replayed {
    /// Requests that the recording has.
    pub recorded: u64,
    /// Of these: asked for, once or with retries.
    pub asked: u64,
    /// Of these: not asked for, as no page offered them or users do not make such requests.
    pub passed_over: u64,
    /// Of these: never come to, as the time was over first, or the user had given up.
    pub cut_off: u64,
}

impl Replayed {
    /// The same of so many requests, those of sessions that never began among them.
    #[must_use]
    pub fn of(self, recorded: u64) -> Self {
        let recorded = recorded.max(self.recorded);
        Self { recorded, cut_off: recorded - self.asked.saturating_add(self.passed_over).min(recorded), ..self }
    }
}
