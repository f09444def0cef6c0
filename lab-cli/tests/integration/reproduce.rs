//! `lab reproduce` and the atlas, as a person meets them.

use std::{collections::BTreeSet, fs, path::Path};

use analysis::{figure::merit::Merit, judge::threshold::PhaseMeasure};
use experiment::{Experiment, Library};
use serde_json::Value;

use crate::program::{json, printed, ran as lab};

fn read(entry: &Library) -> Experiment {
    experiment::read(entry.text, &experiment::Changes::default()).expect("it is good")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[test]
fn a_claim_that_fails_is_told_in_the_table_and_by_the_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = lab(folder.path(), &["reproduce", "seda-fig12", "seda-fig13", "--out", "a", "--output", "json"]);
    let found = printed(&output);
    let artefacts = found.as_array().expect("a list");
    assert_eq!(artefacts.iter().map(|a| &a["experiment"]).collect::<Vec<_>>(), ["seda-fig12", "seda-fig13"]);
    let failed = artefacts.iter().flat_map(|a| a["claims"].as_array().expect("claims")).any(|c| c["held"] == false);
    assert_eq!(output.status.code(), Some(if failed { 4 } else { 0 }), "{}", text(&output.stderr));
    for artefact in artefacts {
        let results = folder.path().join(artefact["results"].as_str().expect("a folder"));
        let summary = json(&results.join("summary.json"));
        assert_eq!((&summary["mode"], &summary["thresholds"]), (&Value::from("virtual"), &artefact["claims"]));
        assert_eq!((&summary["verdict"], &summary["reasons"]), (&artefact["verdict"], &artefact["reasons"]));
        assert_eq!(
            not_in_the_document(artefact),
            Vec::<String>::new(),
            "docs/atlas.md is stale, or the plant has changed"
        );
    }

    let again = lab(folder.path(), &["reproduce", "seda-fig12", "--out", "b"]);
    let table = text(&again.stdout);
    let words = table.lines().filter(|line| line.starts_with("  held") || line.starts_with("  FAILED")).count();
    assert_eq!(words, artefacts[0]["claims"].as_array().map_or(0, Vec::len), "{table}");
    assert!(table.contains("results: b/seda-fig12\n"), "{table}");
    assert!(table.ends_with("2 of 2 claims of the papers held; 7 of 7 thresholds\n"), "{table}");
    let fig13 = &artefacts[1]["lettered_claims"];
    assert_eq!((&fig13[0]["letter"], &fig13[0]["held"]), (&Value::from("a"), &Value::from(true)));
    let as_coded = &fig13[2]["variants"][0];
    assert_eq!((&as_coded["arms"][0], &as_coded["held_by"]), (&Value::from("as-coded"), &Value::from(1)), "{fig13:#}");
}

/// Artefacts that a build without optimisation computes in seconds each, three minutes in all. `.ci/run` runs them.
const TAKE_SECONDS: [&str; 18] = [
    "ew-fig4",
    "sre-fig21-2",
    "sre-quotas",
    "sre-load-average",
    "sre-connections",
    "sre-organic",
    "sre-degraded",
    "webq-fig2",
    "webq-fig3-4-waves",
    "webq-fig6-8",
    "webq-3types-waves",
    "webq-2tiers",
    "webq-change",
    "webq-fig11",
    "webq-fig12",
    "webq-fig13",
    "cat-fig3",
    "cat-fig5",
];

#[test]
#[ignore = "takes three minutes; docs/atlas.md: cargo test --workspace --test integration -- --ignored reproduce::seconds"]
fn seconds_find_what_the_document_says() {
    assert_eq!(says_what_is_found(&TAKE_SECONDS), TAKE_SECONDS);
}

#[test]
#[ignore = "takes six minutes with a release build; docs/atlas.md: LAB_PROGRAM=$PWD/target/release/lab cargo test --workspace --test integration -- --ignored reproduce::every"]
fn every_artefact_finds_what_the_document_says() {
    let wanted: Vec<&str> = Library::atlas().filter(|entry| !entry.is_live_only()).map(|entry| entry.id).collect();
    assert_eq!(says_what_is_found(&["--all"]), wanted);
}

/// Reproduces these artefacts in virtual time with seed 1, and compares every value with `docs/atlas.md`. Returns what ran.
#[track_caller]
fn says_what_is_found(ids: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let output = lab(folder.path(), &[&["reproduce", "--out", "found", "--output", "json"], ids].concat());
    assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{}", text(&output.stderr));
    let found = printed(&output);
    let artefacts = found.as_array().expect("a list");
    let stale: Vec<String> = artefacts.iter().flat_map(not_in_the_document).collect();
    assert!(stale.is_empty(), "docs/atlas.md is stale, or the plant has changed:\n{}", stale.join("\n"));
    artefacts.iter().map(|artefact| artefact["experiment"].as_str().expect("an id").to_owned()).collect()
}

/// Of what a run with seed 1 has found, what `docs/atlas.md` does not say, to the last digit.
fn not_in_the_document(artefact: &Value) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/atlas.md");
    let document = fs::read_to_string(path).expect("docs/atlas.md");
    let id = artefact["experiment"].as_str().expect("an id");
    let section = document
        .split(&format!("\n### {id}: "))
        .nth(1)
        .and_then(|rest| rest.split("\n### ").next())
        .expect("its section");
    let claims = artefact["claims"].as_array().expect("claims");
    let rows = read(Library::find(id).expect("it is there")).rows;
    let said = claims.iter().zip(rows).map(|(claim, row)| {
        let found = claim["blocks"][0]["found"].as_str().expect("what was found");
        format!("| {} | {} | ", row.label, found.strip_prefix("found ").unwrap_or(found))
    });
    let numbers = artefact.get("merit").map(|merit| {
        let merit: Merit = serde_json::from_value(merit.clone()).expect("numbers of the paper");
        format!("Beside the paper, seed 1: {}.", merit.in_words())
    });
    let said = said.chain(numbers);
    said.filter(|said| !section.contains(said)).map(|said| format!("{id}: {said}")).collect()
}

