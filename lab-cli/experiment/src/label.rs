//! The name that an arm is given: `as`.

use super::fields::Fields;

/// Reads it. Empty: there is none, or it is wrong.
pub fn label(fields: &Fields<'_>, key: &str) -> String {
    let Some(label) = fields.text(key) else { return String::new() };
    let can_name = label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') && !label.is_empty();
    if !can_name {
        fields.problem(key, "is not a valid arm name", "letters, digits, - and _");
    }
    if can_name { label } else { String::new() }
}
