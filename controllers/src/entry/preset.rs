//! Named sets of defaults: the constants of one paper, or of one body of code.

use super::setting::{Setting, Settings};

/// A named set of defaults for an entry's parameters.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// The word for the key `preset`.
    pub name: &'static str,
    /// What it stands for, one line.
    pub about: &'static str,
    /// Defaults that differ from those declared with the parameters.
    pub given: &'static [(&'static str, Given)],
}

/// A value of a preset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Given {
    /// For numbers and counts.
    Number(f64),
    /// For flags.
    Flag(bool),
    /// For choices, and for times as they are written in files (`200ms`).
    Text(&'static str),
}

impl Preset {
    /// As if a person had written them.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.given.iter().map(|(name, given)| ((*name).to_owned(), given.setting())).collect()
    }
}

impl Given {
    fn setting(self) -> Setting {
        match self {
            Self::Number(number) => Setting::Number(number),
            Self::Flag(flag) => Setting::Flag(flag),
            Self::Text(text) => Setting::Text(text.to_owned()),
        }
    }
}
