//! Programs that show HTML. Where one is not installed, its test says so and is skipped.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// The first of these that is there.
fn installed(paths: &[&str]) -> Option<PathBuf> {
    let found = paths.iter().map(PathBuf::from).find(|path| path.is_file());
    if found.is_none() {
        assert!(std::env::var_os("LAB_REQUIRE_TOOLS").is_none(), "none of {paths:?} is installed");
        eprintln!("skipped: none of {paths:?} is installed");
    }
    found
}

/// The document that a real browser makes of a file, without a window and without a network.
pub fn dom(page: &Path) -> Option<String> {
    let chromium = installed(&["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"])?;
    let profile = tempfile::tempdir().expect("a folder");
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"])
        .args([
            "--disable-sync",
            "--disable-component-update",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--timeout=20000",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("Chromium runs");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What a text-only browser shows of a file.
pub fn plain(page: &Path) -> Option<String> {
    let w3m = installed(&["/usr/bin/w3m", "/usr/local/bin/w3m", "/usr/bin/lynx"])?;
    let columns: &[&str] = if w3m.ends_with("w3m") { &["-T", "text/html", "-cols", "240"] } else { &["-width=240"] };
    let output = Command::new(w3m).arg("-dump").args(columns).arg(page).output().expect("it runs");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
