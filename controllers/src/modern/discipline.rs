//! The common part of queue disciplines: they hold every job while the queue has room, and release jobs as workers
//! become free.

use std::time::Duration;

pub(crate) mod due;
pub(crate) mod lanes;

use crate::{
    JobId, Place, Reason, Refusal, Verdict,
    entry::{Count, OptionalTime, ParamDeclaration, count, ms, s, time_or},
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

/// Places with a queue. At dispatch the service must have one stage, since free workers are counted over all stages, unless the limit
/// of a composition makes the room.
pub const PLACES: &[Place] = &[Place::Stage, Place::Single, Place::Proxy];

/// The bound of a queue.
pub const MAX: ParamDeclaration<Count> = ParamDeclaration {
    kind: count(1..=1_000_000, 1000),
    about: "most jobs that wait; those that find so many are refused",
    source: "DEFAULT_CODEL_LIMIT, Linux sch_codel.c, in packets",
};

/// Time after which an answer is late, to disciplines that let nobody in whose answer would be.
pub const OBJECTIVE: ParamDeclaration<OptionalTime> = ParamDeclaration {
    kind: time_or(ms(1)..=s(3600), "the objective's"),
    about: "an answer that takes longer is late",
    source: "the run's objective",
};
