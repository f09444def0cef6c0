//! The content of a folder, in the order of reading.

use std::path::{Path, PathBuf};

use super::message::ImportProblem;

/// An entry of a folder.
pub(super) enum Entry {
    File(PathBuf),
    Directory(PathBuf),
}

/// The entries of a folder, by name. `hidden`: only names that start with a dot; else only names that do not.
pub(super) fn entries(path: &Path, hidden: bool) -> impl Iterator<Item = Result<Entry, ImportProblem>> + Send + use<> {
    let mut found = Vec::new();
    let listed = std::fs::read_dir(path).and_then(|listing| {
        for entry in listing {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") != hidden {
                continue;
            }
            match entry.file_type()? {
                kind if kind.is_dir() => found.push(Entry::Directory(entry.path())),
                kind if kind.is_file() => found.push(Entry::File(entry.path())),
                // A link to a message is a message; a link to a folder may lead in a circle.
                kind if kind.is_symlink() && entry.path().is_file() => found.push(Entry::File(entry.path())),
                _ => {}
            }
        }
        Ok(())
    });
    found.sort_by(|a, b| by_number(a.path()).cmp(&by_number(b.path())));
    let failed = listed.err().map(|error| Err(ImportProblem::of_file(path, error.into())));
    found.into_iter().map(Ok).chain(failed)
}

impl Entry {
    fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Directory(path) => path,
        }
    }
}

/// Sorts message 9 before message 10: MH and others name files by number.
fn by_number(path: &Path) -> (usize, &std::ffi::OsStr) {
    let name = path.file_name().unwrap_or_default();
    let is_number = name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    (if is_number { name.len() } else { usize::MAX }, name)
}
