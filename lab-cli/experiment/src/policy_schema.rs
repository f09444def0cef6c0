//! The shape of policies in the JSON Schema of experiment files: names, parameters, and the parts of a composition. It comes from
//! the catalogue of this process, so that policies of one's own are in it.

use controllers::{
    Entry, Settings,
    catalogue::{Bound, Param, ParamKind, Setting},
};
use installed::catalogue;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::keys::{Table, names, schema};

/// Keys of every policy that are no parameters.
const OF_ALL: [&str; 2] = ["preset", "scope"];

/// Keys of the lab among a policy's settings: their definition, which allows others, and their names.
pub struct LabKeys {
    definition: String,
    names: Vec<&'static str>,
}

impl LabKeys {
    /// Schema of a table.
    pub fn of<T: Table + JsonSchema>(generator: &mut SchemaGenerator) -> Self {
        let mut defined = schema(&T::rows(), "Keys of the lab among a policy's settings", generator);
        defined.insert("additionalProperties".to_owned(), true.into());
        let definition = T::schema_name().into_owned();
        generator.definitions_mut().insert(definition.clone(), defined.to_value());
        Self { definition, names: names::<T>() }
    }

    fn reference(&self) -> Value {
        json!({"$ref": format!("#/$defs/{}", self.definition)})
    }
}

/// A policy or machine by its name, or by its name with settings.
pub fn policy(generator: &mut SchemaGenerator) -> Schema {
    one_of(&tables(|_| true, &OF_ALL, None, generator))
}

/// A policy or bound by its name, or by its name with settings, which may have keys of the lab. `searched`: the keys of a bound that
/// looks for a value; its others are settings of another policy. `others`: arms that are no policy.
pub fn arm(lab: &LabKeys, searched: &LabKeys, others: Map<String, Value>, generator: &mut SchemaGenerator) -> Schema {
    let mut all = tables(Entry::is_policy, &OF_ALL, Some(lab), generator);
    all.extend(others);
    for (entry, bound) in catalogue().bounds() {
        let table = match bound {
            Bound::Costs(_) | Bound::Means => settings(entry, &["preset"], Some(lab), generator),
            Bound::BestValue(_) => {
                let both = json!({"allOf": [lab.reference(), searched.reference()]});
                json!({"description": entry.about, "anyOf": [both, {"type": "null"}]})
            }
        };
        all.insert(entry.name.to_owned(), table);
    }
    one_of(&all)
}

/// The settings of each entry that is meant, by every name that it has.
fn tables(
    meant: impl Fn(&Entry) -> bool,
    keys: &[&str],
    lab: Option<&LabKeys>,
    generator: &mut SchemaGenerator,
) -> Map<String, Value> {
    let mut tables = Map::new();
    for name in catalogue().names() {
        let Ok((entry, _)) = catalogue().resolve(name, &Settings::new()) else { continue };
        if meant(entry) {
            tables.insert(name.to_owned(), settings(entry, keys, lab, generator));
        }
    }
    tables
}

/// A name, or a table of one name with settings.
fn one_of(tables: &Map<String, Value>) -> Schema {
    let names: Vec<&String> = tables.keys().collect();
    json_schema!({
        "description": "A policy's name, or its name with settings.",
        "anyOf": [
            {"type": "string", "enum": names},
            {"type": "object", "properties": tables, "additionalProperties": false, "minProperties": 1, "maxProperties": 1},
        ],
    })
}

/// Settings of an entry: its parameters, these keys, and those of the lab.
fn settings(entry: &'static Entry, keys: &[&str], lab: Option<&LabKeys>, generator: &mut SchemaGenerator) -> Value {
    let params = entry.params();
    let own = |key: &str| params.iter().any(|param| param.name == key);
    let others = keys.iter().chain(lab.into_iter().flat_map(|lab| &lab.names)).copied().filter(|key| !own(key));
    let known: Vec<&str> = params.iter().map(|param| param.name).chain(others).collect();
    let of: Vec<Value> =
        [Some(reference(entry, generator)), lab.map(LabKeys::reference)].into_iter().flatten().collect();
    json!({
        "description": entry.about,
        "anyOf": [{"allOf": of, "propertyNames": {"enum": known}}, {"type": "null"}],
    })
}

