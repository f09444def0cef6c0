//! A proxy's settings as files and requests have them: read with every problem at once, changed in part, and shown again.

use controllers::catalogue::nearest;
use live_service::control::ConfigForm;
use schemars::schema_for;
use serde_json::{Map, Value, json};
use spec::proxy::ProxySpec;

use super::checks;

/// Keys whose value has one of several forms, each with keys of its own: another form takes the place of the old one.
const CHOICES: [&str; 2] = ["policy", "class"];

/// Reads a file of settings: YAML, of which JSON is a part.
///
/// # Errors
/// Every problem, with its key.
pub fn read(text: &str) -> Result<ProxySpec, Vec<String>> {
    serde_yaml::from_str(text).map_err(|error| {
        let found = serde_yaml::from_str::<Value>(text).map_or_else(|_| Vec::new(), |whole| problems(&whole));
        if found.is_empty() { vec![error.without_snippet().to_string()] } else { found }
    })
}

/// The settings that a request has in its body.
///
/// # Errors
/// Every problem, with its key.
pub(super) fn of(whole: &Value) -> Result<ProxySpec, Vec<String>> {
    serde_json::from_value(whole.clone()).map_err(|error| {
        let found = problems(whole);
        if found.is_empty() { vec![error.to_string()] } else { found }
    })
}

/// These settings with the keys of `part` changed, and no others.
///
/// # Errors
/// Every problem, with its key.
pub(super) fn amended(now: &ProxySpec, part: &Value) -> Result<ProxySpec, Vec<String>> {
    let (Value::Object(part), Value::Object(mut whole)) = (part, json!(now)) else { return Err(vec![KEYS.to_owned()]) };
    merge(&mut whole, part);
    of(&Value::Object(whole))
}

/// The settings in a file's form.
///
/// # Errors
/// The writer's.
pub(super) fn shown(spec: &ProxySpec, form: ConfigForm) -> Result<String, String> {
    match form {
        ConfigForm::Yaml => serde_yaml::to_string(spec).map_err(|error| error.to_string()),
        ConfigForm::Json => {
            serde_json::to_string_pretty(spec).map(|text| text + "\n").map_err(|error| error.to_string())
        }
    }
}

const KEYS: &str = "settings are keys with their values: dry_run: false, or {\"dry_run\": false}";

fn merge(into: &mut Map<String, Value>, part: &Map<String, Value>) {
    for (key, value) in part {
        match (into.get_mut(key), value) {
            (Some(Value::Object(old)), Value::Object(new))
                if !CHOICES.contains(&&**key) || old.keys().eq(new.keys()) =>
            {
                merge(old, new);
            }
            _ => _ = into.insert(key.clone(), value.clone()),
        }
    }
}

/// Problems of settings that cannot be read as a whole, key by key; and those of the keys that can be read.
fn problems(whole: &Value) -> Vec<String> {
    let Value::Object(keys) = whole else { return vec![KEYS.to_owned()] };
    let (mut found, mut readable) = (Vec::new(), Map::new());
    for (key, value) in keys {
        let of_one = problems_at(key, value);
        if of_one.is_empty() {
            readable.insert(key.clone(), value.clone());
        }
        found.extend(of_one);
    }
    if let (false, Ok(rest)) = (found.is_empty(), serde_json::from_value(Value::Object(readable))) {
        found.extend(checks::problems(&rest).iter().map(|problem| checks::in_words(problem)));
    }
    found
}

fn problems_at(key: &str, value: &Value) -> Vec<String> {
    // Every key has a default: one alone is a whole.
    let alone =
        |value: &Value| serde_json::from_value::<ProxySpec>(json!({ key: value })).err().map(|error| error.to_string());
    let Some(error) = alone(value) else { return Vec::new() };
    let below = value.as_object().filter(|_| !CHOICES.contains(&key)).into_iter().flatten();
    let of_one = |(name, value): (&String, &Value)| {
        let error = alone(&json!({ name: value })).filter(|error| !error.starts_with("missing field"))?;
        Some(told(&format!("{key}.{name}"), &error))
    };
    let of_each: Vec<String> = below.filter_map(of_one).collect();
    if of_each.is_empty() { vec![told(key, &error)] } else { of_each }
}

/// A reader's words in those of a person who writes settings.
fn told(key: &str, error: &str) -> String {
    let mut names = error.split('`').skip(1).step_by(2);
    if error.starts_with("unknown field") {
        let unknown = names.next().unwrap_or_default();
        let known: Vec<&str> = names.collect();
        let place = if key.ends_with(unknown) { key.to_owned() } else { format!("{key}.{unknown}") };
        let way_out = match nearest(unknown, known.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("there are: {}", known.join(", ")),
        };
        return format!("{place}: there is no such key; {way_out}");
    }
    if let (true, Some(missing)) = (error.starts_with("missing field"), names.next()) {
        return format!("{key}.{missing}: is missing");
    }
    let Some((found, expected)) = error.rsplit_once(", expected ") else {
        let error = error.strip_prefix(key).and_then(|error| error.strip_prefix(": ")).unwrap_or(error);
        // Of a value that has several forms the reader says none.
        let error = if error.contains(" untagged enum ") { "none of its forms" } else { error };
        let way_out = if error.contains("; ") || error.contains(": ") { String::new() } else { shown_right(key) };
        return format!("{key}: {error}{way_out}");
    };
    let expected = match expected.split(' ').next() {
        Some("u8" | "u16" | "u32" | "u64" | "usize") => "a whole number, 0 or more",
        Some("f64") => "a number",
        Some("struct" | "map") => "keys with values",
        Some("sequence") => "a list",
        _ => expected,
    };
    let found = found.trim_start_matches("invalid type: ").trim_start_matches("invalid value: ");
    format!("{key}: {found}; it is to be {expected}{}", shown_right(key))
}

