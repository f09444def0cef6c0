//! `digests.json`: the SHA-256 of every file that a run wrote, put in its place last. A byte that is changed afterwards is
//! noticed, whichever file it is in.
//!
//! It is no signature: who changes a file can compute its digest again. It finds what was edited, damaged or cut off.

use std::{collections::BTreeMap, fs, io, io::Read as _, path::Path};

use serde::{Deserialize, Serialize};

use crate::{FolderError, run_file, sha256};

/// The file's name in a run's folder.
pub const NAME: &str = "digests.json";
const SCHEMA: u32 = 1;
/// Longest list that is read, in bytes: a folder has a few files for each arm and block.
const LONGEST: u64 = 16 * 1024 * 1024;

/// The digests of a run's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digests {
    schema: u32,
    files: BTreeMap<String, FileDigest>,
}

/// One file as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FileDigest {
    bytes: u64,
    sha256: String,
}

/// Difference between a file and what the run wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The file.
    pub file: String,
    /// Description of the difference.
    pub what: &'static str,
}

impl Digests {
    /// The digests of all files in a folder.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn of(folder: &Path) -> Result<Self, FolderError> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(folder).map_err(FolderError::at(folder))? {
            let entry = entry.map_err(FolderError::at(folder))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name != NAME && entry.file_type().map_err(FolderError::at(entry.path()))?.is_file() {
                files.insert(name, of_file(&entry.path()).map_err(FolderError::at(entry.path()))?);
            }
        }
        Ok(Self { schema: SCHEMA, files })
    }

    /// Reads those of a run; `None`: it has none, because it was killed, or an older lab wrote it.
    ///
    /// # Errors
    /// If the file is there and cannot be read, or is something else.
    pub fn read(folder: &Path) -> Result<Option<Self>, FolderError> {
        let path = folder.join(NAME);
        let senseless = |cause: String| FolderError::Senseless { path: path.clone(), cause };
        let Some(file) = run_file::if_there(run_file::at_most(&path, LONGEST))? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(LONGEST).read_to_end(&mut bytes).map_err(FolderError::at(&path))?;
        let digests: Self = run_file::parsed(&path, &bytes)?;
        if digests.schema != SCHEMA {
            return Err(senseless(format!("it has schema {}, and this lab reads {SCHEMA}", digests.schema)));
        }
        // A folder may come from anywhere: what it names must lie in it.
        if let Some(name) =
            digests.files.keys().find(|name| name.is_empty() || name.contains(['/', '\0']) || *name == "..")
        {
            return Err(senseless(format!("{name:?} is no name of a file in this folder")));
        }
        Ok(Some(digests))
    }

    /// Number of files.
    pub fn count(&self) -> usize {
        self.files.len()
    }

    /// Names of the files.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The files of a folder that are not as they were. Files that came later, such as reports, are no part of the run.
    pub fn changed(&self, folder: &Path) -> Vec<Changed> {
        let differs = |(name, digest): (&String, &FileDigest)| {
            let path = folder.join(name);
            let what = match fs::symlink_metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => "is missing",
                Ok(found) if !found.is_file() => "is no file any more",
                Ok(found) if found.len() != digest.bytes => "is not as long as the run wrote it",
                _ => match of_file(&path) {
                    Ok(found) if found == *digest => return None,
                    Ok(_) => "is not what the run wrote",
                    Err(_) => "cannot be read",
                },
            };
            Some(Changed { file: name.clone(), what })
        };
        self.files.iter().filter_map(differs).collect()
    }
}

fn of_file(path: &Path) -> io::Result<FileDigest> {
    let (bytes, sha256) = sha256::of_file(path)?;
    Ok(FileDigest { bytes, sha256 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::put;

    /// A folder with three files and their digests.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in [("timeline.jsonl", ""), ("events.jsonl", ""), ("summary.json", "1\n")] {
            put(folder.path().join(name), text);
        }
        let digests = Digests::of(folder.path()).expect("readable");
        put(folder.path().join(NAME), serde_json::to_vec(&digests).expect("JSON"));
        folder
    }

    #[test]
    fn any_change_of_a_file_is_found_and_one_that_came_later_is_none() {
        let folder = folder();
        let digests = Digests::read(folder.path()).expect("readable").expect("there");
        assert_eq!((digests.count(), digests.changed(folder.path())), (3, vec![]));
        put(folder.path().join("report.html"), "later");
        assert_eq!(digests.changed(folder.path()), []);
        let summary = folder.path().join("summary.json");
        let found = |digests: &Digests| digests.changed(folder.path()).iter().map(|c| c.what).collect::<Vec<_>>();
        put(&summary, "2\n");
        assert_eq!(found(&digests), ["is not what the run wrote"]);
        put(&summary, "11\n");
        assert_eq!(found(&digests), ["is not as long as the run wrote it"]);
        fs::remove_file(&summary).expect("removed");
        assert_eq!(found(&digests), ["is missing"]);
        fs::create_dir(&summary).expect("made");
        assert_eq!(found(&digests), ["is no file any more"]);
    }

    #[test]
    fn names_outside_of_the_folder_are_refused() {
        let folder = folder();
        for name in ["../x", "/etc/passwd", "..", ""] {
            let text = format!(r#"{{"schema":1,"files":{{{name:?}:{{"bytes":1,"sha256":""}}}}}}"#);
            put(folder.path().join(NAME), text);
            assert!(matches!(Digests::read(folder.path()), Err(FolderError::Senseless { .. })), "{name}");
        }
    }
}
