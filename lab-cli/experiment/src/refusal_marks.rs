//! `refused`: the marks by which an answer is known as a refusal, of users and of one arm.

use schemars::{JsonSchema, SchemaGenerator, json_schema};
use workloads::plan::RefusalMarks;

use super::{
    fields::Fields,
    keys::{by, table},
    raw::Value,
};

table! {
    /// Marks by which an answer counts as refused because of load; each alone is enough.
    pub(super) struct RefusalMarksKeys as "RefusalMarks" {
        status: Option<Vec<u16>> = by::<Statuses, _>(statuses).otherwise("429 and 503; without a `header`").example("[503, 429]"), "Statuses: one, or a list";
        header: Option<String> = by::<String, _>(header).example("x-envoy-overloaded"), "The name of a header, whatever its value";
    }
}

/// The shape of `status`.
pub(super) enum Statuses {}

impl JsonSchema for Statuses {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Statuses".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> schemars::Schema {
        let one = serde_json::json!({"type": "integer", "minimum": 400, "maximum": 599});
        json_schema!({"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]})
    }
}

/// Reads a table of them. `None`: there is none.
pub fn refusal_marks(fields: &Fields<'_>, key: &str) -> Option<RefusalMarks> {
    match fields.table::<RefusalMarksKeys>(key)? {
        RefusalMarksKeys { status: None, header: None } => {
            fields.wrong(key, "marks nothing", "write {status: [503, 429]}, {header: x-overloaded}, or both")
        }
        RefusalMarksKeys { status, header } => Some(RefusalMarks { status: status.unwrap_or_default(), header }),
    }
}

fn statuses(fields: &Fields<'_>, key: &str) -> Option<Vec<u16>> {
    let node = fields.node(key)?;
    let nodes = if let Value::List(nodes) = &node.value { &nodes[..] } else { std::slice::from_ref(node) };
    let status = |value: &Value| match value {
        Value::Number(number) if number.fract() == 0.0 && (400.0..600.0).contains(number) => Some(*number as u16),
        _ => None,
    };
    let read: Option<Vec<u16>> = nodes.iter().map(|node| status(&node.value)).collect();
    match read {
        Some(read) if !read.is_empty() => Some(read),
        _ => fields.wrong(key, "is not a list of statuses from 400 to 599", "write [503, 429]"),
    }
}

fn header(fields: &Fields<'_>, key: &str) -> Option<String> {
    let name = fields.text(key)?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if is_name {
        Some(name)
    } else {
        fields.wrong(key, format!("{name:?} is not the name of a header"), "write x-overloaded")
    }
}
