//! Files by their SHA-256: who asks for one gets that one or an error.

use std::io::Cursor;

use async_nats::jetstream::{Context, object_store::ObjectStore};
use sha2::{Digest as _, Sha256};
use tokio::{io::AsyncReadExt as _, runtime::Handle};

use super::{Fleet, FleetError, stores::Stores};

/// Longer files are refused on both sides: they are held in memory.
const MOST: usize = 256 << 20;

/// SHA-256, in hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Stores a file, unless it is there.
pub(crate) async fn put(files: &ObjectStore, bytes: &[u8]) -> Result<String, FleetError> {
    let name = digest(bytes);
    if bytes.len() > MOST {
        let why = format!("a file of {} MiB is too large to be sent: at most {} MiB", bytes.len() >> 20, MOST >> 20);
        return Err(FleetError::Unfit(why));
    }
    let there = files.info(&name).await.is_ok_and(|info| !info.deleted && info.size == bytes.len());
    if !there {
        files.put(name.as_str(), &mut Cursor::new(bytes)).await.map_err(FleetError::of("a file was not stored"))?;
    }
    Ok(name)
}

/// The file of this digest.
pub(crate) async fn get(files: &ObjectStore, name: &str) -> Result<Vec<u8>, FleetError> {
    let mut bytes = Vec::new();
    let object = files.get(name).await.map_err(FleetError::of("a file is not there"))?;
    let mut limited = object.take(MOST as u64 + 1);
    limited.read_to_end(&mut bytes).await.map_err(FleetError::of("a file was not sent"))?;
    if bytes.len() > MOST || digest(&bytes) != name {
        return Err(FleetError::Server(format!("the file {name} is not what its name says")));
    }
    Ok(bytes)
}

/// Files that coordinators have stored, for whoever does not have the connection itself.
#[derive(Debug, Clone)]
pub struct StoredFiles {
    runtime: Handle,
    jetstream: Context,
}

impl StoredFiles {
    /// The file of this digest.
    ///
    /// # Errors
    /// It is not there, or is another one than its name says.
    pub fn file(&self, name: &str) -> Result<Vec<u8>, FleetError> {
        self.runtime.block_on(async { get(&Stores::there(&self.jetstream).await?.files, name).await })
    }
}

impl Fleet {
    /// Stores a file for agents; gives its name, the digest.
    ///
    /// # Errors
    /// It is longer than 256 MiB, or the server did not take it.
    pub fn store_file(&self, bytes: &[u8]) -> Result<String, FleetError> {
        self.runtime.block_on(async { put(&Stores::made(&self.jetstream).await?.files, bytes).await })
    }

    /// Files that coordinators have stored.
    pub fn files(&self) -> StoredFiles {
        StoredFiles { runtime: self.runtime.handle().clone(), jetstream: self.jetstream.clone() }
    }
}