/// The headings of `docs/atlas.md` and the experiments of the atlas are the same, and each heading has a line for each threshold,
/// and one for each claim that does not hold: what makes it hold, or that nothing tried does.
#[test]
fn the_document_has_every_artefact_with_every_claim() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/atlas.md");
    let document = fs::read_to_string(path).expect("docs/atlas.md");
    let sections: Vec<(&str, &str)> = document
        .split("\n### ")
        .skip(1)
        .map(|section| section.split_once('\n').expect("a heading and more"))
        .map(|(heading, rest)| (heading.split(':').next().unwrap_or(heading), rest))
        .collect();
    let written: BTreeSet<&str> = sections.iter().map(|(id, _)| *id).collect();
    assert_eq!(written, Library::atlas().map(|entry| entry.id).collect::<BTreeSet<_>>());
    let (mut held_in_all, mut thresholds, mut letters) = (0, 0, 0);
    for (id, section) in sections {
        let entry = Library::find(id).expect("it is there");
        let experiment = read(entry);
        let section = section.split("\n## ").next().unwrap_or(section);
        let held = section.lines().filter(|line| line.starts_with("| held |"));
        let failed = section.lines().filter(|line| line.starts_with("| FAILED |"));
        let (rows, held) = (held.clone().chain(failed), held.count());
        assert_eq!(rows.clone().count(), experiment.thresholds.len(), "{id}: a row for each threshold");
        let count = format!("{held} of {} thresholds.", experiment.thresholds.len());
        assert!(section.contains(&count), "{id}: how many held");
        let wanted = &experiment.rows;
        for row in wanted {
            assert!(section.contains(&format!(" | {} | ", row.label)), "{id}: no row {:?}", row.label);
        }
        held_in_all += held;
        thresholds += experiment.thresholds.len();
        let of_section: BTreeSet<char> = wanted.iter().flat_map(|row| row.parts_of().iter().copied()).collect();
        if experiment.paper.is_some() {
            letters += of_section.len();
        }
        let failed = section.split("Not held: ").nth(1).and_then(|rest| rest.split(". ").next()).unwrap_or_default();
        // So many times nothing is less than anything: such a part makes no claim hold.
        let is_held = |letter: &char| !failed.split(", ").any(|name| name.starts_with(*letter));
        for row in wanted.iter().filter(|row| experiment.paper.is_some() && row.parts_of().iter().any(is_held)) {
            let line = section.lines().find(|line| line.contains(&format!(" | {} | ", row.label))).unwrap_or_default();
            let idle = line.starts_with("| held |") && line.contains(" * ") && line.contains(", against 0 |");
            assert!(!idle, "{id}: {line}");
        }
        for letter in of_section {
            let is_failed = failed.split(", ").any(|name| name.starts_with(letter));
            let remedy = section.lines().find(|line| line.starts_with(&format!("- {letter}: ")));
            assert_eq!(is_failed, remedy.is_some(), "{id} {letter}: a line for each claim that does not hold");
            let tried = experiment.tried.get(&letter);
            assert!(
                tried.is_none_or(|tried| remedy.is_some_and(|line| line.ends_with(tried))),
                "{id} {letter}: {tried:?}"
            );
            let says_nothing = remedy.is_some_and(|line| line.ends_with("nothing was tried."));
            assert!(!says_nothing, "{id} {letter}: what was tried?");
        }
    }
    let total = format!(" of {letters} claims of the papers held**, and {held_in_all} of {thresholds} thresholds");
    assert!(document.contains(&total), "{total}");
}

#[test]
fn short_forms_are_experiments_of_the_library() {
    for entry in Library::atlas() {
        if let Some(short) = entry.short {
            let found = Library::find(short).expect("it is in the library");
            assert!(!found.atlas || entry.is_live_only(), "{}: {short}", entry.id);
        }
        let experiment = read(entry);
        assert_eq!(experiment.live_only().is_some(), entry.is_live_only(), "{}", entry.id);
    }
}

/// What is drawn names what there is: arms, phases and types are checked as the file is read, gauges here, against those that claims of
/// the atlas ask for and those that every stage has.
#[test]
fn every_artefact_has_a_figure_of_gauges_that_there_are() {
    let counts = ["queue", "workers", "busy", "batch", "offered", "admitted", "refused", "completed"];
    // Shown by the sentry, the executor's load average, and the process that sends.
    let others = ["load_average", "capacity_outdated", "cpu"];
    let claims: String = Library::atlas().flat_map(|entry| read(entry).thresholds).collect();
    for entry in Library::atlas() {
        let experiment = read(entry);
        let figure = experiment.figure.unwrap_or_else(|| panic!("{}: no figure", entry.id));
        assert!(!figure.panels.is_empty(), "{}", entry.id);
        for plan in figure.panels.iter().flat_map(|panel| &panel.draw) {
            let measure = PhaseMeasure::parse(&plan.measure).expect("it was checked");
            for (stage, name) in measure.gauges() {
                let named = claims.contains(&format!(".{name}")) || claims.contains(&format!(".\"{name}\""));
                let known = named || counts.contains(&name) || others.contains(&name);
                assert!(known, "{}: no claim of the atlas knows a gauge {name} of {stage}", entry.id);
            }
        }
    }
}
