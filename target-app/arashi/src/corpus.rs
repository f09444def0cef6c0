//! Generated mail: any number of users with inboxes of the paper's sizes, the same for the same seed on every machine.
//!
//! The paper gives the range of folder sizes, 1 to 12 794 messages (USITS'03, section 4.1), but not their distribution:
//! lognormal, clipped to that range, is our choice, and so are its parameters. Messages are modelled on two public
//! collections (see `message.rs`). They are stored once and shared: each inbox is a run of consecutive messages.

mod cache;
mod message;
mod words;

use std::path::{Path, PathBuf};

use service_core::mail::{CorpusSpec, OTHER_FOLDERS, accounts, stored};
use sha2::{Digest, Sha256};

pub use cache::{cached, snapshot};

use super::{
    password::{self, PasswordCost},
    store::{Store, StoreError},
};

/// To be raised with every change that makes the same specification give other mail: caches are keyed by it.
const VERSION: u32 = 1;

/// Why there is no corpus.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// The specification is invalid.
    #[error("corpus: {0}")]
    Spec(&'static str),
    /// A file could not be read, written or moved.
    #[error("corpus: {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Generates a corpus into a new database file at `path`.
///
/// # Errors
/// An invalid specification, an existing file, or any error of the store.
pub async fn build(spec: &CorpusSpec, path: &Path) -> Result<(), CorpusError> {
    spec.check().map_err(CorpusError::Spec)?;
    if path.exists() {
        let source = std::io::ErrorKind::AlreadyExists.into();
        return Err(CorpusError::File { path: path.to_owned(), source });
    }
    let inboxes = spec.inboxes();
    let stored = stored(&inboxes);
    let store = Store::create_to_fill(path).await?;
    let mut fill = store.fill().await?;
    let mut messages = message::Messages::new(spec.seed, stored);
    for _ in 0..stored {
        fill.new_message(&messages.next()).await?;
    }
    let names: Vec<&str> = std::iter::once("inbox").chain(OTHER_FOLDERS).collect();
    for ((name, password), runs) in accounts(spec).into_iter().zip(spec.runs()) {
        let salt = salt(&name, spec.seed);
        let (_, folders) = fill.user(&name, &password::hash(&password, &salt, PasswordCost::Least), &names).await?;
        for (folder, (first, count)) in folders.into_iter().zip(runs) {
            fill.put_range(folder, first, count).await?;
        }
    }
    fill.commit().await?;
    store.optimise().await?;
    store.close().await?;
    Ok(())
}

/// Not random, and need not be: these passwords can be computed from the seed anyway.
fn salt(name: &str, seed: u64) -> [u8; 16] {
    let digest = Sha256::digest(format!("salt/{seed}/{name}"));
    std::array::from_fn(|i| digest[i])
}

#[cfg(test)]
mod tests;
