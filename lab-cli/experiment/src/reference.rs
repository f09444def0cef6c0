//! The reference of keys, `docs/reference/keys.md`: every table of an experiment file with its keys, made of their rows.

use std::fmt::Write as _;

use schemars::SchemaGenerator;
use serde_json::Value;

use super::{keys::Row, schema};

mod examples;
mod sections;

use sections::{Section, linked, sections};

const HEAD: &str = "\
# Keys of an experiment file

Generated from the program: do not edit. `INSTA_UPDATE=always cargo test --workspace --test integration reference::` writes it anew.

Unknown keys are errors. Durations are written `20ms`, `5s`, `15m`; sizes `10k`, `1m`; rates `100/s` or, as a multiple of the capacity, \
`0.5x`; shares are numbers from 0 to 1. A key in **bold** is required. Most examples are taken from the experiments of the library. \
`lab schema experiment` prints the same as a JSON Schema, for completion in editors.
";

/// The page.
pub fn keys() -> String {
    let schema = schema::experiment().to_value();
    let sections = sections();
    let examples = examples::of(&sections);
    let mut page = HEAD.to_owned();
    page.push_str("\n| section | what it holds |\n|---|---|\n");
    for Section { path, about, .. } in &sections {
        let heading = heading(path);
        let _ = writeln!(
            page,
            "| [{heading}](#{}) | {} |",
            anchor(&heading),
            about.split_inclusive(". ").next().unwrap_or(about).trim()
        );
    }
    for (section, examples) in sections.iter().zip(examples) {
        let _ = write!(page, "\n## {}\n\n{}\n\n", heading(section.path), section.about);
        let with_of = section.rows.iter().any(|row| !row.of.is_empty());
        let of_head = if with_of { ("of | ", "---|") } else { ("", "") };
        let _ = writeln!(page, "| key | {}type | values | default | example | meaning |", of_head.0);
        let _ = writeln!(page, "|---|{}---|---|---|---|---|", of_head.1);
        for (row, example) in section.rows.iter().zip(examples) {
            let key = if row.required { format!("**`{}`**", row.key) } else { format!("`{}`", row.key) };
            let of = if with_of { format!("{} | ", row.of) } else { String::new() };
            let kind = kind(row, &schema["$defs"], &sections);
            let (values, about) = (in_cell(&row.values), in_cell(&linked(row.about)));
            let default = default(row);
            let _ = writeln!(page, "| {key} | {of}{kind} | {values} | {default} | {} | {about} |", in_code(&example));
        }
    }
    page
}

fn heading(path: &str) -> String {
    if path.is_empty() { "The file".to_owned() } else { format!("`{path}`") }
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase().chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c)).collect::<String>();
    kept.replace(' ', "-")
}

fn default(row: &Row) -> String {
    match row.default.as_str() {
        _ if row.required => "required".to_owned(),
        "" => "none".to_owned(),
        text if text.contains(' ') || row.kind.is_empty() && !text.starts_with(['[', '/']) => in_cell(&linked(text)),
        "none" => "none".to_owned(),
        text if text.starts_with('`') => text.to_owned(),
        text => in_code(text),
    }
}

/// The type of a row's values; tables are links to their section.
fn kind(row: &Row, definitions: &Value, sections: &[Section]) -> String {
    if row.kind.is_empty() {
        kind_of(&row.described_schema(&mut SchemaGenerator::default()), definitions, sections)
    } else {
        row.kind.to_owned()
    }
}

fn kind_of(schema: &Value, definitions: &Value, sections: &[Section]) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        let of_table = sections.iter().find(|section| section.table == name);
        return match (of_table, name) {
            (Some(section), _) => format!("[table](#{})", anchor(&heading(section.path))),
            (None, "Policy" | "Arm") => "[policy](policies.md)".to_owned(),
            (None, "ServiceLaw" | "PauseLaw") => "law".to_owned(),
            (None, name) => kind_of(&definitions[name], definitions, sections),
        };
    }
    for several in ["anyOf", "oneOf"] {
        if let Some(shapes) = schema[several].as_array() {
            let mut words: Vec<String> = Vec::new();
            for word in shapes.iter().map(|shape| kind_of(shape, definitions, sections)).filter(|word| word != "null") {
                if !words.contains(&word) {
                    words.push(word);
                }
            }
            return words.join(" or ");
        }
    }
    let word = match &schema["type"] {
        Value::Array(words) => words.iter().find(|word| **word != "null").and_then(Value::as_str),
        word => word.as_str(),
    };
    match word {
        Some("array") => format!("list of {}", plural(&kind_of(&schema["items"], definitions, sections))),
        Some("object") if !values_of(schema).is_null() => {
            format!("map to {}", plural(&kind_of(values_of(schema), definitions, sections)))
        }
        Some("object") => "table".to_owned(),
        Some("string") if schema["enum"].is_array() => "word".to_owned(),
        Some("string") if schema["pattern"].is_string() => "duration".to_owned(),
        Some(word) => word.to_owned(),
        None => "any".to_owned(),
    }
}

/// The shape of a map's values, whatever its keys are; null for a table with keys of its own.
fn values_of(schema: &Value) -> &Value {
    let of_patterns = schema["patternProperties"].as_object().and_then(|patterns| patterns.values().next());
    of_patterns.unwrap_or(match &schema["additionalProperties"] {
        any @ Value::Object(_) => any,
        _ => &Value::Null,
    })
}

fn plural(words: &str) -> String {
    let one = |word: &str| match (word.strip_prefix("[table]"), word.strip_prefix("[policy]")) {
        (Some(link), _) => format!("[tables]{link}"),
        (_, Some(link)) => format!("[policies]{link}"),
        _ if word == "any" => "values".to_owned(),
        _ => format!("{word}s"),
    };
    words.split(" or ").map(one).collect::<Vec<_>>().join(" or ")
}

/// A bar ends a cell.
fn in_cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn in_code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{}`", in_cell(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_an_example() {
        let sections = sections();
        let missing: Vec<String> = sections
            .iter()
            .zip(examples::of(&sections))
            .flat_map(|(section, examples)| {
                let of = |(row, example): (&Row, String)| {
                    example.is_empty().then(|| format!("{}: {}", section.path, row.key))
                };
                section.rows.iter().zip(examples).filter_map(of).collect::<Vec<_>>()
            })
            .collect();
        assert!(missing.is_empty(), "declare one with .example(…): {missing:#?}");
    }

    #[test]
    fn links_lead_to_headings() {
        let page = keys();
        let headings: Vec<String> = page.lines().filter_map(|line| line.strip_prefix("## ")).map(anchor).collect();
        let links: Vec<&str> = page.split("](#").skip(1).filter_map(|rest| rest.split(')').next()).collect();
        assert!(links.len() > 60, "{}", links.len());
        for link in links {
            assert!(headings.iter().any(|heading| heading == link), "{link}");
        }
    }
}
