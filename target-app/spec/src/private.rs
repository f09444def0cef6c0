//! Files and folders that only their owner may read: mail, and the hashes of passwords.

use std::{
    fs::{DirBuilder, OpenOptions, Permissions, set_permissions},
    io::{self, Read as _},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
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
pub fn file(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(FILE).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Why the text of a private file is not read.
#[derive(Debug)]
pub enum Unreadable {
    /// The system refuses, or it is no text.
    Unread(io::Error),
    /// It is a folder, a pipe or a device.
    NoFile,
    /// Other users may read or change it.
    Open {
        /// Its mode.
        mode: u32,
        /// True if it belongs to the user of this process.
        owned: bool,
    },
}

/// Reads at most so many bytes of a file that only its owner can read.
///
/// # Errors
/// See [`Unreadable`].
pub fn read(path: &Path, most: u64) -> Result<String, Unreadable> {
    // Without waiting: a pipe without a writer would block the service.
    let flags = nix::fcntl::OFlag::O_NONBLOCK.bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(Unreadable::Unread)?;
    let about = file.metadata().map_err(Unreadable::Unread)?;
    if !about.is_file() {
        return Err(Unreadable::NoFile);
    }
    let owned = about.uid() == nix::unistd::geteuid().as_raw();
    if !owned || about.mode() & 0o777 != FILE {
        return Err(Unreadable::Open { mode: about.mode() & 0o777, owned });
    }
    let mut text = String::new();
    file.take(most).read_to_string(&mut text).map_err(Unreadable::Unread)?;
    Ok(text)
}

/// Copies a file to a new one, which is private whatever the mode of the first.
///
/// # Errors
/// Any error of the system.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    file(to)?;
    std::fs::copy(from, to)?; // copies the permissions too
    set_permissions(to, Permissions::from_mode(FILE))
}
