//! A folder of messages, mbox files, maildirs and more such folders.

use std::path::{Path, PathBuf};

use super::{ImportProblem, Options, Place, RawMail, Reason, files, maildir, mbox, names};

/// People do not nest folders deeper, and every level holds a list of names.
const MAX_DEPTH: usize = 16;

/// Something in a folder.
pub(super) enum Entry {
    File(PathBuf),
    Directory(PathBuf),
}

/// What is in a folder, by name. `hidden`: only names that start with a dot; else only names that do not.
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
    let failed = listed.err().map(|error| Err(problem(path, error.into())));
    found.into_iter().map(Ok).chain(failed)
}

impl Entry {
    fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Directory(path) => path,
        }
    }
}

/// Message 9 before message 10: MH and others name files by number.
fn by_number(path: &Path) -> (usize, &std::ffi::OsStr) {
    let name = path.file_name().unwrap_or_default();
    let is_number = name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    (if is_number { name.len() } else { usize::MAX }, name)
}

/// The messages of a folder and those below, a folder at a time.
pub(super) fn read(
    path: &Path,
    options: Options,
) -> impl Iterator<Item = Result<RawMail, ImportProblem>> + Send + use<> {
    let name = names::folder(&path.file_name().unwrap_or_default().to_string_lossy());
    walk(path, name, String::new(), MAX_DEPTH, options)
}

type Messages = Box<dyn Iterator<Item = Result<RawMail, ImportProblem>> + Send>;

/// `folder`: what single messages here are in; `above`: what is put before names of folders below.
fn walk(path: &Path, folder: String, above: String, levels: usize, options: Options) -> Messages {
    if levels == 0 {
        return one(problem(path, Reason::TooDeep { limit: MAX_DEPTH }));
    }
    Box::new(entries(path, false).flat_map(move |entry| match entry {
        Ok(Entry::File(path)) => file(&path, &folder, &above, options),
        Ok(Entry::Directory(path)) => {
            let name = names::below(&above, &path.file_name().unwrap_or_default().to_string_lossy());
            if maildir::is_maildir(&path) {
                return Box::new(maildir::messages(path, name, options)) as Messages;
            }
            walk(&path, name.clone(), name, levels - 1, options)
        }
        Err(problem) => one(problem),
    }))
}

fn file(path: &Path, folder: &str, above: &str, options: Options) -> Messages {
    match files::is_mbox(path) {
        Ok(false) => Box::new(std::iter::once(files::message(path, folder.to_owned(), options))),
        Ok(true) => match mbox::read(path, names::below(above, &mbox::folder_of(path)), options) {
            Ok(messages) => Box::new(messages),
            Err(error) => one(problem(path, error.into())),
        },
        Err(error) => one(problem(path, error.into())),
    }
}

fn one(problem: ImportProblem) -> Messages {
    Box::new(std::iter::once(Err(problem)))
}

fn problem(path: &Path, reason: Reason) -> ImportProblem {
    ImportProblem { place: Place { path: path.to_owned(), message: None }, reason }
}
