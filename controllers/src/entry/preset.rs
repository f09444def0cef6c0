//! Named sets of defaults: the constants of one paper, or of one implementation.

use super::setting::{Setting, Settings};

/// A named set of defaults for an entry's parameters.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// The value of the key `preset`.
    pub name: &'static str,
    /// A description of one line.
    pub about: &'static str,
    /// Defaults that differ from those declared with the parameters.
    pub given: &'static [(&'static str, Given)],
}

/// A value of a preset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Given {
    /// The value of a number or count.
    Number(f64),
    /// The value of a flag.
    Flag(bool),
    /// The value of a choice, or a time as written in files (`200ms`).
    Text(&'static str),
}

impl Preset {
    /// The values as settings.
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
