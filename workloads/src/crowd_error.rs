//! Errors of users that cannot be made.

use crate::plan::PlanError;

/// A plan whose users cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CrowdError {
    /// No users can be made for the plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Mail users cannot walk the model.
    #[error("the user model `{name}` {problem}")]
    Model {
        /// The name of the model.
        name: String,
        /// The problem, and its remedy.
        problem: String,
    },
    /// There is no account to sign in with.
    #[error("there are no accounts: give the users at least one name and password")]
    NoAccounts,
    /// Users cannot walk the test plan.
    #[error("the test plan cannot be walked: {problem}")]
    TestPlan {
        /// Its place, the problem, and its remedy.
        problem: String,
    },
    /// A path, header or body that cannot be sent.
    #[error("{what} cannot be sent: {problem}")]
    Unsendable {
        /// The text.
        what: String,
        /// The reason.
        problem: String,
    },
}

impl CrowdError {
    /// The error of a text that cannot be sent.
    pub(crate) fn unsendable(what: &str, problem: &str) -> Self {
        Self::Unsendable { what: what.into(), problem: problem.into() }
    }
}
