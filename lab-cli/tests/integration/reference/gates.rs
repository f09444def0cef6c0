//! `docs/reference/gates.md`.

use std::fmt::Write as _;

use analysis::judge::gates::{GATES, ValidityGate};

use super::{GENERATED, cell};

pub fn page() -> String {
    let mut page = format!(
        "# Validity gates\n\n{GENERATED}\n\
         A gate is a check that can make a run WARN, UNSTABLE or INVALID. What the verdicts mean, and what the figures behind the \
         gates are: [validity.md](../validity.md).\n\n\
         | code | verdict | finds | limit | way out |\n|---|---|---|---|---|\n"
    );
    for ValidityGate { code, verdicts, finds, limit, remedy, .. } in &GATES {
        let verdicts: Vec<&str> = verdicts.iter().map(|verdict| verdict.word()).collect();
        let [finds, limit, remedy] = [finds, limit, remedy].map(|text| cell(text));
        let _ = writeln!(page, "| `{code}` | {} | {finds} | {limit} | {remedy} |", verdicts.join(", "));
    }
    page
}
