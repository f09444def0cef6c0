//! `docs/reference/experiments.md`.

use std::fmt::Write as _;

use experiment::Library;
use serde_json::Value;

use super::{GENERATED, cell};

/// Groups by what the source begins with, in the order of the page; the last takes the rest.
const GROUPS: [(&str, &[&str]); 5] = [
    ("SEDA", &["Welsh & Culler", "SEDA"]),
    ("Google SRE, chapter 21", &["Site Reliability Engineering"]),
    ("Cataclysm", &["Urgaonkar & Shenoy"]),
    ("WebQ", &["WebQ"]),
    ("Others, and the lab's own", &[]),
];

/// An experiment of the library, with what its file says.
struct Told {
    entry: &'static Library,
    about: String,
    source: String,
    only_virtual: bool,
}

impl Told {
    fn of(entry: &'static Library) -> Self {
        let file: Value = serde_yaml::from_str(entry.text).expect("YAML");
        let source = file["source"].as_str().unwrap_or("the lab's own").to_owned();
        Self { entry, about: entry.about(), source, only_virtual: file["virtual"]["only"] == true }
    }

    fn group(&self) -> usize {
        let of = |(_, starts): &(&str, &[&str])| starts.iter().any(|start| self.source.starts_with(start));
        GROUPS.iter().position(of).unwrap_or(GROUPS.len() - 1)
    }

    fn worlds(&self) -> &'static str {
        match (self.entry.is_live_only(), self.only_virtual) {
            (true, _) => "live",
            (_, true) => "virtual",
            _ => "both",
        }
    }
}

pub fn page() -> String {
    let all: Vec<Told> = Library::all().iter().map(Told::of).collect();
    let mut page = format!(
        "# Experiments of the library\n\n{GENERATED}\n\
         `lab run ID` runs one, `lab run ID --virtual` in virtual time; `lab run --list` prints the list. Their files are in \
         [`experiments/`](../../experiments). Those of the atlas have a paper's result at the paper's own length, with its claims as \
         thresholds: `lab reproduce ID`; their short forms take minutes live.\n\n\
         Start with `flash-crowd` (what a policy is for), `metastable` (why retries matter), `overload-sweep` (goodput against load) and \
         `front-doors` (waiting rooms and sentries).\n"
    );
    for (group, (title, _)) in GROUPS.iter().enumerate() {
        for (atlas, part) in [(false, ""), (true, ": the atlas")] {
            let of_part: Vec<&Told> =
                all.iter().filter(|told| told.group() == group && told.entry.atlas == atlas).collect();
            if of_part.is_empty() {
                continue;
            }
            let _ = write!(page, "\n## {title}{part}\n\n");
            let (head, line) = if atlas { (" short form |", "---|") } else { ("", "") };
            let _ = writeln!(page, "| experiment | about | source | runs |{head}\n|---|---|---|---|{line}");
            for told in of_part {
                let id = told.entry.id;
                let short = match told.entry.short.filter(|short| *short != id) {
                    Some(short) if atlas => format!(" `{short}` |"),
                    None if atlas => " |".to_owned(),
                    _ => String::new(),
                };
                let _ = writeln!(
                    page,
                    "| [`{id}`](../../experiments/{id}.yaml) | {} | {} | {} |{short}",
                    cell(&told.about),
                    cell(&told.source),
                    told.worlds()
                );
            }
        }
    }
    page
}
