//! An arm that can be ticked, and its settings.

use std::collections::BTreeMap;

use analysis::live::value_in_words;
use controllers::{Entry, Place, Settings, catalogue::ParamRow};
use experiment::{
    WrittenArm,
    plan::{AppPlan, ArmPlan, Experiment},
    settable::of_arm,
    written_arms,
};
use installed::catalogue;

/// One that can be ticked.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub label: String,
    /// The index of the arm in the file; `None`: it is added.
    in_file: Option<usize>,
    pub entry: Option<&'static Entry>,
    /// The file's settings, read and checked.
    settings: Settings,
    /// The arm's text in the file; of a copy, that of the arm that it is a copy of.
    written: WrittenArm,
    /// Scopes of its policy, the default first.
    scopes: Vec<&'static str>,
    /// Settings that were changed here, as text.
    pub edits: BTreeMap<String, String>,
    pub on: bool,
}

/// A setting of the candidate under the cursor, or a key of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub name: String,
    /// The value in force; empty: nothing is written, and there is no default to be named.
    pub value: String,
    /// The value without the change that was made here.
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

impl Parameter {
    /// Parameter with its value: as it is written in the file, else its default, unless it was edited.
    fn in_force(self, written: Option<String>, edit: Option<&String>) -> Self {
        let in_file = written.unwrap_or_else(|| self.default.clone());
        Self { value: edit.unwrap_or(&in_file).clone(), in_file, edited: edit.is_some(), ..self }
    }
}

/// Arms of the file, then the policies that could sit in its service, then bounds.
pub(super) fn candidates(text: &str, experiment: &Experiment) -> Vec<Candidate> {
    let mut written = written_arms(text);
    written.resize_with(experiment.arms.len(), Default::default);
    let arms = experiment.arms.iter().zip(written).enumerate();
    let mut candidates: Vec<Candidate> =
        arms.map(|(n, (arm, written))| Candidate::in_file(n, arm, written, experiment)).collect();
    let beside = |entry| Candidate::beside_the_file(entry, experiment);
    let known = |name: &str| experiment.arms.iter().any(|arm| arm.label == name);
    let others = catalogue().entries().filter(|entry| !known(entry.name) && fits(entry, experiment));
    candidates.extend(others.map(beside));
    if !matches!(experiment.target.app, AppPlan::Tree(_)) {
        let bounds = catalogue().bounds().map(|(entry, _)| entry).filter(|entry| !known(entry.name));
        candidates.extend(bounds.map(beside));
    }
    candidates
}

/// A policy that can sit in this target.
fn fits(entry: &Entry, experiment: &Experiment) -> bool {
    let before = matches!(experiment.target.app, AppPlan::Own(_));
    let in_target = entry.places.iter().any(|place| match place {
        Place::Single => true,
        Place::Accept | Place::Stage => !before,
        Place::Proxy => before,
        Place::Client => false,
    });
    entry.is_policy() && in_target && !matches!(experiment.target.app, AppPlan::Tree(_))
}

/// The words for where a policy of this target can sit. That of a service of one's own sits in the proxy before it, or at its clients.
fn scopes(entry: &Entry, experiment: &Experiment) -> Vec<&'static str> {
    if !matches!(experiment.target.app, AppPlan::Own(_)) {
        return entry.places.iter().map(|place| place.scope()).collect();
    }
    let at_clients = entry.places.contains(&Place::Client).then(|| Place::Client.scope());
    std::iter::once(Place::Proxy.scope()).chain(at_clients).collect()
}

impl Candidate {
    /// An arm of the file.
    fn in_file(index: usize, arm: &ArmPlan, written: WrittenArm, experiment: &Experiment) -> Self {
        let entry = catalogue().find(&arm.policy.name).filter(|_| arm.hindsight.is_none());
        Self {
            label: arm.label.clone(),
            in_file: Some(index),
            entry,
            scopes: entry.map_or_else(Vec::new, |entry| scopes(entry, experiment)),
            settings: arm.policy.settings.clone(),
            written,
            edits: BTreeMap::new(),
            on: true,
        }
    }

    /// One that the file does not have.
    fn beside_the_file(entry: &'static Entry, experiment: &Experiment) -> Self {
        let scopes = scopes(entry, experiment);
        let (label, settings, edits) = (entry.name.to_owned(), Settings::new(), BTreeMap::new());
        let written = WrittenArm { key: label.clone(), settings: Vec::new() };
        Self { label, in_file: None, entry: Some(entry), settings, written, scopes, edits, on: false }
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
        if self.scopes.len() > 1 {
            let about = "Where the policy sits";
            found.push(self.of_key("scope", self.scopes.join(", "), self.scopes[0].to_owned(), about));
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
        let ParamRow { range, default, .. } = row;
        let [name, unit, about, source] = [row.name, row.unit, row.about, row.source].map(str::to_owned);
        let parameter = Parameter { name, unit, range, default, about, source, ..Parameter::default() };
        parameter.in_force(written, self.edits.get(row.name))
    }

    fn of_key(&self, name: &str, range: String, default: String, about: &str) -> Parameter {
        let written = self.written.settings.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        let [name, about, source] = [name, about, "the experiment file (docs/experiments.md)"].map(str::to_owned);
        let edit = self.edits.get(&name);
        Parameter { name, range, default, about, source, ..Parameter::default() }.in_force(written, edit)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_before_a_service_of_ones_own_sits_in_the_proxy_or_at_the_clients() {
        let text = "
name: own
target: {url: 'http://127.0.0.1:1/'}
objective: {percentile: 90, response_time: 1s}
users: {model: url, phases: [{name: calm, requests: 5/s, for: 10s}]}
arms: [none, vegas, codel]
";
        let read = experiment::read(text, &experiment::Changes::default()).expect("it is good");
        let all = candidates(text, &read);
        let scope = |label: &str| {
            let candidate = all.iter().find(|candidate| candidate.label == label).expect("there");
            candidate.parameters().into_iter().find(|parameter| parameter.name == "scope").map(|scope| scope.range)
        };
        assert_eq!(scope("vegas").as_deref(), Some("proxy, client"));
        assert_eq!(scope("codel"), None, "there is nothing to choose");
    }
}
