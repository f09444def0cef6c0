//! `on_refuse`, as it may be written for an arm, the target and a stage.

use analysis::text::suggestion;
use controllers::site::OnRefuse;
use schemars::json_schema;
use url::Url;

use super::{
    fields::Fields,
    keys::{Table, by, schema, shapes, table},
    raw::Value,
};

const WORDS: [&str; 3] = ["reject", "block", "degrade"];

table! {
    /// Where a refused request is sent.
    pub(super) struct RedirectKeys as "Redirect" {
        redirect: Option<OnRefuse> = by::<String, _>(redirect).required().example("http://127.0.0.1:8081"), "The node that has the same page: scheme, host and port";
    }
}

shapes! {
    OnRefuseKey as "OnRefuse" = |generator| json_schema!({"oneOf": [
        {"type": "string", "enum": WORDS}, schema(&RedirectKeys::rows(), HINT, generator),
    ]});
}

/// Reads `reject`, `block`, `degrade` or `{redirect: http://127.0.0.1:8081}`.
pub fn on_refuse(fields: &Fields<'_>, key: &str) -> Option<OnRefuse> {
    let (message, hint) = match &fields.node(key)?.value {
        Value::Text(word) => match word.as_str() {
            "reject" => return Some(OnRefuse::Reject),
            "block" => return Some(OnRefuse::Block),
            "degrade" => return Some(OnRefuse::Degrade),
            "redirect" => ("it is not said where to".to_owned(), HINT.to_owned()),
            _ => (format!("{word:?} is not known here"), format!("{}, or {HINT}", suggestion(word, &WORDS))),
        },
        Value::Table(_) => return fields.table::<RedirectKeys>(key)?.redirect,
        other => (other.unexpected(), format!("one of: {}, or {HINT}", WORDS.join(", "))),
    };
    fields.wrong(key, message, hint)
}

fn redirect(fields: &Fields<'_>, key: &str) -> Option<OnRefuse> {
    let (shown, hint) = match fields.node(key).map(|node| &node.value) {
        Some(Value::Text(url)) if is_node(url) => return Some(OnRefuse::Redirect(url.clone())),
        Some(other) => (other.shown(), HINT),
        None => ("nothing".to_owned(), HINT),
    };
    fields.wrong(key, format!("{shown} cannot be redirected to"), hint)
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
