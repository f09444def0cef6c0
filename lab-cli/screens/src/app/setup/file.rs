//! File of a setup: it as changed keys leave it, and its keys with their values.

use std::collections::BTreeMap;

use experiment::{
    Changes, Experiment,
    problem::FileProblem,
    read,
    settable::{SettableKey, of_file},
};

use super::candidate::Parameter;

/// The file with these keys changed, as it is in one of both worlds: in virtual time a comparison that is there to decide runs until it is
/// decided, where the file does not say how often.
pub(super) fn in_world(
    text: &str,
    changed: &BTreeMap<String, String>,
    virtual_time: bool,
) -> Result<Experiment, Vec<FileProblem>> {
    read(text, &Changes { set: flags(changed), virtual_time, ..Changes::default() })
}

pub(super) fn flags(changed: &BTreeMap<String, String>) -> Vec<String> {
    changed.iter().map(|(key, value)| format!("{key}={value}")).collect()
}

/// Keys of a file, with what they are changed to.
pub(super) fn keys_of(text: &str, changed: &BTreeMap<String, String>) -> Vec<Parameter> {
    let in_file = of_file(text, &[]);
    let written = |key: &SettableKey| key.value.clone().unwrap_or_else(|| key.default.clone());
    let parameter = |key: SettableKey| Parameter {
        value: changed.get(&key.key).cloned().unwrap_or_else(|| written(&key)),
        in_file: in_file.iter().find(|before| before.key == key.key).map_or_else(String::new, written),
        edited: changed.contains_key(&key.key),
        range: key.values,
        default: key.default,
        about: key.about.to_owned(),
        name: key.key,
        ..Parameter::default()
    };
    of_file(text, &flags(changed)).into_iter().map(parameter).collect()
}

/// The first problem. Where it stands is plain: it has just been typed.
pub(super) fn in_words(problems: &[FileProblem]) -> String {
    problems.first().map_or_else(String::new, |problem| match &problem.hint {
        Some(hint) => format!("{}; {hint}", problem.message),
        None => problem.message.clone(),
    })
}

/// A list without the brackets around it.
pub(super) fn without_brackets(text: &str) -> &str {
    text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text)
}
