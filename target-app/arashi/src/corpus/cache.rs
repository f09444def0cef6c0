//! The cache of generated mail, keyed by content: the same specification gives the same file name.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    thread,
};

use service_core::mail::CorpusSpec;
use sha2::{Digest, Sha256};
use spec::private;

use super::{CorpusError, VERSION, build};
use crate::store::schema;

/// The corpus of this specification: from the cache if it is there, else generated and put there. Blocks. Two processes
/// that request the same corpus generate it once. The file must not be opened for writing: take a [`snapshot`].
///
/// # Errors
/// The errors of [`build`], and files that cannot be created in `dir`.
pub fn cached(spec: &CorpusSpec, dir: &Path) -> Result<PathBuf, CorpusError> {
    spec.check().map_err(CorpusError::Spec)?;
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| CorpusError::File { path, source }
    };
    private::folder(dir).map_err(at(dir))?;
    let name = file_name(spec);
    let path = dir.join(format!("{name}.sqlite"));
    let lock_path = dir.join(format!("{name}.lock"));
    let lock = File::create(&lock_path).map_err(at(&lock_path))?;
    lock.lock().map_err(at(&lock_path))?;
    if path.is_file() {
        return Ok(path);
    }
    let unfinished = dir.join(format!("{name}.unfinished"));
    remove_database(&unfinished).map_err(at(&unfinished))?;
    block_on_build(spec, &unfinished)?;
    // Synced before the rename: a power cut must not leave a torn file under a name that promises a complete one.
    File::open(&unfinished).and_then(|file| file.sync_all()).map_err(at(&unfinished))?;
    fs::rename(&unfinished, &path).map_err(at(&path))?;
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(at(dir))?;
    Ok(path)
}

/// Copies the corpus for one arm to change; replaces any file at `to`. Shares the blocks where the file system can.
///
/// # Errors
/// If the copy cannot be made.
pub fn snapshot(corpus: &Path, to: &Path) -> Result<(), CorpusError> {
    let at = |source| CorpusError::File { path: to.to_owned(), source };
    remove_database(to).map_err(at)?;
    private::copy(corpus, to).map_err(at)
}

/// Removes a database with the additional files of SQLite: an old log would be applied to a new database.
fn remove_database(path: &Path) -> io::Result<()> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match fs::remove_file(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn file_name(spec: &CorpusSpec) -> String {
    let written = serde_json::to_string(spec).expect("numbers only");
    // The layout is part of the key.
    let layout = schema::VERSIONS.map(|(_, sql)| sql).concat();
    let digest = Sha256::digest(format!("{VERSION}\n{written}\n{layout}"));
    let hex: String = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("mail-{}-users-{hex}", spec.users)
}

/// Builds on a thread of its own, so that it can also be called from inside a runtime.
fn block_on_build(spec: &CorpusSpec, path: &Path) -> Result<(), CorpusError> {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.map_err(|source| CorpusError::File { path: path.to_owned(), source })?.block_on(build(spec, path))
    };
    thread::scope(|scope| match scope.spawn(run).join() {
        Ok(built) => built,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
