//! Every arm starts from the same mail: generated once, kept between runs, copied for each arm.

use std::{
    fs,
    path::{Path, PathBuf},
};

use arashi::corpus::{cached, snapshot};
use experiment::{plan::Mail, resolve};
use spec::private;
use workloads::plan::Account;

use crate::run::RunFailure;

/// Mail for the arms of a run.
#[derive(Debug)]
pub struct Corpus {
    file: PathBuf,
    accounts: Vec<Account>,
    copies: Scratch,
}

impl Corpus {
    /// Takes it from the cache, or generates it. Takes seconds the first time.
    pub fn prepare(mail: &Mail) -> Result<Self, RunFailure> {
        let spec = mail.corpus();
        let cache = cache_folder();
        let file = cached(&spec, &cache.join("mail"))?;
        let accounts = resolve::accounts_of(*mail);
        Ok(Self { file, accounts, copies: Scratch::new(&cache.join("arms"))? })
    }

    /// Accounts that may sign in.
    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// A fresh copy; the one before is gone.
    pub fn copy(&self) -> Result<PathBuf, RunFailure> {
        let path = self.copies.0.join("mail.sqlite");
        self.copy_to(&path)?;
        Ok(path)
    }

    /// A copy for keeps.
    pub fn copy_to(&self, path: &Path) -> Result<(), RunFailure> {
        Ok(snapshot(&self.file, path)?)
    }
}

/// A folder that goes when it is dropped, or when a later run finds that its owner is gone.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// A new one below `parent`.
    pub fn new(parent: &Path) -> Result<Self, RunFailure> {
        private::folder(parent).map_err(RunFailure::at(parent))?;
        sweep(parent);
        let folder = parent.join(std::process::id().to_string());
        private::folder(&folder).map_err(RunFailure::at(&folder))?;
        Ok(Self(folder))
    }
}

impl Scratch {
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes what a killed run left: folders named by a process that is no more.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        if !Path::new(&format!("/proc/{pid}")).exists() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// `$LAB_CACHE`, else `$XDG_CACHE_HOME/overload-lab`, else `~/.cache/overload-lab`, else below the temporary folder.
pub fn cache_folder() -> PathBuf {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(own) = from("LAB_CACHE") {
        return own;
    }
    let base = from("XDG_CACHE_HOME").or_else(|| from("HOME").map(|home| home.join(".cache")));
    base.unwrap_or_else(std::env::temp_dir).join("overload-lab")
}
