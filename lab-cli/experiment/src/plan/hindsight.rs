//! Knowledge of an arm that no policy can have.

use std::collections::BTreeMap;

use controllers::{
    Settings,
    catalogue::{Bound, PolicySpec},
};
use installed::catalogue;
use serde::{Deserialize, Serialize};

/// Arm that names an entry of the catalogue that is a bound, with what it knows beforehand. Manifests have it as
/// `"oracle"`,
/// `{"best-static": {"most": 512}}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WrittenHindsight", into = "WrittenHindsight")]
pub struct Hindsight {
    /// The entry's name.
    pub entry: String,
    /// Knowledge of the arm, with its settings.
    pub known: Foreknowledge,
}

/// Knowledge of an arm beforehand, with its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Foreknowledge {
    /// Best value: the one of its policy's parameter with the highest goodput on the seeds of this run, looked for
    /// before it.
    BestValue(SearchRange),
    /// Cost of each request, as it is offered.
    Costs {
        /// Settings of the bound.
        settings: Settings,
    },
}

/// Range in which the value of a parameter is looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchRange {
    /// Highest value that is tried.
    pub most: u32,
    /// The only service of a tree whose policy is meant; else that of all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The parameter.
    #[serde(default = "limit", skip_serializing_if = "is_limit")]
    pub parameter: String,
}

/// The parameter that manifests leave out.
fn limit() -> String {
    "max".to_owned()
}

fn is_limit(parameter: &String) -> bool {
    *parameter == limit()
}

impl Hindsight {
    /// The bound that a plant seats, if it is told what requests cost.
    pub fn seated(&self) -> Option<PolicySpec> {
        match &self.known {
            Foreknowledge::Costs { settings } if !self.is_blind() => {
                Some(PolicySpec { name: self.entry.clone(), place: None, settings: settings.clone() })
            }
            Foreknowledge::Costs { .. } | Foreknowledge::BestValue(_) => None,
        }
    }

    /// The value that is looked for, if that is what it knows.
    pub fn searched(&self) -> Option<&SearchRange> {
        match &self.known {
            Foreknowledge::BestValue(range) => Some(range),
            Foreknowledge::Costs { .. } => None,
        }
    }

    /// True if it knows every arrival too: in an open loop nothing is run, and the bound is computed.
    pub fn knows_arrivals(&self) -> bool {
        self.is_blind() || matches!(self.bound(), Some(Bound::Costs(costs)) if costs.knows_arrivals)
    }

    /// True if it knows what requests cost in the mean alone.
    pub fn is_blind(&self) -> bool {
        matches!(self.bound(), Some(Bound::Means))
    }

    fn bound(&self) -> Option<&'static Bound> {
        catalogue().find(&self.entry)?.bound()
    }
}

/// Shape in a manifest.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenHindsight {
    Name(String),
    WithSettings(BTreeMap<String, Foreknowledge>),
}

impl From<Hindsight> for WrittenHindsight {
    fn from(Hindsight { entry, known }: Hindsight) -> Self {
        match known {
            Foreknowledge::Costs { settings } if settings.is_empty() => Self::Name(entry),
            known => Self::WithSettings([(entry, known)].into()),
        }
    }
}

impl TryFrom<WrittenHindsight> for Hindsight {
    type Error = &'static str;

    fn try_from(written: WrittenHindsight) -> Result<Self, Self::Error> {
        match written {
            WrittenHindsight::Name(entry) => {
                Ok(Self { entry, known: Foreknowledge::Costs { settings: Settings::new() } })
            }
            WrittenHindsight::WithSettings(named) => {
                let (entry, known) = named.into_iter().next().ok_or("a bound has a name")?;
                Ok(Self { entry, known })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_name_the_bound_and_have_what_differs_from_its_defaults() {
        let range = |parameter: &str| SearchRange { most: 64, service: None, parameter: parameter.to_owned() };
        let bound = |entry: &str, known| Hindsight { entry: entry.to_owned(), known };
        let costs = |settings: Settings| Foreknowledge::Costs { settings };
        for (hindsight, written) in [
            (bound("oracle", costs(Settings::new())), r#""oracle""#),
            (bound("mine", costs([("share".to_owned(), 0.5.into())].into())), r#"{"mine":{"settings":{"share":0.5}}}"#),
            (bound("best-static", Foreknowledge::BestValue(range("max"))), r#"{"best-static":{"most":64}}"#),
            (
                bound("best-size", Foreknowledge::BestValue(range("size"))),
                r#"{"best-size":{"most":64,"parameter":"size"}}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&hindsight).expect("it is data"), written);
            assert_eq!(serde_json::from_str::<Hindsight>(written).expect("the same"), hindsight);
        }
    }
}
