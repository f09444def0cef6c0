//! Who is there: each agent has an entry, which ends with it.

use std::time::{Duration, Instant};

use async_nats::jetstream::kv::{CreateErrorKind, Store};
use futures_util::TryStreamExt as _;
use serde::{Deserialize, Serialize};
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{
    Fleet, FleetError,
    stores::{LEASE, SIGN, Stores},
};

/// An agent, as others see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentNote {
    /// One agent has it at a time: letters, digits, `-` and `_`.
    pub name: String,
    /// The version that it takes work of.
    pub version: String,
    /// Its program, for people.
    pub program: String,
    /// How much it does at once.
    pub jobs: usize,
}

/// The entry of an agent, renewed as long as this lives.
#[derive(Debug)]
pub struct AgentLease<'a> {
    fleet: &'a Fleet,
    agents: Store,
    name: String,
    renewal: JoinHandle<()>,
}

impl Fleet {
    /// Says that an agent is there, once a coordinator has made the place for it. `stopped` ends the wait.
    ///
    /// # Errors
    /// Another agent has the name, and lives.
    pub fn announce(&self, note: &AgentNote, stopped: &dyn Fn() -> bool) -> Result<AgentLease<'_>, FleetError> {
        let value = serde_json::to_vec(note).map_err(FleetError::of("a note"))?;
        self.runtime.block_on(async {
            let agents = self.stores_once_there(stopped).await?.agents;
            let began = Instant::now();
            while let Err(error) = agents.create(&note.name, value.clone().into()).await {
                // An agent that was killed is there until its lease ends.
                let taken = error.kind() == CreateErrorKind::AlreadyExists;
                if taken && began.elapsed() > LEASE + SIGN {
                    let why = format!("an agent {} is there already: give this one another --name", note.name);
                    return Err(FleetError::Unfit(why));
                }
                if stopped() {
                    return Err(FleetError::Stopped);
                }
                sleep(Duration::from_millis(500)).await;
            }
            let (kept, name) = (agents.clone(), note.name.clone());
            let renewal = tokio::spawn(async move {
                loop {
                    sleep(SIGN).await;
                    // What fails now is tried again in time.
                    let _ = kept.put(&name, value.clone().into()).await;
                }
            });
            Ok(AgentLease { fleet: self, agents, name: note.name.clone(), renewal })
        })
    }

    /// Agents that are there, by name; none where the server does not say.
    pub fn agents(&self) -> Vec<AgentNote> {
        self.runtime.block_on(async {
            match Stores::made(&self.jetstream).await {
                Ok(stores) => agents(&stores.agents).await,
                Err(_) => Vec::new(),
            }
        })
    }

    pub(crate) async fn stores_once_there(&self, stopped: &dyn Fn() -> bool) -> Result<Stores, FleetError> {
        loop {
            match Stores::there(&self.jetstream).await {
                Ok(stores) => return Ok(stores),
                Err(_) if stopped() => return Err(FleetError::Stopped),
                Err(_) => sleep(Duration::from_millis(300)).await,
            }
        }
    }
}

/// Agents that are there, by name; none where the server does not say.
pub(crate) async fn agents(store: &Store) -> Vec<AgentNote> {
    let Ok(keys) = store.keys().await else { return Vec::new() };
    let names: Vec<String> = keys.try_collect().await.unwrap_or_default();
    let mut found: Vec<AgentNote> = Vec::new();
    for name in names {
        let value = store.get(name).await.ok().flatten();
        found.extend(value.and_then(|value| serde_json::from_slice(&value).ok()));
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

impl Drop for AgentLease<'_> {
    /// Takes the entry away.
    fn drop(&mut self) {
        self.renewal.abort();
        // A server that does not answer forgets it by itself.
        let _ = self.fleet.runtime.block_on(async { timeout(SIGN, self.agents.purge(&self.name)).await });
    }
}
