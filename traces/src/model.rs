//! A Markov model of users.

pub(crate) mod chain;
mod check;
mod error;
pub mod fitted;
mod version;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize, de::IgnoredAny};

pub use error::ModelError;
pub use version::VERSION;

use crate::Think;
use fitted::Fitted;
use version::{first, is_first};

/// States, transitions and think times, with their source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserModel {
    /// The version of the file's format, 1 to [`VERSION`]; default 1.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub version: u32,
    /// Name.
    pub name: String,
    /// The source of the numbers.
    pub source: String,
    /// The start of a session; a transition to it ends the session and starts the next.
    pub start: String,
    /// From state, to state, probability. A state without a row returns to the previous page.
    pub transitions: BTreeMap<String, BTreeMap<String, f64>>,
    /// Rows of second order: state, previous state, next state, probability. They replace the state's row.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub second: BTreeMap<String, BTreeMap<String, BTreeMap<String, f64>>>,
    /// Pause after a page of this state.
    #[serde(default)]
    pub think: BTreeMap<String, Think>,
    /// From state, to state: the pause between these two pages, where it is not that of the first (`think`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub think_to: BTreeMap<String, BTreeMap<String, Think>>,
    /// Alternative think times by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub think_profiles: BTreeMap<String, BTreeMap<String, Think>>,
    /// The data of the fit to a trace: counts, intervals, tests. Simulated users ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fitted: Option<Box<Fitted>>,
}

/// The version of a file, which is read first: newer versions can have unknown parts.
/// Detects a model among other files.
#[derive(Deserialize)]
struct Outline {
    #[serde(default = "first")]
    version: u32,
    transitions: Option<IgnoredAny>,
}

