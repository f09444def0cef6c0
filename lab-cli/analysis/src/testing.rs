//! For tests: files to read.

use std::{fs, path::Path};

/// Writes a file.
#[expect(clippy::disallowed_methods, reason = "what a test reads is written first")]
pub(crate) fn put(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) {
    fs::write(path, contents).expect("written");
}
