//! The public API of the crate, as `public-api.txt` lists it: a change of it is a change of that file, which says in a review what users of the crate will notice.
//!
//! The list is what rustdoc shows: declarations, methods, traits and the traits of types. Derived and blanket implementations of auto traits are left out, unless they
//! depend on a parameter or say that a type is not `Send` or not `Sync`. `INSTA_UPDATE=always cargo test -p tower-admission --test public_api` writes the file anew.

#[path = "public_api/page.rs"]
mod page;

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Both crates, so that rustdoc knows the types that are re-exported.
const DOC: [&str; 8] = [
    "doc",
    "--offline",
    "--quiet",
    "--no-deps",
    "--lib",
    "--package=tower-admission",
    "--package=controllers",
    "--target-dir",
];

#[test]
fn the_public_api_is_the_one_that_is_written_down() {
    let mut found = String::new();
    for (_, html) in pages() {
        page::lines(&html).into_iter().for_each(|line| found.extend([&line, "\n"]));
        found.push('\n');
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("public-api.txt");
    if env::var_os("INSTA_UPDATE").is_some_and(|mode| mode == "always") {
        fs::write(&file, &found).expect("the list is writable");
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    let (found, written): (BTreeSet<&str>, BTreeSet<&str>) = (found.lines().collect(), written.lines().collect());
    let gone: Vec<_> = written.difference(&found).collect();
    let new: Vec<_> = found.difference(&written).collect();
    assert!(
        gone.is_empty() && new.is_empty(),
        "the public API has changed. Gone: {gone:#?}\nNew: {new:#?}\nIf that is meant, write public-api.txt anew: INSTA_UPDATE=always cargo test -p tower-admission --test \
         public_api"
    );
    assert!(found.len() > 500 && found.iter().any(|line| line.contains("fn shadow(self")), "rustdoc was read");
}

#[test]
fn a_user_can_name_every_type_of_a_signature() {
    let of_type = |page: String| {
        let (kind, name) = page.strip_suffix(".html")?.rsplit('/').next()?.split_once('.')?;
        ["struct", "enum", "trait", "type"].contains(&kind).then(|| name.to_owned())
    };
    let of_controllers: BTreeSet<String> =
        listed(&documented().with_file_name("controllers")).into_iter().filter_map(of_type).collect();
    assert!(of_controllers.contains("Timestamp"), "{of_controllers:?}");
    let mut missing = BTreeSet::new();
    for (name, html) in pages().into_iter().filter(|(_, html)| page::is_own(html)) {
        let foreign = page::foreign_words(&html);
        missing.extend(foreign.intersection(&of_controllers).map(|of| format!("{name}: {of}")));
    }
    assert!(missing.is_empty(), "types of `controllers` that this crate does not re-export: {missing:#?}");
}

/// Runs rustdoc, and returns the folder of this crate's pages.
fn documented() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
    let output = Command::new(env!("CARGO")).args(DOC).arg(target).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    target.join("doc/tower_admission")
}

/// The pages of all items with their names.
fn pages() -> Vec<(String, String)> {
    let folder = documented();
    let read = |name: String| {
        let html = fs::read_to_string(folder.join(&name)).expect("a page of rustdoc");
        (name, html)
    };
    listed(&folder).into_iter().map(read).collect()
}

/// The names of the pages of all items, by the list that rustdoc makes of them.
fn listed(folder: &Path) -> Vec<String> {
    let all = fs::read_to_string(folder.join("all.html")).expect("rustdoc lists all items");
    let (_, list) = all.split_once("class=\"all-items\"").expect("a list of items");
    let names = list.split("href=\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0));
    names.filter(|name| name.ends_with(".html")).map(str::to_owned).collect()
}
