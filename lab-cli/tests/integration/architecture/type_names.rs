//! One public type name, one meaning, over the workspace.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path},
};

use super::{MAY_DEPEND_ON, root, sources};

/// Names that a crate gives to a second type, in the order of [`MAY_DEPEND_ON`]: a name belongs to the first crate that defines
/// it. These lists may only shrink.
const LEFT: [(&str, &[&str]); 19] = [
    ("controllers", &[]),
    ("controllers/token", &[]),
    ("controllers/tower", &[]),
    ("controllers/installed", &[]),
    ("traces", &[]),
    ("traces/import", &[]),
    ("workloads/measure", &[]),
    ("workloads/health", &[]),
    ("workloads", &[]),
    ("workloads/senders", &[]),
    ("target-app/live", &[]),
    ("target-app/arashi", &[]),
    ("target-app/proxy", &[]),
    ("target-app", &[]),
    ("lab-cli/analysis", &[]),
    ("lab-cli/experiment", &[]),
    ("lab-cli/fleet", &[]),
    ("lab-cli/screens", &[]),
    ("lab-cli", &[]),
];

/// The rule is textual: a type is public if its definition says `pub` without a restriction, whatever the visibility of its
/// module. Types of tests and of `testing` modules do not count, nor do those that a function or a macro defines.
#[test]
fn a_public_type_name_has_one_meaning() {
    let names: Vec<&str> = MAY_DEPEND_ON.iter().map(|(name, _)| *name).collect();
    let mut definitions: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in &names {
        for file in sources().filter(|file| crate_of(file) == Some(*name) && !is_of_tests(file)) {
            let text = fs::read_to_string(root().join(&file)).expect("readable source");
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            for defined in code.lines().filter_map(public_type) {
                definitions.entry(defined.to_owned()).or_default().push(name);
            }
        }
    }
    assert!(definitions.len() > 100, "the search for types went wrong");
    for (name, left) in LEFT {
        let left: BTreeSet<&str> = left.iter().copied().collect();
        let second = |(_, of): &(&String, &Vec<&str>)| of.iter().skip(1).any(|of| *of == name);
        let found: BTreeSet<&str> = definitions.iter().filter(second).map(|(defined, _)| defined.as_str()).collect();
        let new: Vec<_> = found.difference(&left).collect();
        assert!(new.is_empty(), "{name} defines {new:?} though that name means another type: call it by what it means");
        let gone: Vec<_> = left.difference(&found).collect();
        assert!(gone.is_empty(), "{name} no longer doubles {gone:?}: take it off the list in {}", file!());
    }
}

/// The folder of the crate that a file is in: crates lie in each other's folders.
fn crate_of(file: &Path) -> Option<&'static str> {
    let folders = MAY_DEPEND_ON.iter().map(|(folder, _)| *folder).filter(|folder| file.starts_with(folder));
    folders.max_by_key(|folder| folder.len())
}

/// The name that a line defines as a public type.
fn public_type(line: &str) -> Option<&str> {
    let (keyword, rest) = line.trim_start().strip_prefix("pub ")?.split_once(' ')?;
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    ["struct", "enum", "trait", "type", "union"].contains(&keyword).then(|| rest.split(|c| !is_name(c)).next())?
}

fn is_of_tests(file: &Path) -> bool {
    let of_tests = |part: Component<'_>| {
        ["tests", "tests.rs", "testing", "testing.rs"].iter().any(|name| part.as_os_str() == *name)
    };
    file.components().any(of_tests)
}

#[test]
fn a_definition_is_told_from_a_use() {
    assert_eq!(public_type("pub struct Seat<J = ()> {"), Some("Seat"));
    assert_eq!(public_type("    pub type Settings = BTreeMap<String, Setting>;"), Some("Settings"));
    for other in
        ["pub(crate) struct Line<T> {", "struct Line;", "pub use seat::Seat;", "pub fn seat() {", "/// pub enum X"]
    {
        assert_eq!(public_type(other), None, "{other}");
    }
}
