use crate::plan::PlanError;

/// Why the users of a plan cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CrowdError {
    /// The plan cannot be carried out with any users.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The model is not one of a mail user.
    #[error("the user model `{name}` {problem}")]
    Model {
        /// Name of the model.
        name: String,
        /// The problem, and the way out.
        problem: String,
    },
    /// There is no account to sign in with.
    #[error("there are no accounts: give the users at least one name and password")]
    NoAccounts,
    /// A path, header or body that cannot be sent.
    #[error("{what} cannot be sent: {problem}")]
    Unsendable {
        /// Which text.
        what: String,
        /// Why.
        problem: String,
    },
}
