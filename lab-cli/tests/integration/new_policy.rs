//! `lab new-policy`: what it writes, where, and what it refuses.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

fn lab(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lab"))
        .arg("new-policy")
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("lab starts")
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

#[track_caller]
fn refused(output: &Output, why: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(why), "{said}");
}

#[test]
fn without_a_workspace_or_a_good_name_nothing_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = workspace().to_str().expect("text");
    refused(&lab(folder.path(), &["my-limit"]), "--lab PATH");
    refused(&lab(folder.path(), &["my-limit", "--lab", "/nowhere"]), "/nowhere");
    refused(&lab(folder.path(), &["my-limit", "--lab", "."]), "no workspace of the lab");
    refused(&lab(folder.path(), &["gradient2", "--lab", root]), "taken");
    refused(&lab(folder.path(), &["folly", "--lab", root]), "taken");
    refused(&lab(folder.path(), &["../out", "--lab", root]), "is not a valid policy name");
    assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 0);
}

#[test]
fn a_crate_is_written_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = workspace().to_str().expect("text");
    let written = lab(folder.path(), &["my-limit", "--lab", root]);
    assert!(written.status.success());
    let said = String::from_utf8_lossy(&written.stdout);
    assert!(said.contains("cargo test --no-default-features"), "{said}");
    let text = |file: &str| fs::read_to_string(folder.path().join("my-limit").join(file)).expect(file);
    assert!(text("Cargo.toml").contains(&format!("path = \"{root}/lab-cli\"")));
    assert!(text("src/main.rs").contains("lab_cli::main_with(&[my_limit::ENTRY])"));
    assert!(text("src/lib.rs").contains("name: \"my-limit\""));
    for file in ["Cargo.toml", "src/main.rs", "src/lib.rs", "tests/model.rs"] {
        assert!(!text(file).contains('@'), "{file} has an open word");
    }
    refused(&lab(folder.path(), &["my-limit", "--lab", root]), "is here already");
    assert!(text("src/lib.rs").contains("impl LimitLaw for Law"), "a limit law unless another kind is named");
    // Its profiles are those of the workspace: profiles of path dependencies are not read. It does without the tower layer.
    let profiles = |text: &str| text[text.find("[profile.dev]").expect("profiles")..].replace('\n', "");
    let of_lab = fs::read_to_string(workspace().join("Cargo.toml")).expect("the manifest");
    let of_it = |line: &&str| !line.starts_with('#') && !line.starts_with("tower-admission = { opt-level");
    let of_lab: String = of_lab.lines().filter(of_it).map(|line| format!("{line}\n")).collect();
    assert_eq!(profiles(&text("Cargo.toml")), profiles(&of_lab));
}

#[test]
fn a_policy_with_a_timer_is_written_on_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = workspace().to_str().expect("text");
    assert!(lab(folder.path(), &["my-rate", "--kind", "policy", "--lab", root]).status.success());
    let policy = fs::read_to_string(folder.path().join("my-rate/src/lib.rs")).expect("written");
    for part in ["name: \"my-rate\"", "fn next_wake", "fn wake", "Reason::own", "TokenBucket::new", "Gauge::of("] {
        assert!(policy.contains(part), "{part}");
    }
    assert!(!policy.contains('@'), "it has an open word");
    let output = lab(folder.path(), &["my-other", "--kind", "machine", "--lab", root]);
    refused(&output, "[possible values: limit, policy]");
}
