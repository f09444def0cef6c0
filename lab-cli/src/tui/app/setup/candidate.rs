//! An arm that can be ticked, and its settings.

use std::collections::BTreeMap;

use analysis::live::value_in_words;
use controllers::{Entry, Settings, catalogue::ParamRow};
use experiment::{WrittenArm, plan::ArmPlan, settable::of_arm};
use installed::catalogue;

/// One that can be ticked.
#[derive(Debug, Clone)]
pub(in crate::tui) struct Candidate {
    pub label: String,
    /// Where it stands in the file; `None`: it does not, and is added.
    in_file: Option<usize>,
    pub entry: Option<&'static Entry>,
    /// As the file has them, read and checked.
    settings: Settings,
    /// As the file has them; of a copy, as the arm has them that it is a copy of.
    written: WrittenArm,
    /// As changed here.
    pub edits: BTreeMap<String, String>,
    pub on: bool,
}

/// A setting of the candidate under the cursor, or a key of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tui) struct Parameter {
    pub name: String,
    /// What it is set to; empty: nothing is written, and there is no default to be named.
    pub value: String,
    /// What it is without the change that was made here.
    pub in_file: String,
    /// It was changed here.
    pub edited: bool,
    pub unit: String,
    /// The allowed values.
    pub range: String,
    pub default: String,
    pub about: String,
    pub source: String,
}

impl Candidate {
    /// An arm of the file.
    pub fn in_file(index: usize, arm: &ArmPlan, written: WrittenArm) -> Self {
        Self {
            label: arm.label.clone(),
            in_file: Some(index),
            entry: catalogue().find(&arm.policy.name).filter(|_| arm.hindsight.is_none()),
            settings: arm.policy.settings.clone(),
            written,
            edits: BTreeMap::new(),
            on: true,
        }
    }

    /// One that the file does not have.
    pub fn beside_the_file(entry: &'static Entry) -> Self {
        let (label, settings, edits) = (entry.name.to_owned(), Settings::new(), BTreeMap::new());
        let written = WrittenArm { key: label.clone(), settings: Vec::new() };
        Self { label, in_file: None, entry: Some(entry), settings, written, edits, on: false }
    }

    /// The same arm by another name.
    pub fn copy(&self, label: String) -> Self {
        let mut written = self.written.clone();
        written.settings.retain(|(key, _)| key != "as");
        Self { label, in_file: None, written, on: true, ..self.clone() }
    }

    pub fn is_in_file(&self) -> bool {
        self.in_file.is_some()
    }

    /// The policy's parameters, then what else the file says of the arm or could say of it.
    pub fn parameters(&self) -> Vec<Parameter> {
        let Some(entry) = self.entry else { return Vec::new() };
        let preset = entry.preset(&self.settings).ok().flatten();
        let mut found: Vec<Parameter> = entry.rows(preset).into_iter().map(|row| self.of_row(row)).collect();
        let known = |found: &[Parameter], name: &str| found.iter().any(|known| known.name == name);
        if entry.places.len() > 1 {
            let scopes: Vec<&str> = entry.places.iter().map(|place| place.scope()).collect();
            let about = "Where the policy sits: one for the whole service, or one for each stage";
            found.push(self.of_key("scope", scopes.join(", "), scopes[0].to_owned(), about));
        }
        if !entry.presets.is_empty() {
            let presets: Vec<&str> = entry.presets.iter().map(|preset| preset.name).collect();
            found.push(self.of_key("preset", presets.join(", "), String::new(), "Defaults of a source"));
        }
        for key in of_arm() {
            if !known(&found, &key.key) && (key.key != "as" || self.in_file.is_some()) {
                let name = key.key.clone();
                found.push(self.of_key(&name, key.values, key.default, key.about));
            }
        }
        found
    }

    fn of_row(&self, row: ParamRow) -> Parameter {
        let written = self.settings.get(row.name).map(value_in_words);
        let in_file = written.unwrap_or_else(|| row.default.clone());
        let edit = self.edits.get(row.name);
        Parameter {
            name: row.name.to_owned(),
            value: edit.cloned().unwrap_or_else(|| in_file.clone()),
            in_file,
            edited: edit.is_some(),
            unit: row.unit.to_owned(),
            range: row.range,
            default: row.default,
            about: row.about.to_owned(),
            source: row.source.to_owned(),
        }
    }

    fn of_key(&self, name: &str, range: String, default: String, about: &str) -> Parameter {
        let written = self.written.settings.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        let in_file = written.unwrap_or_else(|| default.clone());
        let edit = self.edits.get(name);
        Parameter {
            name: name.to_owned(),
            value: edit.cloned().unwrap_or_else(|| in_file.clone()),
            in_file,
            edited: edit.is_some(),
            unit: String::new(),
            range,
            default,
            about: about.to_owned(),
            source: "the experiment file (docs/experiments.md)".to_owned(),
        }
    }

    /// `--set` for what was changed.
    pub fn settings_flags(&self) -> Vec<String> {
        let key = &self.written.key;
        if let Some(index) = self.in_file {
            return self.edits.iter().map(|(name, value)| format!("arms.{index}.{key}.{name}={value}")).collect();
        }
        let by_its_name = self.label == *key;
        if by_its_name && self.edits.is_empty() {
            return Vec::new();
        }
        let mut settings: Vec<String> = if by_its_name { Vec::new() } else { vec![format!("as: {}", self.label)] };
        let unchanged = self.written.settings.iter().filter(|(name, _)| !self.edits.contains_key(name));
        settings.extend(unchanged.map(|(name, value)| format!("{name}: {value}")));
        settings.extend(self.edits.iter().map(|(name, value)| format!("{name}: {value}")));
        vec![format!("arms.+={{{key}: {{{}}}}}", settings.join(", "))]
    }
}
