//! An agent's side: takes work, shows that it goes on, stores the result.

use std::time::Duration;

use async_nats::jetstream::{
    self, AckKind,
    consumer::PullConsumer,
    kv::{CreateErrorKind, Operation},
};
use futures_util::StreamExt as _;
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{
    Fleet, FleetError,
    envelope::{Envelope, Label},
    files,
    stores::{MOST_DELIVERIES, SIGN, Stores},
};

/// Between two attempts to store a result.
const AGAIN: Duration = Duration::from_millis(300);

/// The work of one version, for an agent.
#[derive(Debug)]
pub struct WorkSource<'a> {
    fleet: &'a Fleet,
    stores: Stores,
    consumer: PullConsumer,
}

/// A piece of work that this agent has: nobody else gets it, as long as this lives. Dropped without an end, it goes back.
#[derive(Debug)]
pub struct ClaimedWork<'a> {
    source: &'a WorkSource<'a>,
    message: jetstream::Message,
    signs: JoinHandle<()>,
    bytes: Vec<u8>,
    settled: bool,
}

impl Fleet {
    /// The work of a version, once a coordinator of it has been there. `stopped` ends the wait.
    ///
    /// # Errors
    /// It was stopped.
    pub fn work(&self, version: &str, stopped: &dyn Fn() -> bool) -> Result<WorkSource<'_>, FleetError> {
        self.runtime.block_on(async {
            loop {
                let stores = self.stores_once_there(stopped).await?;
                match stores.consumer(version).await {
                    Ok(consumer) => return Ok(WorkSource { fleet: self, stores, consumer }),
                    Err(_) if stopped() => return Err(FleetError::Stopped),
                    Err(_) => sleep(AGAIN).await,
                }
            }
        })
    }
}

impl WorkSource<'_> {
    /// Waits so long for a piece of work; `None`: none came.
    ///
    /// # Errors
    /// The server does not answer, or what came is no work.
    pub fn next(&self, wait: Duration) -> Result<Option<ClaimedWork<'_>>, FleetError> {
        let runtime = &self.fleet.runtime;
        let Some(message) = runtime.block_on(self.asked(wait))? else { return Ok(None) };
        let (_, acker) = message.clone().split();
        let signs = runtime.spawn(async move {
            loop {
                sleep(SIGN).await;
                let _ = acker.ack_with(AckKind::Progress).await;
            }
        });
        let mut claimed = ClaimedWork { source: self, message, signs, bytes: Vec::new(), settled: false };
        let bytes = async { Envelope::read(&claimed.message.payload)?.unpack(&self.stores.files).await };
        claimed.bytes = runtime.block_on(bytes)?;
        Ok(Some(claimed))
    }

    async fn asked(&self, wait: Duration) -> Result<Option<jetstream::Message>, FleetError> {
        let failed = "no work was given";
        let asked = self.consumer.batch().max_messages(1).expires(wait).messages();
        let mut given = asked.await.map_err(FleetError::of(failed))?;
        // A server that went away does not say that the wait is over.
        let first = timeout(wait + SIGN, given.next()).await.map_err(FleetError::of(failed))?;
        let Some(message) = first.transpose().map_err(FleetError::of(failed))? else { return Ok(None) };
        let deliveries = message.info().map_err(FleetError::of(failed))?.delivered;
        if deliveries > MOST_DELIVERIES {
            self.give_up(&message, deliveries - 1).await?;
            return Ok(None);
        }
        Ok(Some(message))
    }

    /// Says in place of a result that nobody has come to one.
    async fn give_up(&self, message: &jetstream::Message, deliveries: i64) -> Result<(), FleetError> {
        let label = Label { by: self.fleet.name.clone(), gave_up: Some(deliveries), ..Label::default() };
        let said = Envelope { label, bytes: Vec::new() }.written()?;
        match self.stores.results.create(key_of(message), said.into()).await {
            Err(error) if error.kind() != CreateErrorKind::AlreadyExists => Err(FleetError::of("not given up")(error)),
            // Or somebody has come to one after all.
            _ => message.ack().await.map_err(FleetError::of("not given up")),
        }
    }

    /// Stores a result, or compares it with the one that is there.
    async fn store(&self, key: &str, found: &Envelope) -> Result<(), FleetError> {
        let failed = "a result was not stored";
        let results = &self.stores.results;
        match results.create(key, found.written()?.into()).await {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == CreateErrorKind::AlreadyExists => {}
            Err(error) => return Err(FleetError::of(failed)(error)),
        }
        let entry = results.entry(key).await.map_err(FleetError::of(failed))?;
        let Some(entry) = entry.filter(|entry| entry.operation == Operation::Put) else {
            return Err(FleetError::Server(format!("{failed}: it came and went")));
        };
        let mut known = Envelope::read(&entry.value)?;
        let better = if known.label.gave_up.is_some() {
            found.written()?
        } else if known.label.same == found.label.same || known.label.other.is_some() {
            return Ok(());
        } else {
            known.label.other = Some(found.label.by.clone());
            known.written()?
        };
        results.update(key, better.into(), entry.revision).await.map(|_| ()).map_err(FleetError::of(failed))
    }
}

impl ClaimedWork<'_> {
    /// What is to be done.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Stores the result, and tries until the server has it. `same`: the part of it that every machine must come to.
    ///
    /// # Errors
    /// It is too large, or `stopped` said that nobody waits for it.
    pub fn store(&self, result: &[u8], same: &[u8], stopped: &dyn Fn() -> bool) -> Result<(), FleetError> {
        let source = self.source;
        let label = Label { by: source.fleet.name.clone(), same: files::digest(same), ..Label::default() };
        source.fleet.runtime.block_on(async {
            loop {
                let stored = match Envelope::pack(label.clone(), result, &source.stores.files).await {
                    Ok(found) => source.store(key_of(&self.message), &found).await,
                    Err(error) => Err(error),
                };
                match stored {
                    Err(FleetError::Server(_)) if !stopped() => sleep(AGAIN).await,
                    stored => return stored,
                }
            }
        })
    }

    /// Takes it off the queue. If that gets lost, it is done once more, and the result compared.
    ///
    /// # Errors
    /// The connection is closed.
    pub fn done(mut self) -> Result<(), FleetError> {
        self.settled = true;
        let taken = self.source.fleet.runtime.block_on(self.message.ack());
        taken.map_err(FleetError::of("the work was not taken off the queue"))
    }
}

impl Drop for ClaimedWork<'_> {
    /// Gives it back at once, unless its result is stored.
    fn drop(&mut self) {
        self.signs.abort();
        if !self.settled {
            let back = AckKind::Nak(None);
            let given = async { timeout(SIGN, self.message.double_ack_with(back)).await };
            // What does not arrive is given to another agent after a time.
            let _ = self.source.fleet.runtime.block_on(given);
        }
    }
}

/// The key of a result is the subject of its work, without the name of the queue.
fn key_of(message: &jetstream::Message) -> &str {
    message.subject.as_str().strip_prefix("lab.work.").unwrap_or_default()
}
