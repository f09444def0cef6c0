//! `docs/reference/proxy.md`.

use std::fmt::Write as _;

use serde_json::Value;

use super::{GENERATED, cell};

pub fn page() -> String {
    let schema = experiment::schema::proxy().to_value();
    let mut page = format!(
        "# Keys of a proxy's file\n\n{GENERATED}\n\
         `lab proxy --config FILE` reads it, `lab proxy --check FILE` says everything that is wrong with it, and `GET /config` of the \
         control port shows it as it is in force. [How to use it](../proxy.md). `lab schema proxy` prints the same as a JSON Schema, for \
         completion in editors: a first line `# yaml-language-server: $schema=FILE` names it. Unknown keys are errors. Times are written \
         `500ms`, `15s`, `5m`, `1h`. Every key has a default, but `to`, and those of `tls`.\n"
    );
    let keys = schema["properties"].as_object().expect("keys");
    table(&mut page, "All keys", &schema, &Value::Null, &schema);
    for (key, shape) in keys {
        if let Some(inside) = defined(&schema, shape).filter(|inside| inside["properties"].is_object()) {
            table(&mut page, &format!("`{key}`"), inside, &shape["default"], &schema);
        }
    }
    page
}

/// The definition of a value that has keys.
fn defined<'a>(schema: &'a Value, shape: &'a Value) -> Option<&'a Value> {
    let one = shape["anyOf"].as_array().and_then(|any| any.iter().find(|one| one["$ref"].is_string()));
    let name = one.unwrap_or(shape)["$ref"].as_str()?.strip_prefix("#/$defs/")?;
    Some(&schema["$defs"][name])
}

/// `usual`: the values of its keys where it is left out.
fn table(page: &mut String, title: &str, of: &Value, usual: &Value, schema: &Value) {
    let _ = write!(page, "\n## {title}\n\n| key | value | default | example | meaning |\n|---|---|---|---|---|\n");
    for (key, shape) in of["properties"].as_object().expect("keys") {
        let code = |value: &Value| format!("`{}`", written(value));
        let kind = value(shape, schema);
        let default = match shape.get("default").or_else(|| usual.get(key)).unwrap_or(&Value::Null) {
            Value::Null if kind == FLAG => "`false`".to_owned(),
            Value::Null => "none".to_owned(),
            _ if kind == "keys" && defined(schema, shape).is_some() => format!("[below](#{key})"),
            Value::String(text) if text.is_empty() => "empty".to_owned(),
            default => code(default),
        };
        let row = [&kind, &default, &code(&shape["examples"][0]), &about(shape, schema)].map(|text| cell(text));
        let _ = writeln!(page, "| `{key}` | {} |", row.join(" | "));
    }
}

/// What a key means, and what each word that it may have means.
fn about(shape: &Value, schema: &Value) -> String {
    shape["description"]
        .as_str()
        .or_else(|| defined(schema, shape)?["description"].as_str())
        .expect("a description")
        .replace('\n', " ")
}

const FLAG: &str = "`true`, `false`";

/// The kind of a value, with its unit.
fn value(shape: &Value, schema: &Value) -> String {
    if let Some(unit) = shape["unit"].as_str() {
        return unit.to_owned();
    }
    let inside = defined(schema, shape).unwrap_or(shape);
    if inside["properties"].is_object() {
        return "keys".to_owned();
    }
    let words = |all: &Value, of: &dyn Fn(&Value) -> Option<String>| {
        all.as_array().map(|all| all.iter().filter_map(of).collect::<Vec<_>>()).filter(|words| !words.is_empty())
    };
    let choice = words(&inside["enum"], &|word| word.as_str().map(str::to_owned))
        .or_else(|| words(&inside["oneOf"], &|one| one["const"].as_str().map(str::to_owned)));
    if let Some(choice) = choice {
        return choice.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    let kind = match &inside["type"] {
        Value::Array(kinds) => kinds[0].as_str(),
        kind => kind.as_str(),
    };
    match kind {
        Some("string") => "text",
        Some("boolean") => FLAG,
        Some("integer" | "number") => "number",
        Some("array") => "list",
        Some("object") => "keys",
        _ => "text or keys",
    }
    .to_owned()
}

/// A value as YAML in one line.
fn written(value: &Value) -> String {
    let is_plain =
        |text: &str| !text.contains([':', '{', '[', '#', ',', ' ']) || text.contains("://") || text.contains('.');
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        Value::Array(all) => format!("[{}]", all.iter().map(written).collect::<Vec<_>>().join(", ")),
        Value::Object(keys) => {
            format!(
                "{{{}}}",
                keys.iter().map(|(key, value)| format!("{key}: {}", written(value))).collect::<Vec<_>>().join(", ")
            )
        }
        other => other.to_string(),
    }
}
