//! `lab new-policy`: writes a crate with a policy, whose program is the whole lab with that policy in it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::stdout::print;
use crate::{
    args::{self, PolicyKind},
    exit::{CommandResult, Failure},
};
use installed::catalogue;

/// The files of every crate; `@name@` and the like are placeholders.
const FILES: [(&str, &str); 3] = [
    ("Cargo.toml", include_str!("new_policy/Cargo.toml.txt")),
    ("src/main.rs", include_str!("new_policy/main.rs.txt")),
    ("tests/model.rs", include_str!("new_policy/model.rs.txt")),
];

/// The policy, `src/lib.rs`.
const fn policy_of(kind: PolicyKind) -> &'static str {
    match kind {
        PolicyKind::Limit => include_str!("new_policy/limit.rs.txt"),
        PolicyKind::Policy => include_str!("new_policy/policy.rs.txt"),
    }
}

const IGNORED: &str = "/target\n/runs\n";

/// Files of the workspace that the crate starts with: the same versions of all dependencies, and the ban on clocks in
/// policies.
const COPIED: [(&str, &str); 2] = [("Cargo.lock", "Cargo.lock"), ("controllers/clippy.toml", "clippy.toml")];

pub(super) fn new_policy(args: &args::NewPolicyArgs) -> CommandResult {
    let name = &args.name;
    check_name(name)?;
    let here = std::env::current_dir().map_err(Failure::because)?;
    let lab = match &args.lab {
        Some(path) => given(path)?,
        None => here.ancestors().find(|folder| is_the_lab(folder)).map(Path::to_owned).ok_or_else(|| {
            Failure::usage(
                "there is no workspace of the lab in this folder or above it: go into a clone of it, or name one with --lab PATH",
            )
        })?,
    };
    let folder = here.join(name);
    match fs::create_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(Failure::usage(format!(
                "{name} is here already: nothing was written; give the policy another name"
            )));
        }
        made => made.map_err(Failure::because)?,
    }
    let words = Words { name, lab: &lab };
    write(&folder, args.kind, &words).map_err(|error| Failure::because(format!("{}: {error}", folder.display())))?;
    print(next_steps(name).as_bytes())
}

fn write(folder: &Path, kind: PolicyKind, words: &Words<'_>) -> io::Result<()> {
    for sub in ["src", "tests"] {
        fs::create_dir(folder.join(sub))?;
    }
    for (file, text) in FILES.into_iter().chain([("src/lib.rs", policy_of(kind))]) {
        fs::write(folder.join(file), words.put_into(text))?;
    }
    for (from, to) in COPIED {
        fs::copy(words.lab.join(from), folder.join(to))?;
    }
    fs::write(folder.join(".gitignore"), IGNORED)
}

/// The values of the placeholders.
struct Words<'a> {
    name: &'a str,
    lab: &'a Path,
}

impl Words<'_> {
    fn put_into(&self, text: &str) -> String {
        // As a TOML string.
        let lab = self.lab.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
        text.replace("@name@", self.name)
            .replace("@crate@", &self.name.replace('-', "_"))
            .replace("@lab@", &lab)
            .replace("@version@", env!("CARGO_PKG_VERSION"))
    }
}

fn next_steps(name: &str) -> String {
    format!(
        "wrote {name}: the policy is in src/lib.rs

  cd {name}
  cargo test --no-default-features                          # in seconds: without the lab
  cargo clippy --no-default-features --all-targets
  cargo run --profile quick --no-default-features --features virtual -- run flash-crowd --virtual --policy {name} --policy none
  cargo build --release                                     # with live runs and the proxy

The program is the lab with {name} in it: check, run, proxy and policies of this one know it, lab does not.
"
    )
}

/// Names that a crate cannot have: those of the lab's crates, and keywords of Rust.
const TAKEN: [&str; 14] = [
    "controllers",
    "installed",
    "lab",
    "lab-cli",
    "proptest",
    "std",
    "core",
    "alloc",
    "test",
    "self",
    "super",
    "crate",
    "fn",
    "mod",
];

fn check_name(name: &str) -> Result<(), Failure> {
    let usual = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        && !name.ends_with('-')
        && name.len() <= 40;
    if !usual {
        let message = format!(
            "{name:?} is not a valid policy name: small letters, digits and hyphens, a letter first (my-limit)"
        );
        return Err(Failure::usage(message));
    }
    if catalogue().names().contains(&name) || catalogue().find(name).is_some() || TAKEN.contains(&name) {
        return Err(Failure::usage(format!(
            "the name {name} is taken: give the policy another (lab policies shows those that exist)"
        )));
    }
    Ok(())
}

/// The workspace that the command names.
fn given(path: &Path) -> Result<PathBuf, Failure> {
    let path = fs::canonicalize(path).map_err(|error| Failure::usage(format!("--lab {}: {error}", path.display())))?;
    if !is_the_lab(&path) {
        let message =
            format!("--lab {}: this is no workspace of the lab (it has no controllers and lab-cli)", path.display());
        return Err(Failure::usage(message));
    }
    Ok(path)
}

/// True for the root of a clone of this workspace.
fn is_the_lab(folder: &Path) -> bool {
    let holds = |file: &str, line: &str| {
        fs::read_to_string(folder.join(file)).is_ok_and(|text| text.lines().any(|of_file| of_file.trim() == line))
    };
    holds("Cargo.toml", "[workspace]")
        && holds("controllers/Cargo.toml", "name = \"controllers\"")
        && holds("lab-cli/Cargo.toml", "name = \"lab-cli\"")
}
