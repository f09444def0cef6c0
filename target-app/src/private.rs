//! Files and folders that only their owner may read: mail, and the hashes of passwords.

use std::{
    fs::{DirBuilder, OpenOptions, Permissions, set_permissions},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

/// The mode of files: only the owner may read and write.
const FILE: u32 = 0o600;
/// The mode of folders: only the owner may open them.
const FOLDER: u32 = 0o700;

/// Creates a folder with its parents. An existing one stays unchanged.
///
/// # Errors
/// Any error of the system.
pub fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// Creates an empty file. An existing one stays unchanged. (SQLite gives its additional files the permissions of the
/// database.)
///
/// # Errors
/// Any error of the system.
pub(crate) fn file(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(FILE).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Copies a file to a new one, which is private whatever the mode of the first.
///
/// # Errors
/// Any error of the system.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    file(to)?;
    std::fs::copy(from, to)?; // copies the permissions too
    set_permissions(to, Permissions::from_mode(FILE))
}
