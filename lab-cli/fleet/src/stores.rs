//! What the server keeps: the queue, results, loads, files, and who is there.

use std::{fmt, time::Duration};

use async_nats::jetstream::{
    Context,
    consumer::{AckPolicy, PullConsumer, pull},
    kv::{self, Store},
    object_store::{self, ObjectStore},
    stream::{self, DiscardPolicy, RetentionPolicy, StorageType, Stream},
};

use super::FleetError;

const WORK: &str = "lab_work";
const RESULTS: &str = "lab_results";
const FILES: &str = "lab_files";
const AGENTS: &str = "lab_agents";
pub(crate) const LOADS: &str = "lab_loads";

/// An agent that has not been heard of for so long is no more.
pub(crate) const LEASE: Duration = Duration::from_secs(10);
/// Work without a sign of progress for so long is given to somebody else.
pub(crate) const ACK_WAIT: Duration = Duration::from_secs(10);
/// Signs of progress, and of life.
pub(crate) const SIGN: Duration = Duration::from_secs(3);
/// Deliveries after which nobody takes it on any more.
pub(crate) const MOST_DELIVERIES: i64 = 5;
/// The server forgets what is older.
const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Handles of all of it.
#[derive(Clone)]
pub(crate) struct Stores {
    pub work: Stream,
    pub results: Store,
    pub files: ObjectStore,
    pub agents: Store,
    pub loads: Store,
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{WORK}, {RESULTS}, {FILES}, {AGENTS}, {LOADS}")
    }
}

impl Stores {
    /// Makes what is missing: the business of coordinators.
    pub async fn made(jetstream: &Context) -> Result<Self, FleetError> {
        let failed = "the server keeps nothing for us (permissions, or a full disk?)";
        // A subject holds one message, and refuses a second: no work waits twice. In memory: results alone are worth the disk, since
        // coordinators place again what has none.
        let queue = stream::Config {
            name: WORK.to_owned(),
            subjects: vec!["lab.work.>".to_owned()],
            retention: RetentionPolicy::WorkQueue,
            discard: DiscardPolicy::New,
            discard_new_per_subject: true,
            max_messages_per_subject: 1,
            max_age: KEPT,
            storage: StorageType::Memory,
            ..stream::Config::default()
        };
        jetstream.get_or_create_stream(queue).await.map_err(FleetError::of(failed))?;
        let buckets = [
            (RESULTS, KEPT, StorageType::File),
            (AGENTS, LEASE, StorageType::Memory),
            (LOADS, KEPT, StorageType::File),
        ];
        for (name, max_age, storage) in buckets {
            if jetstream.get_key_value(name).await.is_err() {
                let bucket =
                    kv::Config { bucket: name.to_owned(), history: 1, max_age, storage, ..kv::Config::default() };
                jetstream.create_key_value(bucket).await.map_err(FleetError::of(failed))?;
            }
        }
        if jetstream.get_object_store(FILES).await.is_err() {
            let bucket = object_store::Config { bucket: FILES.to_owned(), max_age: KEPT, ..Default::default() };
            jetstream.create_object_store(bucket).await.map_err(FleetError::of(failed))?;
        }
        Self::there(jetstream).await
    }

    /// What a coordinator has made.
    pub async fn there(jetstream: &Context) -> Result<Self, FleetError> {
        let missing = "no coordinator has been here yet";
        Ok(Self {
            work: jetstream.get_stream(WORK).await.map_err(FleetError::of(missing))?,
            results: jetstream.get_key_value(RESULTS).await.map_err(FleetError::of(missing))?,
            files: jetstream.get_object_store(FILES).await.map_err(FleetError::of(missing))?,
            agents: jetstream.get_key_value(AGENTS).await.map_err(FleetError::of(missing))?,
            loads: jetstream.get_key_value(LOADS).await.map_err(FleetError::of(missing))?,
        })
    }

    /// The work of agents of one version. Its deliveries have no end: an agent that gets it once too often says that it is given up.
    pub async fn make_consumer(&self, version: &str) -> Result<(), FleetError> {
        let name = consumer_of(version);
        let config = pull::Config {
            durable_name: Some(name.clone()),
            filter_subject: format!("lab.work.{version}.>"),
            ack_policy: AckPolicy::Explicit,
            ack_wait: ACK_WAIT,
            max_deliver: -1,
            max_ack_pending: 10_000,
            inactive_threshold: KEPT,
            ..pull::Config::default()
        };
        let made = self.work.get_or_create_consumer(&name, config).await;
        made.map(|_: PullConsumer| ()).map_err(FleetError::of("the queue cannot be read"))
    }

    pub async fn consumer(&self, version: &str) -> Result<PullConsumer, FleetError> {
        let found = self.work.get_consumer(&consumer_of(version)).await;
        found.map_err(FleetError::of("no coordinator of this version has been here yet"))
    }
}

fn consumer_of(version: &str) -> String {
    format!("agents_{version}")
}

/// The subject of a piece of work: its version, its group, its key.
pub(crate) fn subject(version: &str, group: &str, key: &str) -> String {
    format!("lab.work.{version}.{group}.{key}")
}
