//! The list itself.

use super::Entry;
use crate::{baseline, modern, resource, seda, sre};

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
    sre::THROTTLE,
    sre::RETRY_BUDGET,
    sre::SRE_CLIENT,
    sre::UTILIZATION,
    sre::DONT_RETRY,
    sre::QUOTA,
    sre::SRE,
    modern::AIMD,
    modern::VEGAS,
    modern::GRADIENT2,
    modern::CODEL,
    modern::LIFO,
    modern::DAGOR,
    resource::THREAD_POOL,
    resource::BATCHING,
    resource::MONITOR,
    sre::QUOTA_SERVER,
];
