//! `lab proxy set`: settings of a proxy that runs.

use live_service::control::client::{ControlClient, ControlError};
use serde_json::{Map, Value};
use spec::token::Token;

use crate::{
    args::SetArgs,
    command::stdout::print,
    exit::{CommandResult, Failure},
};

pub fn set(args: &SetArgs) -> CommandResult {
    let token = Token::read(&args.control_token_file);
    let token = token.map_err(|error| Failure::usage(format!("--control-token-file: {error}")))?;
    let mut part = Map::new();
    for change in &args.changes {
        let wrong = || Failure::usage(format!("{change}: KEY=VALUE changes a setting, as dry_run=false"));
        let (key, value) = change.split_once('=').ok_or_else(wrong)?;
        let value = serde_yaml::from_str(value).map_err(|_| wrong())?;
        if !put(&mut part, key, value) {
            return Err(Failure::usage(format!("{key}: named twice")));
        }
    }
    let client = ControlClient::new(&args.control, token);
    let client = client.map_err(|error| Failure::usage(format!("--control: {error}")))?;
    client.amend(&Value::Object(part)).map_err(|error| match error {
        ControlError::Refused(problems) => Failure::usage(format!("nothing is changed:\n{}", problems.join("\n"))),
        error => Failure::because(error),
    })?;
    print(format!("set {}\n", args.changes.join(" ")).as_bytes())
}

/// Puts a value at a dotted key. False: there is one.
fn put(into: &mut Map<String, Value>, key: &str, value: Value) -> bool {
    match key.split_once('.') {
        None => into.insert(key.to_owned(), value).is_none(),
        Some((first, rest)) => match into.entry(first).or_insert_with(|| Map::new().into()) {
            Value::Object(below) => put(below, rest, value),
            _ => false,
        },
    }
}
