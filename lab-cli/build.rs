//! Says in `LAB_VERSION` what the program was built from. A debug build does not name its commit: otherwise each commit
//! would compile the crate again.

use std::{env, fs, path::Path, process::Command};

/// What the program is made of, seen from this crate. A change in them is one of the commit's files.
const SOURCES: [&str; 8] = [
    "../Cargo.toml",
    "../Cargo.lock",
    "../controllers",
    "../experiments",
    "../lab-cli",
    "../target-app",
    "../traces",
    "../workloads",
];

fn main() {
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let built_of = if env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        published_commit().or_else(commit_of_the_clone).map(|commit| format!(" ({commit})")).unwrap_or_default()
    } else {
        println!("cargo::rerun-if-changed=build.rs");
        " (debug build)".to_owned()
    };
    println!("cargo::rustc-env=LAB_VERSION={version}{built_of}");
}

/// What `cargo package` wrote down beside the sources.
fn published_commit() -> Option<String> {
    let text = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let hash = text.split("\"sha1\": \"").nth(1)?.split('"').next()?;
    hash.get(..10).map(str::to_owned)
}

fn commit_of_the_clone() -> Option<String> {
    let commit = git(&["log", "-1", "--format=%h %cs", "--abbrev=10"])?;
    for source in SOURCES.into_iter().filter(|source| Path::new(source).exists()) {
        println!("cargo::rerun-if-changed={source}");
    }
    // The commit that is checked out is named in this file, or in the file of a branch; a commit writes both lines of the log.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={log}");
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_none_or(|files| !files.is_empty());
    Some(if changed { format!("{commit}, with changes") } else { commit })
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
