//! JSON Schema of experiment files and of a proxy's file, for editors.

use schemars::{Schema, SchemaGenerator, schema_for};
use serde_json::{Value, json};
use spec::{proxy::ProxySpec, waiting_room::WaitingRoomSpec};

use super::{policy_schema, read::ExperimentKeys};

/// The file that holds the schema beside experiment files.
pub const FILE: &str = "lab-experiment.schema.json";

/// The schema of an experiment file.
pub fn experiment() -> Schema {
    let mut schema = schema_for!(ExperimentKeys);
    schema.insert("$id".to_owned(), concat!("urn:overload-control-lab:experiment:", env!("CARGO_PKG_VERSION")).into());
    schema
}

/// The schema of a proxy's file.
pub fn proxy() -> Schema {
    let mut generator = SchemaGenerator::default();
    let policy = policy_schema::policy(&mut generator).to_value();
    let mut schema = generator.into_root_schema_for::<ProxySpec>();
    schema.insert("$id".to_owned(), concat!("urn:overload-control-lab:proxy:", env!("CARGO_PKG_VERSION")).into());
    // The names and settings of policies are the catalogue's.
    for place in ["/properties/policy", "/$defs/RetrySpec/properties/policy"] {
        if let Some(shape) = schema.pointer_mut(place).and_then(Value::as_object_mut) {
            shape.remove("type");
            shape.insert("anyOf".to_owned(), policy["anyOf"].clone());
        }
    }
    // A waiting room is read from optional keys: what they are without is what it is then.
    if let (Some(keys), Value::Object(usual)) =
        (schema.pointer_mut("/$defs/WaitingRoomSpec/properties"), json!(WaitingRoomSpec::default()))
    {
        for (key, shape) in keys.as_object_mut().into_iter().flatten() {
            let default = usual.get(key).cloned();
            let shape = shape.as_object_mut();
            shape.into_iter().for_each(|shape| match &default {
                Some(default) => _ = shape.insert("default".to_owned(), default.clone()),
                None => _ = shape.remove("default"),
            });
        }
    }
    schema
}

/// The first line of an experiment file that has the schema beside it. Editors with a YAML language server read it.
pub fn modeline() -> String {
    format!("# yaml-language-server: $schema={FILE}\n")
}

#[cfg(test)]
mod tests {
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
    fn every_key_of_a_proxy_has_a_description_and_an_example_that_is_taken() {
        let schema = proxy().to_value();
        let mut found = Vec::new();
        keys(&schema, "", &mut found);
        let own = |place: &str| {
            !["parameters-", "/policy/anyOf/", "/class/anyOf/"].iter().any(|foreign| place.contains(foreign))
        };
        found.retain(|(place, _)| own(place));
        assert!(found.len() > 80, "{}", found.len());
        for (place, shape) in found {
            let says = |key: &str| shape[key].as_str().is_some_and(|text| text.len() > 3 && !text.contains("None"));
            assert!(says("description"), "{place}: {shape}");
            let example = &shape["examples"][0];
            assert!(!example.is_null(), "{place} has no example");
            let numbers = shape["type"] == "integer" && !place.contains("/seed");
            assert!(!numbers || shape["unit"].is_string(), "{place} has no unit");
            // The key with its example, and with its default, alone in a file.
            let key = place.rsplit('/').next().expect("a key");
            for value in [Some(example), shape.get("default")].into_iter().flatten() {
                let file = match place.split('/').nth(2) {
                    Some("TlsSpec") => json!({"tls": {"certificate": "a", "key": "b", key: value}}),
                    Some("Objective") => json!({"objective": {"percentile": 1.0, "response_time": "1s", key: value}}),
                    Some("WaitingRoomSpec") if key.contains("replicas") => continue, // both or none, and with keys
                    Some(definition) if place.starts_with("/$defs/") => json!({section(definition): {key: value}}),
                    _ => json!({ key: value }),
                };
                let read = serde_json::from_value::<ProxySpec>(file.clone());
                assert!(read.is_ok(), "{place}: {file}: {read:?}");
            }
        }
    }

    /// The key that has a definition for its value.
    fn section(definition: &str) -> &'static str {
        match definition {
            "RefusalSpec" => "refusal",
            "TimeoutSpec" => "timeouts",
            "LimitSpec" => "limits",
            "RetrySpec" => "retries",
            "HeaderSpec" => "headers",
            "HealthSpec" => "health",
            "OtlpSpec" => "otlp",
            "WaitingRoomSpec" => "waiting_room",
            other => panic!("{other} is the value of no key"),
        }
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
