//! The reference in `docs/reference/`: pages made of what the program knows. Each is compared with its file, and
//! `INSTA_UPDATE=always cargo test --workspace --test integration reference::` writes them anew.

use std::{env, fs, path::PathBuf};

mod experiments;
mod gates;
mod metrics;
mod policies;
mod proxy;
mod samples;

/// What a page says about itself after its title.
const GENERATED: &str = "Generated from the program: do not edit. `INSTA_UPDATE=always cargo test --workspace --test integration reference::` writes it anew.\n";

fn docs() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

/// Compares a page with its file. With `INSTA_UPDATE=always`, which renews snapshots too, the file is written.
fn assert_page(name: &str, wanted: &str) {
    let file = docs().join("reference").join(name);
    if env::var_os("INSTA_UPDATE").is_some_and(|mode| mode == "always") {
        fs::create_dir_all(docs().join("reference")).expect("a folder");
        return fs::write(file, wanted).expect("written");
    }
    let page = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let renew = "is stale: renew it with INSTA_UPDATE=always cargo test --workspace --test integration reference::";
    for (number, (found, wanted)) in page.lines().zip(wanted.lines()).enumerate() {
        assert_eq!(found, wanted, "line {} of docs/reference/{name} {renew}", number + 1);
    }
    assert_eq!(page.len(), wanted.len(), "docs/reference/{name} {renew}");
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[test]
fn keys_of_experiment_files() {
    assert_page("keys.md", &experiment::reference::keys());
}

#[test]
fn metrics_of_thresholds() {
    assert_page("metrics.md", &metrics::page());
}

#[test]
fn experiments_of_the_library() {
    assert_page("experiments.md", &experiments::page());
}

#[test]
fn validity_gates() {
    assert_page("gates.md", &gates::page());
}

#[test]
fn keys_of_a_proxys_file() {
    assert_page("proxy.md", &proxy::page());
}

#[test]
fn the_catalogue_of_policies() {
    assert_page("policies.md", &policies::page());
}

/// Every link from one page of the docs to another, or to a heading, leads somewhere.
#[test]
fn links_of_the_docs_lead_somewhere() {
    let mut broken = Vec::new();
    let root = docs().join("..");
    let mut pages = vec![root.join("README.md"), root.join("ARCHITECTURE.md")];
    for folder in [docs(), docs().join("reference")] {
        let files = fs::read_dir(folder).expect("a folder").map(|file| file.expect("readable").path());
        pages.extend(files.filter(|path| path.extension().is_some_and(|ext| ext == "md")));
    }
    for page in &pages {
        let text = fs::read_to_string(page).expect("readable");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") || link.contains(char::is_whitespace) {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { page.with_file_name("").join(file) };
            let leads = match fs::read_to_string(&target) {
                Ok(found) => heading.is_empty() || headings(&found).iter().any(|known| known == heading),
                Err(_) => target.is_dir() && heading.is_empty(),
            };
            if !leads {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(pages.len() > 15 && broken.is_empty(), "{broken:#?}");
}

/// The anchors of a page's headings, as GitHub makes them.
fn headings(page: &str) -> Vec<String> {
    let of = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept: String = title.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c)).collect();
        kept.replace(' ', "-")
    };
    let mut in_code = false;
    let titles = page.lines().filter(|line| {
        in_code ^= line.starts_with("```");
        line.starts_with('#') && !in_code
    });
    titles.map(of).collect()
}
