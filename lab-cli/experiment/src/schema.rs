//! JSON Schema of experiment files, for editors.

use schemars::{Schema, schema_for};

use super::read::ExperimentKeys;

/// The file that holds the schema beside experiment files.
pub const FILE: &str = "lab-experiment.schema.json";

/// The schema of an experiment file.
pub fn experiment() -> Schema {
    let mut schema = schema_for!(ExperimentKeys);
    schema.insert("$id".to_owned(), concat!("urn:overload-control-lab:experiment:", env!("CARGO_PKG_VERSION")).into());
    schema
}

/// The first line of an experiment file that has the schema beside it. Editors with a YAML language server read it.
pub fn modeline() -> String {
    format!("# yaml-language-server: $schema={FILE}\n")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Every key in the schema, with its place.
    fn keys<'a>(shape: &'a Value, place: &str, found: &mut Vec<(String, &'a Value)>) {
        let inside: Vec<(String, &Value)> = match shape {
            Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), value)).collect(),
            Value::Array(items) => items.iter().enumerate().map(|(n, value)| (n.to_string(), value)).collect(),
            _ => Vec::new(),
        };
        for (key, value) in inside {
            let place = format!("{place}/{key}");
            if let (true, Value::Object(properties)) = (place.ends_with("/properties"), value) {
                found.extend(properties.iter().map(|(key, value)| (format!("{place}/{key}"), value)));
            }
            keys(value, &place, found);
        }
    }

    #[test]
    fn every_key_is_described() {
        let schema = experiment().to_value();
        let mut found = Vec::new();
        keys(&schema, "", &mut found);
        assert!(found.len() > 800, "{}", found.len());
        let is_described = |value: &Value| value["description"].as_str().is_some_and(|text| text.len() > 3);
        let bare: Vec<&str> =
            found.iter().filter(|(_, value)| !is_described(value)).map(|(place, _)| place.as_str()).collect();
        assert!(bare.is_empty(), "without a description: {bare:#?}");
        let linked: Vec<&str> = found
            .iter()
            .filter(|(_, value)| {
                value["description"].as_str().is_some_and(|text| text.contains(".md)") || text.contains("](#"))
            })
            .map(|(place, _)| place.as_str())
            .collect();
        assert!(linked.is_empty(), "an editor follows no link of the docs: {linked:#?}");
    }

    #[test]
    fn parameters_have_bounds_and_defaults() {
        let schema = experiment().to_value();
        let of_codel = &schema["$defs"]["parameters-codel"]["properties"];
        assert_eq!(of_codel["target"]["default"], "5ms", "{of_codel:#}");
        let of_gradient = &schema["$defs"]["parameters-gradient2"]["properties"]["limit_min"]["anyOf"][0];
        let [min, max, default] = ["minimum", "maximum", "default"].map(|keyword| of_gradient[keyword].as_u64());
        assert_eq!((min, max, default), (Some(1), Some(1_000_000), Some(20)), "{of_gradient:#}");
        let timeout = &schema["$defs"]["Users"]["properties"]["timeout"];
        assert_eq!(timeout["default"], "60s", "{timeout:#}");
        assert_eq!(schema["$defs"]["Users"]["properties"]["redirects"]["maximum"], 50);
    }
}
