//! Changes by a person in a live run while it goes on.

use controllers::{
    Settings,
    catalogue::{PolicySpec, Setting},
};
use serde::{Deserialize, Serialize};

/// Beginning of a note on a change that was asked for and not done.
pub const NOT_DONE: &str = "not done: ";

/// One change. A run with any says so (TOUCHED), and is compared with nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "touch")]
pub enum Touch {
    /// Another policy decides from now on, or the same with other parameters, as new.
    Policy {
        /// Name in the catalogue, of a policy or a preset.
        name: String,
        /// Parameters that are not the defaults.
        settings: Settings,
        /// Place as files have it (`scope`), or the name of a stage, of a service, or both (`front/dispatch`).
        /// `None`: where it usually sits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<String>,
    },
    /// These machines resize pools and batches, and watch the process, from now on, and no others.
    Machines {
        /// Machines of the catalogue.
        machines: Vec<PolicySpec>,
        /// A stage, a service, or both. `None`: where the target's machines sit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<String>,
    },
    /// More users come at once, and leave after a while.
    Spike {
        /// Number of users.
        users: u32,
        /// For so long.
        seconds: f64,
    },
    /// The service can do a part alone of what it could.
    Capacity {
        /// 0: its workers stand still; 1: as usual.
        share: f64,
        /// For so long.
        seconds: f64,
    },
    /// Every request reaches the service later.
    Latency {
        /// Milliseconds.
        by_ms: f64,
        /// For so long.
        seconds: f64,
    },
    /// Users wait for a share alone of their time-out, and of their patience, from now on.
    Impatience {
        /// 1: as planned.
        share: f64,
    },
    /// No user begins a request.
    Pause,
    /// They do again.
    Resume,
}

impl Touch {
    /// Change as people read it.
    pub fn in_words(&self) -> String {
        let percent = |share: f64| crate::text::percent(share);
        match self {
            Self::Policy { name, settings, at } => format!("policy {}{}", chosen(name, settings), place(at)),
            Self::Machines { machines, at } if machines.is_empty() => format!("no machines{}", place(at)),
            Self::Machines { machines, at } => {
                let machines: Vec<_> = machines.iter().map(|one| chosen(&one.name, &one.settings)).collect();
                format!("machines {}{}", machines.join(", "), place(at))
            }
            Self::Spike { users, seconds } => format!("{users} more users for {seconds} s"),
            Self::Capacity { share, seconds } if *share <= 0.0 => format!("workers stand still for {seconds} s"),
            Self::Capacity { share, seconds } => format!("capacity at {} for {seconds} s", percent(*share)),
            Self::Latency { by_ms, seconds } => format!("{by_ms} ms before every request for {seconds} s"),
            Self::Impatience { share } if *share >= 1.0 => "time-outs and patience as planned".to_owned(),
            Self::Impatience { share } => format!("time-outs and patience at {}", percent(*share)),
            Self::Pause => "arrivals paused".to_owned(),
            Self::Resume => "arrivals go on".to_owned(),
        }
    }
}

/// A policy or machine with its settings.
fn chosen(name: &str, settings: &Settings) -> String {
    let settings: Vec<String> =
        settings.iter().map(|(key, value)| format!("{key} {}", value_in_words(value))).collect();
    if settings.is_empty() { name.to_owned() } else { format!("{name} ({})", settings.join(", ")) }
}

fn place(at: &Option<String>) -> String {
    at.as_ref().map_or_else(String::new, |at| format!(" at {at}"))
}

/// A setting as a person would write it.
pub fn value_in_words(setting: &Setting) -> String {
    match setting {
        Setting::Text(text) => text.clone(),
        Setting::Number(number) => number.to_string(),
        Setting::Flag(flag) => flag.to_string(),
        Setting::Map(map) => {
            let inner: Vec<String> =
                map.iter().map(|(key, value)| format!("{key}: {}", value_in_words(value))).collect();
            format!("{{{}}}", inner.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_touch_has_its_words_and_can_be_read_back() {
        let settings = Settings::from([("target".to_owned(), "5ms".into()), ("max".to_owned(), 3_u32.into())]);
        let machine = PolicySpec {
            name: "thread-pool".to_owned(),
            place: None,
            settings: Settings::from([("max".to_owned(), 8_u32.into())]),
        };
        for (touch, words) in [
            (Touch::Policy { name: "none".to_owned(), settings: Settings::new(), at: None }, "policy none"),
            (
                Touch::Policy { name: "codel".to_owned(), settings, at: Some("read mail".to_owned()) },
                "policy codel (max 3, target 5ms) at read mail",
            ),
            (Touch::Machines { machines: vec![machine], at: None }, "machines thread-pool (max 8)"),
            (Touch::Machines { machines: Vec::new(), at: Some("front".to_owned()) }, "no machines at front"),
            (Touch::Spike { users: 30, seconds: 2.5 }, "30 more users for 2.5 s"),
            (Touch::Capacity { share: 0.2, seconds: 5.0 }, "capacity at 20 % for 5 s"),
            (Touch::Capacity { share: 0.0, seconds: 5.0 }, "workers stand still for 5 s"),
            (Touch::Latency { by_ms: 60.0, seconds: 5.0 }, "60 ms before every request for 5 s"),
            (Touch::Impatience { share: 0.5 }, "time-outs and patience at 50 %"),
            (Touch::Impatience { share: 1.0 }, "time-outs and patience as planned"),
            (Touch::Pause, "arrivals paused"),
            (Touch::Resume, "arrivals go on"),
        ] {
            assert_eq!(touch.in_words(), words);
            let written = serde_json::to_string(&touch).expect("JSON");
            assert_eq!(serde_json::from_str::<Touch>(&written).expect("read back"), touch, "{written}");
        }
    }
}
