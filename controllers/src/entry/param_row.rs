//! The parameter table as text: for help, for `lab policies`, and for reports.

use serde::Serialize;

use super::{Entry, Preset, Setting};

/// One parameter, ready to print.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParamRow {
    /// The key.
    pub name: &'static str,
    /// The default under the selected preset.
    pub default: String,
    /// The unit; empty for none.
    pub unit: &'static str,
    /// The allowed values.
    pub range: String,
    /// Its effect.
    pub about: &'static str,
    /// The source of the default.
    pub source: &'static str,
}

impl Entry {
    /// The parameter table with the defaults of `preset`, or with the declared defaults.
    #[must_use]
    pub fn rows(&self, preset: Option<&Preset>) -> Vec<ParamRow> {
        let mut given = preset.map(Preset::settings).unwrap_or_default();
        let row = |param: super::Param| {
            let default = match given.remove(param.name).map_or(param.default, Ok) {
                Err(otherwise) => otherwise.to_owned(),
                Ok(Setting::Text(text)) => text,
                Ok(Setting::Map(_)) => "{}".to_owned(),
                Ok(scalar) => scalar.to_string(),
            };
            ParamRow {
                name: param.name,
                default,
                unit: param.unit,
                range: param.range,
                about: param.about,
                source: param.source,
            }
        };
        self.params().into_iter().map(row).collect()
    }
}