impl UserModel {
    /// Reads a model from YAML and checks it.
    ///
    /// # Errors
    /// If it is no YAML of this shape, of a newer version, or fails its [check](Self::check).
    pub fn from_yaml(text: &str) -> Result<Self, ModelError> {
        let outline: Result<Outline, _> = serde_yaml::from_str(text);
        if let Ok(Outline { version, .. }) = outline
            && version > VERSION
        {
            return Err(ModelError::Version(version));
        }
        let model: Self = serde_yaml::from_str(text).map_err(|error| match outline {
            // Only a model is quoted: the path can name any file.
            Ok(Outline { transitions: Some(_), .. }) => ModelError::Unreadable(error.without_snippet().to_string()),
            _ => ModelError::NoModel(error.location().map_or(0, |at| at.line())),
        })?;
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

    /// The row of a state that was reached from `before`: that of second order for the two, if there is one. `None`:
    /// users return to the previous page.
    #[must_use]
    pub fn row(&self, before: &str, from: &str) -> Option<&BTreeMap<String, f64>> {
        let second = self.second.get(from).and_then(|rows| rows.get(before));
        second.or_else(|| self.transitions.get(from))
    }

    /// The law of the pause between these two pages; `None`: there is no pause.
    #[must_use]
    pub fn pause(&self, from: &str, to: &str) -> Option<&Think> {
        let own = self.think_to.get(from).and_then(|laws| laws.get(to));
        own.or_else(|| self.think.get(from))
    }

    /// The same model with the think times of one of its profiles, and no others.
    ///
    /// # Errors
    /// If it has no profile of that name.
    pub fn with_think_profile(&self, name: &str) -> Result<Self, ModelError> {
        let think = self.think_profiles.get(name).ok_or_else(|| ModelError::Profile {
            name: name.into(),
            known: self.think_profiles.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
        })?;
        Ok(Self { think: think.clone(), think_to: BTreeMap::new(), ..self.clone() })
    }

    /// The same model with one law of pauses after every page, whatever the next one is.
    #[must_use]
    pub fn with_think(&self, law: &Think) -> Self {
        let think = self.states().into_iter().map(|state| (state.to_owned(), law.clone())).collect();
        Self { think, think_to: BTreeMap::new(), ..self.clone() }
    }

    /// All states, with rows and without.
    #[must_use]
    pub fn states(&self) -> BTreeSet<&str> {
        let to = self.transitions.values().flat_map(BTreeMap::keys);
        self.transitions.keys().chain(to).chain([&self.start]).map(String::as_str).collect()
    }
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
    fn a_way_may_have_a_pause_of_its_own() {
        let own =
            "  list: {constant: 20ms}\nthink_to:\n  list: {login: {constant: 5s}}\n  delete: {list: {constant: 1s}}";
        let model = changed("  list: {constant: 20ms}", own).expect("it is sound");
        let pause = |from: &str, to: &str| model.pause(from, to).map(|law| law.mean().as_millis());
        assert_eq!((pause("list", "login"), pause("list", "delete")), (Some(5000), Some(20)));
        assert_eq!((pause("delete", "list"), pause("login", "list")), (Some(1000), None));
        // A new pause replaces all pauses of the model.
        let other = model.with_think(&Think::Constant(std::time::Duration::from_millis(7)));
        let slow = model.with_think_profile("slow").expect("there is one");
        let mean = |model: &UserModel| model.pause("list", "login").map(|law| law.mean().as_millis());
        assert_eq!((mean(&other), mean(&slow)), (Some(7), Some(7500)));
        let never = changed(
            "  list: {constant: 20ms}",
            "  list: {constant: 20ms}\nthink_to: {login: {delete: {constant: 1s}}}",
        );
        assert!(matches!(never, Err(ModelError::ThinkWay { from, to }) if from == "login" && to == "delete"));
        let lost =
            changed("  list: {constant: 20ms}", "  list: {constant: 20ms}\nthink_to: {delete: {lost: {constant: 1s}}}");
        assert!(matches!(lost, Err(ModelError::ThinkWay { .. })), "{lost:?}");
        let law = changed(
            "  list: {constant: 20ms}",
            "  list: {constant: 20ms}\nthink_to: {list: {delete: {uniform: {min: 2s, max: 1s}}}}",
        );
        assert!(matches!(law, Err(ModelError::ThinkLaw { state, .. }) if state == "list, before delete"));
    }

    #[test]
    fn the_page_before_the_last_may_matter() {
        let with = |second: &str| changed("think:", &format!("second: {second}\nthink:"));
        let model = with("{list: {delete: {login: 0.5, delete: 0.5}}}").expect("it is sound");
        assert_eq!(model.row("delete", "list").map(|row| row["login"]), Some(0.5));
        assert_eq!(model.row("login", "list").map(|row| row["login"]), Some(0.25));
        assert_eq!((model.row("list", "delete"), model.states().len()), (None, 3));
        for (second, problem) in [
            ("{login: {list: {list: 1}}}", "sessions begin"),
            ("{delete: {list: {list: 1}}}", "no row under `transitions`"),
            ("{list: {list: {login: 1}}}", "nobody goes from `list` to `list`"),
            ("{list: {nowhere: {login: 1}}}", "nobody goes from `nowhere` to `list`"),
            ("{list: {login: {list: 1}}}", "leads to `list`"),
            ("{list: {login: {login: 0.5}}}", "`list, reached from login` sum to 0.5"),
            ("{list: {login: {login: 2.0}}}", "`list, reached from login` to `login` is 2"),
            // Each state has a way to the end, and still no user reaches it.
            ("{list: {login: {delete: 1}, delete: {delete: 1}}}", "no session ends from `list, reached from login`"),
        ] {
            let error = with(second).expect_err(second).to_string();
            assert!(error.contains(problem), "{second}: {error}");
        }
    }

    #[test]
    fn versions_are_known_or_refused_by_number() {
        assert_eq!(changed("name: small", "name: small").map(|model| model.version), Ok(1));
        assert_eq!(changed("name: small", "version: 2\nname: small").map(|model| model.version), Ok(2));
        // Whatever else such a file contains.
        assert_eq!(changed("name: small", "version: 3\nname: small\nnew: 7"), Err(ModelError::Version(3)));
        assert_eq!(changed("name: small", "version: 0\nname: small"), Err(ModelError::Version(0)));
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
