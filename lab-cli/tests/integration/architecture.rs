//! The rules of `ARCHITECTURE.md` that a tool can hold: who may depend on whom, where the heavy libraries may be named, and
//! that the purity lints really bite.

mod circles;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

mod type_names;

/// Folders of our crates, and whom each may depend on: dependencies point one way, and the two at the bottom know nothing of
/// ours. A crate has the name of its folder, or that of [`PUBLISHED_AS`].
const MAY_DEPEND_ON: [(&str, &[&str]); 24] = [
    ("controllers", &[]),
    ("controllers/installed", &["controllers"]),
    ("controllers/ffi", &["controllers"]),
    ("controllers/envoy", &["controllers", "admission-ffi"]),
    ("controllers/token", &[]),
    ("controllers/tower", &["controllers"]),
    ("traces", &[]),
    ("traces/import", &["traces"]),
    ("workloads/measure", &["controllers"]),
    ("workloads/health", &["controllers", "lab-measure"]),
    ("workloads", &["controllers", "lab-installed", "traces", "lab-measure"]),
    ("workloads/senders", &["controllers", "lab-health", "traces", "lab-measure", "workloads"]),
    ("target-app/spec", &["controllers", "workloads"]),
    ("target-app/core", &["admission-token", "controllers", "lab-installed", "workloads", "lab-spec"]),
    (
        "target-app/plant",
        &["admission-token", "controllers", "lab-installed", "traces", "workloads", "lab-spec", "lab-service-core"],
    ),
    (
        "target-app/live",
        &[
            "controllers",
            "lab-installed",
            "traces",
            "lab-health",
            "workloads",
            "senders",
            "lab-spec",
            "lab-service-core",
            // Its tests alone: one request, live and in virtual time.
            "lab-plant",
        ],
    ),
    ("target-app/arashi", &["controllers", "workloads", "lab-spec", "lab-service-core", "lab-live-service"]),
    (
        "target-app/proxy",
        &[
            "admission-token",
            "controllers",
            "lab-installed",
            "lab-health",
            "workloads",
            "senders",
            "lab-spec",
            "lab-service-core",
            "lab-live-service",
        ],
    ),
    (
        "target-app",
        &[
            "controllers",
            "lab-installed",
            "workloads",
            // Its tests alone: a load of health checks.
            "senders",
            "lab-spec",
            "lab-service-core",
            "lab-live-service",
            "arashi",
        ],
    ),
    ("lab-cli/analysis", &["controllers", "lab-installed", "traces", "lab-measure"]),
    (
        "lab-cli/experiment",
        &[
            "controllers",
            "lab-installed",
            "trace-import",
            "traces",
            "workloads",
            "senders",
            "lab-spec",
            "lab-service-core",
            "lab-analysis",
        ],
    ),
    ("lab-cli/fleet", &[]),
    (
        "lab-cli/screens",
        &[
            "controllers",
            "lab-installed",
            "traces",
            "lab-measure",
            "workloads",
            "lab-spec",
            "lab-service-core",
            "lab-analysis",
            "lab-experiment",
        ],
    ),
    (
        "lab-cli",
        &[
            "controllers",
            "lab-installed",
            "trace-import",
            "traces",
            "lab-health",
            "lab-measure",
            "workloads",
            "senders",
            "lab-spec",
            "lab-service-core",
            "lab-plant",
            "lab-live-service",
            "arashi",
            "overload-proxy",
            "target-app",
            "lab-analysis",
            "lab-experiment",
            "lab-fleet",
            "lab-screens",
            // Its tests alone: one policy in every host.
            "admission-envoy",
            "tower-admission",
        ],
    ),
];

