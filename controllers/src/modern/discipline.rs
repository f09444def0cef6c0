//! The common part of queue disciplines: they hold every job while the queue has room, and release jobs as workers
//! become free.

use std::time::Duration;

use crate::{
    JobId, Place, Reason, Refusal, Verdict,
    entry::{Count, ParamDeclaration, count},
    primitives::JobQueue,
};

/// The job at the head of the queue.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    /// The job.
    pub id: JobId,
    /// The time since its arrival.
    pub waited: Duration,
    /// Jobs behind it.
    pub left: u32,
}

/// Holds a job if the queue is not full.
pub fn hold<T>(queue: &mut JobQueue<T>, max: u32, id: JobId, what: T) -> Verdict {
    if queue.len() >= max {
        return Verdict::Refuse(Refusal::new(Reason::QueueFull));
    }
    queue.push(id, what);
    Verdict::Hold
}

/// Places with a queue. At dispatch the service must have one stage, since free workers are counted over all stages.
pub const PLACES: &[Place] = &[Place::Stage, Place::Single];

/// The bound of a queue.
pub const MAX: ParamDeclaration<Count> = ParamDeclaration {
    kind: count(1..=1_000_000, 1000),
    about: "most jobs that wait; those that find so many are refused",
    source: "DEFAULT_CODEL_LIMIT, Linux sch_codel.c, in packets",
};
