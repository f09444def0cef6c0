//! The files of a run's folder. A folder may come from anybody: what is opened is what a run writes, a regular file of a sensible
//! length. A pipe would be waited for, and a device read for ever.

use std::{
    fs::{self, File},
    io::{ErrorKind, Read as _},
    path::Path,
};

use serde::de::DeserializeOwned;

use crate::FolderError;

/// Most bytes of one that are read: a timeline has about 2 kB for each second of an arm.
const LONGEST: u64 = 1 << 32;

/// Opens it.
///
/// # Errors
/// It is not there, cannot be opened, or is nothing that a run writes.
pub fn open(path: &Path) -> Result<File, FolderError> {
    at_most(path, LONGEST)
}

/// The same for a file that is shorter than others.
pub(crate) fn at_most(path: &Path, longest: u64) -> Result<File, FolderError> {
    let refused = |why: String| FolderError::Refused { path: path.to_owned(), why };
    // Before it is opened: opening alone waits for the other end of a pipe, and may set a device going.
    let about = fs::metadata(path).map_err(FolderError::at(path))?;
    if !about.is_file() {
        return Err(refused(
            "not a regular file, and a run writes no others; is this folder as the run left it?".to_owned(),
        ));
    }
    if about.len() > longest {
        return Err(refused(format!("over {longest} bytes; is this folder as the run left it?")));
    }
    File::open(path).map_err(FolderError::at(path))
}

/// All bytes of it.
///
/// # Errors
/// As [`open`].
pub fn read(path: &Path) -> Result<Vec<u8>, FolderError> {
    let mut bytes = Vec::new();
    open(path)?.take(LONGEST).read_to_end(&mut bytes).map_err(FolderError::at(path))?;
    Ok(bytes)
}

/// All bytes of one that may be missing.
///
/// # Errors
/// As [`open`], if there is something of this name.
pub fn find(path: &Path) -> Result<Option<Vec<u8>>, FolderError> {
    if_there(read(path))
}

/// `None` of what is not there.
pub(crate) fn if_there<T>(found: Result<T, FolderError>) -> Result<Option<T>, FolderError> {
    match found {
        Err(FolderError::File { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Value of a JSON file.
///
/// # Errors
/// As [`open`]; and if it says something else.
pub fn json<T: DeserializeOwned>(path: &Path) -> Result<T, FolderError> {
    parsed(path, &read(path)?)
}

/// Value of these bytes of a file.
pub(crate) fn parsed<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, FolderError> {
    serde_json::from_slice(bytes).map_err(FolderError::senseless_json(path))
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::symlink, path::PathBuf};

    use super::*;
    use crate::testing::put;

    #[test]
    fn a_link_to_what_a_run_writes_is_read_and_nothing_else_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| -> PathBuf { folder.path().join(name) };
        put(at("whole"), "[1, 2]");
        symlink(at("whole"), at("linked")).expect("linked");
        symlink("/dev/zero", at("endless")).expect("linked");
        symlink(at("nowhere"), at("dangling")).expect("linked");
        assert_eq!(json::<Vec<u8>>(&at("linked")).expect("a list"), [1, 2]);
        assert!(matches!((find(&at("dangling")), find(&at("no"))), (Ok(None), Ok(None))));
        let refused = |path: &Path| matches!(read(path), Err(FolderError::Refused { .. }));
        assert!(refused(&at("endless")) && refused(folder.path()) && refused(Path::new("/dev/null")));
        let long = at_most(&at("whole"), 5).expect_err("six bytes").to_string();
        assert!(long.ends_with("whole: over 5 bytes; is this folder as the run left it?"), "{long}");
    }
}
