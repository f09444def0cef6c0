use std::fmt;

/// A problem of a test plan, its place and the way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptProblem {
    /// The step, counted from 0 in the order in which steps are written, and its name; `None`: it is no step's problem.
    pub step: Option<(usize, String)>,
    /// The key, dotted: `url`, `extract.token.regex`; of users where there is no step: `no_show`.
    pub key: String,
    /// The problem.
    pub problem: String,
    /// The way out.
    pub remedy: String,
}

impl fmt::Display for ScriptProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((number, name)) = &self.step {
            write!(f, "step {} ({name}): ", number + 1)?;
        }
        write!(f, "{}: {}; {}", self.key, self.problem, self.remedy)
    }
}
