//! Users that walk a test plan: they take values out of answers, build the next request from them, and follow waits.
//!
//! The users of WebQ's load generator (section V-B). Deviations: a step may lead back to one before it, with a probability, as in
//! a Markov chain; from every step there is a way to the end. And a user keeps cookies, which the paper does not mention. What users do who do not
//! wait as told is not in the paper's figures: [`Conduct`](crate::plan::Conduct) has shares for it, 0 by default.

mod compile;
mod extract;
mod problem;
mod program;
mod text;
mod token;
mod user;
mod ways;

use std::sync::Arc;

pub use compile::{MOST_STEPS, MOST_VALUES};
pub use extract::LONGEST_VALUE;
pub use problem::ScriptProblem;
pub use user::ScriptUser;

use crate::{
    behaviour::Home,
    crowd_error::CrowdError,
    plan::{Marks, ScriptUsers},
};
use program::Program;
use token::TokenBoard;

/// The state that all users of a test plan share.
#[derive(Debug, Clone)]
pub struct ScriptCrowd {
    shared: Arc<Shared>,
    /// True if answers come from a service in virtual time, which may have no bodies.
    in_virtual_time: bool,
}

#[derive(Debug)]
struct Shared {
    users: ScriptUsers,
    home: Home,
    program: Program,
    /// Header lines by class.
    marks: Vec<Arc<str>>,
    board: TokenBoard,
}

/// All problems of these users' test plan and conduct; none: they can walk it.
#[must_use]
pub fn check(users: &ScriptUsers) -> Vec<ScriptProblem> {
    compile::program(users).err().unwrap_or_default()
}

impl ScriptCrowd {
    /// Users of this test plan, on the service at `home`.
    ///
    /// # Errors
    /// The first problem of the plan or of the conduct: see [`check`].
    pub fn new(users: &ScriptUsers, marks: &Marks, home: Home) -> Result<Self, CrowdError> {
        let program = compile::program(users).map_err(|problems| {
            let first = problems.into_iter().next();
            CrowdError::TestPlan { problem: first.map_or_else(String::new, |problem| problem.to_string()) }
        })?;
        let shared = Shared {
            program,
            board: TokenBoard::of(&users.conduct),
            users: users.clone(),
            home,
            marks: marks.lines().into_iter().map(Arc::from).collect(),
        };
        Ok(Self { shared: Arc::new(shared), in_virtual_time: false })
    }

    /// The same crowd in virtual time: values with a value for virtual time are that.
    #[must_use]
    pub(crate) fn in_virtual_time(self) -> Self {
        Self { in_virtual_time: true, ..self }
    }

    /// The names of the steps, in the order of their kinds.
    #[must_use]
    pub fn kinds(&self) -> Vec<&str> {
        self.shared.program.names.iter().map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests;