/// Folders whose crate has another name: the one that it is to be published under.
const PUBLISHED_AS: [(&str, &str); 17] = [
    ("controllers/envoy", "admission-envoy"),
    ("controllers/ffi", "admission-ffi"),
    ("controllers/installed", "lab-installed"),
    ("controllers/token", "admission-token"),
    ("controllers/tower", "tower-admission"),
    ("traces/import", "trace-import"),
    ("workloads/health", "lab-health"),
    ("workloads/measure", "lab-measure"),
    ("target-app/spec", "lab-spec"),
    ("target-app/core", "lab-service-core"),
    ("target-app/plant", "lab-plant"),
    ("target-app/live", "lab-live-service"),
    ("target-app/proxy", "overload-proxy"),
    ("lab-cli/analysis", "lab-analysis"),
    ("lab-cli/experiment", "lab-experiment"),
    ("lab-cli/fleet", "lab-fleet"),
    ("lab-cli/screens", "lab-screens"),
];

/// A crate with its features, and libraries that nothing it is built of may be: users do no I/O, a run is computed again
/// from its files alone, in virtual time it needs neither network nor database nor screen, and a proxy needs no service of the lab's.
const NOT_BUILT_OF: [(&str, &[&str]); 6] = [
    ("workloads", &["may", "nix", "rustls", "socket2", "tokio"]),
    ("lab-analysis", &["tokio", "may", "sqlx"]),
    ("lab-plant", &["hyper", "may", "rustls", "sqlx"]),
    ("overload-proxy", &["ammonia", "arashi", "html5ever", "libsqlite3_sys", "sqlx", "target_app"]),
    ("lab-cli", &["async_nats", "fleet"]),
    ("lab-cli --no-default-features --features virtual", &["hyper", "may", "reqwest", "rustls", "sqlx", "ratatui"]),
];

/// A library, and the only places (below the workspace root) that may name it.
const ONLY_NAMED_IN: [(&str, &[&str]); 9] = [
    ("async_nats", &["lab-cli/fleet"]),
    ("may", &["workloads/senders/src/fiber", "workloads/senders/src/fiber.rs"]),
    ("ratatui", &["lab-cli/screens"]),
    ("crossterm", &["lab-cli/screens"]),
    ("sqlx", &["target-app/arashi/src/store", "target-app/arashi/src/store.rs"]),
    ("tracing", &["target-app/live/src/service/cost", "target-app/live/src/service/cost.rs"]),
    ("tower", &["controllers/tower"]),
    ("tower_layer", &["controllers/tower"]),
    ("tower_service", &["controllers/tower"]),
];

/// Folders of crates in which nothing but what is listed below may lift a ban on clocks, waiting and threads.
const PURE: [&str; 11] = [
    "controllers",
    "controllers/installed",
    "controllers/token",
    "workloads",
    "target-app/spec",
    "target-app/core",
    "target-app/plant",
    "traces",
    "traces/import",
    "lab-cli/analysis",
    "lab-cli/experiment",
];

/// The only files that may lift the ban on clocks, waiting and threads, each for the reason that stands there.
const MAY_LIFT_THE_CLOCK_BAN: [&str; 2] = ["workloads/health/src/lib.rs", "lab-cli/analysis/src/testing.rs"];

#[test]
fn dependencies_point_one_way() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let ours: BTreeSet<&str> = MAY_DEPEND_ON.iter().map(|(folder, _)| name(folder)).collect();
    let found: BTreeSet<&str> = packages.iter().filter_map(|p| p["name"].as_str()).collect();
    assert_eq!(found, ours, "a crate was added or removed: give it its place in ARCHITECTURE.md and here");
    for (folder, allowed) in MAY_DEPEND_ON {
        let name = name(folder);
        let package = packages.iter().find(|p| p["name"] == name).expect("found above");
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let dependency = dependency["name"].as_str().expect("a name");
            assert!(
                !ours.contains(dependency) || allowed.contains(&dependency),
                "{name} must not depend on {dependency}: dependencies point one way (ARCHITECTURE.md)"
            );
        }
    }
}

