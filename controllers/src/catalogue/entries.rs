//! The list itself.

use super::Entry;
use crate::{baseline, resource, seda};

/// All entries, policies first.
pub(super) static ALL: &[Entry] = &[
    baseline::NONE,
    baseline::FIXED_RATE,
    baseline::CONCURRENCY,
    baseline::QUEUE_LENGTH,
    baseline::CONNECTIONS,
    seda::SEDA,
    seda::DEGRADE,
    seda::PID,
    seda::MM1,
    seda::QUEUE_THRESHOLD,
    resource::THREAD_POOL,
    resource::BATCHING,
    resource::MONITOR,
];
