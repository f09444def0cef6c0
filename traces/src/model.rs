//! A Markov model of what users do.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{Think, learn::Fitted};

/// States, transitions and think times, with their source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserModel {
    /// Name.
    pub name: String,
    /// Where the numbers come from.
    pub source: String,
    /// Where a session starts; going there again ends it and starts the next.
    pub start: String,
    /// From state, to state, probability. A state without a row goes back to the page before.
    pub transitions: BTreeMap<String, BTreeMap<String, f64>>,
    /// Pause after a page of this state.
    #[serde(default)]
    pub think: BTreeMap<String, Think>,
    /// Other think times by name, to choose from.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub think_profiles: BTreeMap<String, BTreeMap<String, Think>>,
    /// What it was made from, if it was fitted to a trace: counts, intervals, tests. Users do not look at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fitted: Option<Box<Fitted>>,
}

/// The two readings of "always transitions to the previous page visited" after *delete* and *refile* (Welsh's thesis,
/// figure 46).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreviousPage {
    /// The very page the user came from, so also a message that is just gone (its 404 counts as served).
    #[default]
    Literal,
    /// The list that the message was in: from *show message* to *list messages*; from a list or search it is that page.
    List,
}

impl PreviousPage {
    /// The state that follows a state without a row which was reached from `from`.
    #[must_use]
    pub fn after(self, from: &str) -> &str {
        if self == Self::List && from == "show message" { "list messages" } else { from }
    }
}

/// A model that users cannot follow.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// Not YAML, or not in this shape.
    #[error("the user model cannot be read: {0}")]
    Unreadable(String),
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
        /// What they sum to.
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
    /// A law of pauses that cannot be.
    #[error("the think time after `{state}` cannot be: {problem}")]
    ThinkLaw {
        /// After this state.
        state: String,
        /// What is wrong.
        problem: String,
    },
    /// A think profile that the model does not have.
    #[error("there is no think profile `{name}`; the model has {known}")]
    Profile {
        /// As asked for.
        name: String,
        /// Those that there are.
        known: String,
    },
}

/// How far a row may be from 1: rows are written with a few decimals.
const CRUMB: f64 = 1e-6;

impl UserModel {
    /// Reads a model from YAML and checks it.
    ///
    /// # Errors
    /// If it is no YAML of this shape, or fails its [check](Self::check).
    pub fn from_yaml(text: &str) -> Result<Self, ModelError> {
        let model: Self = serde_yaml::from_str(text).map_err(|error| ModelError::Unreadable(error.to_string()))?;
        model.check()?;
        Ok(model)
    }

    /// Writes the model as YAML.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn to_yaml(&self) -> Result<String, ModelError> {
        serde_yaml::to_string(self).map_err(|error| ModelError::Unreadable(error.to_string()))
    }

    /// The same model with the think times of one of its profiles.
    ///
    /// # Errors
    /// If it has no profile of that name.
    pub fn with_think_profile(&self, name: &str) -> Result<Self, ModelError> {
        let think = self.think_profiles.get(name).ok_or_else(|| ModelError::Profile {
            name: name.into(),
            known: self.think_profiles.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
        })?;
        Ok(Self { think: think.clone(), ..self.clone() })
    }

    /// The same model with one law of pauses after every page.
    #[must_use]
    pub fn with_think(&self, law: &Think) -> Self {
        let think = self.states().into_iter().map(|state| (state.to_owned(), law.clone())).collect();
        Self { think, ..self.clone() }
    }

    /// All states, with rows and without.
    #[must_use]
    pub fn states(&self) -> BTreeSet<&str> {
        let to = self.transitions.values().flat_map(BTreeMap::keys);
        self.transitions.keys().chain(to).chain([&self.start]).map(String::as_str).collect()
    }

    /// Checks that users can follow it.
    ///
    /// # Errors
    /// The first problem found: see [`ModelError`].
    pub fn check(&self) -> Result<(), ModelError> {
        for (from, row) in &self.transitions {
            for (to, &chance) in row {
                if !(0.0..=1.0).contains(&chance) {
                    return Err(ModelError::Chance { from: from.clone(), to: to.clone(), chance });
                }
            }
            let sum: f64 = row.values().sum();
            if (sum - 1.0).abs() > CRUMB {
                return Err(ModelError::Sum { from: from.clone(), sum });
            }
        }
        if !self.transitions.contains_key(&self.start) {
            return Err(ModelError::Start(self.start.clone()));
        }
        let states = self.states();
        let reached = self.reached_from(&self.start);
        if let Some(&state) = states.iter().find(|&&state| state != self.start && !reached.contains(state)) {
            return Err(ModelError::Unreachable(state.into()));
        }
        // A state without a row goes back to where it was reached from, so only states with rows can be traps.
        let endless = self.transitions.keys().find(|from| !self.reached_from(from).contains(self.start.as_str()));
        if let Some(from) = endless {
            return Err(ModelError::Endless { from: from.clone(), start: self.start.clone() });
        }
        self.think_profiles.values().chain([&self.think]).try_for_each(|think| check_think(think, &states))
    }

    /// States that can follow this one, at once or later.
    fn reached_from(&self, from: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut todo = vec![from];
        while let Some(state) = todo.pop() {
            for (to, &chance) in self.transitions.get(state).into_iter().flatten() {
                if chance > 0.0 && reached.insert(to.as_str()) {
                    todo.push(to);
                }
            }
        }
        reached
    }
}