#[test]
fn crates_are_built_without_what_they_do_not_need() {
    for (name, libraries) in NOT_BUILT_OF {
        let output = Command::new(env!("CARGO"))
            .args(["tree", "-e", "normal", "--offline", "--prefix", "none", "--format", "{lib}", "-p"])
            .args(name.split(' '))
            .current_dir(root())
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let tree = String::from_utf8(output.stdout).expect("names");
        let built_of: BTreeSet<&str> = tree.lines().map(str::trim).collect();
        assert!(built_of.contains("controllers"), "the search for dependencies went wrong: {tree}");
        for library in libraries {
            assert!(!built_of.contains(library), "{name} is built of {library}: see cargo tree -p {name} -i {library}");
        }
    }
}

#[test]
fn no_files_or_rooms_import_each_other_in_a_circle() {
    for (folder, _) in MAY_DEPEND_ON {
        let source = root().join(folder).join("src");
        let found = [circles::of_files(&source), circles::of_rooms(&source)].concat();
        let arrows: Vec<_> = found.iter().map(|circle| circle.arrows.as_str()).collect();
        assert!(arrows.is_empty(), "{folder}: circles of imports:\n{}", arrows.join("\n\n"));
    }
}

#[test]
fn heavy_libraries_are_named_in_one_place_each() {
    for file in sources() {
        let text = fs::read_to_string(root().join(&file)).expect("readable source");
        for (library, places) in ONLY_NAMED_IN {
            let named = text.lines().any(|line| names(line, library));
            assert!(
                !named || places.iter().any(|place| file.starts_with(place)),
                "{} names {library}, which belongs to {places:?} alone",
                file.display()
            );
        }
    }
}

#[test]
fn the_clock_ban_is_lifted_only_for_hosts() {
    for file in sources().filter(|f| PURE.iter().any(|pure| f.starts_with(pure))) {
        let text = fs::read_to_string(root().join(&file)).expect("readable source");
        let lifts = text.lines().any(|line| {
            let line = line.trim_start();
            !line.starts_with("//") && line.contains("clippy::disallowed_")
        });
        assert!(
            !lifts || MAY_LIFT_THE_CLOCK_BAN.iter().any(|place| file == Path::new(place)),
            "{} lifts the ban on clocks and threads",
            file.display()
        );
    }
}

#[test]
fn a_clock_in_a_policy_fails_clippy_with_the_reason() {
    if !Command::new(env!("CARGO")).args(["clippy", "--version"]).output().is_ok_and(|o| o.status.success()) {
        assert!(std::env::var_os("LAB_REQUIRE_TOOLS").is_none(), "clippy is not installed");
        eprintln!("skipped: clippy is not installed");
        return;
    }
    for crate_name in PURE {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        fs::create_dir(scratch.path().join("src")).expect("src");
        fs::write(
            scratch.path().join("Cargo.toml"),
            "[package]\nname = \"impure\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n",
        )
        .expect("manifest");
        fs::write(
            scratch.path().join("src/lib.rs"),
            "pub fn late() -> bool { std::time::Instant::now().elapsed().as_secs() > 1 }\n",
        )
        .expect("source");
        let output = Command::new(env!("CARGO"))
            .args(["clippy", "--offline", "--quiet", "--", "-D", "clippy::disallowed_methods"])
            .current_dir(scratch.path())
            .env("CLIPPY_CONF_DIR", root().join(crate_name))
            .env("CARGO_TARGET_DIR", scratch.path().join("target"))
            .output()
            .expect("clippy runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{crate_name}/clippy.toml lets a clock read pass");
        assert!(said.contains("reads no clock"), "the message of {crate_name}/clippy.toml lacks its reason:\n{said}");
    }
}

