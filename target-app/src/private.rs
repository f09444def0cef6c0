//! Files and folders that only their owner may read: mail, and the hashes of passwords.

use std::{
    fs::{DirBuilder, OpenOptions, Permissions, set_permissions},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

/// What the owner alone may read and write.
const FILE: u32 = 0o600;
/// What the owner alone may look into.
const FOLDER: u32 = 0o700;

/// Makes a folder, and those above it that are missing. One that is there stays as it is.
///
/// # Errors
/// Whatever the system reports.
pub fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// Makes an empty file if there is none. One that is there stays as it is. (SQLite gives the files that it keeps beside a database the
/// permissions of the database.)
///
/// # Errors
/// Whatever the system reports.
pub(crate) fn file(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(FILE).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Copies a file to a new one, which is private whatever the first one is.
///
/// # Errors
/// Whatever the system reports.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    file(to)?;
    std::fs::copy(from, to)?; // takes the permissions along
    set_permissions(to, Permissions::from_mode(FILE))
}
