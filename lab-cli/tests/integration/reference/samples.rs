//! What pages show of a run in virtual time is what the program prints.

use std::fs;

use analysis::judge::gates::GATES;

use super::docs;
use crate::program::lab_with;

/// The first fenced block of this kind after a line.
fn block<'a>(page: &'a str, after: &str, kind: &str) -> &'a str {
    let rest = page.split_once(after).unwrap_or_else(|| panic!("the page has no {after:?}")).1;
    let rest = rest.split_once(&format!("```{kind}\n")).expect("a block").1;
    rest.split_once("```").expect("its end").0
}

fn printed(experiment: &str, run: &[&str]) -> String {
    let scratch = tempfile::tempdir().expect("a folder");
    let output = lab_with(scratch.path(), experiment, &[run, &["--virtual", "--no-tui"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// To be pasted where it differs.
fn assert_shown(shown: &str, printed: &str) {
    assert!(shown.lines().count() > 5 && printed.starts_with(shown), "shown:\n{shown}\nprinted:\n{printed}");
}

#[test]
fn the_readme_shows_its_experiment() {
    let page = fs::read_to_string(docs().join("../README.md")).expect("the README");
    let begins = "### Ten seconds of trouble";
    let printed = printed(block(&page, begins, "yaml"), &["run", "x.yaml"]);
    assert_shown(block(&page, begins, "text"), &printed);
    let gates = format!("\n{} gates judge every run", GATES.len());
    assert!(page.contains(&gates), "the README has not: {gates}");
}

#[test]
fn the_page_of_results_shows_its_experiment() {
    let page = fs::read_to_string(docs().join("results.md")).expect("the page");
    assert_shown(block(&page, "Every form of a result begins with it", "text"), &printed("", &["run", "metastable"]));
}
