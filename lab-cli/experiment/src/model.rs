//! Model of users: the keys `model`, `path`, `paths`, `plan` and `think`.

use std::{path::PathBuf, time::Duration};

use traces::Think;
use workloads::plan::{AnswerCheck, PreviousPage};

use super::{
    fields::Fields,
    named_file,
    paths::paths,
    pauses::law,
    plan::Model,
    raw::Value,
    recorded_requests::FileRequests,
    script::{self, script},
};

/// Reads what users do. `accounts`: whether the target has accounts to sign in with; `hosts`: what it is called.
pub(super) fn model(
    fields: &Fields<'_>,
    previous_page: Option<PreviousPage>,
    accounts: bool,
    hosts: &[String],
) -> Option<Model> {
    let Some(name) = fields.text("model") else {
        if fields.node("model").is_none() && fields.node("trace").is_none() {
            fields.missing("model", "arashi");
        }
        if fields.node("model").is_some() {
            return None;
        }
        // Web-mail users walk the trace; the model is what a capacity is solved on.
        let (model, previous_page) = (workloads::mail::arashi(), PreviousPage::default());
        return Some(Model::Mail { model, file: None, previous_page });
    };
    if name == "script" {
        foreign(fields, &["path", "paths"], "url");
        if fields.node("trace").is_some() {
            let remedy = "leave one of the two out";
            fields.problem("trace", "users walk a test plan, or what is recorded", remedy);
        }
        return script(fields, accounts);
    }
    foreign(fields, &script::keys(), "script");
    if name == "url" {
        let path = fields.text("path").unwrap_or_else(|| "/".to_owned());
        if !path.starts_with('/') || path.contains(|c: char| c.is_whitespace() || c.is_control()) {
            fields.problem("path", format!("{path:?} is not a path"), "it begins with / and has no spaces");
        }
        let FileRequests { requests, left_out } = match fields.node("paths") {
            Some(_) if fields.node("path").is_some() => {
                fields.problem("path", "path and paths are two ways to say what is asked for", "keep one of them");
                FileRequests::default()
            }
            Some(_) => paths(fields, "paths", hosts),
            None => FileRequests::default(),
        };
        let think = law(fields, "think").unwrap_or(Think::Constant(Duration::ZERO));
        return Some(Model::Url { path, requests, left_out, check: AnswerCheck::default(), think });
    }
    foreign(fields, &["path", "paths"], "url");
    let (mut model, file) = if name == "arashi" {
        (workloads::mail::arashi(), None)
    } else {
        let path = fields.file("model").unwrap_or_else(|| PathBuf::from(&name));
        match named_file::read(&path, traces::UserModel::from_yaml) {
            Ok(model) => {
                if let Err(problem) = workloads::mail::check_model(&model) {
                    let hint = "states are Arashi's request types: docs/traces.md";
                    return fields.wrong("model", format!("{name} {problem}"), hint);
                }
                (model, Some(path))
            }
            Err(message) => {
                return fields.wrong("model", message, "arashi, url, script, or the path of a user model (.yaml)");
            }
        }
    };
    let profile = match fields.node("think").map(|node| &node.value) {
        Some(Value::Text(name)) => model.with_think_profile(name).ok(),
        _ => None,
    };
    if let Some(profile) = profile {
        model = profile;
    } else if let Some(law) = law(fields, "think") {
        model = model.with_think(&law);
    }
    // A model that was fitted to a trace knows which reading its users had.
    let fitted = model.fitted.as_deref().map(|fitted| fitted.previous_page).unwrap_or_default();
    Some(Model::Mail { model, file, previous_page: previous_page.unwrap_or(fitted) })
}

/// Notes keys that belong to another model.
fn foreign(fields: &Fields<'_>, keys: &[&str], model: &str) {
    for key in keys.iter().filter(|key| fields.node(key).is_some()) {
        fields.problem(key, format!("belongs to model: {model}"), "");
    }
}