fn check_think(think: &BTreeMap<String, Think>, states: &BTreeSet<&str>) -> Result<(), ModelError> {
    for (state, law) in think {
        if !states.contains(state.as_str()) {
            return Err(ModelError::ThinkState(state.clone()));
        }
        if let Some(problem) = law.problem() {
            return Err(ModelError::ThinkLaw { state: state.clone(), problem });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "
name: small
source: made up
start: login
transitions:
  login: {list: 1.0}
  list: {login: 0.25, delete: 0.75}
think:
  list: {constant: 20ms}
think_profiles:
  slow: {list: {uniform: {min: 5s, max: 10s}}}
";

    fn changed(from: &str, to: &str) -> Result<UserModel, ModelError> {
        assert!(SMALL.contains(from), "{from}");
        UserModel::from_yaml(&SMALL.replace(from, to))
    }

    #[test]
    fn a_model_is_read_and_written() {
        let model = UserModel::from_yaml(SMALL).expect("it is sound");
        assert_eq!(model.states(), BTreeSet::from(["delete", "list", "login"]));
        let written = model.to_yaml().expect("it can be written");
        assert_eq!(UserModel::from_yaml(&written), Ok(model.clone()), "{written}");
        let slow = model.with_think_profile("slow").expect("there is one");
        assert_eq!(slow.think["list"].mean().as_millis(), 7500);
        assert!(model.with_think_profile("quick").is_err_and(|e| e.to_string().contains("slow")));
    }

    #[test]
    fn what_users_cannot_follow_is_named() {
        let sum = changed("0.25", "0.2").expect_err("0.95");
        assert!(matches!(&sum, ModelError::Sum { from, .. } if from == "list"), "{sum}");
        assert!(matches!(changed("0.25", "-0.25"), Err(ModelError::Chance { .. })));
        assert!(matches!(changed("0.25", ".nan"), Err(ModelError::Chance { .. })));
        assert_eq!(changed("start: login", "start: home"), Err(ModelError::Start("home".into())));
        assert_eq!(
            changed("transitions:", "transitions:\n  lost: {list: 1.0}"),
            Err(ModelError::Unreachable("lost".into()))
        );
        assert!(
            matches!(changed("login: 0.25", "list: 0.25"), Err(ModelError::Endless { from, .. }) if from == "list")
        );
        assert_eq!(changed("  list: {constant", "  lists: {constant"), Err(ModelError::ThinkState("lists".into())));
        assert!(matches!(changed("min: 5s", "min: 50s"), Err(ModelError::ThinkLaw { .. })));
        assert!(matches!(changed("20ms", "20"), Err(ModelError::Unreadable(e)) if e.contains("20ms")));
        assert!(matches!(changed("source:", "sauce:"), Err(ModelError::Unreadable(_))));
    }
}