#[test]
fn every_source_file_is_in_a_crate() {
    for file in sources() {
        let (stem, folder) = (file.file_stem().expect("a name"), file.parent().expect("a folder"));
        if matches!(stem.to_str(), Some("lib" | "main")) {
            continue;
        }
        // A module is declared by the file of its folder's name, or in the crate's root.
        let above = [folder.with_extension("rs"), folder.join("lib.rs"), folder.join("main.rs")];
        let above = above.iter().filter_map(|file| fs::read_to_string(root().join(file)).ok());
        let declared = format!("mod {};", stem.display());
        let found = above.into_iter().any(|text| text.contains(&declared));
        assert!(found, "{}: no module declares it, so that nothing compiles it", file.display());
    }
}

#[test]
fn a_test_that_is_not_run_says_why_and_which_command_of_the_docs_runs_it() {
    let mut files = Vec::new();
    for (folder, _) in MAY_DEPEND_ON {
        ["src", "tests"]
            .map(|part| root().join(folder).join(part))
            .iter()
            .filter(|folder| folder.is_dir())
            .for_each(|folder| collect(folder, &mut files));
    }
    // In two parts, so that this file has no such attribute.
    let attribute = format!("#[{}", "ignore");
    let mut found = 0;
    for file in files {
        let text = fs::read_to_string(&file).expect("readable source");
        let begins_a_line = |at: &usize| text[..*at].rsplit('\n').next().is_some_and(|before| before.trim().is_empty());
        for at in text.match_indices(&attribute).map(|(at, _)| at).filter(begins_a_line) {
            let line = text[at..].lines().next().unwrap_or_default();
            found += 1;
            let reason = line.split('"').nth(1).unwrap_or_default();
            let place = reason.split_once("; ").and_then(|(_, place)| place.split_once(": "));
            let Some((doc, command)) = place else { panic!("{}: {line}: why; docs/FILE.md: command", file.display()) };
            let doc = fs::read_to_string(root().join(doc)).unwrap_or_else(|error| panic!("{doc}: {error}"));
            assert!(doc.contains(&format!("`{command}`")), "{}: the docs do not have {command}", file.display());
            let name = text[at..].split_once("fn ").and_then(|(_, rest)| rest.split_once('(')).map(|(name, _)| name);
            let test =
                format!("{}::{}", file.with_extension("").display(), name.unwrap_or_default()).replace('/', "::");
            assert!(test.contains(filter_of(command)), "{command} does not run {test}");
        }
    }
    assert!(found > 3, "the search for tests that are not run went wrong");
}

/// Filter of test names in a command: the word that is no program, flag, value of a flag or variable.
fn filter_of(command: &str) -> &str {
    let words: Vec<&str> = command.split(' ').collect();
    let is_filter = |at: &usize| {
        let (word, before) = (words[*at], at.checked_sub(1).map_or("", |before| words[before]));
        !word.starts_with('-')
            && !word.contains('=')
            && !["-p", "--test"].contains(&before)
            && !["cargo", "test"].contains(&word)
    };
    (0..words.len()).find(is_filter).map_or("", |at| words[at])
}

/// The name of the crate in a folder.
fn name(folder: &str) -> &str {
    let published = PUBLISHED_AS.iter().find(|(of, _)| *of == folder);
    published.map_or_else(|| folder.rsplit('/').next().unwrap_or(folder), |(_, name)| name)
}

/// True if the line uses the library as a path or imports it. Comments do not count.
fn names(line: &str, library: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.match_indices(library).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = &code[at + library.len()..];
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':' || c == '"') && after.starts_with("::")
    })
}

/// Source files of all crates, relative to the workspace root. Tests and benchmarks may use what they like.
fn sources() -> impl Iterator<Item = PathBuf> {
    let mut found = Vec::new();
    for (folder, _) in MAY_DEPEND_ON {
        collect(&root().join(folder).join("src"), &mut found);
    }
    assert!(found.len() > 10, "the search for sources went wrong");
    found.into_iter().map(|path| path.strip_prefix(root()).expect("below the root").to_owned())
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a source folder") {
        let path = entry.expect("a directory entry").path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace root").to_owned()
}
