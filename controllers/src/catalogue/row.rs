//! The parameter table as text: for help, for `lab policies`, and for reports.

use std::time::Duration;

use serde::Serialize;

use super::{Entry, Param, ParamKind, Preset, Setting, param::shown_time};

/// One parameter, ready to print.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The key.
    pub name: &'static str,
    /// The default, under the preset that was asked for.
    pub default: String,
    /// Its unit; empty if it has none.
    pub unit: &'static str,
    /// What is allowed.
    pub range: String,
    /// What it does.
    pub about: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
}

impl Entry {
    /// The parameter table with the defaults of `preset`, or with the declared ones.
    #[must_use]
    pub fn rows(&self, preset: Option<&Preset>) -> Vec<Row> {
        self.params.iter().map(|param| row(param, preset)).collect()
    }
}

fn row(param: &Param, preset: Option<&Preset>) -> Row {
    let given = preset.and_then(|preset| preset.settings().remove(param.name));
    let (default, unit, range) = match param.kind {
        ParamKind::Number { min, max, default, unit } => (default.to_string(), unit, format!("{min} to {max}")),
        ParamKind::Count { min, max, default } => (default.to_string(), "", format!("{min} to {max}, whole")),
        ParamKind::Time { min, max, default } => {
            let default = default.map_or_else(|| "the objective's".to_owned(), shown_time);
            (default, "", format!("{} to {}", shown_time(min), shown_time(max)))
        }
        ParamKind::Flag { default } => (default.to_string(), "", "true, false".to_owned()),
        ParamKind::Choice { words } => (words[0].to_owned(), "", words.join(", ")),
        ParamKind::Times { .. } => {
            ("{}".to_owned(), "", format!("a table of times to {}", shown_time(Duration::from_secs(3600))))
        }
        ParamKind::Customers { min, max, unit } => {
            ("{}".to_owned(), unit, format!("a table of numbers by customer, {min} to {max}"))
        }
    };
    let default = match given {
        Some(Setting::Text(text)) => text,
        Some(Setting::Number(number)) => number.to_string(),
        Some(Setting::Flag(flag)) => flag.to_string(),
        Some(Setting::Map(_)) | None => default,
    };
    Row { name: param.name, default, unit, range, about: param.about, source: param.source }
}