/// An example for the key.
fn shown_right(key: &str) -> String {
    let schema = schema_for!(ProxySpec).to_value();
    let (mut keys, mut shape) = (&schema["properties"], &Value::Null);
    for name in key.split('.') {
        shape = &keys[name];
        let any = shape["anyOf"].as_array().into_iter().flatten();
        let named = any.chain([shape]).find_map(|shape| shape["$ref"].as_str()?.strip_prefix("#/$defs/"));
        keys = named.map_or(&Value::Null, |name| &schema["$defs"][name]["properties"]);
    }
    match &shape["examples"][0] {
        Value::Null => String::new(),
        Value::String(example) => format!(", as {example}"),
        example => format!(", as {example}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(text: &str) -> ProxySpec {
        read(text).unwrap()
    }

    #[test]
    fn what_is_shown_is_read_again() {
        let text = "
to: [http://127.0.0.1:1, 'https://[::1]:2']
policy: {gradient2: {limit_max: 500, window: 2s}}
class: {header: X-Plan, values: {gold: 2}}
criticality: {0: SHEDDABLE, 2: CRITICAL_PLUS}
timeouts: {connect: 1500ms, tunnel: 90m}
refusal: {retry_after: null}
retries: {policy: none, on: [connect, 503]}
waiting_room: {capacity: 100/s, stay: 0s}
tls: {certificate: a.pem, key: b.pem}
";
        let spec = at(text);
        for form in [ConfigForm::Yaml, ConfigForm::Json] {
            let shown = shown(&spec, form).unwrap();
            assert_eq!(read(&shown), Ok(spec.clone()), "{shown}");
            assert!(shown.contains("90m") && shown.contains("1500ms") && !shown.contains("settings"), "{shown}");
        }
        assert_eq!(of(&json!(spec)), Ok(spec));
    }

    #[test]
    fn a_part_changes_what_it_names() {
        let before =
            at("policy: {gradient2: {limit_max: 500, limit_min: 5}}\nrefusal: {retry_after: 3s}\nto: [http://a]");
        let after = |part: Value| amended(&before, &part).unwrap();
        assert_eq!(after(json!({"dry_run": true})), ProxySpec { dry_run: true, ..before.clone() });
        let timed = after(json!({"timeouts": {"head": "1s"}, "refusal": {"retry_after": null}}));
        assert_eq!((timed.timeouts.head, timed.timeouts.connect), (Duration::from_secs(1), before.timeouts.connect));
        assert_eq!((timed.refusal.retry_after, &timed.to), (None, &before.to));
        let settings = |part| after(part).policy.settings.into_keys().collect::<Vec<_>>();
        assert_eq!(settings(json!({"policy": {"gradient2": {"limit_max": 9}}})), ["limit_max", "limit_min"]);
        assert_eq!(settings(json!({"policy": "gradient2"})), [""; 0]);
        let other = after(json!({"policy": {"codel": {"target": "5ms"}}})).policy;
        assert_eq!((other.name.as_str(), other.settings.len()), ("codel", 1));
        assert_eq!(after(json!({"retries": {}})).retries.map(|retries| retries.attempts), Some(3));
    }

    #[test]
    fn every_problem_has_its_key() {
        let text = "
dry_rum: true
health: {path: health}
listen: nowhere
dry_run: perhaps
policy: {codel: {}, vegas: {}}
timeouts: {conect: 1s, head: soon, idle: 15}
limits: {held: -1}
refusal: 5
tls: {certificate: a.pem}
retries: {on: [teapot], attempts: 3}
waiting_room: {skew: 1h, stey: 1m, capacity: [1]}
";
        let found = read(text).unwrap_err();
        for wanted in [
            "dry_rum: there is no such key; did you mean dry_run?",
            "listen: invalid socket address syntax, as 0.0.0.0:8000",
            "dry_run: string \"perhaps\"; it is to be a boolean",
            "policy: a policy is a name, or one name with its settings",
            "timeouts.conect: there is no such key; did you mean connect?",
            "timeouts.head: \"soon\" is not a duration",
            "timeouts.idle: integer `15`; it is to be a string",
            "limits.held: integer `-1`; it is to be a whole number, 0 or more, as 256",
            "refusal: integer `5`; it is to be keys with values, as {\"page\":\"busy.html\",\"retry_after\":\"3s\"}",
            "waiting_room.capacity: none of its forms, as 100/s",
            "tls.key: is missing",
            "retries.on: connect, broken, or the status of an error",
            "waiting_room.stey: there is no such key; did you mean stay?",
            "waiting_room.skew: ",
            "health.path: \"health\" is not a path",
        ] {
            assert!(found.iter().any(|line| line.starts_with(wanted)), "{wanted} in {found:#?}");
        }
        assert_eq!(found.len(), 15, "{found:#?}");
        assert_eq!(read("to: [a").unwrap_err().len(), 1);
        assert_eq!(read("- to").unwrap_err(), [KEYS]);
    }
}
