//! Errors of user models.

use super::version::VERSION;

/// A model that users cannot follow.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// Not YAML, or not in this shape.
    #[error("the user model cannot be read: {0}")]
    Unreadable(String),
    /// A file that is not a user model.
    #[error("this is no user model: it has no table of `transitions`, and cannot be read beyond line {0}")]
    NoModel(u64),
    /// A file of a version that is not known here.
    #[error(
        "the user model is of version {0}, and this program knows 1 to {VERSION}: take a newer one, or fit the model again"
    )]
    Version(u32),
    /// A chance outside of 0 to 1.
    #[error("the chance to go from `{from}` to `{to}` is {chance}, and must be between 0 and 1")]
    Chance {
        /// From this state.
        from: String,
        /// To this state.
        to: String,
        /// As written.
        chance: f64,
    },
    /// A row that does not sum to 1.
    #[error("the chances to leave `{from}` sum to {sum}, and must sum to 1: correct the row")]
    Sum {
        /// From this state.
        from: String,
        /// The sum.
        sum: f64,
    },
    /// A start without a row.
    #[error("the start `{0}` has no row under `transitions`: say where users go from there")]
    Start(String),
    /// A state that no session reaches.
    #[error("no session ever reaches `{0}`: let another state lead there, or take it out")]
    Unreachable(String),
    /// A state from which no session ends.
    #[error("no session ends from `{from}`: there is no way from there back to `{start}`")]
    Endless {
        /// From this state.
        from: String,
        /// The start.
        start: String,
    },
    /// A think time for a state that does not exist.
    #[error("there is a think time for `{0}`, which is no state of the model: correct the name")]
    ThinkState(String),
    /// An invalid law of pauses.
    #[error("the think time after `{state}` cannot be: {problem}")]
    ThinkLaw {
        /// After this state.
        state: String,
        /// The error.
        problem: String,
    },
    /// A think time for an impossible transition.
    #[error(
        "there is a think time for the way from `{from}` to `{to}`, which users never go: correct the names, or take it out"
    )]
    ThinkWay {
        /// From this state.
        from: String,
        /// To this one.
        to: String,
    },
    /// An invalid row of second order.
    #[error("the row of second order of `{from}`, reached from `{before}`, cannot be: {problem}")]
    Second {
        /// The state.
        from: String,
        /// Reached from this one.
        before: String,
        /// The error.
        problem: String,
    },
    /// A think profile that the model does not have.
    #[error("there is no think profile `{name}`; the model has {known}")]
    Profile {
        /// As asked for.
        name: String,
        /// The names of the existing profiles.
        known: String,
    },
}
