//! `docs/reference/policies.md`.

use std::fmt::Write as _;

use controllers::Entry;
use installed::catalogue;

use super::{GENERATED, cell};

/// Whether an entry is of a kind.
type IsOfKind = fn(&Entry) -> bool;

const KINDS: [(&str, &str, IsOfKind); 3] = [
    ("Policies", "Arms of an experiment: they decide which requests are admitted.", |entry| {
        entry.is_policy() && entry.bound().is_none()
    }),
    ("Machines", "`target.machines`: they resize or signal, and decide about no request.", |entry| {
        !entry.is_policy() && entry.bound().is_none()
    }),
    ("Bounds", "Arms that know what no policy can know, in virtual time alone.", |entry| entry.bound().is_some()),
];

pub fn page() -> String {
    let mut page = format!(
        "# Policies\n\n{GENERATED}\n\
         `lab policies NAME` prints the same. Scopes: `accept` is the listener, `single` the whole service, `per-stage` each stage, `client` the \
         senders' side, `proxy` a proxy before the service; the first is the default. Which policy to choose: \
         [policies.md](../policies.md#choosing-a-policy).\n"
    );
    for (title, about, belongs) in KINDS {
        let _ = write!(page, "\n## {title}\n\n{about}\n\n| name | what it does | scopes |\n|---|---|---|\n");
        for entry in catalogue().entries().filter(|entry| belongs(entry)) {
            let _ = writeln!(page, "| [`{0}`](#{0}) | {1} | {2} |", entry.name, cell(entry.about), scopes(entry));
        }
    }
    for (_, _, belongs) in KINDS {
        for entry in catalogue().entries().filter(|entry| belongs(entry)) {
            page.push_str(&section(entry));
        }
    }
    page
}

fn scopes(entry: &Entry) -> String {
    entry.places.iter().map(|place| format!("`{}`", place.scope())).collect::<Vec<_>>().join(", ")
}

fn section(entry: &Entry) -> String {
    let mut text = format!("\n### {}\n\n{}.\n\n", entry.name, sentence(entry.about));
    let _ = writeln!(text, "- Source: {}, {}", entry.source.title, entry.source.place);
    for role in entry.roles {
        let _ = writeln!(text, "- In a composition: `{}`, {}", role.key(), role.about());
    }
    if !entry.caution.is_empty() {
        let _ = writeln!(text, "- Caution: {}", entry.caution);
    }
    for preset in entry.presets {
        let _ = writeln!(text, "- Preset `{}`: {}", preset.name, preset.about);
    }
    for deviation in entry.deviations {
        let _ = writeln!(text, "- Differs from the source: {deviation}");
    }
    let rows = entry.rows(None);
    if rows.is_empty() {
        text.push_str("\nIt has no parameters.\n");
        return text;
    }
    text.push_str("\n| parameter | default | unit | range | meaning | source |\n|---|---|---|---|---|---|\n");
    for row in rows {
        let [default, unit, range, about, source] =
            [&row.default, &row.unit.to_owned(), &row.range, &row.about.to_owned(), &row.source.to_owned()]
                .map(|text| cell(text));
        let _ = writeln!(text, "| `{}` | {default} | {unit} | {range} | {about} | {source} |", row.name);
    }
    text
}

/// With a capital letter.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
