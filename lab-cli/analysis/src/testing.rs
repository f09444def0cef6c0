//! For tests: arms to judge and to show, files to read, and pages to keep.

use std::{env, fs, path::Path};

use crate::summary::{Arm, Measured, PhaseSummary, Server};

/// What was measured in half a minute.
pub(crate) fn phase(name: &str, measured: Measured) -> PhaseSummary {
    PhaseSummary { name: name.to_owned(), seconds: 30.0, measured, ..PhaseSummary::default() }
}

/// A policy's turn.
pub(crate) fn arm(policy: &str, block: u32, server: Server, phases: Vec<PhaseSummary>) -> Arm {
    let policy = policy.to_owned();
    Arm { policy, block, valid: true, server: Some(server), phases, ..Arm::default() }
}

/// Writes a file.
#[expect(clippy::disallowed_methods, reason = "what a test reads is written first")]
pub(crate) fn put(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) {
    fs::write(path, contents).expect("written");
}

/// Holds a page against the text that it is to have. With `INSTA_UPDATE=always`, which renews snapshots, the page is written.
#[expect(clippy::disallowed_methods, reason = "a person asks for the page")]
pub(crate) fn assert_page(path: impl AsRef<Path>, wanted: &str) {
    if env::var_os("INSTA_UPDATE").is_some_and(|mode| mode == "always") {
        return put(path, wanted);
    }
    let page = fs::read_to_string(&path).expect("readable");
    for (number, (found, wanted)) in page.lines().zip(wanted.lines()).enumerate() {
        assert_eq!(
            found,
            wanted,
            "line {} of {}: renew it with INSTA_UPDATE=always",
            number + 1,
            path.as_ref().display()
        );
    }
    assert_eq!(page.len(), wanted.len(), "{}: renew it with INSTA_UPDATE=always", path.as_ref().display());
}
