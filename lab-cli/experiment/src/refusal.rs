//! `on_refuse`, as it may be written for an arm, the target and a stage.

use analysis::text::suggestion;
use schemars::json_schema;
use target_app::spec::OnRefuse;
use url::Url;

use super::{
    keys::shapes,
    raw::{Node, Value},
};

const WORDS: [&str; 3] = ["reject", "block", "degrade"];

shapes! {
    OnRefuseKey as "OnRefuse" = |_generator| json_schema!({"oneOf": [
        {"type": "string", "enum": WORDS},
        {
            "description": HINT, "type": "object", "properties": {"redirect": {"type": "string"}},
            "additionalProperties": false, "required": ["redirect"],
        },
    ]});
}

/// Reads `reject`, `block`, `degrade` or `{redirect: http://127.0.0.1:8081}`; the error is what is wrong, and a hint.
pub fn refusal(node: &Node) -> Result<OnRefuse, (String, String)> {
    match &node.value {
        Value::Text(word) => match word.as_str() {
            "reject" => Ok(OnRefuse::Reject),
            "block" => Ok(OnRefuse::Block),
            "degrade" => Ok(OnRefuse::Degrade),
            "redirect" => Err(("it is not said where to".to_owned(), HINT.to_owned())),
            _ => {
                let hint = format!("{}, or {HINT}", suggestion(word, &WORDS));
                Err((format!("{word:?} is not known here"), hint))
            }
        },
        Value::Table(entries) if entries.len() == 1 && entries[0].key == "redirect" => match &entries[0].node.value {
            Value::Text(url) if is_node(url) => Ok(OnRefuse::Redirect(url.clone())),
            other => Err((format!("{} is no node to redirect to", other.shown()), HINT.to_owned())),
        },
        other => Err((format!("not {}", other.shown()), format!("one of: {}, or {HINT}", WORDS.join(", ")))),
    }
}

const HINT: &str = "write {redirect: http://127.0.0.1:8081}: scheme, host and port; the path is the request's own";

/// Scheme, host and port: what was asked for is put behind it.
fn is_node(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none()
    })
}
