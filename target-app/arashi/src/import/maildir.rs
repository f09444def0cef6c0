//! A maildir: a folder with `cur` (seen) and `new` (unseen), a file per message, and subfolders `.Name`.

use std::path::{Path, PathBuf};

use super::{
    files,
    listing::{Entry, entries},
    message::{ImportProblem, RawMail},
    names,
};

pub(super) fn is_maildir(path: &Path) -> bool {
    path.join("cur").is_dir() && path.join("new").is_dir()
}

/// The messages of a maildir and of its subfolders.
pub(super) fn read(path: &Path) -> impl Iterator<Item = Result<RawMail, ImportProblem>> + Send + use<> {
    let inbox = messages(path.to_owned(), own_folder(path));
    let subfolders = entries(path, true).filter(|entry| match entry {
        Ok(Entry::Directory(path)) => is_maildir(path),
        Ok(Entry::File(_)) => false,
        Err(_) => true,
    });
    inbox.chain(subfolders.flat_map(move |entry| -> Box<dyn Iterator<Item = _> + Send> {
        match entry {
            Ok(Entry::Directory(path)) => {
                let folder = names::maildir_folder(&path.file_name().unwrap_or_default().to_string_lossy());
                Box::new(messages(path, folder))
            }
            Ok(Entry::File(_)) => Box::new(std::iter::empty()),
            Err(problem) => Box::new(std::iter::once(Err(problem))),
        }
    }))
}

/// The name of a maildir's folder, if it is a subfolder of another that was named by itself (`Maildir/.Sent`).
fn own_folder(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_subfolder = name.starts_with('.') && path.parent().is_some_and(is_maildir);
    if is_subfolder { names::maildir_folder(&name) } else { names::INBOX.to_owned() }
}

/// The messages of one maildir without its subfolders.
pub(super) fn messages(path: PathBuf, folder: String) -> impl Iterator<Item = Result<RawMail, ImportProblem>> + Send {
    let files = ["cur", "new"].into_iter().flat_map(move |sub| entries(&path.join(sub), false));
    files.filter_map(move |entry| match entry {
        Ok(Entry::File(path)) => Some(files::message(&path, folder.clone())),
        Ok(Entry::Directory(_)) => None,
        Err(problem) => Some(Err(problem)),
    })
}
