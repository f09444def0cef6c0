//! A folder of messages, mbox files, maildirs and more such folders.

use std::path::Path;

use super::{
    files,
    listing::{Entry, entries},
    maildir, mbox,
    message::{ImportProblem, ImportReason, Messages},
    names,
};
use crate::parse::MAX_BYTES;

/// The deepest nesting: people do not nest folders deeper, and every level holds a list of names.
const MAX_DEPTH: usize = 16;

/// The messages of a folder and its subfolders, one folder at a time.
pub(super) fn read(path: &Path) -> Messages {
    let name = names::folder(&path.file_name().unwrap_or_default().to_string_lossy());
    walk(path, name, String::new(), MAX_DEPTH)
}

/// `folder`: the folder of single messages here; `above`: the prefix of the names of folders below.
fn walk(path: &Path, folder: String, above: String, levels: usize) -> Messages {
    if levels == 0 {
        return one(ImportProblem::of_file(path, ImportReason::TooDeep { limit: MAX_DEPTH }));
    }
    Box::new(entries(path, false).flat_map(move |entry| match entry {
        Ok(Entry::File(path)) => file(&path, &folder, &above),
        Ok(Entry::Directory(path)) => {
            let name = names::below(&above, &path.file_name().unwrap_or_default().to_string_lossy());
            if maildir::is_maildir(&path) {
                return Box::new(maildir::messages(path, name)) as Messages;
            }
            walk(&path, name.clone(), name, levels - 1)
        }
        Err(problem) => one(problem),
    }))
}

fn file(path: &Path, folder: &str, above: &str) -> Messages {
    match files::is_mbox(path) {
        Ok(false) => Box::new(std::iter::once(files::message(path, folder.to_owned()))),
        Ok(true) => match mbox::read(path, names::below(above, &mbox::folder_of(path)), MAX_BYTES) {
            Ok(messages) => Box::new(messages),
            Err(error) => one(ImportProblem::of_file(path, error.into())),
        },
        Err(error) => one(ImportProblem::of_file(path, error.into())),
    }
}

fn one(problem: ImportProblem) -> Messages {
    Box::new(std::iter::once(Err(problem)))
}
