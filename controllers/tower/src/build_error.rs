//! Errors of a layer's configuration.

use controllers::{Entry, catalogue::Problem};

/// The problems of a layer's configuration: all of them at once, each with its key and the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct BuildError {
    problems: Vec<Problem>,
}

impl BuildError {
    pub(crate) fn new(problems: impl IntoIterator<Item = Problem>) -> Self {
        Self { problems: problems.into_iter().collect() }
    }

    /// Problems with the settings of a policy: their keys begin with its name.
    pub(crate) fn of_policy(entry: &Entry, problems: impl IntoIterator<Item = Problem>) -> Self {
        let of_policy = |problem: Problem| Problem { key: format!("{}.{}", entry.name, problem.key), ..problem };
        Self::new(problems.into_iter().map(of_policy))
    }

    /// A problem with one method's argument.
    pub(crate) fn one(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new([Problem { key: key.into(), message: message.into() }])
    }

    /// The problems.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}