/// A reference to the definition of an entry's parameters, which is added if it is not there.
fn reference(entry: &'static Entry, generator: &mut SchemaGenerator) -> Value {
    let name = format!("parameters-{}", entry.name);
    if !generator.definitions().contains_key(&name) {
        // A composition's parts are no compositions, so that nothing refers to itself.
        let defined = parameters(entry, generator);
        generator.definitions_mut().insert(name.clone(), defined);
    }
    json!({"$ref": format!("#/$defs/{name}")})
}

fn parameters(entry: &'static Entry, generator: &mut SchemaGenerator) -> Value {
    let mut properties: Map<String, Value> =
        entry.params().iter().map(|param| (param.name.to_owned(), parameter(entry, param, generator))).collect();
    if !entry.presets.is_empty() {
        let presets: Vec<&str> = entry.presets.iter().map(|preset| preset.name).collect();
        properties.insert("preset".to_owned(), json!({"description": "Defaults of a source", "enum": presets}));
    }
    json!({"description": entry.about, "type": "object", "properties": properties})
}

fn parameter(entry: &Entry, param: &Param, generator: &mut SchemaGenerator) -> Value {
    let unit = if param.unit.is_empty() { String::new() } else { format!(" {}", param.unit) };
    let (default, in_words) = match &param.default {
        Ok(setting) => (written(setting), setting.to_string()),
        Err(otherwise) => (None, (*otherwise).to_owned()),
    };
    let mut shape = match param.kind {
        ParamKind::Number => json!({"type": ["number", "string"]}),
        ParamKind::Count => json!({"type": "integer"}),
        // `codel` has a parameter `target`: an arm's own changes of the service are a table.
        ParamKind::Time if param.name == "target" => json!({"type": ["string", "object"]}),
        ParamKind::Time => json!({"type": "string"}),
        ParamKind::Flag => json!({"type": "boolean"}),
        ParamKind::Choice => json!({"enum": param.range.split(", ").collect::<Vec<_>>()}),
        ParamKind::StageTimes | ParamKind::ClassTimes => {
            json!({"type": "object", "additionalProperties": {"type": "string"}})
        }
        ParamKind::ClassNumbers | ParamKind::CustomerNumbers | ParamKind::FlowNumbers => {
            json!({"type": "object", "additionalProperties": {"type": ["number", "string"]}})
        }
        ParamKind::Part => part(entry, param.name, generator).to_value(),
    };
    if let Some(shape) = shape.as_object_mut() {
        let about = format!("{} [{}{unit}; default {in_words}]", param.about, param.range);
        shape.insert("description".to_owned(), about.into());
        shape.extend(default.map(|default| ("default".to_owned(), default)));
        shape.extend(bounds(param));
    }
    let is_single = matches!(
        param.kind,
        ParamKind::Number | ParamKind::Count | ParamKind::Time | ParamKind::Flag | ParamKind::Choice
    );
    if is_single {
        // A list makes arms of all combinations. Editors show the description and the default of the whole.
        let one = shape.clone();
        let mut either = json!({"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]});
        for shown in ["description", "default"] {
            if let Some(value) = shape.get(shown) {
                either[shown] = value.clone();
            }
        }
        shape = either;
    }
    shape
}

/// A setting as a file gives it.
fn written(setting: &Setting) -> Option<Value> {
    match setting {
        // A whole number is written without a fraction.
        Setting::Number(number) => serde_json::from_str(&number.to_string()).ok(),
        Setting::Flag(flag) => Some((*flag).into()),
        Setting::Text(text) => Some(text.clone().into()),
        Setting::Map(_) => None,
    }
}

/// The bounds of a number; of a table, those of its values are in its description.
fn bounds(param: &Param) -> Vec<(String, Value)> {
    let is_number = matches!(param.kind, ParamKind::Number | ParamKind::Count);
    let range = param.range.trim_end_matches(", whole").split_once(" to ").filter(|_| is_number);
    let Some((min, max)) = range else { return Vec::new() };
    let bound = |key: &str, text: &str| Some((key.to_owned(), serde_json::from_str::<Value>(text).ok()?));
    [bound("minimum", min), bound("maximum", max)].into_iter().flatten().collect()
}

/// A part of a composition: the policies that can be it, with their own parameters.
fn part(composition: &Entry, key: &str, generator: &mut SchemaGenerator) -> Schema {
    let plays = |entry: &Entry| entry.name != composition.name && entry.roles.iter().any(|role| role.key() == key);
    one_of(&tables(plays, &["preset"], None, generator))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::experiment;

    /// The schema at a path, behind references and `anyOf`.
    fn at<'a>(root: &'a Value, path: &[&str]) -> Vec<&'a Value> {
        let mut found = vec![root];
        for key in path {
            let all = found.into_iter().flat_map(|shape| alternatives(root, shape));
            found = all.filter_map(|shape| shape.get("properties")?.get(*key)).collect();
            assert!(!found.is_empty(), "nothing has {key} of {path:?}");
        }
        found.into_iter().flat_map(|shape| alternatives(root, shape)).collect()
    }

    fn alternatives<'a>(root: &'a Value, shape: &'a Value) -> Vec<&'a Value> {
        let mut all = vec![shape];
        if let Some(name) = shape["$ref"].as_str() {
            let definition = root.pointer(name.trim_start_matches('#')).unwrap_or_else(|| panic!("no {name}"));
            all.extend(alternatives(root, definition));
        }
        for several in ["anyOf", "allOf"] {
            all.extend(shape[several].as_array().into_iter().flatten().flat_map(|one| alternatives(root, one)));
        }
        all
    }

    #[test]
    fn a_composition_knows_its_parts_and_their_parameters() {
        let schema = experiment().to_value();
        let arm = &schema["$defs"]["Arm"];
        let mut whole = arm.clone();
        whole["$defs"] = schema["$defs"].clone();
        let words = |path: &[&str]| -> Vec<String> {
            let of = |shape: &&Value| shape["enum"].as_array().cloned().unwrap_or_default();
            at(&whole, path).iter().flat_map(of).filter_map(|word| Some(word.as_str()?.to_owned())).collect()
        };
        let limits = words(&["compose", "limit"]);
        assert!(
            ["gradient2", "vegas", "fixed-rate"].iter().all(|name| limits.contains(&(*name).to_owned())),
            "{limits:?}"
        );
        assert!(!limits.contains(&"codel".to_owned()) && !limits.contains(&"compose".to_owned()), "{limits:?}");
        let queues = words(&["compose", "queue"]);
        assert!(queues.contains(&"codel".to_owned()) && queues.contains(&"folly".to_owned()), "{queues:?}");
        // Down to a parameter of a part, with its type and what it does.
        let limit = at(&whole, &["compose", "limit", "gradient2", "limit_max"]);
        assert!(limit.iter().any(|shape| shape["type"] == "integer" && shape["description"].is_string()), "{limit:?}");
        let of_part = at(&whole, &["compose", "limit", "gradient2"]);
        let known: Vec<&Value> = of_part.iter().map(|shape| &shape["propertyNames"]["enum"]).collect();
        assert!(known.iter().any(|names| names.as_array().is_some_and(|names| names.contains(&"limit_max".into()))));
        assert!(!known.iter().any(|names| names.to_string().contains("scope")), "a part has no place of its own");
        // Arms have their parameters and the lab's keys; bounds are arms.
        for path in [&["seda", "on_refuse"][..], &["seda", "target"], &["best-static", "most"], &["folly", "as"]] {
            assert!(!at(&whole, path).is_empty(), "{path:?}");
        }
        assert!(words(&[]).contains(&"oracle".to_owned()));
    }
}
